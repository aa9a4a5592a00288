"""The kinds of dense index, and that a library keeps the one it was given."""

from __future__ import annotations

import numpy as np
import pytest

from preflight_rag.library import Library
from preflight_rag.library.index.dense import KINDS, DenseIndex, principal_components, vectors_needed, write_dense
from preflight_rag.library.index.generations import read_manifest
from preflight_rag.state.errors import UsageError

APPROXIMATE = ("pca", "clusters", "pca+clusters")


@pytest.fixture(scope="module")
def vectors():
    """Unit vectors (2000, 64) around 40 centres, off the origin, most of their variance in 20 dimensions."""
    rng = np.random.default_rng(7)
    scale = np.r_[np.ones(20), np.full(44, 0.1)]
    centres = rng.normal(size=(40, 64)) * scale + 0.5
    found = centres[rng.integers(40, size=2000)] + 0.5 * rng.normal(size=(2000, 64)) * scale
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def queries(vectors):
    noisy = vectors[:50] + 0.05 * np.random.default_rng(8).normal(size=(50, 64))
    return (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)


def nearest(vectors, query, n, among=None):
    among = np.arange(len(vectors)) if among is None else among
    return set(among[np.argsort(-(vectors[among] @ query), kind="stable")[:n]].tolist())


@pytest.mark.parametrize("kind", APPROXIMATE)
def test_nearly_all_neighbours_are_found_with_their_true_inner_products(tmp_path, vectors, queries, kind):
    assert write_dense(tmp_path / "dense", vectors, kind=kind).note == ""
    index = DenseIndex(tmp_path / "dense")
    recalls = []
    for query in queries:
        found = index.search(query, 10)
        recalls.append(len({position for position, _ in found} & nearest(vectors, query, 10)) / 10)
        assert [score for _, score in found] == pytest.approx([vectors[i] @ query for i, _ in found], abs=2e-3)
    assert np.mean(recalls) > 0.95


@pytest.mark.parametrize("kind", [*APPROXIMATE, "flat", "compressed"])
def test_a_search_among_some_is_exhaustive_over_them(tmp_path, vectors, queries, kind):
    write_dense(tmp_path / "dense", vectors, kind=kind)
    index, among = DenseIndex(tmp_path / "dense"), np.arange(3, 2000, 97)
    for query in queries[:10]:
        found = index.search(query, 5, among=among)
        assert {position for position, _ in found} <= set(among.tolist())
        assert found[0][0] in nearest(vectors, query, 1, among)
    assert len(index.search(queries[0], 100, among=among)) == len(among)
    assert index.search(queries[0], 5, among=among[:0]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 30])
def test_a_small_library_is_searched_whole_and_says_so(tmp_path, vectors, kind, count):
    built = write_dense(tmp_path / "dense", vectors[:count], kind=kind)
    assert len(DenseIndex(tmp_path / "dense").search(vectors[0], 50)) == count
    if kind in APPROXIMATE and count:
        assert built.factory == "Flat"
        assert f"{vectors_needed(kind, 64):,} vectors or more, and there are {count}" in built.note


def test_the_numbers_of_a_kind_are_told(tmp_path, vectors):
    built = write_dense(tmp_path / "dense", vectors, kind="pca+clusters")
    assert built.factory == "PCA32,IVF51,SQ8,Refine(SQfp16)"
    assert built.settings == {
        "clusters": 51,
        "probed": 13,
        "dimensions": 32,
        "explained_variance": pytest.approx(1, abs=0.05),
    }


def test_principal_components_keep_the_share_that_was_asked_for(vectors):
    rotation, explained = principal_components(vectors, 0.8)
    projected = (vectors - vectors.mean(axis=0)) @ rotation.T
    assert rotation.shape == (16, 64)
    assert explained == pytest.approx(projected.var(axis=0).sum() / vectors.var(axis=0).sum(), abs=1e-4)
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
