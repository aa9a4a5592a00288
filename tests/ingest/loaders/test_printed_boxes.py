"""Boxes of a PDF's form, whose items stand before them or behind them: as their line shows, else as the page does."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from fpdf import FPDF
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document

HEIGHT, NEAR, APART = 842.0, 3.0, 24.0
Line = Sequence[str]


def form(path: Path, lines: Sequence[Line], *, near: float = NEAR, apart: float = APART) -> list[str]:
    """Write a form and return the lines that are read of its fields.

    A part of a line is a text, "+" for a ticked box, "-" for another one, or "|" for space between items.
    """
    pdf = FPDF(format="A4", unit="pt")
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.text(60, 40, "Application for a berth in the harbour")
    boxes: list[tuple[float, float, bool]] = []
    for number, line in enumerate(lines):
        x, y = 60.0, 96.0 + 30 * number
        for part in line:
            if part == "|":
                x += apart - near
            elif part in "+-":
                boxes.append((x, HEIGHT - y - 2, part == "+"))
                x += 10 + near
            else:
                pdf.text(x, y, part)
                x += pdf.get_string_width(part) + near
    writer = PdfWriter(clone_from=io.BytesIO(bytes(pdf.output())))
    made = []
    for number, (x, y, ticked) in enumerate(boxes):
        state = NameObject("/Yes" if ticked else "/Off")
        field = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Annot"),
                NameObject("/Subtype"): NameObject("/Widget"),
                NameObject("/FT"): NameObject("/Btn"),
                NameObject("/T"): TextStringObject(f"box{number}"),
                NameObject("/Rect"): ArrayObject([FloatObject(each) for each in (x, y, x + 10, y + 10)]),
                NameObject("/V"): state,
                NameObject("/AS"): state,
            }
        )
        made.append(writer._add_object(field))
    writer.pages[0][NameObject("/Annots")] = ArrayObject(made)
    writer._root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): ArrayObject(made)})
    writer.write(str(path))
    (document,) = load(path)
    assert isinstance(document, Document)
    return [line for line in document.text.split("\n") if line.endswith(": yes") or line.startswith(("Pets", "Lights"))]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([["-", "Yes", "|", "+", "No"]], "No: yes"),
        ([["Pets:", "+", "Yes", "|", "-", "No"]], "Pets: Yes"),
        ([["Pets:", "-", "Yes", "|", "+", "No"]], "Pets: No"),
        ([["Yes", "-", "|", "No", "+"]], "No: yes"),
        ([["Pets: Yes", "+", "|", "No", "-"]], "Pets: Yes"),
        ([["Pets: Yes", "-", "|", "No", "+"]], "No: yes"),
        ([["+", "Insured"], ["-", "On loan"]], "Insured: yes"),
        ([["Insured", "+"], ["On loan", "-"]], "Insured: yes"),
        ([["-", "Insured"], ["+", "On loan"]], "On loan: yes"),
    ],
)
def test_a_ticked_box_is_called_by_its_own_item(tmp_path: Path, lines: Sequence[Line], says: str) -> None:
    assert says in form(tmp_path / "a.pdf", lines)


def test_a_line_that_does_not_show_it_is_read_as_the_others(tmp_path: Path) -> None:
    odd = ["Lights", "-", "Yes", "+", "No"]
    assert "Lights: No" in form(tmp_path / "a.pdf", [odd, ["-", "Insured"]], apart=NEAR)
    assert "Yes: yes" in form(tmp_path / "b.pdf", [odd, ["Insured", "-"]], apart=NEAR)


def test_a_box_of_no_known_item_is_called_by_its_field(tmp_path: Path) -> None:
    odd = ["Lights", "-", "Yes", "+", "No"]
    assert "box1: yes" in form(tmp_path / "a.pdf", [odd], apart=NEAR)
    mixed = form(tmp_path / "b.pdf", [odd, ["-", "Insured"], ["On loan", "-"]], apart=NEAR)
    assert "box1: yes" in mixed
