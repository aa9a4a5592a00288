"""`QueryRewriter`, alone and in a LangChain chain."""

from types import SimpleNamespace

import pytest
from langchain_core.runnables import RunnableLambda
from scripted_server import ScriptedServer

from preflight_rag.conversation.rewriter import UNREADABLE, QueryRewriter
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Message

HISTORY = [Message("user", "What is the dose of aspirin?"), Message("assistant", "300 mg.")]


def test_it_is_a_runnable(library):
    chain = QueryRewriter(library) | RunnableLambda(lambda made: made.expressions[0])
    assert chain.invoke("Does aspirin reduce fever?") == "aspirin AND fever"


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


def test_an_unknown_mode_and_a_missing_mesh_file_are_named():
    with pytest.raises(UsageError, match="'sometimes'"):
        QueryRewriter(mode="sometimes")
    with pytest.raises(UsageError, match=r"no MeSH file 'none\.xml'"):
        QueryRewriter(mesh="none.xml").invoke("What lowers fever?")


def test_other_languages_are_not_spelled_as_english(library):
    made = QueryRewriter(library).invoke("Wie heis ist der Planet Venus und seine Wolken?")
    assert made.corrections == ()
