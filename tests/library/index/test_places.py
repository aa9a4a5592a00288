"""Places of passages as an index holds them: a search ranks with them, and reads only what goes on."""

from __future__ import annotations

import shutil
import sqlite3

import numpy as np
import pytest

from preflight_rag.library.index import arrays
from preflight_rag.library.index.generations import MANIFEST, open_index
from preflight_rag.library.index.places import FOLDER, open_places, write_places
from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import DatabaseCorrupt, LibraryCorrupt
from preflight_rag.state.values import Document, UnreadPassage

PASSAGES = [
    (3, "a1", "a", "Zinc", 7, 0),
    (5, "a2", "a", "Zinc", 9, 40),
    (8, "é東", "a document, of 東京", "RETRACTED: Tin", 2, 0),
    (9, "a3", "a", "Zinc", 1, 90),
]
QUESTION = "Does zinc make colds shorter?"


def written(folder):
    folder.mkdir()
    write_places(folder, PASSAGES)
    return open_places(folder)


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as opened:
        texts = [f"Zinc makes colds shorter by {n} hours, says study {n}." for n in range(30)]
        opened.add([Document(id=f"d{n}", title=f"Study {n}", text=text, source="s") for n, text in enumerate(texts)])
        yield opened


def chosen(library, **settings):
    return [
        (each.passage, each.rank, each.score, each.cosine, each.dense_rank, each.lexical_rank, each.bm25)
        for each in retrieve_passages(library, [QUESTION], Settings(k=5, **settings)).chosen
    ]


@pytest.mark.parametrize("mapped_from", [0, 10**9])
def test_they_are_those_that_were_written(tmp_path, monkeypatch, mapped_from):
    monkeypatch.setattr(arrays, "MAPPED_FROM", mapped_from)
    places, asked = written(tmp_path / "places"), np.array([2, 0, 3])
    assert len(places) == 4
    assert places.names(asked) == [("é東", "a document, of 東京"), ("a1", "a"), ("a3", "a")]
    found = [(each.tokens, each.start, each.retracted) for each in places.passages(asked)]
    assert found == [(2, 0, True), (7, 0, False), (1, 90, False)]


def test_only_what_goes_on_is_read(library, monkeypatch):
    read = []
    passages = library._store.passages
    monkeypatch.setattr(library._store, "passages", lambda ids: read.append(list(ids)) or passages(ids))
    found = chosen(library)
    assert read == [[passage.id for passage, *_ in found]]
    assert len(found) == 5
    assert not any(isinstance(passage, UnreadPassage) for passage, *_ in found)
    assert all("zinc" in passage.text.lower() for passage, *_ in found)


def test_the_same_passages_as_without_them(library):
    """As in an index that an older version built, where all candidates are read before they are ranked."""
    with_them = {name: chosen(library, **given) for name, given in SETTINGS.items()}
    library._index.get().places = None
    assert {name: chosen(library, **given) for name, given in SETTINGS.items()} == with_them


SETTINGS = {
    "default": {},
    "no second stage": {"reranker": "none"},
    "diverse": {"diversity": "mmr", "alpha": 0.6},
    "budget": {"budget_tokens": 60, "ordering": "index"},
    "scores": {"fusion": "combsum"},
    "share": {"document_share": 0.2},
    "filter": {"where": ("title ~ study 1",)},
    "recency": {"recency": 0.5},
}


def test_an_edited_passage_that_goes_on_is_refused(library):
    first = chosen(library)[0][0]
    with sqlite3.connect(library._store.path) as other:
        other.execute("UPDATE passages SET text = 'Zinc cures all.' WHERE id = ?", (first.id,))
    other.close()
    with pytest.raises(DatabaseCorrupt, match="is not as it was written"):
        chosen(library)


def test_a_database_that_lacks_what_is_found_is_not_passed_over(library):
    """The index is rebuilt of what the database has, as where it points to nothing."""
    first = chosen(library)[0][0]
    with sqlite3.connect(library._store.path) as other:
        other.execute("PRAGMA foreign_keys = ON")
        other.execute("DELETE FROM passages WHERE id = ?", (first.id,))
    other.close()
    assert first.id not in {passage.id for passage, *_ in chosen(library)}
    assert "was rebuilt" in " ".join(library.notes)


def test_an_index_without_them_is_searched_and_a_damaged_one_is_refused(library, tmp_path):
    root, before = library._root, chosen(library)
    folder = root / open_index(root).manifest.folder / FOLDER
    (folder / "tokens.npy").write_bytes(b"no array")
    with pytest.raises(LibraryCorrupt, match=r"tokens\.npy"):
        open_places(folder)
    shutil.rmtree(folder)
    assert open_places(folder) is None
    (root / MANIFEST).unlink()
    assert chosen(library) == before
