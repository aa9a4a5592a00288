"""`QueryRewriter`, alone and in a LangChain chain."""

from types import SimpleNamespace

import mesh_sample
import pytest
from langchain_core.runnables import RunnableLambda

from preflight_rag.conversation.rewriter import UNREADABLE, QueryRewriter
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.pubmed.mesh import Mesh
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Message
from preflight_rag.testing.scripted_server import ScriptedServer

HISTORY = [Message("user", "What is the dose of aspirin?"), Message("assistant", "300 mg.")]


def test_it_is_a_runnable(library):
    """A concept that no passage holds, here by counting them, comes after one that some hold."""
    texts = [passage.text.lower() for passage in library.passages(library.all_passage_ids())]
    held = {word: sum(word in text for text in texts) for word in ("aspirin", "fever")}
    assert held["fever"] > held["aspirin"] == 0
    chain = QueryRewriter(library) | RunnableLambda(lambda made: made.expressions[0])
    assert chain.invoke("Does aspirin reduce fever?") == "fever AND aspirin"


async def test_it_runs_inside_an_event_loop(library):
    rewriter = QueryRewriter(library)
    assert rewriter.invoke("fevre?") == await rewriter.ainvoke("fevre?")


def test_without_a_library_nothing_is_corrected():
    for library in (None, SimpleNamespace(vocabulary=None)):
        made = QueryRewriter(library).invoke("diabtes?")
        assert (made.question, made.by, made.corrections) == ("diabtes?", "rules", ())


async def test_rules_follow_the_conversation_and_correct(library, embedder):
    for reader in (None, OfflineReader(embedder)):
        reply = await QueryRewriter(library, reader=reader).rewritten("And in chidlren?", HISTORY)
        assert reply.value.question == "What is the dose of aspirin in children?"
        assert (reply.value.corrections, reply.usage.calls) == ((("chidlren", "children"),), 0)


@pytest.mark.parametrize(
    ("message", "options", "calls"),
    [
        ("What lowers fever?", {}, 0),
        ("What lowers fevre?", {}, 1),
        ("What is aspirin and how does it work?", {}, 1),
        ("What lowers fever?", {"pubmed": True}, 1),
        ("What lowers fever?", {"mode": "model"}, 1),
        ("What lowers fevre?", {"mode": "rules"}, 0),
        ("What lowers fevre?", {"mode": "off"}, 0),
    ],
)
async def test_when_the_model_is_asked(library, chat_reader, message, options, calls):
    with ScriptedServer(default=message) as server:
        reply = await QueryRewriter(library, reader=chat_reader(server), **options).rewritten(message)
    assert (server.count(), reply.usage.calls) == (calls, calls)
    assert reply.value.by == ("" if options.get("mode") == "off" else "model" if calls else "rules")


async def test_an_unreadable_reply_leaves_spelling_to_the_rules(library, chat_reader):
    with ScriptedServer(default="a\nb") as server:
        reply = await QueryRewriter(library, reader=chat_reader(server)).rewritten("What lowers fevre?")
    assert (reply.value.question, reply.value.by) == ("What lowers fever?", "rules")
    assert "could not be read" in reply.notes[0]


async def test_expressions_that_cannot_be_read_are_left_out(library, chat_reader):
    said = "QUESTION: What lowers fever?\nSEARCH: (fever AND\nSEARCH: fever OR heat"
    with ScriptedServer(default=said) as server:
        reply = await QueryRewriter(library, reader=chat_reader(server), mode="model").rewritten("What lowers fever?")
    assert (reply.value.expressions, reply.notes) == (("fever OR heat",), (UNREADABLE,))


async def test_a_models_ladder_gets_an_or_and_its_own_terms_stay_quoted(library, chat_reader):
    said = 'QUESTION: Can statins hurt?\nCONCEPTS: statins; "muscle pain"\nSEARCH: statins AND (pain OR ache)'
    with ScriptedServer(default=said) as server:
        reply = await QueryRewriter(library, reader=chat_reader(server), mode="model").rewritten("Can statins hurt?")
    assert reply.value.expressions == ("statins AND (pain OR ache)", 'statins OR "muscle pain"')


async def test_a_model_that_writes_no_expression_says_what_is_one_term(library, chat_reader):
    said = 'QUESTION: Can statins hurt?\nCONCEPTS: "muscle pain"; liver damage'
    with ScriptedServer(default=said) as server:
        reply = await QueryRewriter(library, reader=chat_reader(server), mode="model").rewritten("Can statins hurt?")
    assert reply.value.expressions == ('"muscle pain" AND (liver damage)', '"muscle pain" OR (liver damage)')


def test_mesh_says_what_is_one_term_and_comes_first(tmp_path):
    (tmp_path / "desc.xml").write_text(mesh_sample.xml(), encoding="utf-8")
    mesh = Mesh.open(tmp_path / "desc.xml", cache=tmp_path)
    assert mesh.stretches("Lower back ache or muscle pain under Statins?") == ["muscle pain", "Statins"]
    made = QueryRewriter(mesh=mesh).invoke("Does back ache or muscle pain under statins get better in winter?")
    assert made.concepts == ("muscle pain", "statins", "back ache", "winter")
    first, *_, last = made.expressions
    assert '"muscle pain" OR "Myalgia"' in first
    assert first.endswith("AND (back ache) AND winter")
    assert "winter" not in last


def test_an_unknown_mode_and_a_missing_mesh_file_are_named():
    with pytest.raises(UsageError, match="'sometimes'"):
        QueryRewriter(mode="sometimes")
    with pytest.raises(UsageError, match=r"no MeSH file 'none\.xml'"):
        QueryRewriter(mesh="none.xml").invoke("What lowers fever?")


def test_other_languages_are_not_spelled_as_english(library):
    made = QueryRewriter(library).invoke("Wie heis ist der Planet Venus und seine Wolken?")
    assert made.corrections == ()
