"""The order of passages in the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library.search.selection import arrange, distance_to_end
from preflight_rag.state.errors import UsageError

orderings = st.sampled_from(["score", "index", "1:1", "2:1", "3:1", "1:3"])


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("score", "abcdefgh"),
        ("1:1", "aceghfdb"),
        ("2:1", "abdeghfc"),
        ("3:1", "abcefghd"),
    ],
)
def test_the_best_stand_at_both_ends(ordering, expected):
    assert "".join("abcdefgh"[index] for index in arrange("abcdefgh", ordering)) == expected


@given(st.lists(st.integers(0, 9), max_size=30), orderings)
def test_every_item_stands_once(items, ordering):
    order = arrange(items, ordering, score=lambda item: item, place=lambda item: item)
    assert sorted(order) == list(range(len(items)))


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4))
def test_what_stands_further_inside_is_worse(count, front, back):
    order = arrange(range(count), f"{front}:{back}")
    turn = order.index(max(order))
    assert order[:turn] == sorted(order[:turn])
    assert order[turn:] == sorted(order[turn:], reverse=True)
    assert order[0] == 0
    if count > front:
        assert order[-1] == front


def test_by_score_and_by_place():
    items = [("b", 2, 0.5), ("a", 9, 0.9), ("b", 1, 0.7)]
    assert arrange(items, "score", score=lambda item: item[2]) == [1, 2, 0]
    assert arrange(items, "index", place=lambda item: item[:2]) == [1, 2, 0]
    assert arrange(items, "index") == [0, 1, 2]
    assert arrange(items, "1:1", score=lambda item: item[2]) == [1, 0, 2]


def test_equal_scores_keep_their_order():
    assert arrange("abc", "score", score=lambda item: 1) == [0, 1, 2]


@pytest.mark.parametrize("ordering", ["best", "0:1", "1:0", "1:1:1", "", "1.5:1"])
def test_an_unknown_ordering_is_named(ordering):
    with pytest.raises(UsageError, match="ordering") as error:
        arrange([], ordering)
    assert repr(ordering) in str(error.value)


def test_distance_to_the_nearer_end():
    assert [distance_to_end(place, 5) for place in range(5)] == [0, 1, 2, 1, 0]
