"""The dense index: its kinds, search among some passages, damaged files, and that a library keeps its kind."""

from __future__ import annotations

import numpy as np
import pytest

from preflight_rag.library import Library
from preflight_rag.library.index import dense
from preflight_rag.library.index.dense import (
    KINDS,
    DenseIndex,
    principal_components,
    vectors_needed,
    write_dense,
)
from preflight_rag.library.index.generations import read_manifest
from preflight_rag.state.errors import LibraryCorrupt, UsageError

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
    assert write_dense(tmp_path / "dense", vectors, flat_limit=100).factory == "PQ192x4fs,Refine(SQ8)"
    index = DenseIndex(tmp_path / "dense")
    queries = [embedder.encode_query(f"which drug {effect} {thing}?") for effect in EFFECTS for thing in OBJECTS]
    recalls = [
        len({position for position, _ in index.search(query, 10)} & set(exact(vectors, query, 10))) / 10
        for query in queries
    ]
    assert np.mean(recalls) > 0.99


def test_a_compressed_index_of_before_is_searched_as_before(tmp_path, vectors, embedder):
    faiss = pytest.importorskip("faiss")
    old = faiss.index_factory(384, "RaBitQfs,Refine(SQ8)", faiss.METRIC_INNER_PRODUCT)
    old.train(vectors)
    old.add(vectors)
    faiss.write_index(old, str(tmp_path / "dense"))
    old.k_factor = 16
    query = embedder.encode_query("what brings down a fever?")
    scores, positions = old.search(query.reshape(1, -1), 10)
    expected = dict(zip(positions[0].tolist(), scores[0].tolist(), strict=True))
    assert dict(DenseIndex(tmp_path / "dense").search(query, 10)) == expected


@pytest.mark.parametrize(("numbers", "factory"), [(7, "PQ7x4fs,Refine(SQ8)"), (32, "PQ16x4fs,Refine(SQ8)")])
def test_vectors_of_any_length_are_compressed(tmp_path, numbers, factory):
    random = np.random.default_rng(numbers).standard_normal((200, numbers)).astype(np.float32)
    assert write_dense(tmp_path / "dense", random, kind="compressed").factory == factory
    found = DenseIndex(tmp_path / "dense").search(random[5], 200)
    assert {position for position, _ in found} == set(range(200))
    assert {position for position, _ in found[:10]} & set(exact(random, random[5], 10)) >= {
        exact(random, random[5], 1)[0]
    }


@pytest.mark.parametrize("flat_limit", [0, 1000])
def test_asking_for_more_than_there_is_gives_all(tmp_path, vectors, flat_limit):
    write_dense(tmp_path / "dense", vectors[:40], flat_limit=flat_limit)
    assert {position for position, _ in DenseIndex(tmp_path / "dense").search(vectors[0], 100)} == set(range(40))


@pytest.mark.parametrize("flat_limit", [0, 1000])
def test_a_mapped_index_finds_the_same(tmp_path, vectors, monkeypatch, flat_limit):
    monkeypatch.setattr(dense, "ADDED_AT_ONCE", 100)
    write_dense(tmp_path / "dense", vectors, flat_limit=flat_limit)
    read = DenseIndex(tmp_path / "dense")
    monkeypatch.setattr(dense, "MAPPED_FROM", 0)
    mapped = DenseIndex(tmp_path / "dense")
    assert mapped.is_exact == read.is_exact == (flat_limit > 0)
    some = np.array([3, 7, 200])
    for query in vectors[::50]:
        assert mapped.search(query, 10) == read.search(query, 10)
        assert mapped.search(query, 10, among=some) == read.search(query, 10, among=some)


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


APPROXIMATE = ("pca", "clusters", "pca+clusters")


@pytest.fixture(scope="module")
def clustered():
    """Unit vectors (2000, 64) around 40 centres, off the origin, most of their variance in 20 dimensions."""
    rng = np.random.default_rng(7)
    scale = np.r_[np.ones(20), np.full(44, 0.1)]
    centres = rng.normal(size=(40, 64)) * scale + 0.5
    found = centres[rng.integers(40, size=2000)] + 0.5 * rng.normal(size=(2000, 64)) * scale
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def queries(clustered):
    noisy = clustered[:50] + 0.05 * np.random.default_rng(8).normal(size=(50, 64))
    return (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)


def nearest(clustered, query, n, among=None):
    among = np.arange(len(clustered)) if among is None else among
    return set(among[np.argsort(-(clustered[among] @ query), kind="stable")[:n]].tolist())


