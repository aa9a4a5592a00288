"""Copies in a folder's library, whose database an older version may have written, or a killed ingest."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from copied_files import OTHER, REPORT, found_in, write

from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.store import DATABASE
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True, lock_seconds=2) as opened:
        yield opened


def test_a_library_without_the_tables_is_searched_and_gets_them_at_the_next_write(library, tmp_path, embedder):
    folder = write(tmp_path / "in", one_txt=REPORT, two_txt=REPORT)
    library.ingest([folder])
    library.close()
    with sqlite3.connect(tmp_path / "library" / DATABASE) as database:
        for table in ("document_marks", "document_copies", "passage_copies"):
            database.execute(f"DROP TABLE {table}")
    database.close()
    with Library.open(tmp_path / "library", embedder=embedder) as old:
        assert found_in(old) == {"one.txt", "two.txt"}
        write(folder, bees_txt=OTHER)
        assert len(old.ingest([folder]).copies) == 1
        assert len(found_in(old) - {"bees.txt"}) == 1
    with Library.open(tmp_path / "library", embedder=embedder) as again:
        assert len(found_in(again) - {"bees.txt"}) == 1


def test_documents_that_an_older_version_changed_are_compared_anew(library, tmp_path, embedder):
    """An older version writes documents and knows nothing of the tables."""
    folder = write(tmp_path / "in", one_txt=REPORT, two_txt=REPORT)
    library.ingest([folder])
    store = library._store
    kept = [store._rows("SELECT * FROM document_marks"), store._rows("SELECT * FROM passage_copies")]
    (folder / "one.txt").write_text(REPORT.replace("318", "402"), encoding="utf-8")
    library.ingest([folder])
    with store._guard(), store._database.atomic():
        store._connection.execute("DELETE FROM document_marks")
        store._connection.executemany("INSERT INTO document_marks VALUES (?, ?, ?, ?, ?)", map(tuple, kept[0]))
        store._connection.executemany("INSERT INTO passage_copies VALUES (?, ?)", map(tuple, kept[1]))
    library.add([Document(id="bees", text=OTHER, source="bees")])
    assert found_in(library) == {"one.txt", "two.txt", "bees"}


def test_a_killed_ingest_loses_no_document_and_the_next_one_finds_the_copies(library, tmp_path, embedder):
    folder = write(tmp_path / "in")
    for number in range(40):
        (folder / f"{number}.txt").write_text(
            f"{OTHER} Hive {number} stands apart from the others.\n", encoding="utf-8"
        )
    write(folder, a_txt=REPORT, zz_txt=REPORT)
    library.close()
    code = "import sys; from preflight_rag.library import Library; Library.open(sys.argv[1]).ingest([sys.argv[2]])"
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "library"), str(folder)])
    database = tmp_path / "library" / DATABASE
    for _ in range(600):
        time.sleep(0.05)
        with sqlite3.connect(database) as opened:
            there = opened.execute("SELECT 1 FROM sqlite_master WHERE name = 'document_marks'").fetchall()
        opened.close()
        if there or run.poll() is not None:
            break
    run.send_signal(signal.SIGKILL)
    run.wait()
    with Library.open(tmp_path / "library", embedder=embedder) as again:
        again.ingest([folder])
        assert again.catalogue.counts()["documents"] == 42
        assert len(found_in(again) & {"a.txt", "zz.txt"}) == 1
        assert again.verify() == []


@pytest.mark.skipif("PREFLIGHT_DATA" not in os.environ, reason="needs the papers of ingest_docs (PREFLIGHT_DATA)")
def test_papers_as_xml_and_as_text(library, tmp_path):
    papers = Path(os.environ["PREFLIGHT_DATA"]) / "ingest_docs" / "pmc_pairs"
    folder = write(tmp_path / "in")
    for name in ("PMC3590692", "PMC5773984"):
        for suffix in (".nxml", ".txt"):
            shutil.copy(papers / f"{name}{suffix}", folder)
    copies = library.ingest([folder]).copies
    assert {(Path(each.document_id).name, Path(each.of_document).name) for each in copies} == {
        (f"{name}.txt", f"{name}.nxml") for name in ("PMC3590692", "PMC5773984")
    }
    hits = library.search(SearchQuery("Which fractures were treated with lag screws?", k=16)).fused
    texts = [hit for hit in hits if hit.document_id.endswith(".txt")]
    assert len(hits) == 16
    assert len(texts) <= 2
