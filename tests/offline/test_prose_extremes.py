"""A sentence with the superlative goes before rows in order, if it is about the same things and the rows agree."""

from __future__ import annotations

import pytest

from preflight_rag.offline.prose_extremes import is_written, sentences_with_extreme
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import CLOSEST, rows_by

ROWS = ["Walk: Ridge | Distance: 22 km", "Walk: Lake | Distance: 12 km"]
SAYS = "The longest walk is the Ridge walk with 22 km."
WRONG = "The longest walk is the Lake walk with 12 km."


def source(*lines):
    return Source(1, "p", "Guide", "\n".join([*lines, "", *ROWS]), document_id="d")


def claim(quote):
    return Draft(f"Ridge [1]\n\n{quote} [1]", ((1, quote),), short="Ridge")


def in_order(lead=""):
    lead = lead or rows_by("Distance", most=True)
    return Draft("\n\n".join([lead, *ROWS]), tuple((1, row) for row in ROWS), claims=False)


def test_only_prose_is_read():
    (prose,) = sentences_with_extreme("Which walk is the longest?", [source(SAYS, "Bring water.")])
    assert prose.text.split() == f"{SAYS} Bring water.".split()


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Which walk is the longest?", "The longest river is the Ouse."),
        ("Which walk is the longest?", "The Ridge walk is long."),
        ("Which walk is the shortest?", SAYS),
        ("Which bike is the second cheapest?", "The cheapest bike is the Comet."),
        ("Which bike costs the most?", "Most of the bikes are the Comet."),
        ("Who has the highest salary?", "Nora has the highest bonus."),
        ("Which walk has many bends?", SAYS),
    ],
)
def test_other_sentences_say_nothing(question, line):
    assert sentences_with_extreme(question, [source(line)]) == []


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Which walk is the longest?", SAYS),
        ("Which bike costs the most?", "The most expensive bike is the Thunder."),
        ("What is the cheapest bike?", "The Comet is our cheapest bike."),
        ("Who has the highest salary?", "Nora has the highest salary."),
    ],
)
def test_a_sentence_says_what_has_the_most(question, line):
    assert sentences_with_extreme(question, [source(line)])


def test_a_claim_out_of_the_sentence_is_kept_if_the_rows_agree():
    question, passages = "Which walk is the longest?", [source(SAYS, WRONG, "The Ridge walk is nice.")]
    assert is_written(question, claim(SAYS), in_order(), passages)
    assert not is_written(question, claim(WRONG), in_order(), passages)
    assert is_written(question, claim(WRONG), in_order(CLOSEST), passages)
    assert not is_written(question, claim("The Ridge walk is nice."), in_order(), passages)
    assert not is_written(question, claim("The longest walk is elsewhere."), in_order(), passages)
    assert not is_written(question, Draft(SAYS, ((1, SAYS),), claims=False), in_order(), passages)
