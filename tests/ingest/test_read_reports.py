"""What was read of a document, from its loader to whoever asks: the store, the report of an ingest, the commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from typer.testing import CliRunner
from whole_documents import mail, p, word

from preflight_rag.cli import app
from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import ReadReport, counted, report_from
from preflight_rag.library import Library
from preflight_rag.state.values import Document

DATA = Path(os.environ.get("PREFLIGHT_DATA", "")) / "ingest_docs" / "markitdown"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lease with a footnote, a mail of one line with an attachment that is not read, and a note."""
    files = tmp_path / "files"
    files.mkdir()
    note = f'<w:footnote w:id="4">{p("Late rent costs 12 crowns.")}</w:footnote>'
    reference = '<w:r><w:footnoteReference w:id="4"/></w:r>'
    word(files / "lease.docx", f"<w:p><w:r><w:t>Rent is due.</w:t></w:r>{reference}</w:p>", {"footnotes": note})
    mail(files / "plan.eml", "See the plan.", plan__zip=b"PK", hours__txt=b"The office opens at nine.")
    return files


def test_an_ingest_says_what_was_read_and_keeps_it(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    report = json.loads(run("ingest", str(folder), "--library", str(library), "--json"))
    read = {Path(each["source"]).name: each for each in report["read"]}
    assert read["lease.docx"]["counts"] == {"footnotes": 1, "words": 10}
    assert read["plan.eml"]["left_out"] == [{"what": "attachment plan.zip", "why": "an archive; unpack it first"}]
    assert read["plan.eml"]["less"] == ["its text has one line"]
    assert {each["note"] for each in report["notes"]} == {
        "not read: attachment plan.zip: an archive; unpack it first",
        "less than expected was read: its text has one line",
    }
    again = json.loads(run("ingest", str(folder), "--library", str(library), "--json"))
    assert (again["skipped"], again["read"]) == (3, report["read"])
    with Library.open(library) as opened:
        entry = opened.catalogue.document(str(folder / "lease.docx"))
        assert entry is not None
        assert entry.read is not None
        assert entry.read.counts == {"footnotes": 1, "words": 10}
        (passage,) = opened.catalogue.passages(entry.id, 5)
        assert "read_report" not in passage.metadata


def test_the_terminal_is_short_and_tells_all_when_asked(folder: Path, tmp_path: Path) -> None:
    library = str(tmp_path / "library")
    short = run("ingest", str(folder), "--library", library)
    assert "read: 26 words, 1 footnote or endnote, 1 attachment (--details says it of each document)" in short
    assert "look at 1 document of which less than expected was read: plan.eml" in short
    details = run("ingest", str(folder), "--library", library, "--details")
    assert f"read: {folder}/lease.docx: 10 words, 1 footnote or endnote" in details
    assert "left out: attachment plan.zip: an archive; unpack it first" in details


def test_library_show_names_a_mail_and_its_attachments(folder: Path, tmp_path: Path) -> None:
    library = str(tmp_path / "library")
    run("ingest", str(folder), "--library", library)
    shown = run("library", "show", "plan.eml", "--library", library)
    assert "less than expected: its text has one line" in shown
    assert "hours.txt, attached to “Re: Greenhouse”" in shown
    found = json.loads(run("library", "show", str(folder / "lease.docx"), "--library", library, "--json"))
    (document,) = found["documents"]
    assert document["read"] == {"counts": {"footnotes": 1, "words": 10}, "left_out": [], "less": []}


def test_a_document_without_a_report_is_shown_as_such(tmp_path: Path) -> None:
    library = tmp_path / "library"
    with Library.open(library, create=True) as opened:
        opened.add([Document(id="r1", text="The lamp is lit at six.", source="r1")])
    assert "what was read of it is not known" in run("library", "show", "r1", "--library", str(library))


@pytest.mark.parametrize("stored", [None, 7, "read", {"counts": 3}, {"counts": {}, "left_out": 1, "less": []}])
def test_what_is_no_report_is_none(stored: object) -> None:
    assert report_from(stored) is None


def test_a_report_comes_back_as_it_was_stored() -> None:
    report = ReadReport({"pages": 2}, [("a page", "a picture")], ["1 of 2 pages has no text"])
    assert report_from(json.loads(json.dumps(report.to_json()))) == report


def test_counts_are_said_in_words() -> None:
    assert counted({"pages": 1, "rows": 1200, "gears": 2, "tables": 0}) == ["1 page", "1,200 rows of tables", "2 gears"]


@pytest.mark.skipif(not DATA.is_dir(), reason="PREFLIGHT_DATA names no folder with ingest_docs")
@pytest.mark.parametrize(
    ("name", "expected"), [("test.xls", "Alpha: 89 | Beta: 82"), ("test_outlook_msg.msg", "the body of the test email")]
)
def test_files_of_older_programs(name: str, expected: str) -> None:
    (document,) = load(DATA / name)
    assert isinstance(document, Document)
    assert expected in document.text


def test_a_new_workbook_under_the_old_ending(tmp_path: Path) -> None:
    book = Workbook()
    for row in (("Part", "Price"), ("Valve", 12.5)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    path = (tmp_path / "a.xlsx").rename(tmp_path / "a.xls")
    (document,) = load(path)
    found: Any = document
    assert "Valve: 12.5" in found.text


MADE = Path(__file__).parents[1] / "made_files"
LEASE = {
    **{"footnotes": 2, "headers": 2, "comments": 1, "text_boxes": 1, "insertions": 1},
    **{"pictures_described": 1, "tables": 1, "rows": 2},
}
STORES = {"sheets": 2, "tables": 2, "rows": 5, "comments": 1}
KILN = {"footnotes": 1, "tables": 1, "rows": 2}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("lease-lo.docx", LEASE),
        ("lease-lo.odt", LEASE),
        ("lease-lo.fodt", LEASE),
        ("lease-lo.rtf", {"footnotes": 2, "headers": 2, "comments": 1, "tables": 1, "rows": 2}),
        ("lease-lo.pdf", {"pages": 2}),  # the endnote stands on a page of its own
        ("stores-lo.xlsx", STORES),
        ("stores-lo.xls", STORES),
        ("stores-lo.ods", STORES),
        ("stores-lo.fods", {"sheets": 2, "tables": 2, "rows": 5}),
        ("kiln.docx", {**KILN, "pictures_described": 1}),
        ("kiln.odt", KILN),
        ("kiln.tex", {**KILN, "pictures_without_text": 1}),
        ("kiln.pptx", {"slides": 4, "tables": 1, "rows": 2, "pictures_described": 1}),
        ("kiln.epub", {"tables": 1, "rows": 2}),
        ("kiln.html", {"tables": 1, "rows": 2}),
    ],
)
def test_files_by_other_programs_are_counted(name: str, counts: dict[str, int]) -> None:
    """The numbers are those of the sources in `made_files/make.py`."""
    (document,) = load(MADE / name)
    assert isinstance(document, Document)
    found = document.metadata["read_report"]
    assert {each: found["counts"].get(each) for each in counts} == counts
    assert (found["left_out"], found["less"]) == ([], [])
