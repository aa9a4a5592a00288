"""The graph in a running LangGraph server, through its own client."""

import contextlib
import json
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
from preflight_rag.graph.offered import Offered
from preflight_rag.graph.studio import StudioContext, resolve
from preflight_rag.library import Library
from preflight_rag.models.chat.measured_speed import FILE
from preflight_rag.state.calls import CHOICES
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

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
    second = f"stones={folder.parent / 'second'}"
    environment = os.environ | {
        "PREFLIGHT_LIBRARY": str(folder),
        "PREFLIGHT_MODEL": "offline",
        "PREFLIGHT_LIBRARIES": second,
        "PREFLIGHT_MODELS": "openai:small",
    }
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
def second(folder, embedder):
    """Another library that the operator offers, as `stones`, and one beside it that is not offered."""
    (folder.parent / "basalt.md").write_text("# Basalt\n\nBasalt is a hard, dark stone.", encoding="utf-8")
    for name in ("second", "secret"):
        with Library.open(folder.parent / name, embedder=embedder, create=True) as library:
            library.ingest([folder.parent / "basalt.md"])
    return folder.parent / "second"


@pytest.fixture(scope="module")
def log(folder):
    return folder.parent / "server.log"


@pytest.fixture(scope="module")
def url(folder, second, log):
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
    assert len(state["passage_refs"]) == 8
    assert all(ref["title"] and ref["preview"] for ref in state["passage_refs"])
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
    assert list(fields)[: len(studio.FIRST_FIELDS)] == list(studio.FIRST_FIELDS)
    writing = ["converse", "answer_plain", "reduce_context", "answer_group"]
    assert fields["instructions"]["langgraph_nodes"] == writing
    assert fields["route"]["enum"] == ["auto", "plain", "map-reduce", "corg"]
    assert (fields["k"]["minimum"], fields["k"]["maximum"], fields["k"]["default"]) == (1, 200, 16)
    assert fields["clarify"]["type"] == "boolean"
    assert fields["budget_tokens"]["type"] == "integer"
    assert (fields["library"]["enum"], fields["library"]["default"]) == (["library", "stones"], "library")
    assert (fields["model"]["enum"], fields["model"]["default"]) == (["offline", "openai:small"], "offline")
    assert fields["reranker"]["enum"] == ["features", "reader", "none"]
    own = {name for name, field in fields.items() if field.get("readOnly")}
    assert own == set(studio.OPERATORS)
    assert all(f"PREFLIGHT_{name.upper()}" in fields[name]["description"] for name in own)
    assert not any("default" in fields[name] for name in own)
    assert all(field["description"] for field in fields.values())
    assert all(field["langgraph_nodes"] for name, field in fields.items() if name not in own)


def test_every_setting_is_shown_at_stages_that_there_are():
    shown = studio.STAGES.keys()
    assert shown == {*CHOICES, *studio.NUMBERS, "library", "model"}
    assert {*shown, *studio.OPERATORS} == Settings.model_fields.keys() | {"library", "model"}
    assert {"mesh", "extractive_reader"} <= set(studio.OPERATORS)
    assert {node for nodes in studio.STAGES.values() for node in nodes} <= build_graph().nodes.keys()


def test_an_assistants_configuration_is_used(client, thread):
    own = client.assistants.create("preflight", context={"route": "plain", "k": 3}, name="short")
    state = client.runs.wait(thread, own["assistant_id"], input=QUESTION)
    assert len(state["passage_refs"]) == 3
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
    assert first["passage_refs"] == again["passage_refs"]
    assert again["extracts"]
    assert len(client.threads.get_state(thread)["values"]["messages"]) == 2


