"""The SQLite store."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from preflight_rag.ingest.identity import content_hash, passage_id
from preflight_rag.library.storage.damage import database_problems
from preflight_rag.library.storage.store import DATABASE, Store
from preflight_rag.state.errors import LibraryCorrupt, LibraryError, LibraryMissing
from preflight_rag.state.values import Document, Passage


def write(store, text, *, name="d", title="Title", origin="/a.txt"):
    document = Document(id=name, text=text, source="s", title=title, authors=("Ann",), metadata={"year": 2020})
    start, passages = 0, []
    for part in text.split("|"):
        passage = Passage(
            id=passage_id(name, start, part), document_id=name, text=part, start=start, end=start + len(part), tokens=2
        )
        passages.append((passage, f"key of {part}", np.full(4, len(part), dtype="<f4").tobytes()))
        start += len(part) + 1
    store.write_document(document, origin=origin, content_hash=content_hash(document, {}), passages=passages)
    return [passage.id for passage, _, _ in passages]


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, create=True)
    yield store
    store.close()


def test_a_passage_comes_back_with_its_document(store):
    (name,) = write(store, "Tea is hot.")
    passage = store.passages([name])[name]
    assert (passage.text, passage.title, passage.metadata) == ("Tea is hot.", "Title", {"year": 2020})
    assert store.vectors([name])[name].tolist() == [11.0] * 4


def test_a_passage_that_was_read_before_is_as_the_database_has_it_now(store):
    kept, gone = write(store, "one|two")
    assert store.passages([kept, gone]).keys() == {kept, gone}
    with sqlite3.connect(store.path) as other:  # by another program
        other.execute("update documents set title = 'Other'")
        other.execute("delete from passages where id = ?", (gone,))
    other.close()
    assert {name: each.title for name, each in store.passages([kept, gone]).items()} == {kept: "Other"}
    write(store, "one|two", title="Own")
    assert store.passages([kept])[kept].title == "Own"


def test_a_passage_that_was_read_before_it_was_taken_back_is_gone(store):
    def fail():
        with store._transaction():
            [name] = write(store, "never", name="other")
            assert store.passages([name]).keys() == {name}
            raise LibraryError("stop", help="")

    with pytest.raises(LibraryError, match="stop"):
        fail()
    assert store.passages([passage_id("other", 0, "never")]) == {}


def test_an_edited_text_is_found_out_though_it_was_read_before(store):
    [name] = write(store, "one")
    store.passages([name])
    with sqlite3.connect(store.path) as other:
        other.execute("update passages set text = 'two'")
    other.close()
    with pytest.raises(LibraryCorrupt):
        store.passages([name])


def test_a_changed_document_keeps_old_passages_until_purged(store):
    kept, gone = write(store, "one|two")
    rows = store.passage_vectors(4).rows
    assert write(store, "one|new") == [kept, passage_id("d", 4, "new")]
    assert set(store.passages([kept, gone])) == {kept, gone}
    assert store.counts() == {"documents": 1, "passages": 2, "tokens": 4, "retired": 1}
    store.purge(store.generation())
    assert set(store.passages([kept, gone])) == {kept}
    assert int(rows[0]) in store.identities(rows.tolist())
    assert int(rows[1]) not in store.identities(rows.tolist())


def test_a_row_number_is_never_used_twice(store):
    write(store, "one|two")
    last = store.passage_vectors(4).rows.max()
    store.retire_document("d")
    store.purge(store.generation())
    write(store, "three")
    assert store.passage_vectors(4).rows.min() > last


def test_a_document_that_comes_back_is_revived(store):
    names = write(store, "one|two")
    assert store.retire_document("d")
    assert not store.retire_document("d")
    assert store.document("d") is None
    write(store, "one|two")
    store.purge(store.generation())
    assert set(store.passages(names)) == set(names)


def test_pending_counts_what_an_index_does_not_know(store):
    write(store, "one", name="a")
    known = store.generation()
    write(store, "two", name="b")
    store.retire_document("a")
    assert (store.count_changed_since(known), store.count_changed_since(store.generation())) == (2, 0)


def test_a_failed_write_leaves_nothing(store):
    broken = Passage(id="p", document_id="other", text="x")
    document = Document(id="d", text="x", source="s")
    with pytest.raises(LibraryError, match="FOREIGN KEY"):
        store.write_document(document, origin="", content_hash="h", passages=[(broken, "k", b"")])
    assert (store.document("d"), store.generation(), list(store.documents())) == (None, 0, [])


def test_vectors_are_found_by_what_was_embedded(store):
    write(store, "one|two")
    assert set(store.embedded(["key of one", "key of three"])) == {"key of one"}


def test_documents_are_listed_by_id(store):
    write(store, "one|two", name="b")
    write(store, "three", name="a")
    assert [(row["id"], row["authors"], row["passages"]) for row in store.documents()] == [
        ("a", ["Ann"], 1),
        ("b", ["Ann"], 2),
    ]


def test_it_opens_with_plain_sqlite_and_is_wal(store):
    write(store, "one")
    connection = sqlite3.connect(store.path)
    assert connection.execute("SELECT text FROM passages").fetchall() == [("one",)]
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_no_library(tmp_path):
    with pytest.raises(LibraryMissing, match="nowhere"):
        Store(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("content", [b"this is not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_damaged_database_is_named(tmp_path, content, create):
    (tmp_path / DATABASE).write_bytes(content)
    with pytest.raises(LibraryCorrupt, match=DATABASE):
        Store(tmp_path, create=create)


def test_another_programs_database_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(LibraryCorrupt, match="another program"):
        Store(tmp_path, create=True)


def test_a_newer_schema_is_refused(tmp_path, store):
    store.set_meta("schema_version", 99)
    with pytest.raises(LibraryError, match=r"schema 99.*Upgrade"):
        Store(tmp_path)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(LibraryError, match="Cannot make the folder"):
        Store(tmp_path / "file" / "library", create=True)


def test_problems_name_a_passage_without_vector(store):
    (name,) = write(store, "one")
    assert database_problems(store, 4) == []
    assert name in database_problems(store, 5)[0]
    with pytest.raises(LibraryCorrupt, match="no vector of 5 numbers"):
        store.passage_vectors(5)[:1]


def test_slices_of_the_stored_vectors_are_those_of_the_whole(store):
    names = write(store, "|".join("x" * length for length in range(1, 9)))
    write(store, "gone", name="other")
    store.retire_document("other")
    rows, vectors = store.rows(names), store.vectors(names)
    whole = np.stack([vectors[name] for name in names])
    stored = store.passage_vectors(4)
    assert (stored.shape, stored.rows.tolist()) == ((8, 4), [rows[name] for name in names])
    for places in (slice(None), slice(2, 5), slice(6, 20), slice(None, None, 3), slice(8, 9)):
        assert stored[places].tolist() == whole[places].tolist()


@pytest.mark.parametrize("vector", [b"", b"1234", "text", np.full(4, np.nan, "<f4").tobytes()])
def test_one_damaged_vector_among_others_is_named(store, vector):
    names = write(store, "one|two|three")
    store.set_meta("embedder", {"dimension": 4})
    assert set(store.vectors(names)) == set(names)
    store._connection.execute("UPDATE vectors SET vector = ? WHERE row = 2", (vector,))
    with pytest.raises(LibraryCorrupt, match="vector"):
        store.passage_vectors(4)[:]
    with pytest.raises(LibraryCorrupt, match=names[1]):
        store.vectors(names)
