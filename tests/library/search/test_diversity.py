"""MMR, farthest point sampling, and token budgets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from preflight_rag.library.search import diversity
from preflight_rag.library.search.diversity import fps, in_order, mmr, token_budget, unit_scaled, within_budget
from preflight_rag.library.search.selection import PRESETS, preset
from preflight_rag.state.errors import UsageError

alphas = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
whole = st.integers(-3, 3).map(float)


@st.composite
def spaces(draw, most=40):
    """Candidates and a query with small whole numbers, so that dot products are exact and ties are many."""
    count = draw(st.integers(1, most))
    row = st.lists(whole, min_size=3, max_size=3).filter(any)
    rows = draw(st.lists(row, min_size=count + 1, max_size=count + 1))
    return np.array(rows[1:], dtype=np.float32), np.array(rows[0], dtype=np.float32)


@given(spaces(), alphas, st.integers(1, 45))
def test_without_a_window_the_picks_are_those_of_langchain(space, alpha, k):
    vectors, query = space
    assert mmr(vectors, query, alpha=alpha, k=k) == maximal_marginal_relevance(query, vectors, alpha, k)


@given(spaces(), alphas, st.integers(1, 6))
def test_a_small_pool_makes_the_same_picks(space, alpha, pool):
    vectors, query = space
    expected = mmr(vectors, query, alpha=alpha), fps(vectors, query, alpha=alpha)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diversity, "POOL", pool)
        assert (mmr(vectors, query, alpha=alpha), fps(vectors, query, alpha=alpha)) == expected


def test_many_candidates_have_the_picks_of_langchain():
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(40, 32))
    vectors = (topics[rng.integers(0, 40, 1500)] + 0.7 * rng.normal(size=(1500, 32))).astype(np.float32)
    for alpha in (0.0, 0.3, 0.7):
        assert mmr(vectors, topics[0], alpha=alpha, k=25) == maximal_marginal_relevance(
            topics[0].astype(np.float32), vectors, alpha, 25
        )


@given(spaces(most=15), alphas, st.integers(1, 20))
def test_a_window_counts_the_last_picks_only(space, alpha, window):
    vectors, query = space
    picks = mmr(vectors, query, alpha=alpha, window=window)
    assert picks == _mmr_by_the_book(vectors, query, alpha, window)
    if window >= len(vectors):
        assert picks == mmr(vectors, query, alpha=alpha)


@given(spaces(most=15), alphas, st.integers(1, 20))
def test_fps_counts_the_last_picks_only_too(space, alpha, window):
    vectors, query = space
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float64)
    near = unit @ (query / np.linalg.norm(query))
    distances = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    picks = fps(vectors, query, alpha=alpha, window=window)
    assert near[picks[0]] == pytest.approx(near.max(), abs=1e-6)
    for place in range(1, len(picks)):
        # What section 2.1 adds to FPS: the reward, and the window; each pick has the highest of what is left.
        worth = alpha * near + (1 - alpha) * distances[:, picks[max(0, place - window) : place]].min(axis=1)
        assert worth[picks[place]] == pytest.approx(worth[picks[place:]].max(), abs=3e-3)
    if window >= len(vectors):
        assert picks == fps(vectors, query, alpha=alpha)


def test_a_window_of_one_lets_fps_come_back():
    # By all picks it halves the gaps; by the last pick it swings between the ends.
    angles = np.deg2rad([0, 30, 60, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert fps(vectors, [1, 0], window=1) == [0, 3, 1, 2]
    near_the_ends = np.deg2rad([0, 10, 45, 80, 90])
    vectors = np.stack([np.cos(near_the_ends), np.sin(near_the_ends)], axis=1)
    assert fps(vectors, [1, 0]) == [0, 4, 2, 1, 3]
    assert fps(vectors, [1, 0], window=1) == [0, 4, 1, 3, 2]


def test_cosines_are_handed_out_in_the_candidates_order():
    assert in_order([0.2, 0.9, 0.5]).tolist() == pytest.approx([0.9, 0.5, 0.2])
    assert in_order([0.9, 0.5, 0.2]).tolist() == pytest.approx([0.9, 0.5, 0.2])


def _mmr_by_the_book(vectors, query, alpha, window):
    """Equation 1, candidate by candidate, with cosines in float32."""
    norms = np.linalg.norm(vectors, axis=1)
    near = vectors @ query / (norms * np.linalg.norm(query))
    cosines = vectors @ vectors.T / np.outer(norms, norms)
    picks = [int(np.argmax(near))]
    while len(picks) < len(vectors):
        rest = [c for c in range(len(vectors)) if c not in picks]
        picks.append(max(rest, key=lambda c: alpha * near[c] - (1 - alpha) * cosines[c, picks[-window:]].max()))
    return picks


@given(spaces())
def test_all_weight_on_relevance_ranks_by_similarity(space):
    vectors, query = space
    near = vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    ranked = np.argsort(-near, kind="stable").tolist()
    assert (
        mmr(vectors, query, alpha=1) == mmr(vectors, query, alpha=1, window=2) == fps(vectors, query, alpha=1) == ranked
    )


def test_fps_goes_to_the_farthest_from_all_picks():
    angles = np.deg2rad([0, 5, 90, 180, 150])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert fps(vectors, [1, 0]) == [0, 3, 2, 4, 1]


@given(spaces())
def test_each_pick_of_fps_is_at_the_largest_distance_to_the_nearest_pick(space):
    vectors, query = space
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    picks = fps(vectors, query)
    for place in range(1, len(picks)):
        nearest = distances[:, picks[:place]].min(axis=1)
        assert nearest[picks[place]] == pytest.approx(nearest[picks[place:]].max(), abs=2e-3)


def test_modified_fps_weighs_relevance_too():
    vectors = np.array([[1, 0], [0.9, 0.436], [-1, 0]])
    assert fps(vectors, [1, 0], k=2) == [0, 2]
    assert fps(vectors, [1, 0], k=2, alpha=0.9) == [0, 1]


def test_relevance_stands_for_the_cosine():
    vectors = np.eye(3)
    assert mmr(vectors, None, relevance=[0.1, 0.9, 0.5]) == [1, 2, 0]
    assert fps(vectors, None, relevance=[0.1, 0.9, 0.5], k=1) == [1]


@given(spaces(), alphas, st.sampled_from([None, 1, 3]), st.data())
def test_a_budget_is_kept_and_filled(space, alpha, window, data):
    vectors, query = space
    tokens = data.draw(st.lists(st.integers(1, 30), min_size=len(vectors), max_size=len(vectors)))
    budget = data.draw(st.integers(min(tokens), 200))
    options = {"tokens": tokens, "budget": budget}
    for picks in (
        mmr(vectors, query, alpha=alpha, window=window, **options),
        fps(vectors, query, alpha=alpha, **options),
        within_budget(tokens, budget),
    ):
        left = budget - sum(tokens[pick] for pick in picks)
        assert len(set(picks)) == len(picks) > 0
        assert left >= 0
        assert all(tokens[c] > left for c in range(len(tokens)) if c not in picks)


@pytest.mark.parametrize(
    ("budget", "compression", "expected"),
    [
        (None, None, None),
        (25, None, 25),
        (None, 0.5, 30),
        (25, 0.5, 25),
        (50, 0.5, 30),
        (None, 0.01, 10),
        (None, 1, 60),
    ],
)
def test_the_smaller_limit_holds(budget, compression, expected):
    assert token_budget([10, 20, 30], budget=budget, compression=compression) == expected


def test_scores_of_any_range_are_scaled():
    assert unit_scaled([-4, 0, 4]).tolist() == [0, 0.5, 1]
    assert unit_scaled([3, 3]).tolist() == [1, 1]
    assert unit_scaled([]).tolist() == []


def test_no_candidates_no_picks():
    assert mmr(np.empty((0, 4)), [1, 0, 0, 0], tokens=[], budget=5) == []
    assert within_budget([], 5) == []


def test_a_vector_of_zeros_is_like_nothing():
    assert mmr([[0, 0], [1, 0], [1, 0.1]], [1, 0]) == [1, 0, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"alpha": -0.1}, "alpha is -0.1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"window": 0}, "window is 0"),
        ({"k": 0}, "k is 0"),
        ({"budget": 5}, "needs the tokens"),
        ({"budget": 0, "tokens": [1, 2]}, "budget is 0"),
        ({"budget": 5, "tokens": [9, 7]}, "5 tokens is smaller than the smallest passage, which has 7"),
        ({"tokens": [1]}, r"shape \(1,\) for 2 candidates"),
        ({"tokens": [1, -1]}, "one is negative"),
        ({"relevance": [1]}, r"shape \(1,\) for 2 candidates"),
        ({"relevance": [1, float("nan")]}, "not finite"),
        ({"query": None}, "neither a query nor relevance"),
        ({"query": [1, 0, 0]}, r"shape \(3,\)"),
        ({"query": [float("inf"), 0]}, "not finite"),
        ({"vectors": [1, 0]}, r"shape \(2,\)"),
        ({"vectors": [[1, 0], [float("nan"), 0]]}, "vector 1 is not finite"),
    ],
)
def test_wrong_numbers_are_named(options, message):
    with pytest.raises(UsageError, match=message):
        mmr(**({"vectors": [[1, 0], [0, 1]], "query": [1, 0]} | options))


@pytest.mark.parametrize("compression", [0, 1.01, -1])
def test_a_compression_ratio_is_a_share(compression):
    with pytest.raises(UsageError, match=f"compression is {compression}"):
        token_budget([1], compression=compression)


def test_presets_by_kind_of_task():
    for name in PRESETS:
        found = preset(name)
        assert mmr([[1, 0], [0, 1]], [1, 0.5], alpha=found.alpha, window=found.window)[0] == 0
    with pytest.raises(UsageError, match="'best' is unknown"):
        preset("best")


@given(st.data())
def test_without_filling_the_first_pick_that_does_not_fit_is_the_end(data):
    """Diversity, section 3.1: picks without a budget, cut by hand; what is longer than the budget is never a pick."""
    count = data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    vectors, query = rng.normal(size=(count, 3)), rng.normal(size=3)
    tokens = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    budget = data.draw(st.integers(max(tokens), 40))
    window = data.draw(st.sampled_from([None, 1, 3]))
    for pick in (mmr, fps):
        whole = pick(vectors, query, alpha=0.6, window=window)
        lengths = np.cumsum([tokens[index] for index in whole])
        expected = whole[: int((lengths <= budget).sum())]
        assert pick(vectors, query, alpha=0.6, window=window, tokens=tokens, budget=budget, fill=False) == expected
    assert within_budget([3, 9, 1], 5, fill=False) == [0, 2]
    assert within_budget([3, 4, 1], 5, fill=False) == [0]
    assert within_budget([3, 4, 1], 5) == [0, 2]
