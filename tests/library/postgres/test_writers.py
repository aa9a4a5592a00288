"""Several writers at once, pieces that are merged, an index of the vectors: what a search sees of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from six_documents import TEXTS, documents

from preflight_rag.ingest.document_store import PreparedDocument
from preflight_rag.ingest.identity import passage_id, vector_key
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import LibraryBusy
from preflight_rag.state.values import Document, Passage

pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")

from preflight_rag.library.postgres.writing import writing

pytestmark = pytest.mark.slow


def prepared(embedder, name, text, digest=None):
    passage = Passage(id=passage_id(name, 0, text), document_id=name, text=text, source=name, end=len(text), tokens=5)
    (vector,) = embedder.encode_passages([("", text)])
    document = Document(id=name, text=text, source=name)
    key = (vector_key(passage),)
    return PreparedDocument(document, "", digest or text, (passage,), key, (vector.astype("<f4").tobytes(),))


def words(library, query, k=50):
    return {hit.document_id for hit in library.search(SearchQuery(query, k=k)).lexical}


@contextmanager
def run_of(library, wait=0.3):
    with writing(library._store, wait) as run:
        yield run


def test_two_runs_write_at_once_and_each_is_seen_whole_when_it_is_published(opened, embedder):
    library = opened()
    library.add(documents())
    with run_of(library) as one, run_of(library) as other:
        one.write_documents([prepared(embedder, "cola", "Cola contains caffeine.")])
        other.write_documents([prepared(embedder, "mate", "Mate contains caffeine.")])
        one.write_documents([prepared(embedder, "cocoa", "Cocoa contains caffeine.")])
        assert words(library, "caffeine") == {"coffee", "tea"}
        one.publish()
        assert words(library, "caffeine") == {"coffee", "tea", "cola", "cocoa"}
        other.publish()
    assert words(library, "caffeine") == {"coffee", "tea", "cola", "cocoa", "mate"}
    assert library.verify() == []


def test_two_runs_do_not_change_one_document_at_once(opened, embedder):
    library = opened()
    library.add(documents())
    with run_of(library) as one, run_of(library) as other:
        one.write_documents([prepared(embedder, "tea", "Tea is hot.")])
        with pytest.raises(LibraryBusy, match="is being written by another process"):
            other.write_documents([prepared(embedder, "tea", "Tea is cold.")])
        with pytest.raises(LibraryBusy):
            other.retire_document("tea")
        other.write_documents([prepared(embedder, "iron", "Iron is cold.")])
        one.publish()
        assert other.document("tea").content_hash == "Tea is hot."
        assert other.retire_document("tea")
        assert words(library, "hot") >= {"tea"}
        other.publish()
    assert "tea" not in words(library, "hot")
    assert words(library, "cold") == {"iron", "zinc"}
    assert library.verify() == []


def test_the_same_document_from_two_runs_is_there_once(opened, embedder):
    library = opened()
    with run_of(library) as one, run_of(library) as other:
        one.write_documents([prepared(embedder, "tea", "Tea is hot.")])
        waiting = threading.Timer(0.1, one.publish)
        waiting.start()
        other.write_documents([prepared(embedder, "tea", "Tea is hot.")])
        waiting.join()
        other.publish()
    assert library.stats()["documents"] == library.stats()["passages"] == 1
    assert library.verify() == []


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_writers import prepared, writing
from preflight_rag.library.opening import open_library
with open_library(sys.argv[1]) as library, writing(library._store, 1.0) as run:
    run.write_documents([prepared(library.embedder, "tea", "Tea is cold."), prepared(library.embedder, "ice", "Ice!")])
    run.retire_document("iron")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_wrote_is_adopted_by_the_next(opened, url, embedder):
    library = opened()
    library.add(documents())
    tests = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    command = [sys.executable, "-c", KILLED, url, os.path.dirname(__file__)]
    assert subprocess.run(command, env={**os.environ, "PYTHONPATH": tests}).returncode == -signal.SIGKILL
    assert words(library, "ice") == set()
    assert words(library, "iron") == {"iron"}
    library.add([Document(id="cola", text="Cola contains caffeine.", source="s")])
    assert words(library, "ice") == {"ice"}
    assert words(library, "cold") == {"tea", "zinc"}
    assert words(library, "iron") == set()
    assert library.stats()["retired"] == 0
    assert library.verify() == []


def test_a_run_that_is_published_while_the_next_one_looks_for_killed_runs_is_published_once(
    opened, embedder, monkeypatch
):
    library = opened()
    with run_of(library) as one, run_of(library) as other:
        one.write_documents([prepared(embedder, "tea", "Tea is hot.")])
        other.write_documents([prepared(embedder, "ice", "Ice is cold.")])
        adopts = other._takes_over

        def publish_first(run):
            if run == one._number:
                one.publish()
            return adopts(run)

        monkeypatch.setattr(other, "_takes_over", publish_first)
        other.publish()
    assert library.stats()["documents"] == 2
    assert library.verify() == []


def test_many_pieces_become_few_and_a_deleted_document_is_in_none(opened, rows, monkeypatch):
    monkeypatch.setattr("preflight_rag.library.postgres.pieces.MERGED", 3)
    library = opened()
    for name, text in TEXTS.items():
        library.add([Document(id=name, text=text, source=name)])
    assert len(rows("select * from library_pieces")) < 4
    assert words(library, "caffeine") == {"coffee", "tea"}
    ((row,),) = rows("select row from library_passages where id = %s", passage_id("tea", 0, TEXTS["tea"]))
    library.delete_document("tea")
    lists = [
        np.frombuffer(each, [("row", "<u4"), ("count", "u1"), ("length", "u1")])
        for (each,) in rows("select list from library_postings")
    ]
    assert not any(row in each["row"] for each in lists)
    assert rows("select sum(passages), sum(length) from library_pieces") == [(5, sum(len(each) for each in lists))]
    assert rows("select * from library_postings where term = 'green'") == []
    for table in ("passages", "vectors"):
        assert rows(f"select * from library_{table} where row = %s", row) == []
    assert rows("select * from library_documents where id = 'tea'") == []
    assert words(library, "caffeine") == {"coffee"}
    assert library.verify() == []


def test_with_an_index_of_the_vectors_searches_and_filters_find_the_same(opened, embedder, monkeypatch):
    library = opened()
    letters = [
        Document(id=f"d{n}", text=f"Item {n} has property {n % 7}.", source="s", metadata={"n": n}) for n in range(300)
    ]
    library.add(letters)
    filters = [None, Filter.parse(["n >= 20"]), Filter.parse(["n < 5"])]
    before = [library.search(SearchQuery("property 3 of items", k=40, where=where)) for where in filters]
    monkeypatch.setattr("preflight_rag.library.postgres.dense_index.FLAT_LIMIT", 100)
    monkeypatch.setattr("preflight_rag.library.postgres.search.FEW", 50)
    library.add([Document(id="one more", text="Nothing in common.", source="s", metadata={"n": -1})])
    again = opened()
    assert again.stats()["index"]["dense"] == "hnsw"
    for where, expected in zip(filters, before, strict=True):
        found = again.search(SearchQuery("property 3 of items", k=40, where=where))
        mine, theirs = ([hit.passage_id for hit in each.dense] for each in (found, expected))
        assert len(set(mine) & set(theirs)) >= 0.95 * len(theirs)
        assert [hit.score for hit in found.dense][:5] == pytest.approx(
            [hit.score for hit in expected.dense][:5], abs=1e-5
        )
    assert again.delete_document("d3")
    assert "d3" not in {hit.document_id for hit in again.search(SearchQuery("Item 3 has property 3.", k=40)).dense}
    again.rebuild()
    assert again.search(SearchQuery("Item 4 has property 4.", k=1)).fused[0].document_id == "d4"
    assert again.verify() == []
