"""The node `cite`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.runtime import Runtime

from preflight_rag.nodes.cite import attributed, citation, cite, group, statements, unread
from preflight_rag.state.context import Context
from preflight_rag.state.values import Passage

BOILING = Passage(
    id="a", document_id="A", text="At sea level water boils at 100 °C. On Everest it boils at 71 °C.", title="Boiling"
)
BREAD = Passage(id="b", document_id="B", text="Yeast makes bread rise. It eats sugar and gives off gas.", title="Bread")
PASSAGES = {1: BOILING, 2: BREAD}


def draft(text, *quotes):
    return {"text": text, "quotes": list(quotes), "found": True, "choice": None}


@pytest.mark.parametrize(
    ("text", "quotes", "quote", "verified"),
    [
        ("At 100 °C [1].", [(1, "water boils at 100 °C")], "water boils at 100 °C", True),
        ("At 100 °C [1].", [(1, "WATER  boils at 100 °C.")], "water boils at 100 °C", True),
        ("Water boils at 71 °C on Everest [1].", [], "On Everest it boils at 71 °C.", True),
        ("Water boils at 71 °C on Everest. [1]", [(1, "quite something else")], "On Everest it boils at 71 °C.", True),
        ("Water freezes at 0 °C [1].", [(1, "water freezes at 0 °C")], "water freezes at 0 °C", False),
        ("Water boils at 99 °C [1].", [], "Water boils at 99 °C", False),
    ],
)
def test_a_citation_carries_the_passages_own_words_or_is_marked(text, quotes, quote, verified):
    found = citation(1, 1, text, draft(text, *quotes), PASSAGES)
    assert (found.quote, found.verified) == (quote, verified)
    if verified:
        assert BOILING.text[found.start : found.end] == quote


async def test_numbers_count_in_order_of_first_use(library, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=8)
    state |= {"draft": draft("One thing [7]. Another [2][7]. A third [99]."), "extracts": []}
    update = await cite(state, Runtime(context=Context(library=library)))
    assert update["answer"] == "One thing [1]. Another [2][1]. A third [3]."
    assert [c["n"] for c in update["citations"]] == [1, 2, 3]
    assert [c["passage_id"] for c in update["citations"][:2]] == [
        state["passages"][6]["id"],
        state["passages"][1]["id"],
    ]
    assert update["citations"][2] == update["citations"][2] | {"passage_id": "", "verified": False}
    assert any("[99]" in gap["error"] for gap in update["gaps"])
    assert update["messages"][0].content == update["answer"]


def test_a_reply_without_citations_gets_them_by_its_words():
    text, gaps = attributed("Yeast makes bread rise. Water boils at 100 °C at sea level. Cats purr.", PASSAGES)
    assert text == "Yeast makes bread rise [2]. Water boils at 100 °C at sea level [1]. Cats purr."
    assert "cites nothing" in gaps[0]["error"]


def test_a_cited_reply_is_left_alone():
    assert attributed("Yes [1].", PASSAGES) == ("Yes [1].", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A is b [1]. C is d [2][1].", ["A is b", "C is d"]),
        ("A is b. [1] C is d. [2]", ["A is b"]),
        ("- A is b [1]\n- C is d [1]", ["A is b", "C is d"]),
        ("[1] at the start", []),
    ],
)
def test_the_statement_behind_a_mark(text, said):
    assert [s.removeprefix("- ") for s in statements(text, 1)] == said


@given(st.text(alphabet="ab 1.[]\n", max_size=60))
def test_any_draft_can_be_cited(text):
    marked, _ = attributed(text, PASSAGES)
    found = citation(1, 1, marked, draft(marked), PASSAGES)
    if found.verified:
        assert BOILING.text[found.start : found.end] == found.quote


def test_partitions_that_could_not_be_read_are_named():
    assert unread([{"failed": False}, {"failed": True}]).strip().startswith("Note: 1 of 2 parts")
    assert unread([{"failed": False}]) == ""


def test_a_groups_citations_are_numbered_as_the_answers_are():
    entry = {"entity": "E", "descriptor": None, "answer": "a", "ranks": [7, 3, 9]}
    assert group(entry, {3: 1, 7: 2}).citations == (2, 1)


def test_a_quote_in_a_repeated_sentence_has_the_page_of_that_sentence():
    metadata = {"overlap_start": 110, "overlap_page": 4}
    passage = Passage(id="p", document_id="d", text="x" * 30, page=3, start=100, end=130, metadata=metadata)
    assert [passage.page_at(offset) for offset in (0, 9, 10, 29)] == [3, 3, 4, 4]
