"""Pruning: which passages stay, and that none goes unrecorded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_reader import WordReader

from preflight_rag.library.search.pruning import kept_places, prune
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

TEXTS = ["Rust is iron oxide.", "Saturn has rings.", "Oats are sown.", "Saturn has 274 moons.", "Tea is hot."]
SHARES = st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]), max_size=12)


@pytest.fixture
def candidates():
    return [
        Candidate(Passage(id=f"p{i}", document_id=f"d{i}", text=text, tokens=10 * i), i, 1 / i, 0.0)
        for i, text in enumerate(TEXTS, 1)
    ]


@pytest.mark.parametrize(
    ("answerable", "threshold", "least", "kept"),
    [
        ([0.9, 0.1, 0.8, 0.2], 0.5, 1, [0, 2]),
        ([0.1, 0.1, 0.8, 0.2], 0.5, 1, [0, 2]),
        ([0.4, 0.1, 0.3, 0.2], 0.5, 1, [0, 1, 2, 3]),
        ([0.5, 0.1], 0.5, 1, [0]),
        ([0.1, 0.9, 0.1, 0.1, 0.1], 0.5, 3, [0, 1, 2]),
        ([], 0.5, 3, []),
    ],
)
def test_what_stays(answerable, threshold, least, kept):
    assert kept_places(answerable, threshold, least) == kept


def test_the_best_ranked_stay_wherever_they_stand_in_the_prompt():
    assert kept_places([0.1, 0.9, 0.1, 0.1], 0.5, 2, [3, 4, 2, 1]) == [1, 2, 3]


@given(SHARES, st.sampled_from([0.05, 0.2, 0.6, 1.0]), st.integers(1, 4))
def test_a_few_always_stay_in_their_order(answerable, threshold, least):
    kept = kept_places(answerable, threshold, least)
    assert kept == sorted(set(kept))
    assert len(kept) >= min(least, len(answerable))
    assert all(i in kept for i, value in enumerate(answerable) if value >= threshold)


@given(SHARES)
def test_a_higher_threshold_keeps_no_more_while_something_reaches_it(answerable):
    reached = [t for t in (0.05, 0.2, 0.4, 0.8) if any(value >= t for value in answerable)]
    kept = [set(kept_places(answerable, threshold, 1)) for threshold in reached]
    assert all(more >= fewer for more, fewer in pairwise(kept))


def test_every_passage_is_kept_or_recorded(candidates):
    done = prune(WordReader(), ["Saturn moons"], candidates, 0.9, least=1)
    assert [candidate.passage.id for candidate in done.kept] == ["p1", "p4"]
    assert [(p.passage_id, p.rank, p.tokens) for p in done.pruned] == [
        ("p2", 2, 20),
        ("p3", 3, 30),
        ("p5", 5, 50),
    ]
    assert all(p.answerable < 0.9 for p in done.pruned)


def test_a_passage_that_answers_one_part_stays(candidates):
    done = prune(WordReader(), ["Saturn and oats?", "moons Saturn", "oats sown"], candidates, 0.9, least=1)
    assert [candidate.passage.id for candidate in done.kept] == ["p1", "p3", "p4"]


def test_without_a_reader_nothing_can_be_pruned(candidates):
    with pytest.raises(UsageError, match=r"prune = 0\.1 needs an extractive reader"):
        prune(None, ["a"], candidates, 0.1)
