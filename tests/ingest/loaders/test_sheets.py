"""Sheets as offices make them: merged headers, tables beside each other, subtotals, groups, and errors for values."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from loaded_files import load_one
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Alignment

from preflight_rag.ingest.loaders.read_report import report_of


def workbook(path: Path, name: str, rows: list[tuple[Any, ...]], merged: tuple[str, ...] = ()) -> list[str]:
    """Write a sheet and return the lines that are read of it."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = name
    for row in rows:
        sheet.append(row)
    for place in merged:
        sheet.merge_cells(place)
    book.save(path)
    return load_one(path).text.split("\n")


def test_names_over_several_columns_stand_with_those_below_them(tmp_path: Path) -> None:
    rows = [
        ("Rates of Lindenhof", None, None, None, None),
        ("Room", "Summer", None, "Winter", None),
        (None, "Single", "Double", "Single", "Double"),
        ("Larch", 81, 117, 64, 92),
        ("Maple", 84, 121, 66, 95),
    ]
    merged = workbook(tmp_path / "a.xlsx", "Sheet1", rows, ("A1:E1", "A2:A3", "B2:C2", "D2:E2"))
    assert "Room: Maple | Summer, Single: 84 | Summer, Double: 121 | Winter, Single: 66 | Winter, Double: 95" in merged
    # A file that was exported has the outer name in the first of its columns alone.
    assert workbook(tmp_path / "b.xlsx", "Sheet1", rows) == merged


def test_a_label_over_several_rows_stands_in_each(tmp_path: Path) -> None:
    rows = [("Wing", "Room", "Price"), ("East", "Larch", 81), (None, "Maple", 84), ("West", "Birch", 77)]
    lines = workbook(tmp_path / "a.xlsx", "Rooms", rows, ("A2:A3",))
    assert "Wing: East | Room: Maple | Price: 84" in lines


def test_a_label_over_several_columns_stands_once(tmp_path: Path) -> None:
    rows = [("Wing", "Room", "Price"), ("East", "Larch", 81), ("West", "Birch", 77), ("All of them", None, 158)]
    lines = workbook(tmp_path / "a.xlsx", "Rooms", rows, ("A4:B4",))
    assert "Wing: All of them | Price: 158" in lines


def test_tables_beside_each_other_are_two(tmp_path: Path) -> None:
    rows = [
        ("Tool", "Shelf", "Count", None, "Supplier", "Town", "Discount"),
        ("Chisel", "B4", 17, None, "Hobelmann", "Steyr", "4%"),
        ("Mallet", "B7", 9, None, "Eisenau", "Weiz", "7%"),
    ]
    lines = workbook(tmp_path / "a.xlsx", "Stock", rows)
    assert "Tool: Mallet | Shelf: B7 | Count: 9" in lines
    assert "Supplier: Eisenau | Town: Weiz | Discount: 7%" in lines


def test_a_blank_column_inside_of_a_table_parts_nothing(tmp_path: Path) -> None:
    rows = [(None, None, "2022", None, "2021"), ("Sales", None, 500, None, 450), ("Costs", None, 300, None, 310)]
    assert "Costs | 2022: 300 | 2021: 310" in workbook(tmp_path / "a.xlsx", "Sheet1", rows)


def test_what_goes_on_below_a_blank_row_keeps_the_names_of_the_columns(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        ("Branch", "Rent", "Staff"),
        ("Ried", 1400, 6),
        (),
        ("West",),
        ("Wels", 1700, 9),
        (),
        ("Total", 3100, 15),
        (),
        ("Printed by", "Ann Huber"),
    ]
    text = "\n".join(workbook(tmp_path / "a.xlsx", "Sheet1", rows))
    assert "West. | Branch: Wels | Rent: 1700 | Staff: 9" in text
    assert "Branch: Total | Rent: 3100 | Staff: 15" in text
    assert "Branch: Printed by" not in text


def test_sections_below_blank_rows_keep_the_names_of_columns_with_a_blank_corner(tmp_path: Path) -> None:
    rows = [
        (None, "2031-32 actual", "2032-33 budget"),
        ("Rents", 410, 425),
        ("Donations", 30, 20),
        (),
        ("Costs", None, None),
        ("Repairs", 390, 400),
        ("Insurance", 12, 14),
    ]
    lines = workbook(tmp_path / "a.xlsx", "Sheet1", rows)
    assert "Insurance | 2031-32 actual: 12 | 2032-33 budget: 14" in lines


@pytest.mark.parametrize("by_format", [True, False])
def test_rows_under_a_subtotal_are_called_by_it(tmp_path: Path, by_format: bool) -> None:
    rows = [(0, "North", 30), (1, "Ried", 10), (2, "Yard", 6), (1, "Perg", 20), (0, "South", 5), (1, "Linz", 5)]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(("Sum of Hours", "Column Labels", None))
    sheet.append(("Row Labels", "Q1", "Grand Total"))
    for depth, label, hours in rows:
        sheet.append((label if by_format else "  " * depth + label, hours, hours))
        if by_format:
            sheet.cell(sheet.max_row, 1).alignment = Alignment(indent=depth)
    book.save(tmp_path / "pivot.xlsx")
    lines = load_one(tmp_path / "pivot.xlsx").text.split("\n")
    assert "Sum of Hours, Column Labels. | Row Labels: North | Q1: 30 | Grand Total: 30" in lines
    assert "Row Labels: North, Ried, Yard | Q1: 6 | Grand Total: 6" in lines
    assert "Row Labels: South, Linz | Q1: 5 | Grand Total: 5" in lines


