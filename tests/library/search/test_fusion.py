"""Reciprocal rank fusion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library.search.fusion import comb_sum, fuse_ranks, reciprocal_rank_fusion

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


def test_scores_are_brought_to_one_scale_and_summed():
    # By hand: dense 0.9, 0.5, 0.1 become 1, 0.5, 0; BM25 12, 4 become 1, 0; what BM25 has not counts 0 there.
    fused = comb_sum({"a": 0.9, "b": 0.5, "c": 0.1}, {"b": 12.0, "c": 4.0}, weight=0.6)
    assert fused == [("b", pytest.approx(0.7)), ("a", pytest.approx(0.6)), ("c", pytest.approx(0.0))]


@given(st.dictionaries(items, st.floats(-5, 5), max_size=20), st.dictionaries(items, st.floats(0, 30), max_size=20))
def test_each_item_of_either_ranking_stands_once_and_a_scale_changes_nothing(dense, lexical):
    fused = comb_sum(dense, lexical)
    assert sorted(item for item, _ in fused) == sorted({**dense, **lexical})
    assert all(-1e-9 <= score <= 1 + 1e-9 for _, score in fused)
    scaled = comb_sum(dense, {item: 4 * score for item, score in lexical.items()})
    assert dict(scaled) == pytest.approx(dict(fused))


def test_all_weight_on_one_ranking_is_that_ranking():
    assert [item for item, _ in comb_sum({1: 0.2, 2: 0.9, 3: 0.4}, {1: 9.0}, weight=1)] == [2, 3, 1]
    assert comb_sum({}, {}) == []


@given(st.lists(st.lists(st.integers(0, 30), unique=True, min_size=1), min_size=2, max_size=2))
def test_arrays_are_fused_as_lists_are(rankings):
    """Two ways of one sum: the one for any items is tried against the paper's numbers above."""
    keys, scores, ranks = fuse_ranks([np.array(each, np.int64) for each in rankings])
    fused = reciprocal_rank_fusion(rankings)
    assert keys.tolist() == [key for key, _ in fused]
    np.testing.assert_allclose(scores, [score for _, score in fused])
    for row, ranking in zip(ranks.tolist(), rankings, strict=True):
        assert row == [ranking.index(key) + 1 if key in ranking else 0 for key in keys.tolist()]


def test_what_words_cannot_judge_counts_by_its_place_among_the_vectors_alone():
    """By hand: 7 stands first of the vectors and nowhere else, 5 fourth and first by words; 9 by words alone."""
    dense, lexical = np.array([7, 6, 4, 5]), np.array([5, 9])
    plain, _, _ = fuse_ranks([dense, lexical], k=60)
    assert plain.tolist()[0] == 5
    keys, scores, ranks = fuse_ranks([dense, lexical], k=60, by_first=np.array([7, 9]))
    found = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    assert found == {
        7: pytest.approx(2 / 61),
        5: pytest.approx(1 / 64 + 1 / 61),
        6: pytest.approx(1 / 62),
        4: pytest.approx(1 / 63),
        9: 0,
    }
    assert (keys.tolist()[0], keys.tolist()[-1]) == (7, 9)
    assert ranks[1].tolist() == [{5: 1, 9: 2}.get(key, 0) for key in keys.tolist()]


def test_scores_of_what_words_cannot_judge_are_the_vectors_twice():
    fused = dict(comb_sum({1: 0.9, 2: 0.5, 3: 0.1}, {2: 8.0, 3: 4.0}, weight=0.6, by_dense={1, 3}))
    assert fused == {1: pytest.approx(1.0), 2: pytest.approx(0.6 * 0.5 + 0.4), 3: pytest.approx(0.0)}
