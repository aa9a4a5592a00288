"""Clients of OpenAI's API that other people's programs are made with; each is tried where it is installed.

`.ci/neighbours.py` installs them beside the package and runs this.
"""

import json
import os
import subprocess
import sys

import pytest
from serving import running

QUESTION = "Which rock is hard?"
MESSAGES = [{"role": "user", "content": QUESTION}]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def url(offline_app):
    with running(offline_app) as url:
        yield url


def test_litellm(url, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = pytest.importorskip("litellm")
    own = {"model": "openai/preflight", "api_base": f"{url}/v1", "api_key": "any"}
    whole = litellm.completion(**own, messages=MESSAGES, temperature=0.2).choices[0]
    pieces = litellm.completion(**own, messages=MESSAGES, stream=True)
    form = {"type": "json_schema", "json_schema": {"name": "found", "schema": SCHEMA}}
    parsed = litellm.completion(**own, messages=MESSAGES, response_format=form).choices[0]
    assert (whole.finish_reason, "basalt.txt" in whole.message.content) == ("stop", True)
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == whole.message.content
    assert "Basalt" in json.loads(parsed.message.content)["answer"]


def test_litellms_responses_and_tools(url, monkeypatch):
    """For these litellm brings in its own side of MCP, made for one line of that SDK: it fails beside the other."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = pytest.importorskip("litellm")
    pytest.importorskip("litellm.proxy._experimental.mcp_server.catalog", exc_type=ImportError)
    own = {"model": "openai/preflight", "api_base": f"{url}/v1", "api_key": "any"}
    response = litellm.responses(**own, input=QUESTION)
    assert "basalt.txt" in response.output[0].content[0].text
    with pytest.raises(litellm.BadRequestError, match="calls no tools"):
        litellm.completion(**own, messages=MESSAGES, tools=[TOOL], tool_choice="required", num_retries=0)


def test_llama_index(url):
    like = pytest.importorskip("llama_index.llms.openai_like")
    own = {"model": "preflight", "api_base": f"{url}/v1", "api_key": "any", "is_chat_model": True, "max_retries": 0}
    llm = like.OpenAILike(**own, context_window=8000, timeout=60)
    whole = llm.complete(QUESTION).text
    assert "basalt.txt" in whole
    assert "".join(piece.delta or "" for piece in llm.stream_complete(QUESTION)) == whole


def test_llm_on_the_command_line(url, tmp_path):
    pytest.importorskip("llm")
    models = f"- model_id: preflight\n  model_name: preflight\n  api_base: {url}/v1\n  supports_schema: true\n"
    (tmp_path / "extra-openai-models.yaml").write_text(models, encoding="utf-8")

    def llm(*arguments):
        command = [sys.executable, "-m", "llm", *arguments]
        environ = os.environ | {"LLM_USER_PATH": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environ, timeout=120).stdout

    assert "basalt.txt" in llm("-m", "preflight", QUESTION)
    assert "pumice.txt" in llm("-c", "And which rock is light?")
    assert "Basalt" in json.loads(llm("-m", "preflight", "--schema", json.dumps(SCHEMA), QUESTION))["answer"]
