"""A server whose model is away offers the evidence, says so everywhere, and takes the model up again."""

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import openai
import pytest
from langchain_openai import ChatOpenAI
from serving import running

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions
from preflight_rag.testing import ScriptedServer, scripted_server
from preflight_rag.testing.scripted_replies import Reply

pytestmark = pytest.mark.slow

SERVER = Path(scripted_server.__file__)
QUESTION = "Which rock is hard?"


def until(true, seconds=20.0):
    """Whether something becomes true within the seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


@contextmanager
def model_server(script, port=0):
    """A model's server as a process of its own, which ends with all of its connections."""
    command = [sys.executable, str(SERVER), "--port", str(port), "--script", str(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_model_that_goes_away_leaves_the_evidence(small_folder, embedder, client_of, monkeypatch, tmp_path):
    monkeypatch.setattr("preflight_rag.server.model_watch.AGAIN_SECONDS", 0.2)
    script = tmp_path / "script.json"
    script.write_text('{"default": "Basalt is hard [1]."}', encoding="utf-8")
    with ExitStack() as stack:
        with model_server(script) as base:
            chat = ChatOpenAI(base_url=base, api_key="any", model="scripted", max_retries=0, timeout=20)
            app = stack.enter_context(Preflight.open(small_folder, chat, embedder=embedder, route="plain"))
            client = client_of(stack.enter_context(running(app)))
            before = client.get("/health").json()
            with_model = client.ask(QUESTION).json()
        without = client.ask(QUESTION, thread_id="t").json()
        away = client.get("/health").json()
        info = client.get("/api/info").json()
        at_once = client.ask(QUESTION).json()
        turns = client.get("/api/threads/t").json()["turns"]
        with model_server(script, base.split(":")[-1].split("/")[0]):
            back = until(lambda: client.get("/health").json()["status"] == "ok")
            again = client.ask(QUESTION).json()
    assert (before["status"], before["model_problem"]) == ("ok", None)
    assert with_model["receipt"]["model"] == again["receipt"]["model"] == "openai:scripted"
    for answer in (without, at_once):
        assert answer["gaps"][0]["stage"] == "model"
        assert "cannot be reached" in answer["gaps"][0]["error"]
        assert answer["citations"]
    assert len(turns) == 1
    assert (away["status"], away["model"], info["model"]) == ("degraded", "openai:scripted", "openai:scripted")
    assert "cannot be reached" in away["model_problem"]
    assert away["model_problem"] == info["model_problem"]
    assert back


def test_a_server_that_only_lists_its_models_stays_a_problem_until_it_answers(scripted_app, client_of):
    failing = [("hard", Reply("no", status=500), 1), ("hard", "Basalt is hard [1].")]
    with ScriptedServer(failing) as server, running(scripted_app(server)) as url:
        client = client_of(url)
        first = client.ask(QUESTION).json()
        told = client.get("/health").json()["model_problem"]
        answered = until(lambda: client.ask(QUESTION).json()["receipt"]["model"] == "openai:scripted")
        after = client.get("/health").json()["model_problem"]
    assert "HTTP 500" in first["gaps"][0]["error"]
    assert "HTTP 500" in told
    assert answered
    assert after is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_reply_says_that_the_model_is_away(scripted_app, stream):
    dying = Reply("Basalt is a rock that is hard, as everybody knows [1].", drop_after=4)
    with (
        ScriptedServer(default=dying) as server,
        running(scripted_app(server)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=60) as client,
    ):
        asked = {"model": "preflight", "messages": [{"role": "user", "content": QUESTION}], "temperature": 0.5}
        if stream:
            chunks = list(client.chat.completions.create(**asked, stream=True))
            text, extra = "".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks[-1].preflight
        else:
            message = client.chat.completions.create(**asked).choices[0].message
            text, extra = message.content, message.preflight
    assert "> Note: the language model is away, so this shows what the documents say." in text
    assert text.index(extra["answer"]) < text.index("> Note") < text.index("\n\n[1] ")
    assert (extra["gaps"][0]["stage"], extra["ignored"]) == ("model", ["temperature"])


def test_a_model_that_was_away_at_the_start_is_used_when_it_comes(offline_app, client_of, monkeypatch):
    monkeypatch.setattr("preflight_rag.server.model_watch.AGAIN_SECONDS", 0.2)
    with ScriptedServer(default="Basalt is hard [1].") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        options = ServerOptions(wanted="openai:", problem="it cannot be reached.")
        with running(offline_app, options) as url:
            client = client_of(url)
            assert until(lambda: client.get("/health").json()["status"] == "ok")
            answer = client.ask(QUESTION).json()
    assert answer["receipt"]["model"].startswith("openai:")
    assert answer["gaps"] == []


@pytest.mark.parametrize("model", [[], ["--model", "openai:gone"]])
def test_serve_starts_without_its_model_and_says_so(small_folder, client_of, model):
    command = [sys.executable, "-m", "preflight_rag", "serve", "--library", str(small_folder), "--port", "0", *model]
    environ = os.environ | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = re.match(r"http://\S+", process.stdout.readline()).group()
        client = client_of(url)
        assert until(lambda: client.get("/health").json()["status"] == "degraded")
        answer = client.ask(QUESTION).json()
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert "cannot be reached" in str(answer.get("gaps")), (answer, said)
    assert answer["citations"]
    assert "cannot be reached" in said or model
