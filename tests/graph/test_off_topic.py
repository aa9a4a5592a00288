"""Questions on which nothing bears, over whole documents: one call at most, and it is said that nothing was found."""

from pathlib import Path

import pytest
from langgraph.runtime import Runtime

import preflight_rag
from preflight_rag import Preflight, TokenEvent
from preflight_rag.library import Library
from preflight_rag.nodes.abstain import abstain
from preflight_rag.state.context import Context
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_server import ScriptedServer
from preflight_rag.text.headers import NOT_IN_DOCUMENTS

DEMO = Path(preflight_rag.__file__).parent / "demo"
OFF_TOPIC = [
    "Which drug treats malaria in children?",
    "Who won the football World Cup in 1998?",
    "How do I renew my passport in Canada?",
    "What was the net revenue of the company in 2023?",
    "Does metformin reduce mortality in heart failure?",
]
ON_TOPIC = "How many moons has Saturn?"
NOTHING = "NOT IN THE PASSAGES"
INVENTED = "Artemisinin, since 1998 [2], as everyone in the company agrees."
EAGER = {"thoroughness": 1, "corg_threshold": 0.0}
"""Settings with which every other question takes a dearer route."""


@pytest.fixture(scope="module")
def books(tmp_path_factory, embedder):
    """A library of five long documents, each of ten of the demo's articles."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(DEMO.glob("*.md"))]
    folder = tmp_path_factory.mktemp("books") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.add(
            Document(id=f"book-{n}", source=f"book-{n}", title=f"Volume {n}", text="\n\n".join(texts[n::5]))
            for n in range(5)
        )
    return folder


@pytest.mark.parametrize("question", OFF_TOPIC)
@pytest.mark.parametrize("reply", [NOTHING, INVENTED])
def test_one_call_at_most_and_nothing_found_whatever_the_model_says(books, chat_reader, question, reply):
    with (
        ScriptedServer([("You answer questions from numbered passages", reply)], default="2 [2].") as server,
        Preflight.open(books, chat_reader(server), **EAGER) as app,
    ):
        events = []
        found = app.ask(question, on_event=events.append)
    assert server.count() <= 1
    assert found.outcome == "not_found"
    assert found.answer == NOT_IN_DOCUMENTS
    assert found.route.name == "plain"
    assert "no passage found is near the question" in found.route.reason
    shown = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert "Artemisinin" not in shown


def test_a_question_that_the_documents_answer_takes_the_dearer_route(books, chat_reader):
    with (
        ScriptedServer(default="NO RELEVANT INFORMATION") as server,
        Preflight.open(books, chat_reader(server), thoroughness=1, corg=False) as app,
    ):
        found = app.ask(ON_TOPIC)
    assert found.route.name == "map_reduce"
    assert server.count() > 1


def test_what_a_passage_supports_is_shown_though_nothing_seems_to_bear(books, chat_reader):
    """The rule only spares calls: an answer with its passage's own words is one."""

    def reply(body):
        passage = body["messages"][-1]["content"].split('<passage n="1"')[1].split(">\n", 1)[1]
        words = " ".join(passage.split("\n</passage>")[0].split()[:12])
        return f'It says so [1].\nQUOTES\n[1] "{words}"'

    with ScriptedServer(reply) as server, Preflight.open(books, chat_reader(server), **EAGER) as app:
        events = []
        found = app.ask(OFF_TOPIC[1], on_event=events.append)
    assert server.count() == 1
    assert (found.outcome, found.citations[0].verified) == ("answered", True)
    assert "".join(event.text for event in events if isinstance(event, TokenEvent)).startswith("It says so")


def test_a_forced_route_is_taken_all_the_same(books, chat_reader):
    with (
        ScriptedServer(default="NO RELEVANT INFORMATION") as server,
        Preflight.open(books, chat_reader(server), route="map-reduce") as app,
    ):
        found = app.ask(OFF_TOPIC[0])
    assert found.route.forced
    assert server.count() == 4


def test_the_papers_rule_knows_of_no_such_case(books, chat_reader):
    with (
        ScriptedServer(default="NO RELEVANT INFORMATION") as server,
        Preflight.open(books, chat_reader(server), preflight="iou", threshold=1.0) as app,
    ):
        found = app.ask(OFF_TOPIC[0])
    assert found.route.name == "map_reduce"
    assert server.count() == 4


@pytest.mark.parametrize("question", OFF_TOPIC)
def test_without_a_model_nothing_is_found_either(books, question):
    with Preflight.open(books, "offline", **EAGER) as app:
        found = app.ask(question)
    assert (found.outcome, found.route.name) == ("not_found", "plain")


async def test_the_stage_says_that_it_is_not_in_the_documents(library, retrieved):
    state = await retrieved("Which drug treats malaria in children?")
    view = state | {"extracts": [], "decision": {"name": "plain", "signals": {"off_topic": 1.0}}}
    update = await abstain(view, Runtime(context=Context(library=library)))
    assert update["answer"] == NOT_IN_DOCUMENTS
