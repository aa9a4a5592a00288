"""Rows of tables as lines: written so that each stands by itself, read back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import (
    INDENT,
    LONGEST_ROW,
    expand_spans,
    header_rows,
    is_addressee,
    parse_row,
    short_caption,
    table_lines,
)


def test_caption_header_and_row_stand_together() -> None:
    grid = [["Event", "Placebo (n = 40)", "Drug (n = 41)"], ["Nausea", "12 (30%)", "15 (37%)"], ["Death", "", "1"]]
    assert table_lines(grid, caption="Table 2. Adverse events. All of them, by arm.", header_rows=1) == [
        "Table 2. Adverse events. | Event: Nausea | Placebo (n = 40): 12 (30%) | Drug (n = 41): 15 (37%)",
        "Table 2. | Event: Death | Drug (n = 41): 1",
    ]


def test_caption_stands_again_after_some_rows() -> None:
    grid = [["Event", "Drug"], *([f"Event of the kind {n}", str(n)] for n in range(100))]
    lines = table_lines(grid, caption="Table 2. Adverse events.", header_rows=1)
    text = "\n".join(lines)
    assert text.count("Adverse events") > 5
    assert all("Adverse events" in text[at : at + 500] for at in range(0, len(text) - 500, 50))
    assert all(line.startswith("Table 2.") for line in lines)


def test_header_of_several_rows_and_cells_that_span() -> None:
    rows = [
        [("Study", 1, 2), ("Patients", 2, 1)],
        [("Placebo", 1, 1), ("Drug", 1, 1)],
        [("Leonardi", 1, 1), ("170", 1, 1), ("162", 1, 1)],
    ]
    assert table_lines(expand_spans(rows), header_rows=2) == [
        "Study: Leonardi | Patients, Placebo: 170 | Patients, Drug: 162"
    ]


def test_heading_is_part_of_the_labels_under_it() -> None:
    grid = [
        ["", "A", "B"],
        ["Sex:", "", ""],
        [f"{INDENT}Men", "10", "11"],
        [f"{INDENT}Women", "12", "13"],
        ["Age", "50", "51"],
    ]
    assert table_lines(grid, header_rows=1) == [
        "Sex, Men | A: 10 | B: 11",
        "Sex, Women | A: 12 | B: 13",
        "Age | A: 50 | B: 51",
    ]


def test_section_ends_with_its_total_and_with_what_is_of_the_whole() -> None:
    grid = [
        ["", "2031-32 actual", "2032-33 budget"],
        ["INCOME", "", ""],
        ["Rents", "410", "425"],
        ["Total income", "410", "425"],
        ["Brought from reserves", "15", "0"],
        ["Costs:", "", ""],
        ["Repairs", "390", "400"],
        ["Surplus / (deficit)", "35", "25"],
    ]
    assert table_lines(grid) == [
        "INCOME, Rents | 2031-32 actual: 410 | 2032-33 budget: 425",
        "INCOME, Total income | 2031-32 actual: 410 | 2032-33 budget: 425",
        "Brought from reserves | 2031-32 actual: 15 | 2032-33 budget: 0",
        "Costs, Repairs | 2031-32 actual: 390 | 2032-33 budget: 400",
        "Surplus / (deficit) | 2031-32 actual: 35 | 2032-33 budget: 25",
    ]


@pytest.mark.parametrize(
    ("heading", "labels"),
    [
        ("Lipids", ["Triglycerides", "Total cholesterol", "HDL"]),  # one of several figures
        ("Beds", ["Total", "Single", "Double"]),  # of which the rows below it are parts
        ("Stock", ["Chisels", "Surplus stock", "Mallets"]),
        ("Operating activities", ["Net income", "Depreciation", "Interest"]),  # what the section begins with
    ],
)
def test_section_goes_on_behind_other_rows(heading: str, labels: list[str]) -> None:
    grid = [["", "May", "June"], ["Hall", "", ""], ["Chairs", "4", "5"], [heading, "", ""]]
    lines = table_lines([*grid, *([label, "7", "8"] for label in labels)])
    assert lines[1:] == [f"{heading}, {label} | May: 7 | June: 8" for label in labels]


def test_label_over_several_columns_stands_once() -> None:
    rows = [
        [("Section", 1, 1), ("What is covered", 1, 1), ("Sum", 1, 1)],
        [("A", 1, 1), ("Clocks", 1, 1), ("640", 1, 1)],
        [("Premium with tax", 2, 1), ("73.18", 1, 1)],
    ]
    assert expand_spans(rows)[2] == ["Premium with tax", "", "73.18"]


def test_name_and_value_over_several_columns_stand_in_each() -> None:
    rows = [
        [("Rates", 2, 1), ("Price", 1, 1)],  # the name of both columns
        [("Day", 1, 1), ("Desk", 1, 1), ("Gallery", 1, 1)],
        [("Monday", 1, 1), ("CLOSED", 2, 1)],
    ]
    assert expand_spans(rows) == [
        ["Rates", "Rates", "Price"],
        ["Day", "Desk", "Gallery"],
        ["Monday", "CLOSED", "CLOSED"],
    ]


def test_total_below_numbers_has_no_number() -> None:
    grid = [["No.", "Object", "Value"], ["1", "Clock", "30"], ["2", "Bell", "21"], ["Total", "", "51"]]
    assert table_lines(grid, header_rows=1)[-1] == "Total | Value: 51"


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (["", "2024-25 actual", "2025-26 budget"], 1),
        (["", "2024/2025", "2025/2026 (forecast)"], 1),
        (["Hall", "2024 visitors", "2025 visitors"], 0),
        (["Hall", "2024-07", "2024-09"], 0),
    ],
)
def test_years_name_columns(first: list[str], count: int) -> None:
    assert header_rows([first, ["Admissions", "61,240", "68,000"], ["Shop", "22,815", "24,000"]]) == count


def test_second_column_named_as_an_amount_has_a_header_although_some_cells_are_words() -> None:
    fees = [
        ["Service", "Fee (£)"],
        ["Locker", "free"],
        ["Towel", "2.50"],
        ["Parking", "none"],
        ["Sauna", "by arrangement"],
    ]
    assert table_lines(fees)[1] == "Service: Towel | Fee (£): 2.50"
    form = [["Hall", "Old Mill"], ["Fee", "£40"], ["Guests", "sixty"]]
    assert table_lines(form)[0] == "Hall: Old Mill"
    words = [["Form", "Fee"], ["Annex", "Wing"]]
    assert table_lines(words)[0] == "Form: Fee"


def test_first_row_is_the_header_where_only_cells_below_are_figures() -> None:
    assert table_lines([["Team", "Cups"], ["Blues", "1"], ["Flyers", "2"]]) == [
        "Team: Blues | Cups: 1",
        "Team: Flyers | Cups: 2",
    ]
    assert table_lines([["Founded", "1975"], ["Headquarters", "Redmond"]]) == ["Founded: 1975", "Headquarters: Redmond"]
    assert table_lines([["1", "2", "3"], ["4", "5", "6"]]) == ["1 | 2 | 3", "4 | 5 | 6"]


def test_signs_in_columns_of_their_own_join_their_figure() -> None:
    grid = [["", "2022", "2022", "2022", "2021", "2021", "2021"], ["Loss", "$", "(7", ")", "$", "1,419", ""]]
    assert table_lines(grid, header_rows=1) == ["Loss | 2022: $(7) | 2021: $1,419"]
    units = [["Test", "Strength", "Elongation"], ["Bars", "N/mm2", "%"]]
    assert table_lines(units, header_rows=1) == ["Test: Bars | Strength: N/mm2 | Elongation: %"]


def test_wide_row_goes_on_under_its_label() -> None:
    names = ["Drug", *(f"Outcome after {n} months of treatment" for n in range(1, 30))]
    lines = table_lines([names, ["Aspirin", *(f"{n}.5" for n in range(1, 30))]], caption="Doses", header_rows=1)
    assert len(lines) > 1
    assert all(len(line) <= LONGEST_ROW for line in lines)
    assert all(line.startswith("Doses. | Drug: Aspirin | Outcome") for line in lines)
    assert sum(line.count("Outcome") for line in lines) == 29


def test_notes_are_no_rows() -> None:
    note = (
        "Values are means with their standard deviations unless it is said otherwise in the text of the methods part."
    )
    assert table_lines([["a", "b"], ["1", "2"], [note, ""]], header_rows=1) == ["a: 1 | b: 2", note]


def test_caption_beside_rows_is_short() -> None:
    assert short_caption("Table 1. Baseline. Values are means.") == "Table 1. Baseline."
    assert short_caption("") == ""
    assert len(short_caption("Table 3. " + "very long " * 40)) <= 81


def test_an_abbreviation_ends_no_caption():
    assert short_caption("Fees from May, incl. VAT. Ask for more.") == "Fees from May, incl. VAT."
    assert short_caption("Doses approx. Values are means.") == "Doses approx. Values are means."
    long = f"{'Fees of a house ' * 4}from May, incl."
    assert short_caption(f"{long} VAT and tips") == f"{long.removesuffix(', incl.')}."


@pytest.mark.parametrize(
    "line",
    [
        "Bill to: Eisenau Ltd",
        "Delivery address: Yard 3",
        "Eisenau Ltd, 14 Ludlow Road, Weiz",
        "Weiz SY8 4QT",
        "To: Ann Huber",
        "Springfield, IL 62704",
        "14 Ludlow Road",
        "Hauptstraße 12, 8160 Weiz",
        "Ann Huber, 7a Park Lane, Weiz:",
        "Smith and Sons, 3 Old Mill Lane",
    ],
)
def test_whom_a_paper_is_for_is_no_caption(line):
    assert is_addressee(line)
    assert short_caption(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        "Table 3. Bills",
        "Rent of 12 Months",
        "Billing: 2024",
        "Road works 2024",
        "Total: 5",
        "Rents at 7 Park Lane",
        "Rents at 12 Mill Road:",
        "Rents, 12 Mill Road, Weiz",
        "Rooms 12 Mill Road",
        "Residents of 12 Mill Road",
        "Sales in Springfield, IL 62704",
        "Room Rents, SY8 4QT",
        "Mieten Hauptstraße 12",
        "Work done at 12 Mill Road, Weiz",
        "Our branch in Weiz SY8 4QT",
    ],
)
def test_other_lines_may_be_captions(line):
    assert not is_addressee(line)


def test_row_is_read_back_with_offsets() -> None:
    line = "Table 2. Adverse events. | Event: Nausea | 12 | Drug: ratio 1: 3"
    row = parse_row(line)
    assert row is not None
    assert row.caption == "Table 2. Adverse events."
    assert [(cell.column, cell.text) for cell in row.cells] == [("Event", "Nausea"), ("", "12"), ("Drug", "ratio 1: 3")]
    assert all(line[cell.start : cell.end] == cell.text for cell in row.cells)
    assert parse_row("A sentence of prose. Another one.") is None


def test_row_is_one_sentence() -> None:
    line = "Table 2. Adverse events. Serious. | Event: Nausea. Vomiting. | Drug: 15"
    text = f"Some prose that ends with the word and\n{line}\nsmall words go on. More."
    assert line in [text[start:end] for start, end in sentence_spans(text)]


CELLS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=0, max_size=20)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=6), CELLS, st.none() | st.integers(0, 3))
def test_any_grid_gives_single_lines(grid: list[list[str]], caption: str, header: int | None) -> None:
    for line in table_lines(grid, caption=caption, header_rows=header):
        assert line.strip() == line
        assert len(line.splitlines()) == 1


@pytest.mark.parametrize("mark", ["x", "✓", "[ticked]"])
def test_a_blank_beside_marks_says_that_it_is_one(mark):
    grid = [["Hut", "Showers", "Beds"], ["Alder", mark, "20"], ["Birch", "", "12"], ["Cedar", mark, ""]]
    assert table_lines(grid, header_rows=1) == [
        f"Hut: Alder | Showers: {mark} | Beds: 20",
        "Hut: Birch | Showers: not marked | Beds: 12",
        f"Hut: Cedar | Showers: {mark}",
    ]


def test_a_blank_beside_words_and_in_a_wide_matrix_stays_one():
    words = [["Hut", "Dogs", "Beds"], ["Alder", "Yes", "20"], ["Birch", "", "12"], ["Cedar", "No", "8"]]
    assert table_lines(words, header_rows=1)[1] == "Hut: Birch | Beds: 12"
    names = [f"Day {n}" for n in range(20)]
    grid = [["Hut", *names], ["Alder", *["x"] * 20], ["Birch", *["x", ""] * 10]]
    assert not any("not marked" in line for line in table_lines(grid, header_rows=1))


def test_a_row_without_a_mark_says_so_unless_it_may_be_a_heading():
    grid = [["Hut", "Showers"], ["Alder", "x"], ["Birch", ""], ["Cedar", "x"]]
    lines = table_lines(grid, header_rows=1, headings=False)
    assert lines == ["Hut: Alder | Showers: x", "Hut: Birch | Showers: not marked", "Hut: Cedar | Showers: x"]
    assert "not marked" not in "".join(table_lines(grid, header_rows=1))


def test_a_list_below_a_table_is_no_part_of_it():
    """The votes of a filing, whose lines a page joins with the table above."""
    grid = [
        ["Nominee", "For", "Against", "Abstain"],
        ["Ann Roe", "943", "69", "7"],
        ["(2) The shareholders ratified the choice of auditors:", "", "", ""],
        ["For", "", "", "1,125"],
        ["Against", "", "", "65"],
        ["(3) The shareholders approved, on an advisory basis, the pay:", "", "", ""],
        ["For", "", "", "901"],
        ["Against", "", "", "110"],
    ]
    assert table_lines(grid) == [
        "Nominee: Ann Roe | For: 943 | Against: 69 | Abstain: 7",
        "(2) The shareholders ratified the choice of auditors. | For: 1,125",
        "(2) The shareholders ratified the choice of auditors. | Against: 65",
        "(3) The shareholders approved, on an advisory basis, the pay. | For: 901",
        "(3) The shareholders approved, on an advisory basis, the pay. | Against: 110",
    ]


def test_a_short_heading_within_a_table_leaves_its_rows_their_columns():
    grid = [["Item", "2021", "2022"], ["Assets of the group:", "", ""], ["Cash", "", "4"], ["Stock", "", "9"]]
    assert table_lines(grid) == [
        "Item: Assets of the group, Cash | 2022: 4",
        "Item: Assets of the group, Stock | 2022: 9",
    ]
