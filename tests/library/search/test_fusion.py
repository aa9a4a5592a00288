"""Reciprocal rank fusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library.search.fusion import reciprocal_rank_fusion

items = st.integers(0, 30)
ranking = st.lists(items, max_size=20, unique=True)
rankings = st.lists(ranking, min_size=1, max_size=4)


def test_scores_are_those_of_the_paper():
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


@given(rankings)
def test_contains_every_item_once_best_score_first(lists):
    fused = reciprocal_rank_fusion(lists)
    assert sorted(item for item, _ in fused) == sorted(set().union(*lists))
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)


@given(rankings, st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order_of_the_rankings(lists, random):
    shuffled = random.sample(lists, len(lists))
    assert reciprocal_rank_fusion(shuffled) == reciprocal_rank_fusion(lists)


@given(st.lists(items, min_size=2, max_size=20, unique=True), ranking, st.data())
def test_moving_an_item_up_never_lowers_it(first, second, data):
    place = data.draw(st.integers(1, len(first) - 1))
    item = first[place]
    higher = [*first[: place - 1], item, first[place - 1], *first[place + 1 :]]
    before = [found for found, _ in reciprocal_rank_fusion([first, second])].index(item)
    after = [found for found, _ in reciprocal_rank_fusion([higher, second])].index(item)
    assert after <= before


@given(ranking)
def test_one_ranking_stays_as_it_is(only):
    assert [item for item, _ in reciprocal_rank_fusion([only])] == only


def test_ties_go_to_the_better_single_rank_then_to_the_smaller_item():
    assert [item for item, _ in reciprocal_rank_fusion([["b"], ["a"]])] == ["a", "b"]
    assert [item for item, _ in reciprocal_rank_fusion([["b", "c"], ["x"]], weights=[1, 61 / 62])][:2] == ["b", "x"]


def test_the_first_place_of_a_repeated_item_counts():
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_weights():
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 2])[0][0] == "b"
    with pytest.raises(ValueError, match="1 weights for 2 rankings"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1])
