"""An index that grows: what is added stands behind the rest, and searches find what a whole build finds."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import pytest

from preflight_rag.library.index import building
from preflight_rag.library.index.generations import CONTENTS, PURGE, STEPS, open_index, read_contents
from preflight_rag.library.index.growth import MOST_GROWTH
from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryError
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

FIRST = 40
QUESTIONS = ["Which salt of zinc shortens colds?", "aardvark study 41", "study 3 zinc", "Zebra Ωmega-3 naïve"]


def document(n, text=""):
    said = text or f"Zinc salt {n} shortens colds by {n} hours; study {n} says so."
    return Document(id=f"d{n}", title=f"Study {n}" if n % 2 else "", text=said, source=f"s{n}")


NEW = [
    document(FIRST, "An aardvark and a Zebra took Ωmega-3, say naïve authors."),
    document(FIRST + 1),
    document(FIRST + 2, "RETRACTED zinc. " * 3 + "Zinc study 3 again. " * 60),
]


@pytest.fixture
def library(tmp_path, embedder):
    """A library whose index is past the size up to which it is built anew."""
    with Library.open(tmp_path / "library", embedder=embedder, create=True, flat_limit=20) as opened:
        opened.add([document(n) for n in range(FIRST)])
        yield opened


@pytest.fixture
def whole_builds(monkeypatch):
    """Sizes of the dense indices that are built whole from now on."""
    built, write = [], building.write_dense
    monkeypatch.setattr(
        building,
        "write_dense",
        lambda path, vectors, **given: built.append(len(vectors)) or write(path, vectors, **given),
    )
    return built


def parts(library):
    """All that the index holds, but for the codes of vectors, which depend on those that they were fitted to."""
    index = open_index(library._root)
    known = list(index.terms.terms())
    positions = list(range(len(index.rows)))
    terms = [
        [[known[number] for number in part(at)] for at in positions]
        for part in (index.terms.text, index.terms.title, index.terms.words)
    ]
    with sqlite3.connect(index.vocabulary.path) as words:
        vocabulary = words.execute("SELECT * FROM words ORDER BY word").fetchall()
    words.close()
    settings, contents = read_contents(library._root)
    lexical = {question: index.lexical.search(question, 100) for question in QUESTIONS}
    places = index.places.passages(index.positions_of_all(index.rows.tolist()))
    checksums = index.terms.checksums.tolist()
    contents.sort(key=lambda each: each["id"])
    return index.rows.tolist(), known, terms, checksums, vocabulary, settings, contents, lexical, places


def first(library, question):
    """The document of the passage that is chosen first."""
    return retrieve_passages(library, [question], Settings(k=5)).chosen[0].passage.document_id


def test_what_is_added_is_as_if_all_had_been_built(library, whole_builds):
    library.add(NEW)
    assert whole_builds == []
    grown = parts(library)
    assert library.verify() == []
    assert [first(library, question) for question in QUESTIONS[1::2]] == [f"d{FIRST + 1}", f"d{FIRST}"]
    library.rebuild()
    assert whole_builds == [len(grown[0])]
    assert parts(library) == grown


def test_it_grows_again_and_again_and_then_is_built_anew(library, whole_builds):
    sizes = []
    for n in range(FIRST, FIRST + 12):
        library.add([document(n)])
        sizes.append(len(open_index(library._root).rows))
    grown = [size for size in sizes if size <= MOST_GROWTH * FIRST]
    assert whole_builds[0] == len(grown) + FIRST + 1
    assert len(whole_builds) == 1
    before = parts(library)
    library.rebuild()
    assert parts(library) == before


def test_vectors_are_those_of_the_new_passages(library):
    library.add(NEW)
    index, store = open_index(library._root), library._store
    for row in index.rows[-3:].tolist():
        _, (vector,) = store.row_vectors([row])
        assert index.search_dense(vector, 1).keys.tolist() == [row]


@pytest.mark.parametrize(
    "change",
    [
        lambda library: library.add([document(3, "Something else is said now."), *NEW]),
        lambda library: library.add([document(3).model_copy(update={"title": "Other title"}), *NEW]),
        lambda library: library.delete_document("d5"),
        lambda library: library._store.retire_document("d5") and library.add(NEW),
    ],
    ids=["another text", "another title", "deleted", "deleted before"],
)
def test_what_was_changed_or_deleted_is_nowhere(library, whole_builds, change):
    change(library)
    assert len(whole_builds) == 1
    assert library.verify() == []
    before = parts(library)
    library.rebuild()
    assert parts(library) == before


def test_one_of_a_database_that_lost_writes_does_not_grow(library, whole_builds):
    """It may know a document by a title that the database, put back from a copy, does not have."""
    store, before = library._store, open_index(library._root).manifest.generation
    store.set_meta("generation", before - 1)
    library.add(NEW)
    assert len(whole_builds) == 1
    assert open_index(library._root).manifest.generation > before
    library.add([document(FIRST + 3)])
    assert len(whole_builds) == 1


def test_small_ones_and_other_kinds_are_built_anew(library, embedder, whole_builds):
    with Library.open(library.path, embedder=embedder, flat_limit=100) as other:
        other.add(NEW[:1])
        assert len(whole_builds) == 1
    library.set_index_kind("flat")
    assert len(whole_builds) == 2
    library.add(NEW[1:])
    assert len(whole_builds) == 2


@pytest.mark.parametrize("name", ["words.db", "terms/made-of.npy", CONTENTS, "dense.faiss"])
def test_a_damaged_one_does_not_grow(library, whole_builds, name):
    path = library._root / open_index(library._root).manifest.folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    library.add(NEW)
    assert len(whole_builds) == 1
    assert library.verify() == []


def test_one_that_cannot_be_written_leaves_the_one_before(library, monkeypatch):
    before = parts(library)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("preflight_rag.library.index.growth.grow_places", full)
    with pytest.raises(LibraryError, match="the one before stays"):
        library.add(NEW)
    assert [path.name for path in library._root.iterdir() if path.is_dir()] == [
        open_index(library._root).manifest.folder
    ]
    assert parts(library) == before
    monkeypatch.undo()
    library.add([])
    assert len(open_index(library._root).rows) > FIRST


CHILD = """
import os, signal, sys
from preflight_rag.library import Library
from preflight_rag.state.values import Document
folder, done = sys.argv[1:]
def die(event):
    if (event.stage, event.done) == ("index", int(done)):
        os.kill(os.getpid(), signal.SIGKILL)
with Library.open(folder, flat_limit=20) as library:
    library.add([Document(id="new", text="An aardvark slept.", source="n")], progress=die)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_killed_one_leaves_the_one_before_and_the_next_one_completes_it(library, whole_builds, step):
    before = parts(library)
    child = subprocess.run([sys.executable, "-c", CHILD, library.path, str(step)], timeout=300, check=False)
    assert child.returncode == -signal.SIGKILL
    assert (parts(library) != before) == (STEPS[step] == PURGE)
    library.add([])
    assert whole_builds == []
    assert library.verify() == []
    assert library.notes == []
    assert first(library, "Which aardvark slept?") == "new"
    assert len([path for path in library._root.iterdir() if path.is_dir()]) == 1
