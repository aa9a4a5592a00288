"""Sheets that were printed to a PDF: cells that are cut off, errors, and what stands above and below each page."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import report_of
from preflight_rag.state.values import Document

NAMES = ("Branch", "Manager", "Revenue", "Costs", "Margin")
ROWS = (
    ("Ried", "Anna Katharina Oberndorfer-Wagnermayr", "5200", "4100", "0.21"),
    ("Perg", "Josef Kral", "0", "900", "#DIV/0!"),
    ("Enns", "Maximilian Hinterleitner-Brandstetter", "#REF!", "2100", "#VALUE!"),
    ("Linz", "Petra Zeman", "#######", "7100", "0.11"),
)


def printed(path: Path, above: str) -> Document:
    """Write a page as a spreadsheet prints it: figures at the right, names at the left, long texts cut at the cell."""
    page = FPDF()
    page.set_font("Helvetica", size=10)
    page.add_page()

    def put(x: float, y: float, width: float, text: str, align: str = "L") -> None:
        page.set_xy(x, y)
        page.cell(width, 6, text, align=align)

    put(10, 17, 90, "Budget of the branches")
    put(145, 17, 45, above, "R")
    for number, row in enumerate((NAMES, *ROWS)):
        y = 24.0 + 7 * number
        put(10, y, 25, row[0])
        with page.rect_clip(35, y, 38, 7):
            put(35, y, 80, row[1])
        for place, cell in zip((75, 105, 135), row[2:], strict=True):
            put(place, y, 28, cell, "R" if number else "L")
    put(90, 260, 30, "Page 1 of 1")
    page.output(str(path))
    (document,) = load(path)
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize("above", ["Printed 3 May 2024", "03/05/2024 09:15", "budget.xlsx", "Page 1 of 1"])
def test_cells_keep_to_their_columns_whatever_is_cut_off_or_printed_above(tmp_path: Path, above: str) -> None:
    document = printed(tmp_path / "budget.pdf", above)
    lines = document.text.split("\n")
    for row, manager, revenue, costs, margin in ROWS:
        (line,) = [line for line in lines if line.startswith(f"Branch: {row} | ")]
        assert line.split(" | ")[1] == f"Manager: {manager}"
        for name, cell in (("Revenue", revenue), ("Costs", costs), ("Margin", margin)):
            said = f"{name}: error, no value ({cell})" if cell.startswith("#") else f"{name}: {cell}"
            assert said in line.split(" | ")
    report = report_of(document.metadata)
    assert report is not None
    assert report.less == ["4 cells show errors in the place of a value (#DIV/0!, #REF!, #VALUE!, #######)"]
    assert above in document.text
