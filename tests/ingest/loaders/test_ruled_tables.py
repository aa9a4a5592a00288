"""Tables of a PDF with rules around their cells: what a cell holds and spans is what its rules enclose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fpdf import FPDF

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document

Cell = tuple[str, int, int]
"""A text whose lines are parted by line breaks, and how many columns and rows it spans; one with "*" first is bold."""
Draw = Callable[[FPDF, float, float, float, float], None]
LEFT, TOP, WIDTH, HEIGHT = 15.0, 60.0, 45.0, 12.0


def by_lines(pdf: FPDF, x: float, y: float, width: float, height: float) -> None:
    for begin, end in (((x, y), (x + width, y)), ((x, y + height), (x + width, y + height))):
        pdf.line(*begin, *end)
    for begin, end in (((x, y), (x, y + height)), ((x + width, y), (x + width, y + height))):
        pdf.line(*begin, *end)


def by_stroked_rectangle(pdf: FPDF, x: float, y: float, width: float, height: float) -> None:
    pdf.rect(x, y, width, height)


def by_thin_fills(pdf: FPDF, x: float, y: float, width: float, height: float) -> None:
    for side in ((x, y, width, 0.2), (x, y + height, width, 0.2), (x, y, 0.2, height), (x + width, y, 0.2, height)):
        pdf.rect(*side, style="F")


def by_rectangles_apart(pdf: FPDF, x: float, y: float, width: float, height: float) -> None:
    pdf.rect(x + 0.3, y + 0.3, width - 0.6, height - 0.6)


def put(pdf: FPDF, x: float, y: float, text: str) -> None:
    pdf.set_font("Helvetica", "B" if text.startswith("*") else "", 10)
    pdf.text(x, y, text.removeprefix("*"))


def draw_table(
    pdf: FPDF,
    rows: Sequence[Sequence[str | Cell]],
    draw: Draw = by_lines,
    left: float = LEFT,
    *,
    cell_by_cell: bool = False,
) -> None:
    """Draw the rules of all cells, then their texts, as browsers do; or both for each cell, as word processors do."""
    taken: set[tuple[int, int]] = set()
    texts: list[tuple[float, float, str]] = []
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            text, columns, deep = cell if isinstance(cell, tuple) else (cell, 1, 1)
            while (number, column) in taken:
                column += 1
            taken |= {(number + down, column + right) for down in range(deep) for right in range(columns)}
            x, y = left + WIDTH * column, TOP + HEIGHT * number
            draw(pdf, x, y, WIDTH * columns, HEIGHT * deep)
            lines = text.removeprefix("*").split("\n") if text else []
            for at, line in enumerate(lines):
                up = HEIGHT * deep / 2 + 1.2 + 4 * (at - (len(lines) - 1) / 2)
                texts.append((x + 1.5, y + up, f"*{line}" if text.startswith("*") else line))
            column += columns
            if cell_by_cell:
                while texts:
                    put(pdf, *texts.pop(0))
    for x, y, text in texts:
        put(pdf, x, y, text)


def page() -> FPDF:
    pdf = FPDF()
    pdf.add_page()
    return pdf


def read(path: Path, pdf: FPDF) -> list[str]:
    pdf.output(str(path))
    (document,) = load(path)
    assert isinstance(document, Document)
    return document.text.split("\n")


def lines_of(path: Path, rows: Sequence[Sequence[str | Cell]], draw: Draw = by_lines) -> list[str]:
    pdf = page()
    draw_table(pdf, rows, draw)
    return read(path, pdf)


HIRE: list[list[str | Cell]] = [
    [("*When", 1, 2), ("*Charge", 2, 1)],
    ["*Members", "*Others"],
    ["Morning", "£35", "£60"],
    ["Evening", "£55", "£95"],
    ["Whole day", "£110", "£190"],
    ["Wedding", ("£420", 2, 1)],
]


@pytest.mark.parametrize("draw", [by_lines, by_stroked_rectangle, by_thin_fills, by_rectangles_apart])
def test_a_cell_that_spans_columns_stands_under_each_of_them(tmp_path: Path, draw: Draw) -> None:
    assert lines_of(tmp_path / "a.pdf", HIRE, draw) == [
        "When: Morning | Charge, Members: £35 | Charge, Others: £60",
        "When: Evening | Charge, Members: £55 | Charge, Others: £95",
        "When: Whole day | Charge, Members: £110 | Charge, Others: £190",
        "When: Wedding | Charge, Members: £420 | Charge, Others: £420",
    ]


def test_rows_with_blank_cells_are_named_and_a_cell_across_is_a_heading(tmp_path: Path) -> None:
    rows: list[list[str | Cell]] = [
        ["*Ticket", "*Price", "*Remarks"],
        ["Adult", "£7.50", ""],
        ["Concession", "£6.50", "card to be shown"],
        ["Family (2+3)", "£18.00", ""],
        [("*Extras", 3, 1)],
        ["Guided tour", "£40.00", "one hour"],
        ["Workshop", "£28.00", "materials included"],
    ]
    assert lines_of(tmp_path / "a.pdf", rows) == [
        "Ticket: Adult | Price: £7.50",
        "Ticket: Concession | Price: £6.50 | Remarks: card to be shown",
        "Ticket: Family (2+3) | Price: £18.00",
        "Ticket: Extras, Guided tour | Price: £40.00 | Remarks: one hour",
        "Ticket: Extras, Workshop | Price: £28.00 | Remarks: materials included",
    ]


SUBSTANCES: list[list[str | Cell]] = [
    ["*Substance", "*Used for", "*Hazard", "*Kept"],
    ["Acetone", "removing\nold glue", "highly\nflammable,\ndizziness", "yellow cabinet"],
    ["Industrial\nalcohol", "cleaning glass\nand metal", "highly flammable", "yellow cabinet,\nmax. 2 litres"],
    ["Renaissance\nwax", "finishing", "slight", "shelf 1"],
]


def test_cells_of_several_lines_are_those_between_their_rules(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "a.pdf", SUBSTANCES) == [
        "Substance: Acetone | Used for: removing old glue | Hazard: highly flammable, dizziness | Kept: yellow cabinet",
        "Substance: Industrial alcohol | Used for: cleaning glass and metal | Hazard: highly flammable"
        " | Kept: yellow cabinet, max. 2 litres",
        "Substance: Renaissance wax | Used for: finishing | Hazard: slight | Kept: shelf 1",
    ]


def test_a_label_that_spans_columns_is_no_value_of_theirs(tmp_path: Path) -> None:
    rows: list[list[str | Cell]] = [
        ["*Pos", "*Article", "*Net"],
        ["1", "Fuel filter", "74.00"],
        ["2", "Jib sheet", "27.50"],
        [("Total", 2, 1), "101.50"],
    ]
    assert lines_of(tmp_path / "a.pdf", rows)[-1] == "Pos: Total | Net: 101.50"


def test_names_and_values_without_a_header_are_lines_of_their_own(tmp_path: Path) -> None:
    rows = [["Place", "off the north shore"], ["Boat", "the old Wayfarer"], ["Wind", "south-west, force 5"]]
    assert lines_of(tmp_path / "a.pdf", rows) == [
        "Place: off the north shore",
        "Boat: the old Wayfarer",
        "Wind: south-west, force 5",
    ]


def test_words_that_no_font_tells_apart_name_no_columns(tmp_path: Path) -> None:
    rows = [["Ada Vik", "Teacher", "Annex"], ["Bo Lind", "Janitor", "Cellar"], ["Carla Rossi", "Nurse", "Hall"]]
    assert lines_of(tmp_path / "a.pdf", rows)[:2] == ["Ada Vik | Teacher | Annex", "Bo Lind | Janitor | Cellar"]


def test_labels_in_every_second_column_name_the_cells_beside_them(tmp_path: Path) -> None:
    rows = [
        ["*Name", "Hanna", "*Ward", "Four"],
        ["*Doctor", "Pihl", "*Nurse", "Ada"],
        ["*Diet", "No milk", "*Bed", "Window"],
    ]
    assert lines_of(tmp_path / "a.pdf", rows) == [
        "Name: Hanna | Ward: Four",
        "Doctor: Pihl | Nurse: Ada",
        "Diet: No milk | Bed: Window",
    ]


def test_the_mark_of_a_note_is_raised(tmp_path: Path) -> None:
    pdf = page()
    draw_table(pdf, [["*Land", "*People"], ["Iceland", "382,003"], ["Malta", "535,064"], ["Andorra", "81,938"]])
    pdf.set_font("Helvetica", "", 6)
    pdf.text(LEFT + WIDTH + 18, TOP + 1.5 * HEIGHT - 0.4, "2")
    assert "Land: Iceland | People: 382,003²" in read(tmp_path / "a.pdf", pdf)


def test_rows_without_rules_between_them_are_not_one_row(tmp_path: Path) -> None:
    rows: list[list[str | Cell]] = [
        ["*Article", "*Price", "*Stock"],
        ["Filter\nHose", "74.00\n0.84", "3\n12"],
        ["Sheet\nBlade", "27.50\n212.00", "1\n4"],
    ]
    lines = lines_of(tmp_path / "a.pdf", rows)
    assert not any("74.00 0.84" in line for line in lines)
    assert any("Filter" in line and "74.00" in line and "0.84" not in line for line in lines)


def test_labels_without_rules_between_them_are_not_one_label(tmp_path: Path) -> None:
    rows = [
        ["*Bit", "*Side"],
        ["one\ntwo\nfour", "left\nright\ntop"],
        ["eight\nnine\nten", "front\nback\nnone"],
        ["64", "polar"],
    ]
    assert not any("left right top" in line and ": " in line for line in lines_of(tmp_path / "a.pdf", rows))


def test_rules_around_a_part_of_the_rows_do_not_part_them(tmp_path: Path) -> None:
    pdf = page()
    draw_table(pdf, [["*2023", "*2024"], ["11", "12"], ["21", "22"], ["31", "32"]], left=LEFT + WIDTH)
    for number, label in enumerate(("Rents", "Repairs", "Interest"), 1):
        put(pdf, LEFT, TOP + HEIGHT * number + 7.2, label)
    lines = read(tmp_path / "a.pdf", pdf)
    assert any("Rents" in line for line in lines)
    assert not any(": " in line and "Rents" not in line for line in lines if "11" in line)


def test_words_of_two_cells_without_a_space_are_none_of_the_first(tmp_path: Path) -> None:
    pdf = page()
    draw_table(pdf, [["*Name", "*Role", "*Room"], ["Ada", "", ""], ["Bo", "Cook", "Cellar"], ["Cy", "Nurse", "Hall"]])
    put(pdf, LEFT + WIDTH + 28, TOP + 1.5 * HEIGHT + 1.2, "TeacherGreenhouse")
    lines = read(tmp_path / "a.pdf", pdf)
    assert any("TeacherGreenhouse" in line for line in lines)
    assert "Name: Ada | Role: TeacherGreenhouse" not in lines


def test_boxes_around_the_columns_of_a_page_are_no_table(tmp_path: Path) -> None:
    prose = "\n".join(["The ferry sails from the"] * 40)
    pdf = page()
    for column in range(2):
        for row in range(3):
            pdf.rect(LEFT + 90 * column, 30 + 80 * row, 90, 80)
            pdf.set_font("Helvetica", "", 5)
            for at, line in enumerate(prose.split("\n")[: 40 - 10 * column]):
                pdf.text(LEFT + 90 * column + 2, 33 + 80 * row + 1.9 * at, line)
    assert not any(" | " in line or ": " in line for line in read(tmp_path / "a.pdf", pdf))


def test_rules_are_found_among_letters_that_are_drawn_one_by_one(tmp_path: Path) -> None:
    pdf = page()
    pdf.set_font("Courier", "", 8)
    for number in range(400):
        pdf.text(15 + 1.7 * (number % 100), 200 + 5 * (number // 100), "abcdefghij"[number % 10])
    draw_table(pdf, SUBSTANCES)
    lines = read(tmp_path / "a.pdf", pdf)
    assert "Substance: Renaissance wax | Used for: finishing | Hazard: slight | Kept: shelf 1" in lines


def test_rules_are_found_between_the_texts_of_cells(tmp_path: Path) -> None:
    pdf = page()
    draw_table(pdf, SUBSTANCES, by_thin_fills, cell_by_cell=True)
    lines = read(tmp_path / "a.pdf", pdf)
    assert "Substance: Renaissance wax | Used for: finishing | Hazard: slight | Kept: shelf 1" in lines


def test_a_heading_above_a_table_names_it_without_its_number(tmp_path: Path) -> None:
    pdf = page()
    put(pdf, LEFT, TOP - 2, "2. Findings")
    draw_table(pdf, [["*No", "*Finding"], ["F1", "Door wedged"], ["F2", "Lamp broken"], ["F3", "No sign"]])
    assert "Findings. | No: F1 | Finding: Door wedged" in read(tmp_path / "a.pdf", pdf)


def test_a_first_row_of_bold_figures_names_no_columns(tmp_path: Path) -> None:
    rows = [["*Total", "*101", "*202"], ["Rents", "60", "120"], ["Sales", "40", "80"], ["Gifts", "1", "2"]]
    lines = lines_of(tmp_path / "a.pdf", rows)
    assert "Total | 101 | 202" in lines
    assert "Rents | 60 | 120" in lines


def test_a_second_table_beside_the_first_is_read_by_its_own_rules(tmp_path: Path) -> None:
    pdf = page()
    draw_table(pdf, [["*Day", "*Open"], ["Monday", "10-4"], ["Tuesday", "10-5"], ["Sunday", "closed"]])
    draw_table(pdf, [["*Room", "*Seats"], ["Attic", "12"], ["Hall", "60"], ["Yard", "200"]], left=LEFT + 2.1 * WIDTH)
    lines = read(tmp_path / "a.pdf", pdf)
    assert "Day: Sunday | Open: closed" in lines
    assert "Room: Yard | Seats: 200" in lines


@pytest.mark.parametrize(
    ("producer", "cell"), [("Skia/PDF m156", "carbon-dioxide bottles"), ("pdfTeX-1.40.25", "carbondioxide bottles")]
)
def test_a_word_that_is_broken_in_a_cell_stays_in_its_row(tmp_path: Path, producer: str, cell: str) -> None:
    pdf = page()
    pdf.set_producer(producer)
    rows = [["*Place", "*What", "*Lead"], ["Bench", "carbon-\ndioxide bottles", "Ida"], ["Yard", "sand", "Max"]]
    draw_table(pdf, [*rows, ["Store", "pumps", "Eva"]])
    lines = read(tmp_path / "a.pdf", pdf)
    assert lines[0] == f"Place: Bench | What: {cell} | Lead: Ida"
    assert lines[1] == "Place: Yard | What: sand | Lead: Max"


def test_a_drawing_of_many_rules_is_read_as_text(tmp_path: Path) -> None:
    pdf = page()
    for number in range(5000):
        by_row, column = divmod(number, 100)
        pdf.rect(10 + 1.8 * column, 20 + 5 * by_row, 1.8, 5)
    put(pdf, LEFT, 285, "Plan of the bench")
    assert read(tmp_path / "a.pdf", pdf) == ["Plan of the bench"]


@pytest.mark.parametrize("angle", [90, -90])
@pytest.mark.parametrize("draw", [by_lines, by_thin_fills])
def test_a_wide_table_along_the_long_side_of_a_page_is_read_as_rotated(tmp_path: Path, angle: int, draw: Draw) -> None:
    pdf = page()
    with pdf.rotation(angle, x=105, y=148):
        draw_table(
            pdf,
            [["Supplier", "Goods", "Price"], ["Hale", "Radar\nguns", "52"], ["Moor", "", "96"], ["Fen", "Masts", "8"]],
            draw,
        )
    assert read(tmp_path / "a.pdf", pdf) == [
        "Supplier: Hale | Goods: Radar guns | Price: 52",
        "Supplier: Moor | Price: 96",
        "Supplier: Fen | Goods: Masts | Price: 8",
    ]


def test_two_amounts_in_a_cell_of_one_row_do_not_part_the_table(tmp_path: Path) -> None:
    rows = [["*Goods", "*Price", "*Currency"], ["Trucks", "785\n120", "JPY\nUSD"]]
    rows += [[f"{name} pump", f"{price}", "EUR"] for name, price in zip("ABCDEFGHI", range(20, 29), strict=True)]
    lines = lines_of(tmp_path / "a.pdf", rows)
    assert "Goods: Trucks | Price: 785 120 | Currency: JPY USD" in lines
    assert "Goods: C pump | Price: 22 | Currency: EUR" in lines
