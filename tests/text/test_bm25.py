"""BM25 over a pool, of terms as numbers: what rank_bm25 gives, whose words they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from preflight_rag.text.bm25 import bm25_of_numbers

NUMBERS = st.lists(st.integers(0, 8), max_size=12)


@given(asked=st.lists(st.integers(-1, 9), min_size=1, max_size=6), pool=st.lists(NUMBERS, min_size=1, max_size=8))
def test_it_is_that_of_rank_bm25(asked, pool):
    found = bm25_of_numbers(asked, [np.array(text, dtype=np.uint32) for text in pool])
    if any(pool):
        expected = BM25Okapi([text or [""] for text in pool]).get_scores(asked)
        known = [number if number >= 0 else None for number in asked]
        for score, other, text in zip(found, expected, pool, strict=True):
            assert (score is None) == (not set(known) & set(text))
            assert score is None or score == pytest.approx(other, abs=1e-9)
    else:
        assert found == [None] * len(pool)


def test_equal_texts_have_equal_scores():
    found = bm25_of_numbers([3, 1], [np.array(text) for text in ([3, 1, 4], [9, 9], [3, 1, 4], [5, 3])])
    assert found[0] == found[2]
    assert found[1] is None
