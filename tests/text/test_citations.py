"""Marks, the statements before them, and the words behind them."""

import ncbi_server
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from preflight_rag.ingest.loaders.pubmed import read_pubmed
from preflight_rag.state.values import Group, Passage
from preflight_rag.text.citations import (
    Claim,
    attributed,
    claims,
    claims_of_answer,
    find_citation,
    quoted,
    renumbered,
    statements_citing,
)

BOILING = Passage(
    id="a", document_id="A", text="At sea level water boils at 100 °C. On Everest it boils at 71 °C.", title="Boiling"
)
BREAD = Passage(id="b", document_id="B", text="Yeast makes bread rise. It eats sugar and gives off gas.", title="Bread")
PASSAGES = {1: BOILING, 2: BREAD}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A is b [1]. C is d [2][1].", [("A is b", (1,)), ("C is d", (2, 1))]),
        ("A is b. [1] C is d. [2]", [("A is b", (1,)), ("C is d", (2,))]),
        ("No mark here. A is b [1], [2].", [("A is b", (1, 2))]),
        ("- **Tea**: 80 degrees [1]\n- Oats: spring [2]", [("Tea: 80 degrees", (1,)), ("Oats: spring", (2,))]),
        ("Tea warms the body [1] and mind [2].", [("Tea warms the body", (1,)), ("Tea warms the body and mind", (2,))]),
        ("Tea is hot [1]. Oats [2].", [("Tea is hot", (1,)), ("Oats", (2,))]),
        ("[1] begins", []),
        ("nothing cited", []),
    ],
)
def test_statements_with_what_they_cite(text, found):
    assert claims(text) == [Claim(*item) for item in found]


@given(st.text(alphabet="ab .!\n[]123-*", max_size=80))
@example("1\n[[1]")
def test_any_text_has_statements_with_words(text):
    for claim in claims(text):
        assert claim.citations
        assert any(character.isalnum() for character in claim.text)


def test_of_several_groups_each_answer_is_a_statement_with_what_it_is_for():
    groups = [
        Group(entity="Tea", descriptor="green", answer="80 degrees", citations=(1,)),
        Group(entity="X", answer="y"),
    ]
    assert claims_of_answer("no matter", groups) == [Claim("Tea (green): 80 degrees", (1,))]
    assert claims_of_answer("A is b [1].", groups[1:]) == [Claim("A is b", (1,))]


def test_marks_are_numbered_in_order_of_first_use():
    assert renumbered("One [7]. Two [2][7].") == ("One [1]. Two [2][1].", {7: 1, 2: 2})


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
    found = find_citation(1, 1, text, quotes, PASSAGES)
    assert (found.quote, found.verified) == (quote, verified)
    if verified:
        assert BOILING.text[found.start : found.end] == quote


def test_a_reply_without_citations_gets_them_by_its_words():
    text, notes = attributed("Yeast makes bread rise. Water boils at 100 °C at sea level. Cats purr.", PASSAGES)
    assert text == "Yeast makes bread rise [2]. Water boils at 100 °C at sea level [1]. Cats purr."
    assert "cites nothing" in notes[0]


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
    assert [s.removeprefix("- ") for s in statements_citing(text, 1)] == said


@given(st.text(alphabet="ab 1.[]\n", max_size=60))
def test_any_draft_can_be_cited(text):
    marked, _ = attributed(text, PASSAGES)
    found = find_citation(1, 1, marked, [], PASSAGES)
    if found.verified:
        assert BOILING.text[found.start : found.end] == found.quote


@pytest.mark.parametrize(
    ("metadata", "pages"),
    [
        ({"page_starts": [[110, 4], [120, 5]]}, [3, 3, 4, 5]),
        ({"overlap_start": 110, "overlap_page": 4}, [3, 3, 4, 4]),
        ({}, [3, 3, 3, 3]),
    ],
)
def test_a_quote_has_the_page_that_it_stands_on(metadata, pages):
    """A passage may go over pages; one of a library split before may do so in the sentence that it repeats."""
    passage = Passage(id="p", document_id="d", text="x" * 30, page=3, start=100, end=130, metadata=metadata)
    assert [passage.page_at(offset) for offset in (0, 9, 10, 29)] == pages


def test_a_citation_of_a_retracted_publication_says_so():
    """The mark is part of the title, which every citation shows, whoever prints it."""
    (document,) = read_pubmed(
        ncbi_server.abstract("7", "Tea", "Tea is hot.", kind="Retracted Publication").xml.encode()
    )
    passage = Passage(id="p", document_id=document.id, text=document.text, title=document.title, source=document.source)
    found = find_citation(1, 1, "Tea is hot [1].", [], {1: passage})
    assert (found.title, found.verified) == ("RETRACTED: Tea", True)


def test_a_quote_with_quotation_marks_has_single_ones_inside():
    assert quoted(2, "“Fine,” said the chief.") == "“‘Fine,’ said the chief.” [2]"
    assert quoted(1, 'It is 5" long.') == '“It is 5" long.” [1]'


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("Ana Roth wrote: The kiln is hot.", "Ana Roth wrote: “The kiln is hot.” [3]"),
        ("Ana wrote: It is hot.\nAna wrote: Wait.", "Ana wrote: “It is hot. Wait.” [3]"),
        ("Somebody wrote: It is hot.", "From an earlier message, quoted there: “It is hot.” [3]"),
        ("She wrote to Ana: it is hot.", "“She wrote to Ana: it is hot.” [3]"),
    ],
)
def test_who_wrote_what_a_mail_quotes_stands_outside_the_quotation_marks(quote: str, shown: str) -> None:
    assert quoted(3, quote) == shown
