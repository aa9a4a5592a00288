"""PDFs: forms, remarks, columns, attachments, pages without text; expected texts are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF
from whole_documents import columns, form

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.ocr import languages
from preflight_rag.state.values import Document

MILL = [
    "The glass works opened in 1884 on the",
    "left bank of the river. Its first furnace",
    "was fired with beech wood and the ash was",
    "sold to the farmers of the valley. The works",
    "employed ninety blowers in the first year.",
    "Later the furnace was changed to gas.",
]
STORE = [
    "The paper mill opened in 1911 on the",
    "right bank of the river. Its first machine",
    "came from a mill that had been closed by",
    "its owners. It employed forty women in the",
    "first winter. In 1930 a fire destroyed the",
    "rag store of the mill and two sheds.",
]


def read(path: Path) -> Document:
    document = next(iter(load(path)))
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize("across", [True, False])
def test_columns_are_read_one_after_the_other(tmp_path: Path, across: bool) -> None:
    text = read(columns(tmp_path / "a.pdf", MILL, STORE, across=across)).text
    assert "fired with beech wood and the ash was sold to the farmers of the valley" in text
    assert "In 1930 a fire destroyed the rag store of the mill and two sheds." in text
    assert text.index("changed to gas") < text.index("The paper mill opened")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(
            ["Town", "Norhaven", "Caldria", "Estmoor", "Westmoor", "Ferry Point"],
            ["Harbour master", "Elena Estrada", "Ada Almgren", "Jon Vale", "Mira Holt", "Anna Berg"],
            id="names",
        ),
        pytest.param(
            ["Annual berth fee", "Visitor berth", "Water per day", "Shore power", "Crane per hour", "Winter storage"],
            ["paid in the month of January", "paid on arrival", "paid weekly", "by meter", "before use", "in October"],
            id="terms",
        ),
    ],
)
def test_tables_drawn_row_by_row_stay_rows(tmp_path: Path, left: list[str], right: list[str]) -> None:
    lines = read(columns(tmp_path / "a.pdf", left, right)).text
    assert f"{left[1]} {right[1]}" in lines.replace("\n", " ")
    assert f"{left[4]} {right[4]}" in lines.replace("\n", " ")


def test_filled_fields_stand_with_their_labels(tmp_path: Path) -> None:
    fields = {"a_1": ("Name of the ship", "Aurora"), "a_2": ("Length in metres", "23.5"), "a_3": ("Home port", "")}
    document = read(form(tmp_path / "a.pdf", fields, ticked=("insured",)))
    assert "\nName of the ship: Aurora\nLength in metres: 23.5\ninsured: yes" in document.text
    assert "Home port:" not in document.text
    assert document.metadata["read_report"]["counts"]["form_fields"] == 3


def test_comments_have_their_writers(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    pdf.cell(text="The bridge is closed in winter.")
    pdf.text_annotation(10, 40, "Since 2019 also in March.", title="Anna Berg")
    pdf.free_text_annotation("Draft of May", x=10, y=60, w=50, h=10)
    pdf.output(str(tmp_path / "a.pdf"))
    document = read(tmp_path / "a.pdf")
    assert document.text == (
        "The bridge is closed in winter.\nComment by Anna Berg: Since 2019 also in March.\nDraft of May"
    )
    assert document.metadata["read_report"]["counts"]["comments"] == 1


def test_attached_files_are_documents(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    pdf.cell(text="The invoice is attached.")
    pdf.embed_file(bytes=b"Item;Price\nValve;9.40\n", basename="items.csv")
    pdf.embed_file(bytes=b"x", basename="photo.jpg")
    pdf.output(str(tmp_path / "a.pdf"))
    document, items = load(tmp_path / "a.pdf")
    assert isinstance(document, Document)
    assert isinstance(items, Document)
    assert items.id == f"{tmp_path / 'a.pdf'}/items.csv"
    assert "9.40" in items.text
    assert [each["what"] for each in document.metadata["read_report"]["left_out"]] == ["attachment photo.jpg"]


def test_blank_pages_are_counted_and_pictures_of_text_marked(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (400, 300), "white").save(tmp_path / "blank.png")
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.add_page()
    pdf.cell(text="The only page with text is this first one.")
    pdf.add_page()
    pdf.add_page()
    pdf.image(str(tmp_path / "blank.png"), w=150)
    pdf.output(str(tmp_path / "a.pdf"))
    report = read(tmp_path / "a.pdf").metadata["read_report"]
    assert (report["counts"]["pages"], report["counts"]["pages_without_text"]) == (3, 2)
    assert report["less"] == ["1 of 3 pages has no text that could be read (3)"]
    why = "no text was recognised on it" if languages() else "install tesseract"
    assert report["left_out"][0]["what"] == "1 page is a picture"
    assert report["left_out"][0]["why"].startswith(why)