@pytest.mark.parametrize("kind", APPROXIMATE)
def test_nearly_all_neighbours_are_found_with_their_true_inner_products(tmp_path, clustered, queries, kind):
    assert write_dense(tmp_path / "dense", clustered, kind=kind).note == ""
    index = DenseIndex(tmp_path / "dense")
    recalls = []
    for query in queries:
        found = index.search(query, 10)
        recalls.append(len({position for position, _ in found} & nearest(clustered, query, 10)) / 10)
        assert [score for _, score in found] == pytest.approx([clustered[i] @ query for i, _ in found], abs=2e-3)
    assert np.mean(recalls) > 0.95


@pytest.mark.parametrize("kind", [*APPROXIMATE, "flat", "compressed"])
def test_a_search_among_some_is_exhaustive_over_them(tmp_path, clustered, queries, kind):
    write_dense(tmp_path / "dense", clustered, kind=kind)
    index, among = DenseIndex(tmp_path / "dense"), np.arange(3, 2000, 97)
    for query in queries[:10]:
        found = index.search(query, 5, among=among)
        assert {position for position, _ in found} <= set(among.tolist())
        assert found[0][0] in nearest(clustered, query, 1, among)
    assert len(index.search(queries[0], 100, among=among)) == len(among)
    assert index.search(queries[0], 5, among=among[:0]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 30])
def test_a_small_library_is_searched_whole_and_says_so(tmp_path, clustered, kind, count):
    built = write_dense(tmp_path / "dense", clustered[:count], kind=kind)
    assert len(DenseIndex(tmp_path / "dense").search(clustered[0], 50)) == count
    if kind in APPROXIMATE and count:
        assert built.factory == "Flat"
        assert f"{vectors_needed(kind, 64):,} vectors or more, and there are {count}" in built.note


def test_the_numbers_of_a_kind_are_told(tmp_path, clustered):
    built = write_dense(tmp_path / "dense", clustered, kind="pca+clusters")
    assert built.factory == "PCA32,IVF51,SQ8,Refine(SQfp16)"
    assert built.settings == {
        "clusters": 51,
        "probed": 13,
        "dimensions": 32,
        "explained_variance": pytest.approx(1, abs=0.05),
    }


def test_principal_components_keep_the_share_that_was_asked_for(clustered):
    rotation, explained = principal_components(clustered, 0.8)
    projected = (clustered - clustered.mean(axis=0)) @ rotation.T
    assert rotation.shape == (16, 64)
    assert explained == pytest.approx(projected.var(axis=0).sum() / clustered.var(axis=0).sum(), abs=1e-4)
    assert explained >= 0.8


def test_equal_vectors_have_components_too():
    rotation, explained = principal_components(np.ones((100, 32), np.float32))
    assert rotation.shape[1] == 32
    assert np.isfinite(explained)


def test_a_library_keeps_its_kind_of_index_through_a_rebuild(own_folder, embedder):
    with Library.open(own_folder, embedder=embedder) as library:
        before = library.vectors([library.search("Venus").dense[0].passage_id])
        library.set_index_kind("pca")
        assert library.stats()["index"]["kind"] == "pca"
        assert library.stats()["index"]["note"].startswith("flat: pca is trained on 768 vectors")
    with Library.open(own_folder, embedder=embedder) as library:
        library.rebuild()
        assert (library.index_kind, read_manifest(own_folder / "index").kind) == ("pca", "pca")
        assert library.verify() == []
        found = library.search("Venus").dense[0]
        assert np.array_equal(library.vectors([found.passage_id]), before)


def test_opening_with_another_kind_rebuilds_the_index_and_with_the_same_does_not(own_folder, embedder):
    with Library.open(own_folder, embedder=embedder, index="clusters"):
        first = read_manifest(own_folder / "index")
    with Library.open(own_folder, embedder=embedder, index="clusters"):
        assert read_manifest(own_folder / "index") == first
    with Library.open(own_folder, embedder=embedder, index="auto"):
        assert read_manifest(own_folder / "index").kind == "auto"


def test_a_new_library_can_choose(tmp_path, embedder, demo_folder):
    with Library.open(tmp_path / "new", embedder=embedder, create=True, index="flat") as library:
        assert (library.index_kind, library.stats()["index"]) == ("flat", None)


def test_an_unknown_kind_is_refused(own_folder):
    with pytest.raises(UsageError, match=r"'hnsw' is unknown.*pca"):
        Library.open(own_folder, index="hnsw")
