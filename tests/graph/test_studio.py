"""The graph in a running LangGraph server, through its own client."""

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_sync_client
from plain_turn import STAGES

from preflight_rag.graph import studio
from preflight_rag.graph.build import build_graph
from preflight_rag.graph.studio import StudioContext, resolve
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError

ROOT = Path(__file__).parents[2]
SPRINGFIELD = "What is the population of Springfield?"


def asked(text):
    return {"messages": [{"role": "user", "content": text}]}


QUESTION = asked("How hot is the planet Venus?")


@contextlib.contextmanager
def dev(folder, log):
    """The address of a `langgraph dev` of its own; it refuses blocking calls, as it does by default."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PREFLIGHT_LIBRARY": str(folder), "PREFLIGHT_MODEL": "offline"}
    command = [Path(sys.executable).parent / "langgraph", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            wait_for(f"http://127.0.0.1:{port}/ok", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(url, process, log):
    with httpx.Client(timeout=2) as client:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            with contextlib.suppress(httpx.TransportError):
                if client.get(url).status_code == 200:
                    return
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def folder(demo_folder, tmp_path_factory):
    return Path(shutil.copytree(demo_folder, tmp_path_factory.mktemp("studio") / "library"))


@pytest.fixture(scope="module")
def log(folder):
    return folder.parent / "server.log"


@pytest.fixture(scope="module")
def url(folder, log):
    with dev(folder, log) as found:
        yield found


@pytest.fixture
def client(url):
    with get_sync_client(url=url) as found:
        yield found


@pytest.fixture
def assistant(client):
    return client.assistants.search(graph_id="preflight")[0]["assistant_id"]


@pytest.fixture
def thread(client):
    return client.threads.create()["thread_id"]


def step_before(client, thread, node):
    """The newest state of a thread that is about to run a node."""
    return next(state for state in client.threads.get_history(thread, limit=50) if state["next"] == [node])


def test_a_conversation_in_the_server_is_kept_in_sqlite(client, assistant, thread, folder, log):
    context = {"route": "map-reduce", "k": 8}
    state = client.runs.wait(thread, assistant, input=QUESTION, context=context)
    assert state["decision"]["name"] == "map_reduce"
    assert len(state["passages"]) == 8
    assert all(ref["title"] and ref["preview"] for ref in state["passages"])
    state = client.runs.wait(thread, assistant, input=asked("And Mercury?"))
    assert len(state["messages"]) == 4
    assert "Mercury" in state["standalone_question"]
    with sqlite3.connect(folder / "threads.db") as connection:
        count = "select count(*) from checkpoints where thread_id = ?"
        assert connection.execute(count, [thread]).fetchone()[0] > 5
    text = log.read_text(encoding="utf-8")
    assert "BlockingError" not in text
    assert "lacks" not in text
    assert "Failed to get" not in text


def test_the_graph_has_named_branches(client, assistant):
    drawn = client.assistants.get_graph(assistant)
    labels = {(edge["source"], edge["target"]): edge.get("data") for edge in drawn["edges"] if edge.get("conditional")}
    assert labels["preflight", "map_context"] == "map/reduce"
    assert labels["preflight", "relate_contexts"] == "COrg"
    assert labels["preflight", "abstain"] == "nothing found"
    assert labels["rewrite", "converse"] == "conversation"
    assert labels["organize_contexts", "clarify"] == "ask first"
    assert "plain" in labels["preflight", "answer_plain"]


def test_chat_mode_has_what_it_needs(client, assistant):
    schemas = client.assistants.get_schemas(assistant)
    assert "messages" in schemas["input_schema"]["properties"]
    assert "messages" in schemas["state_schema"]["properties"]


def test_settings_have_controls(client, assistant):
    fields = client.assistants.get_schemas(assistant)["context_schema"]["properties"]
    assert list(fields)[: len(studio.FIRST)] == list(studio.FIRST)
    assert fields["instructions"]["langgraph_nodes"] == list(studio.WRITING)
    assert fields["route"]["enum"] == ["auto", "plain", "map-reduce", "corg"]
    assert (fields["k"]["minimum"], fields["k"]["maximum"], fields["k"]["default"]) == (1, 200, 16)
    assert fields["clarify"]["type"] == "boolean"
    assert fields["budget_tokens"]["type"] == "integer"
    assert fields["model"]["default"] == "offline"
    assert all(field["description"] and field["langgraph_nodes"] for field in fields.values())


def test_every_setting_is_shown_at_stages_that_there_are():
    shown = {name for names in studio.STAGES.values() for name in names}
    assert shown | set(studio.HIDDEN) == Settings.model_fields.keys() | {"library", "model"}
    assert {node for nodes in studio.STAGES for node in nodes} <= build_graph().nodes.keys()
    assert sum(len(names) for names in studio.STAGES.values()) == len(shown)


def test_an_assistants_configuration_is_used(client, thread):
    own = client.assistants.create("preflight", context={"route": "plain", "k": 3}, name="short")
    state = client.runs.wait(thread, own["assistant_id"], input=QUESTION)
    assert len(state["passages"]) == 3
    assert state["decision"]["forced"]


def test_stages_and_progress_are_streamed(client, assistant, thread):
    parts = list(client.runs.stream(thread, assistant, input=QUESTION, stream_mode=["updates", "custom"]))
    stages = [name for part in parts if part.event == "updates" for name in part.data]
    notes = [part.data["note"] for part in parts if part.event == "custom"]
    assert stages == STAGES
    assert notes[:2] == ["understanding the question", "searching"]


def test_a_step_can_be_run_again(client, assistant, thread):
    first = client.runs.wait(thread, assistant, input=QUESTION)
    before = step_before(client, thread, "preflight")
    assert not before["values"]["draft"]["text"]
    again = client.runs.wait(
        thread,
        assistant,
        input=None,
        checkpoint_id=before["checkpoint"]["checkpoint_id"],
        context={"route": "map-reduce"},
    )
    assert (first["decision"]["name"], again["decision"]["name"]) == ("plain", "map_reduce")
    assert first["passages"] == again["passages"]
    assert again["extracts"]
    assert len(client.threads.get_state(thread)["values"]["messages"]) == 2


def test_a_state_can_be_edited_and_gone_on_from(client, assistant, thread):
    client.runs.wait(thread, assistant, input=QUESTION, context={"route": "plain"})
    before = step_before(client, thread, "answer_plain")
    passages = before["values"]["passages"][:2]
    forked = client.threads.update_state(
        thread,
        {"passages": passages, "decision": before["values"]["decision"] | {"reason": "edited"}},
        as_node="preflight",
        checkpoint_id=before["checkpoint"]["checkpoint_id"],
    )
    checkpoint = forked["checkpoint"]["checkpoint_id"]
    state = client.runs.wait(thread, assistant, input=None, checkpoint_id=checkpoint)
    assert state["passages"] == passages
    assert state["decision"]["reason"] == "edited"
    assert state["answer"]


def test_a_question_back_is_an_interrupt_that_a_reply_resumes(client, assistant, thread):
    context = {"route": "corg", "clarify": True, "clarify_above": 2}
    client.runs.wait(thread, assistant, input=asked(SPRINGFIELD), context=context)
    waiting = client.threads.get_state(thread)
    (interrupt,) = waiting["tasks"][0]["interrupts"]
    labels = [choice["label"] for choice in interrupt["value"]["choices"]]
    assert waiting["next"] == ["clarify"]
    assert len(labels) == 3
    client.runs.wait(thread, assistant, command={"resume": "Atlantis"}, context=context)
    (again,) = client.threads.get_state(thread)["tasks"][0]["interrupts"]
    assert "problem" in again["value"]
    state = client.runs.wait(thread, assistant, command={"resume": labels[0]}, context=context)
    assert client.threads.get_state(thread)["next"] == []
    assert state["left_out"] == labels[1:]
    assert state["answer"]


@pytest.mark.parametrize(
    ("question", "context", "line"),
    [
        ("How hot is Venus?", {"k": 0}, "setting k = 0 is not valid: input should be greater than or equal to 1"),
        ("How hot is Venus?", {"library": "nowhere"}, "nowhere"),
        ("How hot is Venus?", {"model": "nobody:x"}, "nobody"),
        (" ", {}, "the question is empty"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_the_thread_goes_on(client, assistant, thread, question, context, line):
    parts = list(client.runs.stream(thread, assistant, input=asked(question), context=context))
    (error,) = [part.data for part in parts if part.event == "error"]
    assert line in error["message"]
    assert "\n" not in error["message"]
    assert client.runs.wait(thread, assistant, input=QUESTION)["answer"]


def test_a_conversation_outlives_the_server(own_folder, tmp_path):
    log = tmp_path / "log"
    with dev(own_folder, log) as url, get_sync_client(url=url) as client:
        assistant = client.assistants.search(graph_id="preflight")[0]["assistant_id"]
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, assistant, input=QUESTION)
    with dev(own_folder, log) as url, get_sync_client(url=url) as client:
        client.threads.create(thread_id=thread, if_exists="do_nothing")
        client.threads.update(thread, metadata={"graph_id": "preflight"})
        assistant = client.assistants.search(graph_id="preflight")[0]["assistant_id"]
        state = client.runs.wait(thread, assistant, input=asked("And Mercury?"))
    assert len(state["messages"]) == 4
    assert "Mercury" in state["standalone_question"]


def test_an_assistants_fields_become_a_context(own_folder):
    context = resolve({"library": str(own_folder), "model": "offline", "k": 4})
    assert (context.settings.k, context.reader.name) == (4, "preflight reader")
    assert resolve(StudioContext(library=str(own_folder), model="offline")).library is context.library


def test_what_is_not_given_is_as_the_environment_says(monkeypatch):
    monkeypatch.setenv("PREFLIGHT_K", "5")
    monkeypatch.setenv("PREFLIGHT_LIBRARY", "elsewhere")
    assert (StudioContext().k, StudioContext(k=7).k, StudioContext(mesh="").mesh) == (5, 7, None)
    assert StudioContext().library == "elsewhere"
    assert StudioContext.model_json_schema()["properties"]["k"]["default"] == 5


@pytest.mark.parametrize("wrong", [{"colour": "red"}, {"k": 0}, {"route": "fast"}, {"library": 3}])
def test_a_wrong_field_is_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        resolve(wrong)
