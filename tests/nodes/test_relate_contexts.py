"""The node `relate_contexts`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.relate_contexts import relate_contexts
from preflight_rag.state.context import Context, Settings
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How many people live in Broken Bow?"


@pytest.fixture
def related(library, chat_reader, retrieved):
    async def make(server, ranks=(1, 2, 3), **settings):
        state = await retrieved(QUESTION, k=8)
        state["passage_refs"] = [ref for ref in state["passage_refs"] if ref["rank"] in ranks]
        context = Context(chat_reader(server), library, Settings(**settings))
        return await relate_contexts(state, Runtime(context=context))

    return make


async def test_relations_and_notes_become_plain_values(related):
    reply = "Context2 - Distracting\nContext3 - Irrelevant\nContext1: Broken Bow | Nebraska | 3,559"
    with ScriptedServer(default=reply) as server:
        update = await related(server)
    assert update["relations"] == [{"a": 1, "b": 2, "kind": "distracting", "inferred": False}]
    assert [context["relevant"] for context in update["contexts"]] == [True, True, False]
    assert update["contexts"][0] == {
        "rank": 1, "entity": "Broken Bow", "descriptor": "Nebraska", "answer": "3,559", "told": True, "relevant": True,
        "ranks": [1], "sentence": "", "confidence": None,
    }  # fmt: skip
    assert update["contexts"][1]["told"] is False
    assert server.requests[0].prompt.count("Title: ") == 3


async def test_missing_lines_are_repaired_once_and_then_are_gaps(related):
    with ScriptedServer(default="Context2 - Duplicated") as server:
        update = await related(server)
    assert "each of Context3" in server.requests[1].prompt
    assert next(gap["item"] for gap in update["gaps"] if "none" in gap["error"]) == "3"
    assert {(r["a"], r["b"]): r["kind"] for r in update["relations"]}[1, 3] == "none"


async def test_a_failed_call_is_a_gap_with_its_cost_and_ends_the_asking(related):
    with ScriptedServer(default=Reply("boom", status=500)) as server:
        update = await related(server)
    assert server.count() == 1
    assert "HTTP 500" in update["gaps"][0]["error"]
    assert sum(row["calls"] for row in update["spent"]) == 1


async def test_a_list_that_does_not_fit_one_prompt_is_cut_and_asked_at_once(related):
    reply = "Context2 - Duplicated\nContext3 - Duplicated\nContext4 - Duplicated"
    with ScriptedServer(default=reply, delay=0.5) as server:
        update = await related(server, range(1, 9), relation_prompt_tokens=512)
    assert server.count() == server.peak > 1
    assert sum(prompt.prompt.count("Title: ") - 1 for prompt in server.requests) == 7
    assert {r["kind"] for r in update["relations"]} == {"duplicated"}


@pytest.mark.parametrize("ranks", [(1,), ()])
async def test_one_context_needs_no_call(related, ranks):
    with ScriptedServer(default="Context2 - Duplicated") as server:
        update = await related(server, ranks or (2,))
    assert (server.count(), update["relations"], len(update["contexts"])) == (0, [], 1)


@pytest.mark.parametrize(("mode", "calls"), [("notes", 1), ("careful", 2), ("faithful", 2)])
async def test_notes_of_one_call_do_where_algorithm_1_asks_again(related, mode, calls):
    towns = [("Nebraska", "3,559"), ("Oklahoma", "4,120"), ("Oklahoma", "4,228")]
    notes = "\n".join(f"Context{n}: Broken Bow | {place} | {count}" for n, (place, count) in enumerate(towns, 1))
    first = f"{notes}\nContext2 - Distracting\nContext3 - Distracting"
    with ScriptedServer([("Context3\n", first)], default="Context2 - Counterfactual") as server:
        update = await related(server, corg_mode=mode)
    assert server.count() == calls
    assert {(r["a"], r["b"]): r["kind"] for r in update["relations"]} == {
        (1, 2): "distracting", (1, 3): "distracting", (2, 3): "counterfactual"
    }  # fmt: skip
