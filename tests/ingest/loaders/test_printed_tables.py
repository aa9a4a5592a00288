"""Tables printed to a PDF without rules: letterheads, columns of words that stand close, rows of two lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fpdf import FPDF

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document

Printed = tuple[float, float, str]
"""A text with its place on the page, in millimetres from the left and the top; one that begins with "*" is bold."""


def lines_of(path: Path, texts: Sequence[Printed]) -> list[str]:
    pdf = FPDF()
    pdf.add_page()
    for x, y, text in texts:
        pdf.set_font("Helvetica", "B" if text.startswith("*") else "", 10)
        pdf.text(x, y, text.removeprefix("*"))
    pdf.output(str(path))
    (document,) = load(path)
    assert isinstance(document, Document)
    return document.text.split("\n")


def grid(places: Sequence[float], rows: Sequence[Sequence[str]], top: float = 60, step: float = 6) -> list[Printed]:
    return [
        (x, top + step * number, text)
        for number, row in enumerate(rows)
        for x, text in zip(places, row, strict=True)
        if text
    ]


@pytest.mark.parametrize("above", [[], [(10, 48, "*Invoice 2024-117")]])
def test_a_letterhead_names_no_columns(tmp_path: Path, above: list[Printed]) -> None:
    letterhead = grid(
        (10, 120),
        [("Nordlys Elektro AS", "Havna Hotell"), ("Storgata 14", "Kaiveien 3"), ("9008 Tromso", "8005 Bodo")],
        20,
    )
    rows = [
        ("Item", "Qty", "Amount"),
        ("LED panel", "12", "5868.00"),
        ("Labour", "9", "8455.00"),
        ("Kit", "2", "75.50"),
    ]
    lines = lines_of(tmp_path / "a.pdf", [*letterhead, *above, *grid((10, 80, 130), rows)])
    assert [line for line in lines if "Labour" in line] == ["Item: Labour | Qty: 9 | Amount: 8455.00"]
    said = " ".join(lines)
    assert said.index("Nordlys") < said.index("9008 Tromso") < said.index("Havna Hotell") < said.index("8005 Bodo")


def test_columns_of_words_that_stand_close_are_parted(tmp_path: Path) -> None:
    rows = [
        ("Plant", "Pot", "Price"),
        ("Lavandula angustifolia", "9 cm", "3.90"),
        ("Hydrangea paniculata", "5 l", "24.50"),
        ("Buxus", "2 l", "11.20"),
    ]
    assert "Plant: Hydrangea paniculata | Pot: 5 l | Price: 24.50" in lines_of(
        tmp_path / "a.pdf", grid((10, 46.5, 60), rows)
    )


def test_words_that_begin_alike_are_one_cell(tmp_path: Path) -> None:
    rows = [("Seed variety", "Grams"), ("Seed variety 1", "48"), ("Seed variety 2", "85"), ("Seed variety 3", "122")]
    assert "Seed variety: Seed variety 2 | Grams: 85" in lines_of(tmp_path / "a.pdf", grid((10, 60), rows))


STAFF = [
    ("Name", "Role", "Room", "Phone"),
    ("Ada Vik", "Head teacher", "Main wing", "5501"),
    ("Bo Lind", "Janitor", "Cellar", "5517"),
    ("Carla Rossi", "School nurse", "Annex", "5522"),
]


def test_a_column_of_figures_below_a_word_tells_the_header(tmp_path: Path) -> None:
    assert "Name: Bo Lind | Role: Janitor | Room: Cellar | Phone: 5517" in lines_of(
        tmp_path / "a.pdf", grid((10, 50, 100, 140), STAFF)
    )


@pytest.mark.parametrize(
    ("mark", "row"), [("*", "Name: Bo Lind | Role: Janitor | Room: Cellar"), ("", "Bo Lind | Janitor | Cellar")]
)
def test_a_header_of_words_is_told_by_its_font_alone(tmp_path: Path, mark: str, row: str) -> None:
    rows = [[mark + cell for cell in STAFF[0][:3]], *(row[:3] for row in STAFF[1:])]
    assert row in lines_of(tmp_path / "a.pdf", grid((10, 50, 100), rows))


def test_two_columns_are_a_table_below_a_bold_header_alone(tmp_path: Path) -> None:
    rows = [[cell for cell in row[:2]] for row in STAFF]
    assert not any(" | " in line for line in lines_of(tmp_path / "a.pdf", grid((10, 80), rows)))
    rows[0] = ["*Name", "*Role"]
    assert "Name: Bo Lind | Role: Janitor" in lines_of(tmp_path / "b.pdf", grid((10, 80), rows))


def test_a_cell_of_several_lines_stays_in_its_row(tmp_path: Path) -> None:
    texts = [
        *grid((10, 40, 90, 110), [("*Site", "*Work", "*Lead", "*Hours")], 50),
        *grid(
            (10, 40, 90, 110),
            [("Dock 1", "Replace the worn fenders", "Ida", "36"), ("", "on the northern quay", "", "")],
            58,
            4,
        ),
        *grid((10, 40, 90, 110), [("Dock 2", "Grease the crane", "Max", "4")], 70),
        *grid(
            (10, 40, 90, 110),
            [("Lock gate", "Weld the hinge of the gate", "Eva", "19"), ("east", "and test it", "", "")],
            78,
            4,
        ),
        *grid((10, 40, 90, 110), [("Yard", "Sweep", "Tom", "6")], 90),
    ]
    lines = lines_of(tmp_path / "a.pdf", texts)
    assert "Site: Dock 1 | Work: Replace the worn fenders on the northern quay | Lead: Ida | Hours: 36" in lines
    assert "Site: Lock gate east | Work: Weld the hinge of the gate and test it | Lead: Eva | Hours: 19" in lines
    assert "Site: Dock 2 | Work: Grease the crane | Lead: Max | Hours: 4" in lines


def test_a_second_bold_header_begins_another_table(tmp_path: Path) -> None:
    second = [
        ["*Club", "*Day", "*Hall"],
        ["Chess", "Monday", "North"],
        ["Judo", "Friday", "South"],
        ["Choir", "Sunday", "Chapel"],
    ]
    first = [["*" + cell for cell in STAFF[0][:3]], *(list(row[:3]) for row in STAFF[1:])]
    lines = lines_of(tmp_path / "a.pdf", grid((10, 50, 100), [*first, *second]))
    assert "Club: Judo | Day: Friday | Hall: South" in lines
    assert "Name: Carla Rossi | Role: School nurse | Room: Annex" in lines


def test_lists_beside_each_other_are_no_table(tmp_path: Path) -> None:
    rows = [
        ("•", "Bring a lamp", "•", "Leave the dog"),
        ("•", "Wear boots", "•", "Carry water"),
        ("•", "Pay at the hut", "•", "Close the gate"),
        ("•", "Ask first", "•", "Keep left"),
    ]
    texts = [(x, y, text.replace("•", "-")) for x, y, text in grid((10, 16, 100, 106), rows)]
    assert not any(" | " in line for line in lines_of(tmp_path / "a.pdf", texts))


def test_cells_that_all_go_on_in_the_next_line_are_no_rows(tmp_path: Path) -> None:
    rows = [
        ("The ferry sails", "Tickets are sold", "Bicycles travel"),
        ("from the old pier", "at the kiosk or", "for free but in"),
        ("every full hour", "on board, where", "summer they need"),
        ("until ten at night", "only cards work", "a place reserved"),
    ]
    assert not any(" | " in line for line in lines_of(tmp_path / "a.pdf", grid((10, 75, 140), rows, step=4.5)))


def test_bold_labels_stand_with_the_values_beside_them(tmp_path: Path) -> None:
    rows = [
        ("*Name", "Hanna Oss", "*Ward", "Four West"),
        ("*Doctor", "Pihl", "*Nurse", "Ada Lie"),
        ("*Diet", "No milk", "*Bed", "Window"),
        ("*Visits", "Daily", "*Key", "Porter"),
    ]
    lines = lines_of(tmp_path / "a.pdf", grid((10, 50, 100, 140), rows))
    assert lines[1:3] == ["Doctor: Pihl | Nurse: Ada Lie", "Diet: No milk | Bed: Window"]


def test_columns_drawn_one_after_the_other_are_read_so(tmp_path: Path) -> None:
    left, right = (
        ["*Seller", "Nordlys Elektro", "Dock road", "Phone later"],
        ["*Buyer", "Havna Hotell", "Quay", "Siri Lund"],
    )
    texts = [*grid((10,), [(text,) for text in left]), *grid((100,), [(text,) for text in right])]
    said = " ".join(lines_of(tmp_path / "a.pdf", texts))
    assert "Seller Nordlys Elektro Dock road Phone later Buyer Havna Hotell" in said.replace("\n", " ")


def test_a_cell_in_the_middle_of_cells_of_two_lines_stays_in_its_row(tmp_path: Path) -> None:
    # As browsers print a table: half a line apart, with the year of a date alone in its line.
    texts = grid((10, 25, 110, 140), [("*Nr", "*Repair", "*Urgent", "*Due")], 50)
    repairs = [
        ("1", "Reseal the skylight above the", "reading room", "Yes", "30 March", "2027"),
        ("2", "Replace the outer hinges of the", "coal hatch (open since 2024)", "No", "31 August", "2027"),
        ("3", "Repoint the north chimney and its", "two flues (open since 2023)", "No", "30 April", "2028"),
        ("4", "Sweep the gutters on the side of", "the yard", "Yes", "28 May", "2027"),
    ]
    for number, (nr, what, more, urgent, day, year) in enumerate(repairs):
        top = 57 + 11 * number
        texts += [(10, top + 2.4, nr), (25, top, what), (25, top + 4.8, more), (110, top + 2.4, urgent)]
        texts += [(140, top, day), (140, top + 4.8, year)]
    lines = lines_of(tmp_path / "a.pdf", texts)
    assert "Nr: 1 | Repair: Reseal the skylight above the reading room | Urgent: Yes | Due: 30 March 2027" in lines
    assert [line.rsplit(" | ", 2)[-2:] for line in lines if " | " in line][1:] == [
        ["Urgent: No", "Due: 31 August 2027"],
        ["Urgent: No", "Due: 30 April 2028"],
        ["Urgent: Yes", "Due: 28 May 2027"],
    ]


ORDER = [
    ("1", "Boiler for the wash house with pump and", "1", "2,900.00", "2,900.00"),
    ("2", "Brass taps, set of five", "2", "64.50", "129.00"),
    ("3", "Lagging for pipes", "4", "41.20", "164.80"),
    ("4", "Carriage", "1", "10.00", "10.00"),
]
BELOW = "The warranty on item 1 is three years if the boiler is registered within 28 days."


@pytest.mark.parametrize("up", [2.2, 0.0], ids=["figures in the middle", "figures beside the first line"])
def test_the_second_line_of_an_article_belongs_to_its_row(tmp_path: Path, up: float) -> None:
    texts: list[Printed] = [(10, 50, "Bill to: Havna Hotell, Kaiveien 3, 8005 Bodo")]
    # The names of the columns stand in their middle, so that no word of the rows begins where they do.
    texts += [(10, 60, "*No"), (50, 60, "*Article"), (108, 60, "*Qty"), (130, 60, "*Unit"), (160, 60, "*Net")]
    texts += grid((10, 20, 110, 130, 160), ORDER, 70, 8)
    texts[texts.index((20, 70, ORDER[0][1]))] = (20, 70 - up, ORDER[0][1])
    texts += [(20, 70 + (up or 4.4), "expansion tank"), (10, 110, BELOW)]
    lines = lines_of(tmp_path / "a.pdf", texts)
    assert "Bill to: Havna Hotell, Kaiveien 3, 8005 Bodo" in lines
    assert BELOW in lines
    assert [line for line in lines if " | " in line][:2] == [
        "No: 1 | Article: Boiler for the wash house with pump and expansion tank"
        " | Qty: 1 | Unit: 2,900.00 | Net: 2,900.00",
        "No: 2 | Article: Brass taps, set of five | Qty: 2 | Unit: 64.50 | Net: 129.00",
    ]


def test_note_below_a_row_that_begins_elsewhere_is_no_part_of_its_cell(tmp_path: Path) -> None:
    texts = grid((10, 20, 110, 130, 160), [("No", "Article", "Qty", "Unit", "Net"), *ORDER], 60, 8)
    lines = lines_of(tmp_path / "a.pdf", [*texts, (14, 104, "as agreed in May")])
    assert [line for line in lines if "agreed" in line] == ["as agreed in May"]
    assert "No: 4 | Article: Carriage | Qty: 1 | Unit: 10.00 | Net: 10.00" in lines


WIDEST = "Call-out at night or on Sundays"
SERVICES = (
    (WIDEST, "115"),
    ("Hour of a fitter", "82"),
    ("Removal of vandalism, flat", "210"),
    ("New telephone", "640"),
)


def browser_table(rows: Sequence[tuple[str, str]]) -> list[Printed]:
    """Return a table as browsers print it: its first column as wide as its widest cell, with its name in the middle."""
    pdf = FPDF()
    pdf.set_font("Helvetica", "", 10)
    width = pdf.get_string_width(WIDEST)
    price = 10 + width + 1.6
    middle = 10 + width / 2 - pdf.get_string_width("Extra service") / 2
    return [(middle, 60, "*Extra service"), (price, 60, "*Price (euros)"), *grid((10, price), rows, 66)]


@pytest.mark.parametrize("first", range(4))
def test_widest_cell_below_a_name_in_the_middle_is_a_cell(tmp_path: Path, first: int) -> None:
    rows = [*SERVICES[first:], *SERVICES[:first]]
    below = "3.2 Freeing trapped persons is free of charge at all times, and so is the removal of dirt."
    lines = lines_of(tmp_path / "a.pdf", [*browser_table(rows), (9, 99, below)])
    assert lines == [*(f"Extra service: {label} | Price (euros): {price}" for label, price in rows), below]


def test_prose_below_two_bold_names_is_no_row(tmp_path: Path) -> None:
    prose = [
        "The contractor frees persons who are trapped at any hour",
        "of the day, and the client pays the price of each visit to",
        "the house on the day on which it was made, or sooner, as",
        "the parties to the contract agreed in the spring before it.",
    ]
    names = browser_table(())
    text = " ".join(lines_of(tmp_path / "a.pdf", [*names, *((10, 66 + 5 * n, line) for n, line in enumerate(prose))]))
    assert " ".join(prose) in text
    assert "Price (euros):" not in text


def test_prose_below_a_table_is_no_row_where_its_blank_is_between_the_columns(tmp_path: Path) -> None:
    before, behind = "3.2 Freeing trapped persons is", "free of charge at all times."
    table = browser_table(SERVICES)
    pdf = FPDF()
    pdf.set_font("Helvetica", "", 10)
    left = table[1][0] - 1 - pdf.get_string_width(f"{before} ")
    lines = lines_of(tmp_path / "a.pdf", [*table, (left, 91, f"{before} {behind}")])
    assert lines[0] == f"Extra service: {WIDEST} | Price (euros): 115"
    assert lines[-1] == f"{before} {behind}"
