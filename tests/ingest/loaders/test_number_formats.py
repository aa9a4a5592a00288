"""Figures of sheets as their formats show them: key numbers, telephone numbers, hours, days.

budget.xlsx of `made_files/kinds` is by XlsxWriter 3.2, budget.ods and budget.xls are what LibreOffice 7.4 makes of it.
"""

from __future__ import annotations

from datetime import time, timedelta
from pathlib import Path

import openpyxl
import pytest
from loaded_files import load_one

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.xlsx import shown
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files" / "kinds"


@pytest.mark.parametrize("kind", ["xlsx", "xls", "ods"])
@pytest.mark.parametrize(
    "part",
    [
        "Item: Heating | Paid on: 2024-03-05",
        "Item: Cleaning | Paid on: 2024-04-11",  # a hidden row
        "Room: Hall | Key number: 00417 | Opening: 08:30",
        "Caretaker: Olga Brandt | Phone: 555-123-9876 | Hours: 37:30",
        "Caretaker: Pavel Ruzic | Phone: 555-001-3344 | Hours: 18:00",
        "Caretaker: Fax | Phone: (555) 777-8888",
        "Caretaker: Desk | Phone: 555-7788",
        "Region: North | 2023, Q1: 12 | 2023, Q2: 15 | 2024, Q1: 18 | 2024, Q2: 21",
        "Opened: 2019-07-01 | Rate: 3.25%",
    ],
)
def test_cells_of_all_kinds_of_workbooks_say_the_same(kind: str, part: str) -> None:
    (document,) = load(MADE / f"budget.{kind}")
    assert isinstance(document, Document)
    assert part in document.text
    assert "by None" not in document.text


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (417, "00000", "00417"),
        (123456, "00000", "123456"),
        (9, '"No. "000', "9"),
        (78053120, "000-00-0000", "078-05-3120"),
        (1234, "0", "1234"),
        (0.5, "# ?/?", "0.5"),
        (4917612345678, "+00 000 0000000", "4917612345678"),
        (-5, "000", "-5"),
        (timedelta(hours=37, minutes=30), "[h]:mm", "37:30"),
        (timedelta(minutes=4, seconds=9), "[mm]:ss", "0:04:09"),
        (-timedelta(minutes=90), "[h]:mm", "-1:30"),
        (time(8, 30), "hh:mm", "08:30"),
        (time(8, 30, 5), "hh:mm", "08:30:05"),
        (time(8, 30), "h:mm:ss", "08:30:00"),
    ],
)
def test_figures_stand_as_their_format_shows_them(value: object, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text


def test_formulas_of_days_and_times_are_shown_as_these(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(("Order", "Due", "Opens", "Worked"))
    sheet.append(("Aas", "=DATE(2024,5,31)", "=TIME(6,45,0)", "=30/24"))
    for column, number_format in ((2, "dd.mm.yyyy"), (3, "hh:mm"), (4, "[h]:mm")):
        sheet.cell(2, column).number_format = number_format
    book.save(tmp_path / "a.xlsx")
    row = load_one(tmp_path / "a.xlsx").text.split("\n")[-1]
    assert row == "Order: Aas | Due: 2024-05-31 | Opens: 06:45 | Worked: 30:00"
