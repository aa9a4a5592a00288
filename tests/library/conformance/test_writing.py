"""What every engine keeps to when documents come in, change and go, and when that goes wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import pytest
from six_documents import TEXTS, documents, records

from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import LibraryBusy, LibraryEmpty, PassageGone
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow


def counts(report):
    return report.added, report.updated, report.skipped, report.removed, len(report.failed)


def found(collection, query="caffeine", k=6):
    return {hit.document_id for hit in collection.search(SearchQuery(query, k=k)).lexical}


def texts(collection):
    return {passage.text for name in TEXTS for passage in collection.document_passages(name)}


def test_added_then_skipped_then_updated(collection):
    assert counts(collection.add(documents())) == (0, 0, 6, 0, 0)
    assert counts(collection.add(documents(tea="Mint tea contains none."))) == (0, 1, 5, 0, 0)
    assert found(collection) == {"coffee"}
    assert found(collection, "mint") == {"tea"}
    assert collection.stats()["passages"] == 6
    assert collection.verify() == []


def test_files_come_in_and_go_by_pruning(opened, tmp_path):
    collection = opened()
    path = records(tmp_path / "records.jsonl", TEXTS)
    (tmp_path / "salt.txt").write_text("Salt is sodium chloride.")
    assert counts(collection.ingest([tmp_path / "records.jsonl", tmp_path / "salt.txt"])) == (7, 0, 0, 0, 0)
    records(path, {name: text for name, text in TEXTS.items() if name != "tea"})
    assert counts(collection.ingest([path], prune=True)) == (0, 0, 5, 1, 0)
    assert found(collection) == {"coffee"}
    assert found(collection, "sodium") == {str(tmp_path / "salt.txt")}


def test_files_that_cannot_be_read_stop_nothing(opened, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    records(folder / "records.jsonl", TEXTS)
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    report = opened().ingest([folder, folder / "missing.txt"])
    assert counts(report) == (6, 0, 0, 0, 3)
    reasons = " ".join(reason for _, reason in report.failed)
    assert all(name in reasons for name in ("bad.pdf", "empty.txt", "missing.txt"))
    assert json.dumps(report.to_json())


def test_a_deleted_document_is_nowhere(collection):
    id = passage_id("tea", 0, TEXTS["tea"])
    assert collection.delete_document("tea")
    assert not collection.delete_document("tea")
    assert found(collection) == {"coffee"}
    assert "tea" not in {hit.document_id for hit in collection.search(SearchQuery("tea", k=6)).dense}
    assert collection.document_passages("tea") == []
    assert not collection.catalogue.knows("tea")
    with pytest.raises(PassageGone):
        collection.passages([id])
    with pytest.raises(PassageGone):
        collection.vectors([id])
    assert collection.stats()["retired"] == 0
    assert collection.verify() == []
    assert collection.delete_documents(list(TEXTS)) == 5
    with pytest.raises(LibraryEmpty):
        collection.search("tea")
    assert collection.verify() == []


def test_a_document_may_come_back(collection):
    collection.delete_documents(["tea", "coffee", "unknown"])
    assert found(collection) == set()
    assert counts(collection.add(documents())) == (2, 0, 4, 0, 0)
    assert found(collection) == {"coffee", "tea"}
    assert collection.all_passage_ids() == sorted(passage_id(name, 0, text) for name, text in TEXTS.items())


def test_a_changed_title_changes_the_vector_and_the_words(collection, embedder):
    tea = next(document for document in documents() if document.id == "tea")
    collection.add([tea.model_copy(update={"title": "Beverages"})])
    assert found(collection, "beverages") == {"tea"}
    (passage,) = collection.document_passages("tea")
    assert passage.title == "Beverages"
    expected = embedder.encode_passages([("Beverages", TEXTS["tea"])])
    assert collection.vectors([passage.id]) == pytest.approx(expected, abs=1e-6)


def test_what_a_turn_found_elsewhere_is_found_by_id_and_by_searching(collection):
    elsewhere = Document(id="PMID 7", text="Quinine treats malaria.", source="PMID 7")
    report = collection.intern([elsewhere])
    assert [passage.text for passage in report.passages] == ["Quinine treats malaria."]
    assert (report.problems, report.new) == ((), {report.passages[0].id})
    assert collection.passages([report.passages[0].id]) == list(report.passages)
    assert found(collection, "malaria") == {"PMID 7"}
    again = collection.intern([elsewhere])
    assert (again.passages, again.new) == (report.passages, frozenset())


def test_another_reader_sees_what_was_written(collection, opened):
    reader = opened(create=False)
    assert found(reader) == {"coffee", "tea"}
    collection.delete_document("coffee")
    collection.add([Document(id="cola", text="Cola contains caffeine.", source="s")])
    assert found(reader) == {"cola", "tea"}


def test_an_ingest_that_fails_half_way_leaves_the_former_generation_answering(collection, opened):
    reader, seen = opened(create=False), []

    def fail(event):
        if event.stage == "documents":
            seen.append(event.name)
            if len(seen) == 3:
                raise RuntimeError("the lights went out")

    changed = documents(**{name: f"{text} Caffeine is absent." for name, text in TEXTS.items()})
    with pytest.raises(RuntimeError, match="lights"):
        collection.add(changed, progress=fail)
    assert found(reader) == {"coffee", "tea"}
    assert {each.passage.text for each in reader.candidates("caffeine")} <= set(TEXTS.values())
    report = collection.add(changed)
    assert (report.updated + report.skipped, report.failed) == (6, [])
    assert found(reader) == set(TEXTS)
    assert collection.verify() == []


KILLED = """
import os, signal, sys
from preflight_rag.library.opening import open_library
seen = []
def kill(event):
    if event.stage == sys.argv[3] and event.name.startswith(sys.argv[4]):
        seen.append(event.name)
        if len(seen) == int(sys.argv[5]):
            os.kill(os.getpid(), signal.SIGKILL)
