"""The graph, one test per route, over both savers, and two turns on a thread."""

from contextlib import asynccontextmanager

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from plain_turn import STAGES

from preflight_rag import answer_of, build_graph
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import AllPartitionsFailed, UsageError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer

QUESTION = "How hot is the planet Venus?"
CONFIG = {"configurable": {"thread_id": "t"}}


@asynccontextmanager
async def memory(_folder):
    yield InMemorySaver()


def sqlite(folder):
    return open_checkpointer(folder / "threads.db")


@pytest.fixture(params=[memory, sqlite])
async def graph(request, tmp_path):
    async with request.param(tmp_path) as saver:
        yield build_graph().compile(checkpointer=saver)


def asked(question, options=()):
    return {"messages": [HumanMessage(question)], "options": list(options)}


async def test_plain(graph, library, chat_reader):
    with ScriptedServer(default='About 465 degrees [1].\nQUOTES\n[1] "Venus"') as server:
        context = Context(chat_reader(server), library, Settings(route="plain"))
        state = await graph.ainvoke(asked(QUESTION), CONFIG, context=context)
        answer = answer_of(state, reader=context.reader)
    assert server.count() == 1
    assert (answer.route.name, answer.route.forced, answer.abstained) == ("plain", True, False)
    assert answer.answer == "About 465 degrees [1]."
    assert answer.citations[0].verified
    assert set(answer.receipt.by_stage) == set(STAGES)
    assert answer.receipt.saved.calls == 4


async def test_map_reduce(graph, library, chat_reader):
    script = [("<extracts>", "Very hot [5]."), ('<passage n="5"', "It is hot [5].")]
    with ScriptedServer(script, default="NO RELEVANT INFORMATION", delay=0.5) as server:
        context = Context(chat_reader(server), library, Settings(route="map-reduce"))
        state = await graph.ainvoke(asked(QUESTION), CONFIG, context=context)
        answer = answer_of(state, reader=context.reader)
    assert server.count() == 5
    assert server.peak == 4
    assert answer.receipt.by_stage["map_context"].calls == 4
    assert answer.receipt.model_calls == 5
    assert answer.citations[0].passage_id == state["passage_refs"][4]["id"]
    assert answer.receipt.saved.calls == -4


async def test_a_failed_partition_is_a_gap_and_the_answer_says_so(graph, library, chat_reader):
    script = [("<extracts>", "Very hot [5]."), ('<passage n="1"', Reply("boom", status=500))]
    with ScriptedServer(script, default="It is hot [5].") as server:
        context = Context(chat_reader(server), library, Settings(route="map-reduce"))
        state = await graph.ainvoke(asked(QUESTION), CONFIG, context=context)
    assert "1 of 4 parts" in state["answer"]
    assert [(gap["stage"], gap["item"]) for gap in state["gaps"]] == [("map_context", "1")]


async def test_all_partitions_failed(graph, library, chat_reader):
    with ScriptedServer(default=Reply("boom", status=500)) as server:
        context = Context(chat_reader(server), library, Settings(route="map-reduce"))
        with pytest.raises(AllPartitionsFailed, match="none of the 4"):
            await graph.ainvoke(asked(QUESTION), CONFIG, context=context)


@pytest.mark.parametrize(
    ("route", "reply"), [("plain", "NOT IN THE PASSAGES"), ("map-reduce", "NO RELEVANT INFORMATION")]
)
async def test_abstain(graph, library, chat_reader, route, reply):
    with ScriptedServer(default=reply) as server:
        context = Context(chat_reader(server), library, Settings(route=route))
        state = await graph.ainvoke(asked(QUESTION), CONFIG, context=context)
    assert state["abstained"]
    assert state["citations"] == []


async def test_offline(graph, library, embedder):
    context = Context(OfflineReader(embedder), library)
    state = await graph.ainvoke(asked(QUESTION), CONFIG, context=context)
    answer = answer_of(state, reader=context.reader)
    assert answer.receipt.model_calls == 0
    assert all(citation.verified for citation in answer.citations)


async def test_a_second_turn_knows_the_first_and_keeps_nothing_else_of_it(graph, library, chat_reader):
    script = [("<conversation>", "How hot is Mercury?"), ("<extracts>", "Hot [2].")]
    with ScriptedServer(script, default="It is hot [2].") as server:
        first = Context(chat_reader(server), library, Settings(route="map-reduce"))
        await graph.ainvoke(asked(QUESTION, ["yes", "no"]), CONFIG, context=first)
        second = Context(chat_reader(server), library, Settings(route="plain"))
        state = await graph.ainvoke(asked("And Mercury?"), CONFIG, context=second)
    assert state["standalone_question"] == "How hot is Mercury?"
    assert len(state["messages"]) == 4
    assert state["extracts"] == []
    assert {row["stage"] for row in state["spent"]} == set(STAGES)


async def test_multiple_choice_names_an_option(graph, library, chat_reader):
    with ScriptedServer(default="It is [1].\nCHOICE: B") as server:
        context = Context(chat_reader(server), library, Settings(route="plain"))
        state = await graph.ainvoke(asked(QUESTION, ["cold", "hot"]), CONFIG, context=context)
    assert state["choice"] == "hot"


async def test_a_run_without_context_says_what_to_pass(graph):
    with pytest.raises(UsageError, match="context=Context"):
        await graph.ainvoke(asked(QUESTION), CONFIG)


async def test_checkpoints_hold_references_and_no_document_text(graph, library, embedder):
    await graph.ainvoke(asked(QUESTION), CONFIG, context=Context(OfflineReader(embedder), library))
    state = (await graph.aget_state(CONFIG)).values
    longest = max(library.passages([ref["id"] for ref in state["passage_refs"]]), key=lambda passage: len(passage.text))
    assert longest.text not in str(state["passage_refs"])
    assert not any(key in ref for ref in state["passage_refs"] for key in ("text", "page_content"))


def test_studio_can_read_the_context():
    assert "settings" in build_graph().compile().get_context_jsonschema()["properties"]
