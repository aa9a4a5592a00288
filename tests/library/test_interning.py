"""Documents that a turn found elsewhere become passages like any other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from preflight_rag.library import Library
from preflight_rag.library.writer import LOCK
from preflight_rag.state.values import Document


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
    assert own.candidates("metformin and blood sugar", depth=3)[0].origin == "D1"
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
