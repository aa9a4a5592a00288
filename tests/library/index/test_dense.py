"""The dense index, exhaustive and compressed."""

from __future__ import annotations

import numpy as np
import pytest

from preflight_rag.library.index.dense import COMPRESSED, DenseIndex, write_dense
from preflight_rag.state.errors import LibraryCorrupt

SUBJECTS = [
    "aspirin",
    "insulin",
    "statins",
    "caffeine",
    "vitamin-D",
    "metformin",
    "ibuprofen",
    "warfarin",
    "zinc",
    "morphine",
]
EFFECTS = ["lowers", "raises", "prevents", "causes", "delays", "masks"]
OBJECTS = ["fever", "blood pressure", "nausea", "bone loss", "headache", "inflammation", "bleeding", "fatigue"]


@pytest.fixture(scope="module")
def vectors(embedder):
    return embedder.encode_passages([f"{s} {e} {o}" for s in SUBJECTS for e in EFFECTS for o in OBJECTS])


def exact(vectors, query, n):
    return list(np.argsort(-(vectors @ query), kind="stable")[:n])


def test_the_flat_index_is_exact(tmp_path, vectors, embedder):
    assert write_dense(tmp_path / "dense", vectors).factory == "Flat"
    query = embedder.encode_query("what brings down a fever?")
    found = DenseIndex(tmp_path / "dense").search(query, 10)
    assert [position for position, _ in found] == exact(vectors, query, 10)
    assert found[0][1] == pytest.approx(float(vectors[found[0][0]] @ query), abs=1e-5)


def test_the_compressed_index_finds_nearly_all_neighbours(tmp_path, vectors, embedder):
    assert write_dense(tmp_path / "dense", vectors, flat_limit=100).factory == COMPRESSED
    index = DenseIndex(tmp_path / "dense")
    queries = [embedder.encode_query(f"which drug {effect} {thing}?") for effect in EFFECTS for thing in OBJECTS]
    recalls = [
        len({position for position, _ in index.search(query, 10)} & set(exact(vectors, query, 10))) / 10
        for query in queries
    ]
    assert np.mean(recalls) > 0.97


@pytest.mark.parametrize("flat_limit", [0, 1000])
def test_asking_for_more_than_there_is_gives_all(tmp_path, vectors, flat_limit):
    write_dense(tmp_path / "dense", vectors[:40], flat_limit=flat_limit)
    assert {position for position, _ in DenseIndex(tmp_path / "dense").search(vectors[0], 100)} == set(range(40))


def test_an_empty_index_finds_nothing(tmp_path, vectors):
    write_dense(tmp_path / "dense", vectors[:0])
    assert DenseIndex(tmp_path / "dense").search(vectors[0], 5) == []


def test_equal_vectors_come_in_their_order(tmp_path, vectors):
    write_dense(tmp_path / "dense", np.repeat(vectors[:1], 5, axis=0))
    assert [position for position, _ in DenseIndex(tmp_path / "dense").search(vectors[0], 5)] == [0, 1, 2, 3, 4]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "dense").write_bytes(b"not an index")
    with pytest.raises(LibraryCorrupt, match="dense"):
        DenseIndex(tmp_path / "dense")
