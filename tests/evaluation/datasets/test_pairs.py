"""Questions put to passages: their parts, and spans, windows and hard negatives in texts."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from evaluation.datasets.pairs import WINDOW, overlapping, pair, spans_of, window
from evaluation.samples import reader_part_of
from preflight_rag.text.sentences import sentence_spans


def test_test_is_a_quarter_and_validation_an_eighth():
    shares = Counter(reader_part_of(f"question {i}") for i in range(4000))
    assert shares["test"] / 4000 == pytest.approx(1 / 4, abs=0.03)
    assert shares["validation"] / 4000 == pytest.approx(1 / 8, abs=0.03)


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("Ada met ada and Adam.", ["Ada"], ["Ada", "ada"]),
        ("in New\n York", ["new york"], ["New\n York"]),
        ("3.5 mg (3.5)", ["3.5"], ["3.5", "3.5"]),
        ("nothing", ["", " "], []),
        ("a b a b a b a b", ["a"], ["a"] * 4),
        ("a " * 9, ["a"], ["a"] * 6),
    ],
)
def test_spans_are_whole_words(text, answers, found):
    assert [text[start:end] for start, end in spans_of(text, answers)] == found


def test_a_window_holds_its_stretch_in_whole_sentences():
    text = " ".join(f"Sentence number {i} has seven words." for i in range(80))
    spans = sentence_spans(text)
    for seed in range(20):
        around = spans[seed * 3]
        start, end = window(text, spans, around, random.Random(seed))
        assert start <= around[0] < around[1] <= end
        assert {start, end} <= {place for span in spans for place in span}
        assert len(text[start:end].split()) <= WINDOW[1] + 7


def test_a_hard_negative_shares_terms():
    texts = ["tea is green", "kites fly high", "red kites fly", "stones"]
    assert overlapping("do red kites fly", texts, random.Random(0), of=1) == "red kites fly"
    assert overlapping("kites", [], random.Random(0)) is None


def test_an_example_says_what_is_not_known():
    assert pair("k", "q", "", "t").passage.spans is None