with open_library(sys.argv[1]) as collection:
    collection.ingest([sys.argv[2]], progress=kill)
"""


@pytest.mark.parametrize(("stage", "name", "number"), [("documents", "", 3), ("index", "", 1), ("index", "purge", 1)])
def test_an_ingest_that_is_killed_leaves_one_generation_answering(address, opened, tmp_path, stage, name, number):
    collection = opened()
    path = records(tmp_path / "records.jsonl", TEXTS)
    collection.ingest([path])
    changed = {key: f"{text} Nothing else is true." for key, text in TEXTS.items()}
    records(path, changed)
    run = subprocess.run([sys.executable, "-c", KILLED, address, str(path), stage, name, str(number)])
    assert run.returncode == -signal.SIGKILL
    with_old = [each.passage.text in TEXTS.values() for each in collection.candidates("caffeine")]
    assert len(with_old) == 6
    assert set(with_old) == ({False} if name == "purge" else {True})
    assert collection.ingest([path]).failed == []
    assert texts(collection) == set(changed.values())
    assert found(collection, "true") == set(TEXTS)
    assert collection.stats()["passages"] == 6
    assert collection.verify() == []


def test_readers_see_one_generation_while_others_are_swapped_in(collection, opened):
    reader, wrong, editions = opened(create=False), [], set()
    done = threading.Event()

    def edition(number):
        return documents(**{name: f"{text} Edition {number}." for name, text in TEXTS.items()})

    def read():
        while not done.is_set():
            try:
                seen = {each.passage.text.rpartition("Edition ")[2] for each in reader.candidates("caffeine")}
            except Exception as error:
                wrong.append(repr(error))
                continue
            editions.update(seen)
            if len(seen) != 1:
                wrong.append(seen)

    collection.add(edition(0))
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for number in range(1, 6):
        collection.add(edition(number))
    done.set()
    for thread in readers:
        thread.join()
    assert wrong == []
    assert len(editions) > 1


def test_two_ingests_at_once_lose_nothing(opened):
    one, other = opened(), opened()
    reports = []

    def add(collection, first):
        reports.append(collection.add([Document(id=f"{first}{n}", text=f"Number {n}.", source="s") for n in range(9)]))

    threads = [threading.Thread(target=add, args=pair) for pair in ((one, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [counts(report) for report in reports] == [(9, 0, 0, 0, 0)] * 2
    assert one.stats()["documents"] == 18
    assert len(other.search(SearchQuery("number", k=50)).lexical) == 18
    assert one.verify() == []


HELD = """
import sys, time
from preflight_rag.library.opening import open_library
def hold(event):
    if event.stage == "documents":
        print("writing", flush=True)
        sys.stdin.readline()
with open_library(sys.argv[1]) as collection:
    collection.ingest([sys.argv[2]], progress=hold)
"""


def test_another_process_that_writes_a_document_is_waited_for_and_then_named(address, opened, tmp_path):
    collection = opened(lock_seconds=0.2)
    collection.add(documents())
    changed = {"cola": "Cola contains caffeine.", "tea": "Tea contains caffeine, too."}
    path = records(tmp_path / "records.jsonl", changed)
    command = [sys.executable, "-c", HELD, address, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "writing\n"
        with pytest.raises(LibraryBusy, match="is being written by another process"):
            collection.delete_document("tea")
        assert found(collection) == {"coffee", "tea"}
        writer.communicate("\n")
    assert writer.returncode == 0
    assert found(collection) == {"coffee", "cola", "tea"}
    assert collection.delete_document("tea")


def test_an_ingest_that_is_stopped_keeps_what_it_has(opened, tmp_path):
    collection = opened()
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    asked = iter([False] * 4 + [True] * 100)
    report = collection.ingest([tmp_path / f"{name}.txt" for name in TEXTS], stop=lambda: next(asked))
    assert report.stopped
    assert report.left == 6 - report.added
    assert collection.stats()["documents"] == report.added
    assert collection.ingest([tmp_path / f"{name}.txt" for name in TEXTS]).added == 6 - report.added
    assert collection.verify() == []


def test_texts_of_any_letters_come_back_as_they_are(opened):
    collection = opened()
    text = "東京は日本の首都です。 Ünïcode 🧬 – ‘quotes’, a\ttab; back\\slash, 100% $1 ' \" \x07 \ufdd0"
    collection.add(
        [Document(id="weird/id?&#", text=text, source="s", title="T", metadata={"a": [1, {"b": None}], "ü": "é"})]
    )
    (passage,) = collection.document_passages("weird/id?&#")
    assert passage.text == text
    assert passage.id == passage_id("weird/id?&#", 0, text)
    assert passage.metadata["a"] == [1, {"b": None}]
    assert collection.passages(collection.all_passage_ids()) == [passage]


def test_half_letters_and_nul_lose_nothing_else(opened):
    collection = opened()
    collection.add([Document(id="broken", text="half \ud83d and nul \0 end", source="s", metadata={"x": "\0y\udc00"})])
    (passage,) = collection.document_passages("broken")
    assert passage.text.replace("\0", "\ufffd") == "half \ufffd and nul \ufffd end"
    assert collection.search(SearchQuery("half", k=1)).fused[0].passage_id == passage.id
    assert collection.verify() == []
