"""The `openai` client of npm, which many web clients are built on."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from serving import running

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("npm_client.mjs")


@pytest.fixture
def modules():
    """The folder of npm's modules."""
    folder = os.environ.get("NODE_PATH", "")
    if shutil.which("node") is None:
        pytest.skip("there is no node: apt-get install nodejs")
    if not (Path(folder) / "openai").is_dir():
        pytest.skip(
            "NODE_PATH names no folder with openai: npm install --prefix DIR openai; NODE_PATH=DIR/node_modules"
        )
    return folder


def test_npms_client_chats_streams_parses_and_goes_on(offline_app, modules):
    with running(offline_app) as url:
        command = ["node", str(SCRIPT), url]
        environ = os.environ | {"NODE_PATH": modules}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["models"] == ["preflight", "preflight-plain", "preflight-map-reduce", "preflight-corg"]
    assert found["chat"][::2] == ["stop", "url_citation"]
    assert found["streamed"][0] == "stop"
    assert found["parsed"]["answer"]
    assert found["responses"][1:] == [2, ["file_citation"]]
    assert found["events"][0] == "response.created"
    assert found["events"][-1] == "response.completed"
    assert found["required"][:2] == ["BadRequestError", 400]
    assert "was passed over" in found["noted"]
    assert found["embedded"] > 100
