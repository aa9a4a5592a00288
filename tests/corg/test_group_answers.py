"""What is kept of the groups' answers."""

import pytest

from preflight_rag.corg.group_answers import as_evidence, chosen
from preflight_rag.state.reading import Draft, Source


def draft(group, ranks, choice):
    return {"group": group, "ranks": ranks, "text": "x", "quotes": [], "status": "answered", "choice": choice}


@pytest.mark.parametrize(
    ("drafts", "sources", "choice"),
    [
        ([draft(1, [1, 2], "few"), draft(2, [3], "many")], {}, "few"),
        ([draft(1, [1], "few"), draft(2, [3], "many")], {"3": [4, 5]}, "many"),
        ([draft(1, [1], "few"), draft(2, [2], "many")], {}, "few"),
        ([draft(1, [1, 2], None), draft(2, [3], "many")], {}, "many"),
        ([draft(1, [1], None)], {}, None),
    ],
)
def test_the_choice_is_that_of_the_groups_with_the_most_contexts(drafts, sources, choice):
    """Counted by hand: a context stands for itself and for those dropped in its favour; of equals the first group."""
    assert chosen(drafts, {"groups": [], "dropped": [], "sources": sources}) == choice


def test_a_document_that_shares_one_word_of_several_with_the_question_is_not_shown():
    quotes = (
        (1, "The harbour fair of 2025 is on 10 May."),
        (2, "The harbour fair had 148 stalls."),
        (3, "Lessons run from January to March 2025."),
    )
    sources = {n: Source(n, str(n), f"Paper {n}", text, document_id=str(n)) for n, text in quotes}
    found, _ = as_evidence("When is the harbour fair in 2025?", Draft("x", quotes), [], sources)
    assert [n for n, _ in found.quotes] == [1, 2]
