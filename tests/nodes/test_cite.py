"""The node `cite`."""

from langgraph.runtime import Runtime

from preflight_rag.nodes.cite import cite
from preflight_rag.state.context import Context


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
