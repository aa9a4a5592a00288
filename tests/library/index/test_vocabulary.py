"""The library's vocabulary."""

import json
import sqlite3

import pytest

from preflight_rag.library.index.vocabulary import (
    WORDS,
    Vocabulary,
    WordCount,
    letters,
    neighbours,
    write_vocabulary,
)
from preflight_rag.library.library import Library
from preflight_rag.state.errors import LibraryCorrupt
from preflight_rag.state.values import Document

TEXTS = [
    ("a", "Aspirin lowers fever."),
    ("a", "Aspirin and ASPIRIN again."),
    ("b", "Fieber heißt fever; Жар. IL-6 naïve"),
]


@pytest.fixture
def vocabulary(tmp_path):
    assert write_vocabulary(tmp_path / WORDS, TEXTS) == len(set(letters(" ".join(text for _, text in TEXTS))))
    return Vocabulary(tmp_path / WORDS)


def test_counts_passages_and_documents(vocabulary):
    found = vocabulary.counts(["aspirin", "Fever", "жар", "absent"])
    assert found["aspirin"] == WordCount("aspirin", passages=2, documents=1)
    assert found["Fever"] == WordCount("fever", passages=2, documents=2)
    assert set(found) == {"aspirin", "Fever", "жар"}


def test_the_words_that_are_unknown_in_their_order(vocabulary):
    assert vocabulary.unknown(["zinc", "fever", "na\u0131ve", "nai\u0308ve", "Copper"]) == [
        "zinc",
        "na\u0131ve",
        "Copper",
    ]
    assert vocabulary.unknown([f"word{n}" for n in range(2_000)] + ["fever"])[-1] == "word1999"


@pytest.mark.parametrize(("typed", "word"), [("aspirn", "aspirin"), ("apsirin", "aspirin"), ("lovers", "lowers")])
def test_words_that_a_slip_may_mean(vocabulary, typed, word):
    assert word in {entry.word for entry in vocabulary.similar(typed, 2)}


def test_neighbours_swap_or_leave_out():
    assert neighbours("abc") == ["bac", "acb", "bc", "ac", "ab"]


def test_it_comes_with_each_index(tmp_path, embedder):
    with Library.open(tmp_path, embedder=embedder, create=True) as library:
        library.add([Document(id="1", text="Zinc shortens colds.", title="Metals", source="s")])
        assert library.vocabulary.unknown(["zinc", "metals", "copper"]) == ["copper"]
        library.add([Document(id="2", text="Copper conducts.", source="s")])
        assert library.vocabulary.counts(["copper"])["copper"].documents == 1
        assert library.verify() == []


def test_an_index_of_an_older_version_has_none(library, own_folder, embedder):
    manifest = own_folder / "index" / "manifest.json"
    folder = next(path for path in (own_folder / "index").iterdir() if path.is_dir())
    (folder / WORDS).unlink()
    said = json.loads(manifest.read_text(encoding="utf-8"))
    del said["files"][WORDS]
    manifest.write_text(json.dumps(said), encoding="utf-8")
    with Library.open(own_folder, embedder=embedder) as older:
        assert older.vocabulary is None
        assert older.search("aspirin").fused
        older.rebuild()
        assert older.vocabulary.unknown(["the"]) == []


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / WORDS).write_bytes(b"not a database, far from it" * 100)
    with pytest.raises(LibraryCorrupt, match="vocabulary"):
        Vocabulary(tmp_path / WORDS).unknown(["a"])


def test_a_cut_table_is_named(tmp_path):
    sqlite3.connect(tmp_path / WORDS).close()
    with pytest.raises(LibraryCorrupt, match="rebuild"):
        len(Vocabulary(tmp_path / WORDS))
