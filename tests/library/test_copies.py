"""Documents with the same text: found at ingest, searched once, cited with "also in"."""

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

import preflight_rag
from preflight_rag.library import Library
from preflight_rag.library.copies import with_copies
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.copies import copy_note
from preflight_rag.library.storage.store import DATABASE
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Citation, Document

pytestmark = pytest.mark.slow

REPORT = (
    "The river Aln was measured at Lesbury bridge from April to September. Its mean depth was 1.4 metres, and in the "
    "dry weeks of August it fell to 0.6 metres. Eels were counted in eleven nights: 318 passed the weir, most of them "
    "before midnight. The new ladder was used by salmon, but not by trout. The council pays for another year of "
    "measurements, and asks for a second gauge above the mill, where the banks were washed out by the flood."
)
OTHER = (
    "Bees were kept on the roof of the town hall. In May there were two hives, in July five. The honey was sold at the "
    "market for the benefit of the library, which bought a bookcase for children and a lamp for the reading room."
)
QUESTION = "How many eels passed the weir?"


def letter(text):
    return (
        "Dear colleagues, I have read what was sent to us last week and would like to answer at the next meeting, as "
        "the costs of the gauge seem high to me; please bring the offers of the three firms. Here it is again.\n\n"
        f"{text}\n\nI look forward to seeing you in the small hall, where tea will be served as always. Yours, Ann"
    )


def cited_in(passages, file, quote):
    passage = next(each for each in passages if each.document_id.endswith(file) and quote in each.text)
    start = passage.text.index(quote)
    places = {"passage_id": passage.id, "document_id": passage.document_id, "start": start, "end": start + len(quote)}
    return Citation(n=1, title="", source="", quote=quote, verified=True, **places)


@pytest.fixture
def library(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True, lock_seconds=2) as opened:
        yield opened


def write(folder, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def found_in(library, query=QUESTION, **how):
    """Names of the files that a search finds, in all three rankings alike."""
    found = library.search(SearchQuery(query, **how))
    names = [{Path(hit.document_id).name for hit in ranking} for ranking in (found.fused, found.dense, found.lexical)]
    assert names[2] <= names[0] == names[1]
    return names[0]


def test_the_same_text_in_two_formats_is_searched_once_and_said(library, tmp_path):
    folder = write(tmp_path / "in", report_txt=REPORT, report_html=f"<html><body><p>{REPORT}</p></body></html>")
    write(folder, bees_txt=OTHER)
    report = library.ingest([folder])
    ((copy,)) = report.copies
    assert {Path(copy.document_id).name, Path(copy.of_document).name} == {"report.txt", "report.html"}
    assert copy.share > 0.95
    assert report.to_json()["copies"][0]["of_document"] == copy.of_document
    assert found_in(library) == {Path(copy.of_document).name, "bees.txt"}
    listed = {entry.id: entry.copy_of for entry in library.catalogue.documents()[0]}
    assert listed[copy.document_id] == copy.of_document
    assert library.ingest([folder]).copies == []
    assert library.verify() == []


def test_deleting_the_one_that_is_searched_makes_the_other_take_its_place(library, tmp_path):
    for name in ("a", "b", "c"):
        library.ingest([write(tmp_path / name, report_txt=REPORT)])
    library.ingest([write(tmp_path / "d", bees_txt=OTHER)])
    left = {str(tmp_path / name / "report.txt") for name in "abc"}
    while left:
        hits = {hit.document_id for hit in library.search(QUESTION).fused} & left
        assert len(hits) == 1
        assert library.delete_document(hits.pop())
        left = {entry.id for entry in library.catalogue.documents()[0]} & left
    assert found_in(library) == {"bees.txt"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("318 passed", "381 passed"),
        ("not by trout", "also by trout"),
        ("but not by trout", "but by trout"),
        ("of August", "of July"),
        ("at Lesbury", "at Alnwick"),
    ],
)
def test_a_version_is_searched_beside_the_first_one(library, tmp_path, old, new):
    folder = write(tmp_path / "in", one_txt=REPORT, two_txt=REPORT.replace(old, new))
    assert library.ingest([folder]).copies == []
    assert found_in(library) == {"one.txt", "two.txt"}


def test_reports_of_two_years_with_one_text_are_both_searched(library, tmp_path):
    folder = write(tmp_path / "in")
    for year in (2021, 2022):
        (folder / f"{year}.md").write_text(f"# River report {year}\n\n{REPORT}", encoding="utf-8")
    assert library.ingest([folder]).copies == []
    assert found_in(library) == {"2021.md", "2022.md"}


