"""PDF pages whose lines are drawn in another order than they stand in, as browsers draw positioned headings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fpdf import FPDF
from loaded_files import load_one

Piece = tuple[float, float, float, str]
"""The left side of a line, its height from the top of the page, the size of its font, and its text."""

SECTIONS = {
    "pre-commit": ["This hook is invoked by git-commit and takes no parameters. It", "can be bypassed with an option."],
    "post-merge": [
        "This hook is invoked by git-merge. It takes a single parameter, the",
        "name of the file that is read.",
    ],
    "pre-rebase": [
        "This hook is invoked by git-rebase, and may have one parameter or",
        "two. The first one is a branch.",
    ],
}


def draw(path: Path, *pages: Sequence[Piece], title: str = "") -> Path:
    """Write a PDF with lines drawn one after the other, each at its place."""
    pdf = FPDF(unit="pt")
    pdf.set_title(title)
    pdf.set_auto_page_break(False)
    for pieces in pages:
        pdf.add_page()
        for left, top, size, text in pieces:
            pdf.set_font("Helvetica", size=size)
            pdf.text(left, top, text)
    pdf.output(str(path))
    return path


def headed_sections() -> tuple[list[Piece], list[Piece]]:
    """Return the headings and the paragraphs of the sections, where they stand."""
    headings: list[Piece] = []
    bodies: list[Piece] = []
    top = 80.0
    for heading, lines in SECTIONS.items():
        headings.append((60, top, 14, heading))
        bodies += [(60, top + 22 + 15 * number, 11, line) for number, line in enumerate(lines)]
        top += 80
    return headings, bodies


@pytest.mark.parametrize("drawn", ["first", "last", "backwards"])
def test_headings_drawn_apart_from_their_text_are_read_above_it(tmp_path: Path, drawn: str) -> None:
    headings, bodies = headed_sections()
    pieces = {"first": headings + bodies, "last": bodies + headings, "backwards": bodies + headings[::-1]}[drawn]
    expected = "\n".join(f"{heading}\n{' '.join(lines)}" for heading, lines in SECTIONS.items())
    assert load_one(draw(tmp_path / "a.pdf", pieces)).text == expected


def test_headings_drawn_first_do_not_end_inside_a_sentence_over_a_page_break(tmp_path: Path) -> None:
    before: list[Piece] = [(60, 700, 11, "The hook of the receiving side is given a single parameter, the")]
    rest: Piece = (60, 60, 11, "name of the file that holds the proposed message.")
    headings, bodies = headed_sections()
    text = load_one(draw(tmp_path / "a.pdf", before, [*headings, rest, *bodies])).text
    assert "a single parameter, the name of the file that holds the proposed message.\npre-commit\nThis hook" in text


def test_rows_of_figures_below_headings_drawn_last_stay_rows(tmp_path: Path) -> None:
    rows = [("Item", "Price", "Weight"), ("Rope", "12.50", "3.2"), ("Chain", "40.00", "9.1"), ("Hook", "3.75", "0.4")]
    table = [
        (left, 100.0 + 16 * number, 11.0, cell)
        for number, row in enumerate(rows)
        for left, cell in zip((60.0, 200.0, 300.0), row, strict=True)
    ]
    below = (60.0, 220.0, 11.0, "All prices hold until the end of the year.")
    text = load_one(draw(tmp_path / "a.pdf", [*table, below, (60, 75, 14, "Tackle")])).text
    lines = [line for line in text.split("\n") if line]
    assert lines[0] == "Tackle"
    assert any("Chain" in line and "Price: 40.00" in line for line in lines)
    assert lines[-1] == below[3]


COLUMNS = (
    [
        "The first column tells of the pump in",
        "the cellar, which is oiled each spring",
        "before the water is let in, and of the",
        "filter that is changed then as well.",
    ],
    [
        "The second column tells of the weir,",
        "which is closed in autumn by two men",
        "of the village, and of the lock beside",
        "it that nobody has used for years.",
    ],
)


@pytest.mark.parametrize("shift", [0.0, 6.0])
def test_columns_drawn_one_after_the_other_stay_apart_below_a_title_drawn_last(tmp_path: Path, shift: float) -> None:
    left, right = COLUMNS
    longer = [*left, "It was built a hundred years ago."]
    pieces: list[Piece] = [(60, 100 + 14 * n, 11, line) for n, line in enumerate(longer)]
    pieces += [(320, 100 + shift + 14 * n, 11, line) for n, line in enumerate(right)]
    text = load_one(draw(tmp_path / "a.pdf", [*pieces, (200, 60, 18, "Water works")])).text
    assert text.split("\n")[0] == "Water works"
    assert " ".join(text.split()).endswith(" ".join([*longer, *right]))


def test_cells_of_several_lines_stay_whole(tmp_path: Path) -> None:
    """A form whose notes stand beside its questions, drawn question by question, with its title drawn last."""
    pieces: list[Piece] = []
    for number, (question, note) in enumerate(zip(COLUMNS[0], COLUMNS[1], strict=True)):
        top = 100.0 + 50 * number
        pieces += [(60, top, 11, question), (60, top + 14, 11, f"and rule {number} holds.")]
        pieces += [(320, top, 11, note), (320, top + 14, 11, f"as note {number} says.")]
    text = " ".join(load_one(draw(tmp_path / "a.pdf", [*pieces, (60, 60, 18, "Rules")])).text.split())
    assert text.startswith("Rules ")
    for number, (question, note) in enumerate(zip(COLUMNS[0], COLUMNS[1], strict=True)):
        assert f"{question} and rule {number} holds." in text
        assert f"{note} as note {number} says." in text


def test_label_in_the_middle_of_the_rows_beside_it_is_read_before_them(tmp_path: Path) -> None:
    label: Piece = (60, 120, 11, "Other")
    rows: list[Piece] = [(140, 100, 11, "A new chair of the board"), (140, 140, 11, "The purchase of a mill")]
    text = load_one(draw(tmp_path / "a.pdf", [label, *rows, (60, 60, 18, "News")])).text
    assert text.split() == ["News", "Other", *rows[0][3].split(), *rows[1][3].split()]


def test_sentence_goes_on_over_what_a_browser_prints_between_two_pages(tmp_path: Path) -> None:
    """A page printed by Chromium: its head and foot are drawn last, in a smaller font."""
    pages: list[list[Piece]] = [
        [(60, 700, 11, "The contract begins in July and runs for four")],
        [(60, 60, 11, "years. It is then prolonged by one year.")],
    ]
    for number, page in enumerate(pages, 1):
        page += [(24, 22, 8, "11/28/26, 1:21 PM"), (250, 22, 8, "Lift contract")]
        page += [(24, 820, 8, "file:///srv/docs/lift.html"), (550, 820, 8, f"{number}/2")]
    path = draw(tmp_path / "a.pdf", *pages, title="Lift contract")
    text = load_one(path).text
    assert text == "The contract begins in July and runs for four years. It is then prolonged by one year."