def test_a_state_can_be_edited_and_gone_on_from(client, assistant, thread):
    client.runs.wait(thread, assistant, input=QUESTION, context={"route": "plain"})
    before = step_before(client, thread, "answer_plain")
    passages = before["values"]["passage_refs"][:2]
    forked = client.threads.update_state(
        thread,
        {"passage_refs": passages, "decision": before["values"]["decision"] | {"reason": "edited"}},
        as_node="preflight",
        checkpoint_id=before["checkpoint"]["checkpoint_id"],
    )
    checkpoint = forked["checkpoint"]["checkpoint_id"]
    state = client.runs.wait(thread, assistant, input=None, checkpoint_id=checkpoint)
    assert state["passage_refs"] == passages
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
        (" ", {}, "the question is empty"),
        (
            "How hot is Venus?",
            {"library": "nowhere"},
            "the library 'nowhere' is not offered here. Choose one of",
        ),
        ("How hot is Venus?", {"library": "SECRET"}, "is not offered here"),
        ("How hot is Venus?", {"library": "../secret"}, "'../secret' is not offered here"),
        ("How hot is Venus?", {"model": "nobody:x"}, "the model 'nobody:x' is not offered here"),
        ("How hot is Venus?", {"model": "openai:large"}, "PREFLIGHT_MODELS offers others, where the server is started"),
        ("How hot is Venus?", {"mesh": "/etc/passwd"}, "the setting 'mesh' is set where the server is started"),
        ("How hot is Venus?", {"extractive_reader": "evil/model"}, "'extractive_reader' is set where"),
        ("How hot is Venus?", {"reranker": "evil/model"}, "reranker='evil/model' is not offered"),
        ("How hot is Venus?", {"max_question_chars": 10**9}, "'max_question_chars' is set where"),
        ("How hot is Venus?", {"max_concurrency": 256}, "'max_concurrency' is set where"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_the_thread_goes_on(client, assistant, thread, question, context, line):
    parts = list(client.runs.stream(thread, assistant, input=asked(question), context=context))
    (error,) = [part.data for part in parts if part.event == "error"]
    assert line in error["message"]
    assert "\n" not in error["message"]
    assert client.runs.wait(thread, assistant, input=QUESTION)["answer"]


@pytest.mark.parametrize("way", ["context", "configurable", "assistant"])
def test_a_caller_chooses_among_the_libraries_that_are_offered_and_opens_no_other(
    client, assistant, thread, folder, way
):
    """By a run's context, its config, or an assistant of the caller's own."""

    def run(library):
        given = {"library": library}
        used = assistant
        if way == "assistant":
            used, given = client.assistants.create("preflight", context=given)["assistant_id"], {}
        if way == "configurable":
            return client.runs.stream(thread, used, input=asked("What is basalt?"), config={"configurable": given})
        return client.runs.stream(thread, used, input=asked("What is basalt?"), context=given)

    answers = [part.data["answer"] for part in run("stones") if part.event == "values" and part.data.get("answer")]
    assert "hard, dark stone" in answers[-1]
    secret = str((folder.parent / "secret").resolve())
    (error,) = [part.data for part in run(secret) if part.event == "error"]
    assert "is not offered here" in error["message"]
    assert not (folder.parent / "secret" / "threads.db").exists()


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


@pytest.fixture
def offers(monkeypatch):
    """Lets the operator's environment be another one than that in which the tests began."""

    def offers(**environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(studio, "OFFERED", Offered.read())

    return offers


def test_an_assistants_fields_become_a_context(own_folder, offers):
    offers(PREFLIGHT_LIBRARY=str(own_folder))
    context = resolve({"library": own_folder.name, "model": "offline", "k": 4})
    assert (context.settings.k, context.reader.name) == (4, "preflight reader")
    assert resolve(StudioContext(model="offline")).library is context.library


@pytest.fixture
def with_server(own_folder, offers, monkeypatch, tmp_path):
    """Offers the model of a scripted server, of which nothing is known."""

    def with_server(server):
        monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
        offers(
            PREFLIGHT_LIBRARY=str(own_folder),
            PREFLIGHT_MODEL="openai:m",
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="k",
        )
        return {"library": own_folder.name, "route": "plain"}

    return with_server


def test_a_run_of_a_model_that_is_known_to_be_slow_reads_less(with_server, tmp_path):
    with ScriptedServer(default="464 °C [1].") as server:
        fields = with_server(server)
        entry = {f"openai:m {server.url}": {"reads": 20, "writes": 10}}
        (tmp_path / FILE).write_text(json.dumps(entry), encoding="utf-8")
        context = resolve({**fields, "k": 9})
    assert (context.settings.k, context.asked_k, context.is_planned()) == (1, 9, True)


async def test_a_first_run_whose_model_reads_too_slowly_gives_it_less(with_server, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_ANSWER_SECONDS", "20")
    slow = ScriptedServer([('<passage n="2"', Reply("too late", delay=100))], default="464 °C [1].")
    with slow as server:
        made = await studio.graph.ainvoke(QUESTION, context={**with_server(server), "rewrite": "rules"})
    assert made["answer"].startswith("464 °C [1]")
    assert [gap["error"] for gap in made["gaps"] if "reads slowly here: it read the first 1 of" in gap["error"]]


@pytest.mark.parametrize(
    ("route", "fails"),
    [
        ("plain", "is silent"),
        ("map-reduce", "refuses the key"),
        ("corg", "is not there"),
        ("plain", "cannot be opened"),
    ],
)
async def test_a_run_whose_model_fails_ends_with_what_the_documents_say(with_server, offers, monkeypatch, route, fails):
    monkeypatch.setenv("PREFLIGHT_ANSWER_SECONDS", "6")
    monkeypatch.setenv("PREFLIGHT_ROUTE", route)
    with ScriptedServer(default=Reply(status=401) if "key" in fails else Reply("late", delay=100)) as server:
        fields = {**with_server(server), "rewrite": "rules", "route": route}
        if "there" in fails:
            monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        if "opened" in fails:
            offers(PREFLIGHT_MODEL="gguf:nowhere/openai:m.gguf")
        run = {"metadata": {"run_id": f"{route} {fails}"}}  # as the server names it
        made = await studio.graph.ainvoke(QUESTION, run, context=fields)
    assert "Venus is the hottest planet of the solar system" in made["answer"]
    assert made["citations"][0]["verified"]
    (line,) = [gap["error"] for gap in made["gaps"] if "Until then" in gap["error"]]
    assert "openai:m" in line
    assert "\n" not in line
    assert ".." not in line


def test_what_is_not_given_is_as_the_environment_says(offers):
    offers(PREFLIGHT_LIBRARY="elsewhere", PREFLIGHT_K="5", PREFLIGHT_WHERE="year>=2020", PREFLIGHT_MESH="mesh.xml")
    offers(PREFLIGHT_RERANKER="medcpt")
    assert (StudioContext().k, StudioContext(k=7).k, StudioContext(mesh="").mesh) == (5, 7, "mesh.xml")
    assert StudioContext(mesh="mesh.xml", reranker="medcpt").reranker == "medcpt"
    assert StudioContext(where=["title ~ heart"]).where == ("year>=2020", "title ~ heart")
    assert StudioContext(temperature=0.5, deadline=9).temperature == 0.5
    assert StudioContext().library == "elsewhere"
    assert StudioContext.model_json_schema()["properties"]["k"]["default"] == 5


def test_the_operator_names_libraries_and_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environ = {"PREFLIGHT_LIBRARIES": "papers; b=/data/papers;", "PREFLIGHT_MODELS": "openai:m;offline"}
    offered = Offered.read(environ)
    assert offered.libraries == {"papers": Path("papers"), "b": Path("/data/papers")}
    assert offered.models == ("", "offline", "openai:m")
    own = Offered.read({**environ, "PREFLIGHT_LIBRARY": "/data/papers", "PREFLIGHT_MODEL": "openai:m"})
    assert list(own.libraries) == ["b", "papers"]
    assert own.models == ("openai:m", "offline")
    assert list(Offered.read({}).libraries) == ["demo-library"]
    with pytest.raises(UsageError, match="two libraries named 'papers'"):
        Offered.read({"PREFLIGHT_LIBRARIES": "a/papers;b/papers"})


@pytest.mark.parametrize("wrong", [{"colour": "red"}, {"k": 0}, {"route": "fast"}, {"library": 3}])
def test_a_wrong_field_is_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        resolve(wrong)


def test_a_library_in_a_database_is_offered_by_name_and_its_password_nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path))
    url = "postgresql://anna:geheim@db.example.org/papers"
    offered = Offered.read({"PREFLIGHT_LIBRARY": url, "PREFLIGHT_LIBRARIES": f"mine={url}?options=-csearch_path%3Dx;b"})
    own, *others = offered.libraries
    assert own.startswith("papers-")
    assert others == ["mine", "b"]
    assert offered.library(own).url == url
    assert "geheim" not in repr(offered)
