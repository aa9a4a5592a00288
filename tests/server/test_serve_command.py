"""`preflight serve` and `preflight keys` as processes."""

import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from serving import events, serving
from typer.testing import CliRunner

from preflight_rag import Preflight
from preflight_rag.cli import app as cli
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer


def test_ctrl_c_stops_a_turn_so_that_it_can_be_resumed(small_folder, chat_reader):
    slow = Reply("Basalt is hard [1]. " + "It is so. " * 200, chunk_delay=0.05)
    with ScriptedServer([("basalt", slow, 1)], default="Hard [1].") as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        with serving("--library", small_folder, "--model", "openai:scripted", **environment) as (process, url):
            body = {"question": "How hard is basalt?", "thread_id": "t"}
            with httpx.stream("POST", f"{url}/api/ask", json=body, timeout=60) as response:
                names = []
                for name, _ in events(response.iter_lines()):
                    names.append(name)
                    if name == "token" and names.count("token") == 3:
                        process.send_signal(signal.SIGINT)
                        asked = time.time()
            process.wait(timeout=10)
            took = time.time() - asked
            log = process.stderr.read()
        with Preflight.open(small_folder, chat_reader(server)) as app:
            assert app.ledger.last("t").status == "interrupted"
            assert app.resume("t").answer == "Hard [1]."
    assert names[-1] == "stopped"
    assert took < 6
    assert "Traceback" not in log
    assert "POST /api/ask 200" in log
    assert "basalt" not in log


def test_a_port_in_use_is_one_line(small_folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = CliRunner().invoke(cli, ["serve", "-l", str(small_folder), "--port", port, "--model", "offline"])
    assert found.exit_code == 2
    assert f"port {port} of 127.0.0.1 is in use" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_are_not_let_in_without_a_key(small_folder, host):
    found = CliRunner().invoke(cli, ["serve", "-l", str(small_folder), "--host", host, "--model", "offline"])
    assert found.exit_code == 2
    assert "preflight keys add NAME" in found.stderr


def test_an_address_that_is_none(small_folder):
    found = CliRunner().invoke(cli, ["serve", "-l", str(small_folder), "--host", "", "--model", "offline"])
    assert found.exit_code == 2


def test_with_a_key_others_are_let_in(small_folder):
    key = CliRunner().invoke(cli, ["keys", "add", "anna", "-l", str(small_folder)]).stdout.strip()
    with serving("-l", small_folder, "--host", "0.0.0.0", "--model", "offline") as (_, url):
        url = url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/api/info").status_code == 401
        assert httpx.get(f"{url}/api/info", headers={"Authorization": f"Bearer {key}"}).json()["user"] == "anna"


def test_a_missing_library_is_made_when_asked_for(tmp_path):
    missing = CliRunner().invoke(cli, ["serve", "-l", str(tmp_path / "none"), "--model", "offline"])
    assert missing.exit_code == 1
    assert "--create" in missing.stderr
    with serving("-l", tmp_path / "new", "--create", "--model", "offline") as (_, url):
        assert httpx.get(f"{url}/api/info").json()["library"] == {"name": "new", "documents": 0, "passages": 0}


def test_keys_are_made_listed_and_revoked(small_folder):
    def run(*arguments):
        return CliRunner().invoke(cli, ["keys", *arguments, "-l", str(small_folder)])

    assert "no keys" in run("list").stdout
    assert run("add", "anna", "--write").stdout.startswith("pf_")
    assert "anna  may change documents" in run("list").stdout
    assert run("add", "anna").exit_code == 2
    assert run("add", "a/b").exit_code == 2
    assert run("revoke", "anna").exit_code == 0
    assert run("revoke", "anna").exit_code == 2


def test_help_needs_no_server_packages():
    code = (
        "import sys; from preflight_rag.cli import app; import typer.main; typer.main.get_command(app); "
        "sys.exit(any(name in sys.modules for name in ('fastapi', 'uvicorn', 'mcp')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
