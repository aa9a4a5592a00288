"""Candidates as columns: what becomes an object is what the columns say, and nothing else is made."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest

from preflight_rag.state.retrieval import Candidate, Columns, Pool, in_order
from preflight_rag.state.values import Passage, UnreadPassage

NAMES = ["a1", "b1", "a2", "c1", "b2"]
"""Of the passages at the positions 0 to 4 of an index; the first letter is the document's."""


class Places:
    """Five passages, of which the fourth is of a retracted publication; notes which ones are asked for."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def passages(self, positions):
        self.made += positions.tolist()
        return [UnreadPassage(id=NAMES[at], document_id=NAMES[at][0], retracted=at == 3) for at in positions.tolist()]

    def documents(self, positions):
        return [NAMES[at][0] for at in positions.tolist()]

    def retracted(self, positions):
        return positions == 3


TERMS = object()
"""Stands for an index's terms, which a pool only hands on."""


@pytest.fixture
def places():
    return Places()


@pytest.fixture
def pool(places):
    """Both rankings found `c1`; the dense one alone `a1`, with a cosine of 0; the BM25 one alone `b2`."""
    columns = Columns(
        rank=np.array([1, 2, 3]),
        score=np.array([0.5, 0.25, 0.125]),
        cosine=np.array([0.75, 0.0, -0.5]),
        dense_rank=np.array([2, 1, 0]),
        lexical_rank=np.array([1, 0, 2]),
        bm25=np.array([8.0, np.nan, 0.0]),
    )
    return Pool(columns, np.array([3, 0, 4]), TERMS, places)


C1, A1, B2 = (
    ("c1", 1, 0.5, 0.75, 2, 1, 8.0),
    ("a1", 2, 0.25, 0.0, 1, None, None),
    ("b2", 3, 0.125, -0.5, None, 2, 0.0),
)


def told(candidate):
    """A candidate without what every one of a pool has alike."""
    each = candidate
    return each.passage.id, each.rank, each.score, each.cosine, each.dense_rank, each.lexical_rank, each.bm25


def test_candidates_are_what_the_columns_say(pool):
    """A place of 0 is none; a BM25 score of 0 is one, a cosine of 0 too."""
    assert [told(each) for each in pool] == [C1, A1, B2]
    assert [each.passage.document_id for each in pool] == ["c", "a", "b"]
    assert [each.passage.retracted for each in pool] == [True, False, False]
    assert {each.found_by for each in pool} == {"semantic"}
    assert [(each.terms.vocabulary is TERMS, each.terms.position) for each in pool] == [(True, 3), (True, 0), (True, 4)]


def test_numbers_are_those_of_python(pool):
    """NumPy's would not go into a checkpoint or into JSON."""
    numbers = [value for each in pool for value in astuple(each)[1:7] if value is not None]
    assert {type(number) for number in numbers} == {int, float}


def test_it_is_a_sequence(pool):
    assert len(pool) == 3
    assert told(pool[0]) == C1
    assert told(pool[-1]) == B2
    assert [told(each) for each in pool[1:]] == [A1, B2]
    assert [told(each) for each in pool[::-1]] == [B2, A1, C1]
    assert [told(each) for each in pool[:0]] == []
    assert told(next(reversed(pool))) == B2
    for outside in (3, -4):
        with pytest.raises(IndexError):
            pool[outside]


def test_only_what_is_looked_at_becomes_an_object(pool, places):
    pool.take(np.array([2, 1, 0])).documents(2)
    pool.retracted.any()
    assert places.made == []
    pool[:1]
    assert places.made == [3]


def test_documents_are_those_of_the_first(pool):
    assert pool.documents(2) == ["c", "a"]
    assert pool.documents(0) == []
    assert pool.documents(9) == ["c", "a", "b"]


def test_another_order_takes_all_columns_along(pool):
    """Ranks stay those of the fusion: who puts candidates in another order gives them other ranks."""
    other = pool.take(np.array([2, 0]))
    assert [told(each) for each in other] == [B2, C1]
    assert other.retracted.tolist() == [False, True]
    assert other.documents(9) == ["b", "c"]
    assert [told(each) for each in pool] == [C1, A1, B2]
    assert [told(each) for each in other.take(np.array([1]))] == [C1]


def test_candidates_in_order_are_a_pool_where_they_came_as_one(pool):
    order = np.array([1, 2, 0])
    as_pool, as_list = in_order(pool, order), in_order(list(pool), order)
    assert isinstance(as_pool, Pool)
    assert isinstance(as_list, list)
    assert [told(each) for each in as_pool] == [told(each) for each in as_list] == [A1, B2, C1]


def test_columns_of_objects_are_those_that_they_came_from(pool):
    found = Columns.of(list(pool))
    assert found.rank.tolist() == [1, 2, 3]
    assert found.score.tolist() == [0.5, 0.25, 0.125]
    assert found.cosine.tolist() == [0.75, 0.0, -0.5]
    assert found.dense_rank.tolist() == [2, 1, 0]
    assert found.lexical_rank.tolist() == [1, 0, 2]
    assert found.bm25[[0, 2]].tolist() == [8.0, 0.0]
    assert math.isnan(found.bm25[1])


def test_a_read_candidate_keeps_its_places(pool):
    passage = Passage(id="a1", document_id="a", text="Zinc.", metadata={"origin": "D2"})
    read = pool[1].read(passage, 7)
    assert told(read) == ("a1", 7, 0.25, 0.0, 1, None, None)
    assert read.passage is passage
    assert read.origin == "D2"
    assert read.terms.position == 0


def test_an_origin_is_one_of_ncbi_or_none():
    for given, found in (("D1", "D1"), ("D4", ""), (None, "")):
        passage = Passage(id="x", document_id="x", text="x", metadata={"origin": given})
        assert Candidate(passage, rank=1, score=1.0, cosine=1.0).origin == found
