"""PDF: pages, paragraphs, metadata, encryption."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from loaded_files import load_one
from pypdf import PdfWriter

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.layout import HYPHEN, is_table_row, paragraphs, vocabulary
from preflight_rag.state.errors import EmptyDocument, EncryptedDocument
from preflight_rag.state.values import Document


def make_pdf(path: Path, pages: list[str], **fields: str) -> Path:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.set_creation_date(datetime(2021, 3, 4, tzinfo=UTC))
    for name, value in fields.items():
        getattr(pdf, f"set_{name}")(value)
    for text in pages:
        pdf.add_page()
        pdf.multi_cell(0, 6, text)
    pdf.output(str(path))
    return path


def test_pages_and_metadata(tmp_path: Path) -> None:
    texts = ["First page about aspirin.", "Second page about pain.", "Third page."]
    document = load_one(make_pdf(tmp_path / "a.pdf", texts, title="On pain", author="Anna One; Bo Two"))
    assert (document.title, document.metadata["file_saved"], document.authors) == (
        "On pain",
        "2021-03-04",
        ("Anna One", "Bo Two"),
    )
    assert document.date is None
    assert [number for number, _ in document.pages] == [1, 2, 3]
    assert all(document.text[start:].startswith(text) for (_, start), text in zip(document.pages, texts, strict=True))
    assert document.metadata["total_pages"] == 3


def test_wrapped_sentences_survive(tmp_path: Path) -> None:
    sentence = "The patients of the first group took aspirin every day and they were seen by Anna Smith in Oxford. "
    document = load_one(make_pdf(tmp_path / "a.pdf", [sentence * 8]))
    assert document.text == (sentence * 8).strip()


def test_sentence_over_a_page_break_stays_one(tmp_path: Path) -> None:
    document = load_one(make_pdf(tmp_path / "a.pdf", ["The dose was raised until", "it was too high."]))
    assert document.text == "The dose was raised until it was too high."
    assert document.pages == ((1, 0), (2, 26))


@pytest.mark.parametrize(("password", "opens"), [("", True), ("secret", False)])
def test_encrypted_files(tmp_path: Path, password: str, opens: bool) -> None:
    writer = PdfWriter(clone_from=make_pdf(tmp_path / "plain.pdf", ["Aspirin helps."]))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    path = tmp_path / "locked.pdf"
    writer.write(path)
    if opens:
        assert load_one(path).text == "Aspirin helps."
    else:
        with pytest.raises(EncryptedDocument, match=r"locked\.pdf needs a password"):
            list(load(path))


def test_blank_pages_are_no_document(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match="no text on its 2 pages"):
        list(load(make_pdf(tmp_path / "a.pdf", ["", ""])))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([f"the con{HYPHEN}", "trol group was seen"], ["the control group was seen"]),
        ([f"a dual-encoder and a dual{HYPHEN}", "encoder"], ["a dual-encoder and a dual-encoder"]),
        ([f"the Lucene{HYPHEN}", "BM25 system"], ["the Lucene-BM25 system"]),
        (["- one", "- two"], ["- one", "- two"]),
        (["Revenue 1,200 1,300", "Costs 900 800"], ["Revenue 1,200 1,300", "Costs 900 800"]),
        (["Methods", "The patients were seen"], ["Methods", "The patients were seen"]),
        (["as was seen in practice", ", which is odd"], ["as was seen in practice, which is odd"]),
        (["one", "", "two"], ["one", "two"]),
        ([], []),
    ],
)
def test_lines_to_paragraphs(lines: list[str], expected: list[str]) -> None:
    assert paragraphs(lines, vocabulary(lines)) == expected


@pytest.mark.parametrize(
    ("line", "expected"), [("Net sales $ 1,200 $ (300) 12 %", True), ("It rose by 5 of 7 in all the groups", False)]
)
def test_table_rows(line: str, expected: bool) -> None:
    assert is_table_row(line) is expected


@given(st.lists(st.text(alphabet=f"aB1 .,-{HYPHEN}•", max_size=30).map(str.strip)))
def test_no_letter_is_lost_in_joining(lines: list[str]) -> None:
    joined = "".join(paragraphs(lines, vocabulary(lines)))
    assert [char for char in joined if char.isalnum()] == [char for line in lines for char in line if char.isalnum()]


def test_annual_reports_keep_their_pages(data_dir: Path) -> None:
    document = load_one(data_dir / "financebench" / "pdfs" / "ADOBE_2022_10K.pdf")
    starts = dict(document.pages)
    assert len(starts) == 99
    assert "Total revenue | 2022: $17,606 | 2021: $15,785" in document.text[starts[39] : starts[41]]


def rows_of(path: Path, label: str) -> list[str]:
    rows = [line.split(" | ") for line in load_one(path).text.split("\n")]
    return [" | ".join(row) for row in rows if any(part.rpartition(": ")[2] == label for part in row)]


def test_figures_in_columns_are_rows_with_their_header(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    places = (20, 110, 150)
    lines = [("", "2022", "2021"), ("Net sales", "3,909", "3,673"), ("Cost of sales", "(3,115)", "(2,951)")]
    lines += [("Gross profit", "794", "722")]
    pdf.text(20, 30, "Income statement")
    for number, line in enumerate(lines):
        for place, text in zip(places, line, strict=True):
            pdf.text(place, 40 + 6 * number, text)
    pdf.text(20, 80, "The company sold more than in the year before, as it had said that it would in its last report.")
    path = tmp_path / "a.pdf"
    pdf.output(str(path))
    assert rows_of(path, "Net sales") == ["Income statement. | Net sales | 2022: 3,909 | 2021: 3,673"]
    assert rows_of(path, "Gross profit") == ["Gross profit | 2022: 794 | 2021: 722"]
    (document,) = load(path)
    assert isinstance(document, Document)
    assert "The company sold more than in the year before" in document.text


@pytest.mark.parametrize(
    ("name", "label", "cells"),
    [
        ("AMCOR_2023Q4_EARNINGS", "Gross profit", ["Twelve Months Ended June 30, 2022: 2,820"]),
        ("ULTABEAUTY_2023Q4_EARNINGS", "Cost of sales", ["13 Weeks Ended January 28, 2023 (Unaudited): 2,014,270"]),
        ("BESTBUY_2023_10K", "Net earnings", ["January 28, 2023: $1,419", "January 30, 2021: $1,798"]),
    ],
)
def test_statements_of_filings(data_dir: Path, name: str, label: str, cells: list[str]) -> None:
    rows = rows_of(data_dir / "financebench" / "pdfs" / f"{name}.pdf", label)
    assert any(all(cell in row.split(" | ") for cell in cells) for row in rows), rows


def test_two_columns_of_prose_are_no_table(data_dir: Path) -> None:
    path = data_dir / "ingest_docs" / "unstructured" / "pdf__multi-column-2p.pdf"
    (document,) = load(path)
    assert isinstance(document, Document)
    assert sum(" | " in line for line in document.text.split("\n")) <= 2


@pytest.mark.parametrize("font", ["courier", "helvetica"])
def test_a_receipt_is_no_table(tmp_path: Path, font: str) -> None:
    """One blank of a typewriter's font is as wide as what divides the cells of a table in others."""
    lines = [
        "Wireless Noise-Cancelling",
        "Headphones - Premium Black",
        "AUDIO-5521 1 @ $349.99",
        "Member Discount $-50.00",
    ]
    lines += ["$299.99", "Portable SSD", "STOR-2241 1 @ $289.00", "SUBTOTAL $588.99", "Sales Tax (8.5%) $50.06"]
    lines += ["Rewards Applied -$25.00", "TOTAL $614.05"]
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font(font, size=9)
    for number, line in enumerate(lines):
        pdf.text(20, 40 + 4 * number, line)
    path = tmp_path / "a.pdf"
    pdf.output(str(path))
    text = load_one(path).text
    assert " | " not in text
    assert all(line in text for line in lines)


