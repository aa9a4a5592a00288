"""Contexts: the passages of a document put together, and what is said of them given back to the passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.corg.contexts import by_context, contexts_of, in_passages, passages_of
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.values import Passage

DOCUMENT = "The trial had two arms. Mortality fell by 12 % in arm A. It rose in arm B. Nobody knows why."


def part(n, start, end, document="d1", text=DOCUMENT):
    return Source(n, f"p{n}", "A trial", text[start:end], document_id=document, start=start)


def test_passages_of_a_document_become_one_context_in_its_order_under_the_best_rank():
    first, second = part(4, 0, 23), part(2, 24, 56)
    other = Source(3, "p3", "Other", "Bread.", document_id="d2")
    trial, bread = contexts_of([first, second, other])
    assert (trial.n, trial.passage_id, [one.n for one in trial.parts]) == (2, "p2", [4, 2])
    assert trial.text == "The trial had two arms.\n\nMortality fell by 12 % in arm A."
    assert (bread.n, bread.text, bread.parts) == (3, "Bread.", (other,))


def test_what_neighbours_both_hold_stands_once():
    (context,) = contexts_of([part(1, 0, 56), part(2, 24, 74)])
    assert context.text == DOCUMENT[:74]
    assert "".join(one.text for one in context.parts) == context.text


def test_each_record_of_a_list_and_each_source_without_a_document_is_a_context():
    rows = [
        Source.of(Passage(id=f"r{n}", document_id="t.csv", text=f"drug: {n}", metadata={"rows": 3}), n) for n in (1, 2)
    ]
    given_ = [Source(n, f"g{n}", "", "Given.") for n in (3, 4)]
    assert [context.n for context in contexts_of([*rows, *given_])] == [1, 2, 3, 4]


@pytest.mark.parametrize(("most", "kept"), [(0, [1, 2, 3]), (200, [1, 2]), (250, [1, 2]), (10, [1]), (300, [1, 2, 3])])
def test_of_a_long_document_the_best_ranked_passages_that_fit_are_taken(most, kept):
    parts = [part(1, 24, 56), part(2, 0, 23), part(3, 57, 74)]
    (context,) = contexts_of(parts, dict.fromkeys((1, 2, 3), 100), most)
    assert sorted(one.n for one in context.parts) == kept


def test_marks_and_quotes_go_to_the_passage_that_holds_the_words():
    (context,) = contexts_of([part(1, 0, 23), part(5, 24, 56), part(7, 57, 95)])
    draft = Draft(
        "Arm A: mortality fell [1]\nArm B: it rose [1]",
        ((1, "Mortality fell by 12 % in arm A"), (1, "It rose in arm B"), (1, "not in the document at all")),
    )
    entries = [{"entity": "trial", "descriptor": None, "answer": "fell", "ranks": [1]}]
    moved, (entry,) = in_passages(draft, entries, {1: context})
    assert moved.text == "Arm A: mortality fell [5]\nArm B: it rose [7]"
    assert [n for n, _ in moved.quotes] == [5, 7, 1]
    assert entry["ranks"] == [5, 7]


def test_without_a_quote_the_words_of_the_statement_decide():
    (context,) = contexts_of([part(1, 0, 23), part(5, 24, 56)])
    assert in_passages(Draft("Mortality fell [1], in two arms [9]"), [], {1: context})[0].text == (
        "Mortality fell [5], in two arms [9]"
    )


def test_a_draft_over_passages_is_one_over_their_contexts():
    contexts = contexts_of([part(1, 0, 23), part(5, 24, 56), Source(3, "x", "", "Bread.")])
    draft = by_context(Draft("A [5][1], B [1], bread [3]", ((5, "fell"), (3, "Bread"))), contexts)
    assert (draft.text, draft.quotes) == ("A [1], B [1], bread [3]", ((1, "fell"), (3, "Bread")))
    assert [one.n for one in passages_of(contexts)] == [1, 5, 3]


@given(st.lists(st.tuples(st.integers(0, 80), st.integers(1, 40), st.sampled_from("ab")), max_size=6))
def test_no_word_of_a_passage_is_lost_and_every_piece_stands_in_its_passage(spans):
    given_ = [part(n, start, start + size, document) for n, (start, size, document) in enumerate(spans, 1)]
    contexts = contexts_of(given_)
    assert sorted(one.n for context in contexts for one in context.parts) == list(range(1, len(spans) + 1))
    for context in contexts:
        assert context.n == min(one.n for one in context.parts)
        for piece in context.parts:
            assert piece.text in given_[piece.n - 1].text
            assert piece.text in context.text
            assert given_[piece.n - 1].text in context.text or piece.text != given_[piece.n - 1].text
