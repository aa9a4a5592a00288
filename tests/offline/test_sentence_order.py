"""The order of evidence: which features count, and which sentences are chosen to be compared."""

import math
from dataclasses import asdict, replace

import pytest

from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline.found_answers import ReadPassage
from preflight_rag.offline.scored_sentences import ScoredSentence, Sentence
from preflight_rag.offline.sentence_order import (
    SentenceFeatures,
    features_of,
    order_scores,
    preferences,
    shipped_weights,
)
from preflight_rag.state.reading import Source

PLAIN = SentenceFeatures(0.5, 0.5, 0.5, 0.7, 0.0, 0.0)


def passage(n, text, answer, answerable=0.9):
    """Return a passage in which the reader found an answer."""
    start = text.index(answer)
    reading = PassageReading((Span(start, start + len(answer), answer, 3.0),), answerable, 0.4)
    return ReadPassage(Source(n, f"d{n}", "Harbour", text), reading)


def scored(n, text):
    """Return a sentence as the vectors and words have scored it."""
    return ScoredSentence(Sentence(n, text, "Harbour", frozenset(), frozenset()), 0.6, 0.25, None)


@pytest.mark.parametrize("name", ["similarity", "share", "answerable"])
def test_what_speaks_for_a_sentence_raises_its_score(name):
    plain, more = order_scores([PLAIN, replace(PLAIN, **{name: asdict(PLAIN)[name] + 0.4})])
    assert more > plain


@pytest.mark.parametrize("name", ["depth", "no_figure"])
def test_what_speaks_against_a_sentence_lowers_its_score(name):
    plain, more = order_scores([PLAIN, replace(PLAIN, **{name: asdict(PLAIN)[name] + 1.0})])
    assert more < plain


def test_every_feature_has_a_weight():
    assert all(math.isfinite(weight) for weight in asdict(shipped_weights()).values())


def test_features_are_those_of_the_sentence_and_of_its_passage():
    text = "The pier is 80 metres long. It was built by Falk."
    read = [passage(3, text, "80 metres")]
    sentences = [scored(3, "The pier is 80 metres long."), scored(3, "It was built by Falk.")]
    found = features_of("How long is the pier?", sentences, read, lambda part: "80" in part)
    assert found[0] == SentenceFeatures(0.6, 0.25, 0.9, math.log(3), 0.9, 0.0)
    assert found[1] == SentenceFeatures(0.6, 0.25, 0.9, math.log(3), 0.0, 1.0)


def test_sentences_of_likely_passages_with_found_answers_are_preferred():
    read = [
        passage(1, "The pier is old.", "old", answerable=0.1),
        passage(2, "It is 80 metres long. Boats land.", "80"),
    ]
    old, long, boats = preferences([(1, "The pier is old."), (2, "It is 80 metres long."), (2, "Boats land.")], read)
    assert long > old
    assert long > boats


@pytest.mark.parametrize(
    ("text", "span", "counts"),
    [
        ("A 737-8 airplane was lost.", "8", False),
        ("A 737-8 airplane was lost.", "737", False),
        ("This affects 73 airplanes.", "73", True),
        ("Between 100-120 people came.", "120", True),
        ("It opened in 1999-05.", "1999", True),
        ("They won 102-98.", "102", True),
    ],
)
def test_a_part_of_a_models_number_is_no_answer(text, span, counts):
    asked = "How many airplanes are affected?"
    found = features_of(asked, [scored(1, text)], [passage(1, text, span)], None)
    assert (found[0].holds > 0) is counts