def test_figures_in_columns_of_a_typewriter_are_rows(tmp_path: Path) -> None:
    lines = [
        "Income statement",
        "",
        f"{'':24}{'2022':>8}{'2021':>8}",
        f"{'Net sales of all goods':24}{'3,909':>8}{'3,673':>8}",
    ]
    lines += [f"{'Cost of sales':24}{'(3,115)':>8}{'(2,951)':>8}", f"{'Gross profit':24}{'794':>8}{'722':>8}"]
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("courier", size=9)
    for number, line in enumerate(lines):
        pdf.text(20, 40 + 4 * number, line)
    path = tmp_path / "a.pdf"
    pdf.output(str(path))
    assert rows_of(path, "Net sales of all goods")[0].endswith("Net sales of all goods | 2022: 3,909 | 2021: 3,673")
    assert rows_of(path, "Gross profit") == ["Gross profit | 2022: 794 | 2021: 722"]


def test_doi_of_the_first_page(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["On pain. https://doi.org/10.1000/abc-1.", "See doi:10.1000/other"])
    assert load_one(path).metadata["doi"] == "10.1000/abc-1"
    several = make_pdf(tmp_path / "b.pdf", ["doi:10.1000/a and doi:10.1000/b"])
    assert "doi" not in load_one(several).metadata


