"""Ingest, and documents that are stored on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from preflight_rag.ingest import prepare, run
from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.write_lock import LOCK
from preflight_rag.state.errors import LibraryError
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True, lock_seconds=0.2) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "tea.txt").write_text("Green tea contains caffeine.", encoding="utf-8")
    (folder / "fever.txt").write_text("Aspirin lowers fever.", encoding="utf-8")
    return folder


def records(path, **texts):
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def counts(report):
    return report.added, report.updated, report.skipped, report.removed, len(report.failed)


def first(library, query):
    return library.passages([library.search(query).fused[0].passage_id])[0]


def test_added_then_skipped_then_updated(library, folder):
    assert counts(library.ingest([folder])) == (2, 0, 0, 0, 0)
    assert counts(library.ingest([folder])) == (0, 0, 2, 0, 0)
    (folder / "tea.txt").write_text("Green tea contains catechins.", encoding="utf-8")
    assert counts(library.ingest([folder])) == (0, 1, 1, 0, 0)
    assert first(library, "what is in tea?").text == "Green tea contains catechins."
    assert library.verify() == []


def test_nothing_changed_builds_no_index(library, folder):
    library.ingest([folder])
    events = []
    library.ingest([folder], progress=events.append)
    assert {event.stage for event in events} == {"reading", "documents"}


def test_unchanged_passages_keep_their_vectors(library, monkeypatch):
    library.add([Document(id="a", text="Aspirin lowers fever.", source="s")])
    encoded = []
    encode = library.embedder.encode_passages
    monkeypatch.setattr(library.embedder, "encode_passages", lambda texts: encoded.extend(texts) or encode(texts))
    library.add([Document(id="a", text="Aspirin lowers fever.", source="s", metadata={"year": 2024})])
    library.add([Document(id="b", text="Aspirin lowers fever.", source="s")])
    assert encoded == []


def test_prune_removes_what_is_gone_and_nothing_else(library, folder, tmp_path):
    other = records(tmp_path / "other.jsonl", x="Coffee is bitter.")
    kept = records(folder / "kept.jsonl", a="Zinc shortens colds.", b="Iron treats anaemia.")
    library.ingest([folder, other])
    other.unlink()
    (folder / "tea.txt").unlink()
    records(kept, a="Zinc shortens colds.")
    assert counts(library.ingest([folder])) == (0, 0, 2, 0, 0)
    kept = library.ingest([folder])
    assert (kept.removed, kept.gone) == (0, 2)
    pruned = library.ingest([folder], prune=True)
    assert (pruned.removed, pruned.gone) == (2, 0)
    assert {row["id"] for row in library.documents()} == {"a", "x", str(folder / "fever.txt")}
    assert library.verify() == []


def test_prune_keeps_a_file_that_cannot_be_read_for_once(library, folder):
    library.ingest([folder])
    (folder / "tea.txt").write_bytes(b"")
    assert counts(library.ingest([folder], prune=True)) == (0, 0, 1, 0, 1)
    assert len(list(library.documents())) == 2


def test_equal_ids_of_two_files_are_told_apart_by_file(library, tmp_path):
    one = records(tmp_path / "one.jsonl", a="Zinc shortens colds.")
    two = records(tmp_path / "two.jsonl", a="Iron treats anaemia.")
    library.ingest([one])
    report = library.ingest([two])
    assert (counts(report), [source for source, _ in report.notes]) == ((1, 0, 0, 0, 0), [str(two)])
    assert {row["id"] for row in library.documents()} == {"a", f"{two}#a"}
    assert counts(library.ingest([one, two])) == counts(library.ingest([two, one])) == (0, 0, 2, 0, 0)
    records(two, a="Iron treats many kinds of anaemia.")
    assert counts(library.ingest([two])) == (0, 1, 0, 0, 0)
    one.unlink()
    assert counts(library.ingest([tmp_path], prune=True)) == (0, 0, 1, 1, 0)
    assert [row["id"] for row in library.documents()] == [f"{two}#a"]


def test_an_id_that_is_the_same_everywhere_belongs_to_its_file_while_that_exists(library, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text(f"pmid,abstract\n11,{'Zinc shortens colds. ' * 5}\n")
    two = tmp_path / "two.csv"
    two.write_text(f"pmid,abstract\n11,{'Iron treats anaemia. ' * 5}\n")
    library.ingest([one])
    report = library.ingest([two])
    assert counts(report) == (0, 0, 0, 0, 1)
    assert f"The id '11' belongs to a document of {one}" in report.failed[0][1]
    one.unlink()
    assert counts(library.ingest([two])) == (0, 1, 0, 0, 0)


def test_a_record_may_move_to_another_file(library, tmp_path):
    one, two = records(tmp_path / "one.jsonl", a="Zinc shortens colds.", b="Iron."), tmp_path / "two.jsonl"
    library.ingest([one])
    records(one, b="Iron.")
    records(two, a="Zinc shortens colds.")
    assert library.ingest([one, two]).failed == []
    assert library.ingest([one, two], prune=True).removed == 0


def test_the_same_id_twice_in_one_run_is_refused(library):
    twice = [Document(id="a", text=text, source="s") for text in ("Tea is hot.", "Ice is cold.")]
    report = library.add(twice)
    assert (report.added, report.failed) == (1, [("s", "The id 'a' was already read from another document")])


def test_a_title_stands_for_a_missing_text(library):
    report = library.add([Document(id="t", text="", title="Aspirin lowers fever", source="s")])
    assert (report.added, first(library, "fever").text) == (1, "Aspirin lowers fever")
    assert library.add([Document(id="e", text=" ", source="s")]).failed == [("s", "s holds no text")]


def test_lone_surrogates_are_replaced(library):
    library.add([Document(id="a\ud800", text="Tea \udcff is hot.", source="s", metadata={"x": "\ud800"})])
    assert first(library, "hot tea \ud800").text == "Tea \ufffd is hot."


def test_progress_counts_documents_then_steps(library, folder):
    records(folder / "more.jsonl", a="Zinc shortens colds.", b="Iron treats anaemia.")
    events = []
    library.ingest([folder], progress=events.append)
    documents = [event for event in events if event.stage == "documents"]
    assert [(event.done, event.total) for event in documents] == [(n, 4) for n in (1, 2, 3, 4)]
    steps = [event for event in events if event.stage == "index"]
    assert [event.name for event in steps] == ["dense.faiss", "lexical", "words.db", "terms", "manifest.json", "purge"]


def test_a_second_writer_waits_then_is_told(library, folder):
    from filelock import FileLock

    with FileLock(library.path / LOCK), pytest.raises(LibraryError, match="being written by another process"):
        library.ingest([folder])
    assert library.ingest([folder]).added == 2


def test_two_ingests_at_once_both_finish(library, folder, tmp_path):
    more = records(tmp_path / "more.jsonl", **{f"r{n}": f"Record number {n} is here." for n in range(20)})
    running = [start(library.path, paths) for paths in (folder, more)]
    assert [process.wait(timeout=300) for process in running] == [0, 0]
    assert (library.stats()["documents"], library.verify()) == (22, [])


CHILD = """
import os, signal, sys
from preflight_rag.library import Library
folder, documents, stage, done = sys.argv[1:]
def die(event):
    if (event.stage, event.done) == (stage, int(done)):
        os.kill(os.getpid(), signal.SIGKILL)
