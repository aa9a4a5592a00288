"""Automatic numbers of clauses and lists stand in the text, as LibreOffice prints them.

clauses.docx of `made_files/kinds` is by python-docx; clauses.odt and clauses.rtf are what LibreOffice 7.4 makes of it.
The files called lease and struck are by pandoc 2.17, lease-lo.odt by LibreOffice out of lease-pandoc.docx.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from whole_documents import WORD, word

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.fields import whole_number
from preflight_rag.ingest.loaders.numbering import Counter, Level, in_kind
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files" / "kinds"


def read(name: str) -> Document:
    (document,) = load(MADE / name)
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize("kind", ["docx", "odt", "rtf"])
def test_clauses_have_the_numbers_that_are_printed(kind: str) -> None:
    lines = [line for line in read(f"clauses.{kind}").text.split("\n") if line]
    printed = ["1. Subject", "2. Payment", "2.1 The rent is 900 crowns a month.", "2.2 Late payment is charged:"]
    printed += ["2.3 Notice", "3. Keys", "3.1 Two keys are handed over.", "1. Sweep", "2. Lock"]
    assert [line for line in lines if line in printed] == printed
    (late,) = [line for line in lines if "12 percent" in line]
    assert late.startswith("(b) ")


def test_numbers_in_cells_of_a_table_are_read() -> None:
    assert "i)" in read("clauses.docx").text
    assert "ii): Winch" in read("clauses.docx").text


def test_title_has_no_number() -> None:
    assert (read("clauses.docx").title, read("clauses.odt").title) == ("Subject", "Subject")


@pytest.mark.parametrize("name", ["lease-pandoc.docx", "lease-pandoc.odt", "lease-lo.odt"])
def test_lists_that_go_on_are_counted_on(name: str) -> None:
    lines = read(name).text.split("\n")
    for line in (
        "(2) It is due on the third day.",
        "(3) Late payment costs 8 percent.",
        "1. The deposit is 1,800 crowns.",
        "a. It is returned: within 30 days",
        "3. Keys are counted.",
    ):
        assert line in lines


@pytest.mark.parametrize("kind", ["html", "docx", "odt", "pptx"])
def test_what_is_struck_out_is_left_out_and_reported(kind: str) -> None:
    document = read(f"struck.{kind}")
    assert "A car costs 35 euros since May" in document.text
    assert document.metadata[READ_REPORT]["left_out"] == [
        {"what": "1 stretch of text", "why": "struck out in the document"}
    ]


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        *((4, "lowerRoman", "iv"), (1994, "upperRoman", "MCMXCIV"), (27, "lowerLetter", "aa"), (3, "upperLetter", "C")),
        *((7, "decimalZero", "07"), (12, "ordinal", "12"), (0, "lowerLetter", "0")),
    ],
)
def test_numbers_are_written_in_their_kind(number: int, kind: str, text: str) -> None:
    assert in_kind(number, kind) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("007", 7), ("²", 1), ("٣", 1), ("abc", 1), ("", 1), ("-4", 1), ("7" * 5_000, 1), ("1000000", 1)],
)
def test_numbers_of_a_file_are_read_where_they_are_plausible(text: str, number: int) -> None:
    assert whole_number(text, 1) == number


LEVEL = '<w:lvl w:ilvl="{}"><w:start w:val="{}"/><w:numFmt w:val="{}"/><w:lvlText w:val="%1)"/></w:lvl>'


@pytest.mark.parametrize(
    ("level", "start", "kind", "text"),
    [
        *(("0", "3", "lowerLetter", "c) Sweep\nd) Lock"), ("0", "²", "decimal", "1) Sweep\n2) Lock")),
        ("0", "9" * 5_000, "lowerLetter", "a) Sweep\nb) Lock"),
        ("0", "999998", "lowerLetter", "999998) Sweep\n999999) Lock"),
        *(("abc", "1", "decimal", "1) Sweep\n2) Lock"), ("90000000", "1", "decimal", "1) Sweep\n2) Lock")),
    ],
)
def test_implausible_numbers_of_a_list_are_ignored(
    tmp_path: Path, level: str, start: str, kind: str, text: str
) -> None:
    numbered = f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    body = "".join(f"<w:p>{numbered}<w:r><w:t>{words}</w:t></w:r></w:p>" for words in ("Sweep", "Lock"))
    lists = f'<w:abstractNum w:abstractNumId="0">{LEVEL.format(level, start, kind)}</w:abstractNum>'
    lists += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    path = word(tmp_path / "a.docx", body, more={"word/numbering.xml": f"<w:numbering {WORD}>{lists}</w:numbering>"})
    (document,) = load(path)
    assert isinstance(document, Document)
    assert document.text == text


def test_inner_level_begins_anew_below_the_next_outer_one() -> None:
    counter = Counter({0: Level("upperRoman", "%1."), 1: Level("decimal", "%1.%2", start=5, is_decimal=True)})
    assert [counter.next(depth) for depth in (1, 0, 1, 1, 0, 1)] == ["1.5", "II.", "2.5", "2.6", "III.", "3.5"]