def test_names_at_the_left_of_cells_stand_over_the_figures_at_their_right(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt")
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    for number, row in enumerate(
        (("Part", "Stock", "Price"), ("Cleat", "349", "2.5"), ("Hook", "17", "4"), ("Ring", "6", "9"))
    ):
        for place, cell in enumerate(row):
            at = 60 + 64 * place
            right = place and number  # a spreadsheet's: text begins at the left, figures end at the right
            pdf.text(at + 60 - pdf.get_string_width(cell) if right else at, 80 + 13 * number, cell)
    pdf.output(str(tmp_path / "stores.pdf"))
    (document,) = load(tmp_path / "stores.pdf")
    assert isinstance(document, Document)
    assert "Part: Cleat | Stock: 349 | Price: 2.5" in document.text


BROKEN = ("Fire: use the carbon-", "dioxide bottle by the door.")


@pytest.mark.parametrize(
    ("producer", "others", "text"),
    [
        ("Skia/PDF m156", (), "the carbon-dioxide bottle"),
        ("pdfTeX-1.40.25", (), "the carbondioxide bottle"),
        (
            "Skia/PDF m156",
            ("All informa-", "tion is free.", "The information desk is open."),
            "the carbondioxide bottle",
        ),
        ("pdfTeX-1.40.25", ("The carbon-dioxide bottle is red.",), "the carbon-dioxide bottle"),
    ],
    ids=["browser", "typesetter", "browser that parts words", "typesetter of a word with a hyphen"],
)
def test_a_hyphen_at_a_lines_end_stays_where_no_words_are_parted(
    tmp_path: Path, producer: str, others: Sequence[str], text: str
) -> None:
    assert text in printed_by(tmp_path / "a.pdf", producer, [*BROKEN, *others])


def test_a_long_document_without_a_parted_word_parts_none(tmp_path: Path) -> None:
    others = [f"Bench number {number} was swept and mopped today." for number in range(450)]
    assert "the carbon-dioxide bottle" in printed_by(tmp_path / "a.pdf", "pdfTeX-1.40.25", [*BROKEN, *others])


def printed_by(path: Path, producer: str, lines: Sequence[str]) -> str:
    pdf = FPDF()
    pdf.set_producer(producer)
    pdf.set_font("Helvetica", "", 10)
    for number, line in enumerate(lines):
        if number % 50 == 0:
            pdf.add_page()
        pdf.text(20, 20 + 5 * (number % 50), line)
    pdf.output(str(path))
    (document,) = load(path)
    assert isinstance(document, Document)
    return " ".join(document.text.split())


def test_a_line_that_ends_with_an_article_goes_on_beside_long_rows() -> None:
    row = " | ".join(f"Column {number}: a cell of many words" for number in range(9))
    lines = ["Safety Sheet Number Six: The Workshop and the", "Wet Bench", *[row] * 5]
    assert paragraphs(lines, vocabulary(lines))[0] == "Safety Sheet Number Six: The Workshop and the Wet Bench"
