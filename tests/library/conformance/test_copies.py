"""Documents with the same text, in every engine: found at ingest, searched once, cited with "also in"."""

from __future__ import annotations

from pathlib import Path

import pytest
from copied_files import OTHER, QUESTION, REPORT, cited_in, found_in, letter, write

import preflight_rag
from preflight_rag.library.copies import with_copies
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.copies import copy_note
from preflight_rag.state.reading import Source

pytestmark = pytest.mark.slow


@pytest.fixture
def library(opened):
    return opened()


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
    every = library.all_passage_ids()
    hidden = set(every) - set(library.without_copies(every))
    of_reply = {passage.id for passage in library.document_passages(copy.document_id)}
    assert hidden < of_reply
    assert hidden
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


def test_another_writer_finds_the_copy_of_what_the_first_one_wrote(opened, tmp_path):
    library, other = opened(), opened()
    library.ingest([write(tmp_path / "a", report_txt=REPORT)])
    assert len(other.ingest([write(tmp_path / "b", report_txt=REPORT)]).copies) == 1
    assert len(found_in(library)) == 1
    assert other.delete_document(str(tmp_path / "a" / "report.txt"))
    assert {hit.document_id for hit in library.search(QUESTION).fused} == {str(tmp_path / "b" / "report.txt")}


def test_form_letters_are_versions(library, tmp_path):
    """Letters with one text to many people are not copies of each other: the name is what counts."""
    folder = write(tmp_path / "in")
    for number, name in enumerate(("Mr Archer", "Ms Bolton", "Dr Carver")):
        (folder / f"{number}.txt").write_text(f"Dear {name},\n\n{OTHER}\n\nYours", encoding="utf-8")
    assert library.ingest([folder]).copies == []