with Library.open(folder, create=True, lock_seconds=200) as library:
    library.ingest([documents], progress=die)
"""


def start(folder, documents, stage="", done=0):
    return subprocess.Popen([sys.executable, "-c", CHILD, str(folder), str(documents), stage, str(done)])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("stage", "done", "swapped"),
    [
        ("documents", 2, False),
        ("documents", 3, False),
        ("index", 0, False),
        ("index", 1, False),
        ("index", 2, False),
        ("index", 3, False),
        ("index", 4, False),
        ("index", 5, True),
    ],
)
def test_a_killed_ingest_loses_nothing(library, folder, stage, done, swapped):
    library.ingest([folder])
    (folder / "fever.txt").write_text("Ice lowers fever.", encoding="utf-8")
    records(folder / "more.jsonl", a="Zinc shortens colds.", b="Iron treats anaemia.")
    assert start(library.path, folder, stage, done).wait(timeout=300) == -signal.SIGKILL
    expected = "Ice lowers fever." if swapped else "Aspirin lowers fever."
    assert first(library, "what lowers fever?").text == expected
    assert any("wait for the next ingest" in note for note in library.notes) != swapped
    library.ingest([folder])
    assert first(library, "what lowers fever?").text == "Ice lowers fever."
    assert (library.verify(), library.notes, library.stats()["documents"]) == ([], [], 4)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_first_ingest_still_answers(library, folder):
    assert start(library.path, folder, "index", 1).wait(timeout=300) == -signal.SIGKILL
    assert first(library, "what lowers fever?").text == "Aspirin lowers fever."
    assert "rebuilt from the database" in library.notes[0]


def found(number, text="Metformin lowers blood sugar in type 2 diabetes.", **values):
    return Document(id=f"PMID {number}", text=text, source=f"PMID {number}", title="Metformin", **values)


@pytest.fixture
def own(own_folder, embedder):
    with Library.open(own_folder, embedder=embedder) as library:
        yield library


def test_they_can_be_cited_and_found(own):
    interned = own.intern([found(1, metadata={"origin": "D1"}), found(2, "Metformin was given to mice.")])
    assert [passage.document_id for passage in interned.passages] == ["PMID 1", "PMID 2"]
    assert interned.problems == ()
    assert own.passages([interned.passages[0].id])[0].metadata["origin"] == "D1"
    assert own.vectors([interned.passages[0].id]).shape == (1, 384)
    assert own.candidates(SearchQuery("metformin and blood sugar", candidates=3))[0].origin == "D1"
    assert own.verify() == []


def test_the_same_again_writes_nothing(own):
    first = own.intern([found(1)])
    generation = own.stats()["generation"]
    assert first.new == {first.passages[0].id}
    again = own.intern([found(1), found(1)])
    assert (again.passages, again.new) == (first.passages, frozenset())
    assert own.stats()["generation"] == generation


def test_a_changed_document_is_replaced(own):
    old = own.intern([found(1)]).passages
    new = own.intern([found(1, "A correction: metformin lowers blood sugar slightly.")]).passages
    assert old[0].id != new[0].id
    assert [passage.text for passage in own.intern([found(1, new[0].text)]).passages] == [new[0].text]


def test_a_document_of_a_file_with_the_same_source_stands_for_it(own, tmp_path):
    text = "Metformin lowers blood sugar in type 2 diabetes."
    citation = f"<PMID>1</PMID><Article><Abstract><AbstractText>{text}</AbstractText></Abstract></Article>"
    path = tmp_path / "a.xml"
    path.write_text(f"<PubmedArticleSet><MedlineCitation>{citation}</MedlineCitation></PubmedArticleSet>")
    own.ingest(path)
    documents = own.stats()["documents"]
    interned = own.intern([found(1), found(2)])
    assert [passage.document_id for passage in interned.passages] == [str(path), "PMID 2"]
    assert own.stats()["documents"] == documents + 1


def test_another_writer_does_not_fail_the_caller(own):
    known = own.intern([found(1)])
    with FileLock(own.path / LOCK):
        interned = own.intern([found(1), found(2)], deadline=0.05)
    assert interned.passages == known.passages
    assert len(interned.problems) == 1
    assert "could not be stored" in interned.problems[0]


def test_what_is_not_read_in_time_is_told(own):
    interned = own.intern([found(number) for number in range(4)], deadline=1e-9)
    assert interned.passages == ()
    assert "4 of 4 new documents could not be read in time: PMID 0, PMID 1, PMID 2, …" in interned.problems[0]


def test_a_large_library_waits_with_its_index(own, monkeypatch):
    monkeypatch.setattr("preflight_rag.library.writer.REBUILD_PASSAGES", 0)
    own.search("metformin")
    (passage,) = own.intern([found(1)]).passages
    assert own.passages([passage.id]) == [passage]
    assert "wait for the next ingest" in own.notes[-1]
    own.rebuild()
    assert own.search("metformin blood sugar").fused[0].passage_id == passage.id


def test_several_turns_at_once(own):
    batches = [[found(number) for number in range(start, start + 4)] for start in (0, 2, 4, 6)]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(own.intern, batches))
    assert [len(result.passages) for result in results] == [4] * 4
    assert all(result.problems == () for result in results)
    assert own.verify() == []


def test_a_document_without_text_is_told(own):
    interned = own.intern([Document(id="x", text=" ", source="x"), found(1)])
    assert [passage.document_id for passage in interned.passages] == ["PMID 1"]
    assert "x could not be taken in" in interned.problems[0]


def test_nothing_is_nothing(own):
    assert own.intern([]).passages == ()


@pytest.fixture
def _small_batches(monkeypatch):
    monkeypatch.setattr(run, "BATCH_PASSAGES", 6)
    monkeypatch.setattr(prepare, "GROUP_PASSAGES", 4)


def long_text(count, word):
    return " ".join(f"The {word} number {number} was painted in the year {1500 + number}." for number in range(count))


@pytest.mark.usefixtures("_small_batches")
def test_progress_says_which_file_is_in_hand_and_how_much_of_all_is_done(library, folder):
    (folder / "long.txt").write_text(long_text(200, "door"), encoding="utf-8")
    events = []
    library.ingest([folder], progress=events.append)
    size = sum(path.stat().st_size for path in folder.iterdir())
    files = [event for event in events if event.stage != "index"]
    assert {event.bytes_total for event in files} == {size}
    done = [event.bytes_done for event in files]
    assert done == sorted(done)
    assert done[-1] > 0.99 * size
    embedding = [event for event in events if event.stage == "embedding"]
    assert len(embedding) > 1
    assert embedding[0].name == str(folder / "long.txt")
    assert embedding[1].done > 0


def test_what_is_passed_over_is_in_the_report(library, folder):
    (folder / "photo.jpg").write_bytes(b"x")
    report = library.ingest([folder])
    assert report.failed == []
    assert report.to_json()["passed_over"] == [
        {"source": str(folder / "photo.jpg"), "reason": report.passed_over[0][1]}
    ]


@pytest.mark.usefixtures("_small_batches")
def test_a_stopped_run_keeps_what_is_done_and_the_next_goes_on(library, folder):
    for number in range(3):
        (folder / f"x{number}.txt").write_text(long_text(100, f"gate{number}"), encoding="utf-8")
    stored = []

    def progress(event):
        stored.extend([event.name] if event.stage == "documents" else [])

    report = library.ingest([folder], progress=progress, stop=lambda: len(stored) >= 3)
    assert report.stopped
    assert (report.added, report.left) == (3, 2)
    assert library.verify() == []
    assert len(list(library.documents())) == 3
    assert "caffeine" in first(library, "what is in green tea?").text
    rest = library.ingest([folder])
    assert (rest.added, rest.skipped, rest.stopped, rest.left) == (2, 3, False, 0)


@pytest.mark.usefixtures("_small_batches")
def test_a_document_that_was_being_embedded_is_not_embedded_again(library, tmp_path, monkeypatch):
    path = tmp_path / "book.txt"
    path.write_text(long_text(150, "door"), encoding="utf-8")
    encoded = []
    encode = library.embedder.encode_passages
    monkeypatch.setattr(library.embedder, "encode_passages", lambda texts: encoded.extend(texts) or encode(texts))
    report = library.ingest([path], stop=lambda: len(encoded) >= 4)
    assert (report.added, report.left, report.stopped) == (0, 1, True)
    before = len(encoded)
    assert before == 4
    assert library.ingest([path]).added == 1
    assert len(encoded) == len(library.all_passage_ids())
    assert library.verify() == []
