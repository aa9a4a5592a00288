"""What people see of a model that fails: at the command line, on the page's stream, and through OpenAI's API."""

from __future__ import annotations

import json

import pytest
from broken_bow import QUESTION
from serving import Client, running
from typer.testing import CliRunner

from preflight_rag import Preflight
from preflight_rag.cli import app as command_line
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

TEXT = "1,001 people live in Broken Bow [1]."
FAILED = {
    "refusal": (Reply(refusal="I cannot"), "refused to answer", "content_filter"),
    "content_filter": (Reply(TEXT, finish_reason="content_filter"), "its server's content filter", "content_filter"),
}
BEGUN = {
    "length": (Reply(TEXT, finish_reason="length"), "stopped at its limit of tokens"),
    "unfinished": (Reply(TEXT, finish_reason=None), "reply broke off"),
}
AWAY = {
    "429": (Reply("slow", status=429, headers={"Retry-After": "3600"}), "asks to wait 3,600 s"),
    "401": (Reply("key", status=401), "refused the key"),
    "html": (Reply(raw="<html>Sign in</html>"), "not a chat completion"),
}


@pytest.fixture(scope="module")
def shown(broken_bow):
    """The doors of one application, whose model says what a test sets."""
    reply = [Reply()]
    with ScriptedServer(lambda body: reply[0]) as model, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_BASE_URL", model.url)
        environment.setenv("OPENAI_API_KEY", "key")
        environment.setenv("COLUMNS", "200")
        with Preflight.open(broken_bow, "openai:m", rewrite="rules", route="plain") as app, running(app) as url:
            with Client(base_url=url, timeout=60) as client:
                yield reply, broken_bow, client


def cli(folder, *options):
    arguments = ["ask", QUESTION, "--library", str(folder), "--model", "openai:m", "--route", "plain", *options]
    return CliRunner().invoke(command_line, [*arguments, "--rewrite", "rules"])


def chat(client, **body):
    messages = [{"role": "user", "content": QUESTION}]
    return client.post("/v1/chat/completions", json={"model": "preflight", "messages": messages, **body})


@pytest.mark.parametrize("reason", FAILED)
def test_a_reply_that_cannot_be_used_is_one_line_everywhere(shown, reason):
    set_reply, folder, client = shown
    set_reply[0], says, finish = FAILED[reason]
    ended = cli(folder)
    assert (ended.exit_code, says in ended.stderr) == (1, True)
    assert len(ended.stderr.strip().splitlines()) == 2  # the model's name, and the error
    name, data = client.events("/api/ask", question=QUESTION)[-1]
    assert (name, data["code"], data["reason"]) == ("error", "bad_reply", reason)
    assert says in data["message"]
    reply = chat(client)
    assert reply.json()["choices"][0]["finish_reason"] == finish
    assert says in reply.json()["choices"][0]["message"]["refusal"]


def test_an_empty_reply_gives_way_to_the_evidence_everywhere(shown):
    set_reply, folder, client = shown
    set_reply[0] = Reply(content_null=True)
    answer = json.loads(cli(folder, "--json").stdout)
    assert answer["outcome"] == "evidence"
    assert answer["citations"]
    assert any("sent an empty reply" in gap["error"] for gap in answer["gaps"])
    assert client.events("/api/ask", question=QUESTION)[-1][1]["answer"]["citations"]
    assert chat(client).status_code == 200


@pytest.mark.parametrize("reason", BEGUN)
def test_the_beginning_of_an_answer_is_marked_everywhere(shown, reason):
    set_reply, folder, client = shown
    set_reply[0], says = BEGUN[reason]
    ended = cli(folder)
    assert ended.exit_code == 0
    assert says in " ".join(ended.stdout.split())
    assert json.loads(cli(folder, "--json").stdout)["incomplete"] == reason
    events = client.events("/api/ask", question=QUESTION, html=True)
    answer, text = events[-1][1], "".join(data["text"] for name, data in events if name == "token")
    assert answer["answer"]["incomplete"] == reason
    assert says in answer["html"]
    assert text == answer["answer"]["answer"]
    (choice,) = chat(client).json()["choices"]
    assert choice["finish_reason"] == "length"
    assert says in choice["message"]["content"]
    streamed = chat(client, stream=True).text
    assert '"finish_reason":"length"' in streamed.replace('": "', '":"')


@pytest.mark.parametrize("state", AWAY)
def test_a_server_shows_the_evidence_where_its_model_cannot_be_had(shown, state):
    set_reply, folder, client = shown
    set_reply[0], says = AWAY[state]
    ended = cli(folder)
    assert ended.exit_code == 1
    assert "--model offline" in ended.stderr
    answer = client.events("/api/ask", question=QUESTION)[-1][1]["answer"]
    assert answer["gaps"][0]["stage"] == "model"
    assert says in answer["gaps"][0]["error"]
    assert answer["citations"]
    set_reply[0] = Reply(TEXT)