def test_a_short_letter_that_quotes_another_is_searched_and_cited_as_one_source_with_it(library, tmp_path):
    folder = write(tmp_path / "in", report_txt=f"{REPORT}\n\n{OTHER}", reply_txt=letter(f"{REPORT}\n\n{OTHER}"))
    ((copy,)) = library.ingest([folder]).copies
    assert (Path(copy.document_id).name, Path(copy.of_document).name) == ("reply.txt", "report.txt")
    assert "quotes" in copy_note(copy)
    hits = library.passages([hit.passage_id for hit in library.search("Who pays for tea in the small hall?").fused])
    assert any("small hall" in passage.text for passage in hits)
    (cited,) = with_copies(library, [cited_in(hits, "report.txt", "318 passed the weir")])
    assert [Path(place.document_id).name for place in cited.also_in] == ["reply.txt"]


def test_of_a_long_letter_the_quoted_part_is_not_searched(library, tmp_path):
    demo = Path(preflight_rag.__file__).parent / "demo"
    minutes = "\n\n".join((demo / name).read_text("utf-8") for name in ("octopus.md", "owls.md", "yeast-bread.md"))
    folder = write(tmp_path / "in", minutes_txt=minutes, reply_txt=letter(minutes))
    ((copy,)) = library.ingest([folder]).copies
    hidden = {row for row in library._store.passage_copies()}
    rows = library._store.rows(library.all_passage_ids())
    of_reply = {rows[passage.id] for passage in library.document_passages(copy.document_id)}
    assert hidden <= of_reply
    assert 0 < len(hidden) < len(of_reply)
    hits = library.passages([hit.passage_id for hit in library.search("Who pays for tea in the small hall?").fused])
    assert "small hall" in hits[0].text


def test_a_filter_that_leaves_out_the_searched_one_finds_the_other(library, tmp_path):
    for name in ("a", "b"):
        library.ingest([write(tmp_path / name, report_txt=REPORT)])
    for name in ("a", "b"):
        where = Filter.parse([f"id = {tmp_path / name / 'report.txt'}"])
        assert {hit.document_id for hit in library.search(SearchQuery(QUESTION, where=where)).fused} == {
            str(tmp_path / name / "report.txt")
        }


def test_a_quote_is_cited_once_with_where_else_it_stands(library, tmp_path):
    for name in ("a", "b", "c"):
        library.ingest([write(tmp_path / name, report_txt=REPORT)])
    passage = library.passages([library.search(QUESTION).fused[0].passage_id])[0]
    citation = cited_in([passage], "report.txt", "318 passed the weir")
    (cited,) = with_copies(library, [citation])
    others = {str(tmp_path / name / "report.txt") for name in "abc"} - {passage.document_id}
    assert {place.document_id for place in cited.also_in} == others
    (alone,) = with_copies(library, [citation.model_copy(update={"quote": "318 passed the mill"})])
    assert alone.also_in == ()


def test_passages_of_a_copy_count_as_those_of_the_first(library, tmp_path):
    folder = write(tmp_path / "in", a_txt=REPORT, b_txt=f"{REPORT}\n\nPrinted by Hall & Co, 12 Mill Lane.")
    library.ingest([folder])
    every = library.passages(library.all_passage_ids())
    assert len({passage.document_id for passage in every}) == 2
    assert len({Source.of(passage, 1).document_id for passage in every}) == 1


def test_a_changed_document_is_no_copy_any_more(library, tmp_path):
    folder = write(tmp_path / "in", one_txt=REPORT, two_txt=REPORT)
    assert len(library.ingest([folder]).copies) == 1
    (folder / "one.txt").write_text(REPORT.replace("318", "402"), encoding="utf-8")
    library.ingest([folder])
    assert found_in(library) == {"one.txt", "two.txt"}
    assert {entry.copy_of for entry in library.catalogue.documents()[0]} == {""}


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


def test_another_writer_finds_the_copy_of_what_the_first_one_wrote(library, tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, lock_seconds=2) as other:
        library.ingest([write(tmp_path / "a", report_txt=REPORT)])
        assert len(other.ingest([write(tmp_path / "b", report_txt=REPORT)]).copies) == 1
        assert len(found_in(library)) == 1
        assert other.delete_document(str(tmp_path / "a" / "report.txt"))
        assert {hit.document_id for hit in library.search(QUESTION).fused} == {str(tmp_path / "b" / "report.txt")}


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


def test_form_letters_are_versions(library, tmp_path):
    """Letters with one text to many people are not copies of each other: the name is what counts."""
    folder = write(tmp_path / "in")
    for number, name in enumerate(("Mr Archer", "Ms Bolton", "Dr Carver")):
        (folder / f"{number}.txt").write_text(f"Dear {name},\n\n{OTHER}\n\nYours", encoding="utf-8")
    assert library.ingest([folder]).copies == []


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
