"""Ingests with Ray, on a cluster of this machine: the library of a plain ingest, whoever is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from preflight_rag.ingest.file_worker import FileTask, FileWorker
from preflight_rag.ingest.given import file_origin
from preflight_rag.library import Library
from preflight_rag.state.errors import EmbedderMismatch, UsageError

pytest.importorskip("ray", reason="the extra ray is not installed")

FILES, RECORDS = 5, 12
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="who is whose child is read from /proc"),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Files of records, one of which cannot be read, and a file that is none."""
    folder = tmp_path_factory.mktemp("cluster") / "documents"
    folder.mkdir()
    for number in range(FILES):
        texts = [f"Door {n} of house {number} was painted in {1500 + 40 * number + n}." for n in range(RECORDS)]
        lines = [json.dumps({"id": f"{number}-{n}", "text": text}) for n, text in enumerate(texts)]
        (folder / f"{number}.jsonl").write_text("\n".join([*lines, "no json"]), encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def plain(documents, embedder):
    """What a plain ingest stores of them."""
    with Library.open(documents.parent / "plain", embedder=embedder, create=True) as library:
        report = library.ingest(documents)
    assert (report.added, len(report.failed)) == (FILES * RECORDS, FILES + 1)
    return stored(documents.parent / "plain")


def stored(folder):
    """All passages with their documents, and their vectors, in the order of ids."""
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        rows = connection.execute(
            """select p.id, p.document_id, p.position, p.text, d.content_hash, d.origin, d.date, p.retired, v.input,
            v.vector from passages p join documents d on d.id = p.document_id join vectors v on v.row = p.row
            order by p.id"""
        ).fetchall()
    return [row[:-1] for row in rows], np.stack([np.frombuffer(row[-1], "<f4") for row in rows])


def assert_same(folder, plain):
    rows, vectors = stored(folder)
    assert rows == plain[0]
    np.testing.assert_allclose(vectors, plain[1], atol=1e-5)
    with Library.open(folder) as library:
        assert library.verify() == []
        assert library.search("which door was painted in 1541?").fused[0].document_id == "1-1"


def ingest(documents, folder):
    command = (sys.executable, "-m", "preflight_rag", "ingest", documents, "--library", folder, "--json")
    given = [*map(str, command), "--engine", "ray", "--workers", "2"]
    return subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    output, errors = process.communicate(timeout=500)
    report = json.loads(output)
    assert process.returncode == (1 if report["failed"] else 0), errors
    return report


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def descendants(ancestor, name=""):
    """Processes that somebody started, or those did."""
    found, known = [], {ancestor}
    for _ in range(6):
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if int(path.name) not in known and parent(path.name) in known:
                    known.add(int(path.name))
            except (OSError, ValueError):  # it has just ended
                continue
    for process in known - {ancestor}:
        try:
            if name in Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace"):
                found.append(process)
        except OSError:
            continue
    return found


def wait_until(condition, process):
    deadline = time.monotonic() + 400
    while not (found := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def count(folder):
    try:
        with closing(sqlite3.connect(f"file:{folder / 'library.db'}?mode=ro", uri=True)) as connection:
            return connection.execute("select count(*) from documents").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_a_worker_that_is_killed_loses_and_doubles_nothing(documents, plain, tmp_path):
    folder = tmp_path / "library"
    process = ingest(documents, folder)
    (victim, *_) = wait_until(lambda: descendants(process.pid, "ray::FileWorker"), process)
    os.kill(victim, signal.SIGKILL)
    report = ended(process)
    assert (report["added"], report["updated"]) == (FILES * RECORDS, 0)
    assert len(report["failed"]) == FILES + 1
    assert ["its worker ended, and it was read again by another" in note["note"] for note in report["notes"]] == [True]
    assert_same(folder, plain)


def test_a_run_that_is_killed_goes_on_and_what_is_whole_is_not_read_again(documents, plain, tmp_path):
    folder = tmp_path / "library"
    process = ingest(documents, folder)
    wait_until(lambda: count(folder) >= RECORDS, process)
    left = descendants(process.pid)
    process.kill()
    process.communicate()
    done = count(folder)
    assert done >= RECORDS
    deadline = time.monotonic() + 180  # two of Ray's helpers ask for a minute whether the dead head is back
    while any(is_alive(each) for each in left):
        assert time.monotonic() < deadline, "Ray outlived its program"
        time.sleep(0.1)
    report = ended(ingest(documents, folder))
    assert (report["added"], report["skipped"], report["updated"]) == (FILES * RECORDS - done, done, 0)
    assert_same(folder, plain)


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def worker(embedder):
    made = FileWorker("default", embedder.revision, "sentence")
    yield made
    made.close()


def task(path, finished=None, known=None):
    origin = file_origin(path)
    return FileTask(Path(origin), origin, None, 1_000_000, finished, known or {})


def test_of_a_file_that_is_partly_stored_the_rest_is_embedded(documents, worker):
    whole = worker.begin(task(documents / "0.jsonl"))
    assert (len(whole.documents), len(whole.failed), whole.is_last) == (RECORDS, 1, True)
    known = {each.document.id: each.content_hash for each in whole.documents[:9]}
    rest = worker.begin(task(documents / "0.jsonl", known=known))
    assert [each.document.id for each in rest.documents] == ["0-9", "0-10", "0-11"]
    assert rest.skipped == 9


def test_a_file_that_was_stored_whole_is_not_read_again_unless_something_of_it_is_gone(documents, worker):
    whole = worker.begin(task(documents / "0.jsonl"))
    known = {each.document.id: each.content_hash for each in whole.documents}
    finished = [*whole.version, RECORDS]
    again = worker.begin(task(documents / "0.jsonl", finished, known))
    assert (again.documents, again.skipped, again.failed, again.is_last) == ([], RECORDS, [], True)
    del known["0-3"]
    assert [each.document.id for each in worker.begin(task(documents / "0.jsonl", finished, known)).documents] == [
        "0-3"
    ]


def test_a_file_that_cannot_be_read_is_named_and_never_whole(documents, worker):
    part = worker.begin(task(documents / "empty.txt"))
    assert (part.is_last, part.version, part.documents) == (True, None, [])
    assert "is empty" in part.failed[0][1]


def test_a_worker_with_another_embedder_is_refused(documents):
    with pytest.raises(EmbedderMismatch, match="revision"):
        FileWorker("default", "another", "sentence").begin(task(documents / "0.jsonl"))


def test_without_ray_one_line_says_what_to_install(documents, tmp_path, embedder, monkeypatch):
    monkeypatch.setattr("preflight_rag.state.extras.find_spec", lambda name: None if name == "ray" else name)
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        with pytest.raises(UsageError) as raised:
            library.ingest_with_ray(documents)
        assert str(raised.value).splitlines() == [str(raised.value)]
        assert "pip install 'preflight-rag[ray]'" in str(raised.value)
