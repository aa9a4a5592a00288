"""The node `cite`."""

from types import SimpleNamespace

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.cite import cite
from preflight_rag.state.context import Context

MODEL = SimpleNamespace(by_rule=False)
"""Whose draft it is; the node asks no reader for anything."""


def draft(text, *quotes):
    return {"text": text, "quotes": list(quotes), "found": True, "choice": None}


async def test_numbers_count_in_order_of_first_use(library, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=8)
    state |= {"draft": draft("One thing [7]. Another [2][7]. A third [99]."), "extracts": []}
    update = await cite(state, Runtime(context=Context(library=library)))
    assert update["answer"] == "One thing [1]. Another [2][1]. A third [3]."
    assert [c["n"] for c in update["citations"]] == [1, 2, 3]
    assert [c["passage_id"] for c in update["citations"][:2]] == [
        state["passage_refs"][6]["id"],
        state["passage_refs"][1]["id"],
    ]
    assert update["citations"][2] == update["citations"][2] | {"passage_id": "", "verified": False}
    assert any("[99]" in gap["error"] for gap in update["gaps"])
    assert update["messages"][0].content == update["answer"]


async def test_a_groups_citations_are_numbered_as_the_answers_are(library, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=8)
    entry = {"entity": "E", "descriptor": None, "answer": "a", "ranks": [7, 3, 9]}
    state |= {"draft": draft("One [3]. Two [7]."), "extracts": [], "entries": [entry]}
    update = await cite(state, Runtime(context=Context(library=library)))
    assert update["groups"][0]["citations"] == (2, 1)


def cited_by(text, *quotes):
    return {"draft": draft(text, *quotes), "extracts": []}


@pytest.mark.parametrize("text", ["83", "About 1,482 °C.", "Yes.", "Zeppelins exploded. Balloons burst."])
async def test_an_answer_that_cites_nothing_and_stands_in_no_passage_is_marked_and_no_claim(library, retrieved, text):
    state = await retrieved("How hot is the planet Venus?", k=8) | cited_by(text)
    update = await cite(state, Runtime(context=Context(MODEL, library)))
    assert update["citations"] == []
    assert (update["draft"]["claims"], update["abstained"]) == (False, False)
    assert "cites nothing" in update["draft"]["unclaimed"]
    assert [statement["text"] for statement in update["statements"]] == text.replace(". B", ".|B").split("|")
    assert {(statement["supported"], statement["citations"]) for statement in update["statements"]} == {(False, ())}
    assert update["answer"].startswith(text)
    assert "no passage that it read says it" in update["answer"]


async def test_a_bare_value_that_stands_in_a_passage_is_cited_by_its_words_and_is_a_claim(library, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=8)
    context = Context(MODEL, library)
    (holding,) = [ref for ref in state["passage_refs"] if "465" in (await context.passages([ref]))[0].text]
    update = await cite(state | cited_by("465"), Runtime(context=context))
    assert update["answer"] == "465 [1]"
    assert [(found["passage_id"], found["verified"]) for found in update["citations"]] == [(holding["id"], True)]
    assert update["draft"]["claims"]


async def test_a_choice_among_options_needs_no_citation(library, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=8)
    state |= {"draft": draft("B") | {"choice": "B"}, "extracts": []}
    update = await cite(state, Runtime(context=Context(MODEL, library)))
    assert (update["answer"], update["draft"]["claims"]) == ("B", True)