@pytest.mark.parametrize("error", ["#DIV/0!", "#REF!", "#VALUE!", "#N/A", "#NAME?", "#WERT!", "Err:502", "####"])
def test_an_error_is_no_value_and_is_reported(tmp_path: Path, error: str) -> None:
    (tmp_path / "costs.csv").write_text(f"Depot,Rent,Share\nTraun,1400,0.35\nAsten,{error},12\n", encoding="utf-8")
    document = load_one(tmp_path / "costs.csv")
    assert f"Depot: Asten | Rent: error, no value ({error}) | Share: 12" in document.text
    report = report_of(document.metadata)
    assert report is not None
    assert report.less == [f"1 cell shows an error in the place of a value ({error})"]


@pytest.mark.parametrize("value", ["#12", "N/A", "#general", "##", "Err", "Error: see note"])
def test_what_only_looks_like_an_error_is_a_value(tmp_path: Path, value: str) -> None:
    (tmp_path / "a.csv").write_text(f"Depot,Mark,Share\nTraun,{value},3\nAsten,b,4\n", encoding="utf-8")
    report = report_of(load_one(tmp_path / "a.csv").metadata)
    assert report is not None
    assert not report.less


def test_days_above_a_roster_name_its_columns(tmp_path: Path) -> None:
    days = [date(2024, 7, number) for number in (1, 2, 3)]
    lines = workbook(
        tmp_path / "a.xlsx",
        "Sheet1",
        [("Nurse", *days), ("Aina", "early", "late", "-"), ("Bror", "night", "off", "early")],
    )
    assert "Nurse: Bror | 2024-07-01: night | 2024-07-02: off | 2024-07-03: early" in lines


def test_days_above_days_are_values(tmp_path: Path) -> None:
    rows = [
        ("Aina", date(2024, 7, 1), date(2024, 7, 9)),
        ("Bror", date(2024, 8, 2), date(2024, 8, 4)),
        ("Carl", "", ""),
    ]
    assert "Bror | 2024-08-02 | 2024-08-04" in workbook(tmp_path / "a.xlsx", "Sheet1", rows)


def test_two_columns_of_figures_keep_their_names(tmp_path: Path) -> None:
    assert workbook(tmp_path / "a.xlsx", "Sheet1", [("Year", "Sales"), (2021, 40), (2022, 55), (2023, 61)])[-1] == (
        "Year: 2023 | Sales: 61"
    )
    assert workbook(tmp_path / "b.xlsx", "Sheet1", [("Ward", "Extension"), ("3B", 7712), ("4A", 7790)])[-1] == (
        "Ward: 4A | Extension: 7790"
    )


def test_titles_of_charts_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("Branch", "Sales"), ("Ried", 40), ("Perg", 55)):
        sheet.append(row)
    chart = BarChart()
    chart.title = "Sales after the fair"
    chart.y_axis.title = "Thousand crowns"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    book.create_chartsheet("Picture").add_chart(chart)
    book.save(tmp_path / "a.xlsx")
    assert load_one(tmp_path / "a.xlsx").text.split("\n")[-3:] == [
        "Chart: Sales after the fair",
        "",
        "Chart: Thousand crowns",
    ]


CLASSES = ("Procedure", "Up to 10 kg", "10-25 kg", "Over 25 kg")


def test_classes_of_sizes_above_figures_name_the_columns(tmp_path: Path) -> None:
    lists = [("Cats", "Price"), ("Spay cat", 142), ("Dental cat", 265)]
    rows = [CLASSES, ("Spay bitch", 329, 378, 442), ("Stitch-up", 190, 205, 225), (), *lists]
    lines = workbook(tmp_path / "a.xlsx", "Surgery", rows)
    assert "Surgery. | Procedure: Spay bitch | Up to 10 kg: 329 | 10-25 kg: 378 | Over 25 kg: 442" in lines
    assert "Cats: Dental cat | Price: 265" in lines


def test_classes_above_classes_are_values(tmp_path: Path) -> None:
    rows = [
        ("Small", "1-5 kg", "6-9 kg", "a"),
        ("Large", "10-25 kg", "26-40 kg", "b"),
        ("Giant", "41-60 kg", "61+ kg", "c"),
    ]
    assert "Small | 1-5 kg | 6-9 kg | a" in "\n".join(workbook(tmp_path / "a.xlsx", "Sheet1", rows))


def test_an_address_above_a_table_is_no_caption_of_its_rows(tmp_path: Path) -> None:
    rows = [("Bill to: Eisenau Ltd, 14 Ludlow Road, Weiz",), ("Item", "Units", "Net"), ("Saw", 2, 80), ("File", 5, 35)]
    lines = workbook(tmp_path / "a.xlsx", "Invoice", rows)
    assert "Bill to: Eisenau Ltd, 14 Ludlow Road, Weiz" in lines
    assert "Invoice. | Item: Saw | Units: 2 | Net: 80" in lines


def test_notes_directly_above_a_header_are_lines_of_their_own(tmp_path: Path) -> None:
    rows = [
        ("Prices of the shop", None, "(draft)"),
        (None, "please check", None),
        ("Item", "Units", "Net"),
        ("Saw", 2, 80),
        ("File", 5, 35),
    ]
    lines = workbook(tmp_path / "a.xlsx", "Shop", rows)
    assert "Prices of the shop (draft)" in lines
    assert "please check" in lines
    assert "Shop. | Item: Saw | Units: 2 | Net: 80" in lines
    assert "Item: File | Units: 5 | Net: 35" in lines


def test_a_full_row_of_names_below_others_is_no_header(tmp_path: Path) -> None:
    rows = [
        ("Shift", "Name", None), ("Early", "Ann", None), ("Late", "Cyril", "Dora"), ("Night", "Edwin", "Fay")
    ]  # fmt: skip
    assert not any("Cyril: Edwin" in line for line in workbook(tmp_path / "a.xlsx", "Rota", rows))
