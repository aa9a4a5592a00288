"""Marks in tables of files of all kinds: each row that is read says what its marks mean.

The files of `made_files/legends` are of one table, with two superscripts that lines below it explain and a footnote,
made by pandoc 3.9 out of locks.md: `pandoc -s locks.md -o locks.docx` (odt, rtf, epub, html, rst), and `-t asciidoc`,
`-t gfm` and `-t plain` for locks.adoc, locks-github.md and locks-plain.txt. The others are written here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from loaded_files import load_one

MADE = sorted((Path(__file__).parents[2] / "made_files" / "legends").iterdir())


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_rows_of_a_file_by_pandoc_carry_its_notes(path: Path) -> None:
    text = load_one(path).text
    assert "Lock: Ash lock | Boats 2023: 812 (a: counted by hand) | Rise (m): 2.4" in text
    assert "Lock: Yew lock | Boats 2023: 455 (b: closed for six weeks) | Rise (m): 3.1" in text
    elm = next(line for line in text.split("\n") if "Elm lock |" in line)
    assert elm.endswith(("1.9 (measured at low water)", "1.9 (1: measured at low water)"))


def csv(path: Path) -> None:
    path.write_text("Orchard,2022,2023\nAlder,410,395 a\nCedar,n/a,377\n\na: provisional figure\nn/a: not assessed\n")


def timetable(path: Path) -> None:
    path.write_text(
        "BUS LINE 7\n\nStop            Mon-Fri   Sat      Sun\n"
        "Vale            06:50     07:50    09:50 N\nBridge          07:02 S   08:02    10:02\n"
        "Market          07:15     08:15 #  10:15\n\nKey:\nN  not in winter\nS  school days only\n#  sets down only\n"
    )


def page(path: Path) -> None:
    path.write_text(
        "<html><head><title>Wells</title></head><body><h1>Wells</h1><table><tr><th>Well</th><th>Depth</th><th>State</th>"
        "</tr><tr><td>Oakham</td><td>42<sup>1</sup></td><td>●</td></tr><tr><td>Pinfold</td><td>37</td><td>○</td></tr>"
        "<tfoot><tr><td colspan='3'>● open to the public; ○ closed</td></tr></tfoot></table>"
        "<p><sup>1</sup> measured in 1987</p></body></html>"
    )


def terms(path: Path) -> None:
    path.write_text(
        "<html><body><h1>Camp sites</h1><h2>Legend</h2><dl><dt>W</dt><dd>drinking water</dd><dt>F</dt><dd>fireplace"
        "</dd></dl><h2>Sites</h2><table><tr><th>Site</th><th>Pitches</th><th>Has</th></tr><tr><td>Alp</td><td>24</td>"
        "<td>W, F</td></tr><tr><td>Bach</td><td>16</td><td>W</td></tr></table></body></html>"
    )


def beside(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (
        ["Name", "Mon", "Tue", None, "Code", "Meaning"],
        ["Ingrid", "E", "L", None, "E", "early shift"],
        ["Marek", "L", "O", None, "L", "late shift"],
        ["Yusuf", "O", "E", None, "O", "day off"],
    ):
        book.active.append(row)
    book.save(path)


def other_sheet(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["Bridge", "Deck", "Piers"], ["Mill", "A", "C"], ["Ford", "B", "A"]):
        book.active.append(row)
    legend = book.create_sheet("Legend")
    for row in (["Grade", "Meaning"], ["A", "no defects"], ["B", "minor defects"], ["C", "repair within a year"]):
        legend.append(row)
    book.save(path)


def below(path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(path) as book:
        sheet = book.add_worksheet("Water")
        for number, row in enumerate(
            (["Pool", "Heat"], ["North", "24.5 †"], ["South", "NT"], [], ["† measured twice"])
        ):
            sheet.write_row(number, 0, row)
        sheet.write(5, 0, "NT = not tested")


def word(path: Path) -> None:
    from docx import Document as Word

    document = Word()
    document.add_paragraph("Legend: E = easy; D = difficult, sure footing needed")
    rows = (["Trail", "Length", "Grade"], ["Fox trail", "4 km", "E"], ["Ridge trail", "11 km", "D"])
    table = document.add_table(rows=0, cols=3)
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    mark = table.rows[1].cells[0].paragraphs[0].add_run("1")
    mark.font.superscript = True
    document.add_paragraph("1) closed in May")
    document.save(str(path))


def slide(path: Path) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Pump status"
    table = page.shapes.add_table(3, 3, Inches(1), Inches(1.5), Inches(6), Inches(2)).table
    for down, row in enumerate((["Pump", "March", "April"], ["P-1", "OK", "M"], ["P-2", "F", "OK"])):
        for right, text in enumerate(row):
            table.cell(down, right).text = text
    box = page.shapes.add_textbox(Inches(1), Inches(4.5), Inches(6), Inches(1))
    box.text_frame.text = "OK – runs as planned, M – under maintenance, F – failed"
    deck.save(str(path))


def printed(path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    with pdf.table(width=120) as table:
        for line in ("Stall Rent Deposit", "Bakery 240a 480", "Cheese 210 420b", "Fish 260 NA", "Flowers 190 380"):
            row = table.row()
            for cell in line.split():
                row.cell(cell)
    pdf.ln(4)
    for line in ("a  paid by the quarter", "b  reduced for members", "NA  no deposit asked"):
        pdf.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(path))


def raised_figures(path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=12)
    for stall, rent, mark in (
        ("Stall", "Rent", ""),
        ("Bakery", "240", "1"),
        ("Cheese", "210", ""),
        ("Fish", "190", ""),
    ):
        pdf.cell(60, 8, stall)
        pdf.write(8, rent)
        pdf.char_vpos = "SUP"
        pdf.write(8, mark)
        pdf.char_vpos = "LINE"
        pdf.ln(8)
    pdf.ln(6)
    pdf.write(8, "1 paid by the quarter")
    pdf.output(str(path))


def answers(path: Path) -> None:
    path.write_text(
        "# Ferry\n\n| Sailing | Monday | Sunday |\n|---|---|---|\n| Tern† | 08:15 | 10:00 S |\n| Gull | 11:40 | – |\n\n"
        "S = summer months only\n\n† carries no cars\n"
    )


def article(path: Path) -> None:
    path.write_text(
        "<article><front><article-meta><title-group><article-title>Wells</article-title></title-group></article-meta>"
        "</front><body><sec><title>Results</title><p>Counts reached 9.4 × 10<sup>8</sup> per litre at loss<sup>"
        "<xref ref-type='bibr' rid='r1'>3</xref>,<xref ref-type='bibr' rid='r2'>4</xref></sup> of 4 km<sup>2</sup>.</p>"
        "<table-wrap><label>Table 1</label><caption><p>Depths of wells.</p></caption><table><thead><tr><th>Well</th>"
        "<th>Depth<sup>a</sup></th><th>Yield</th></tr></thead><tbody><tr><td>Oakham</td><td>42<xref"
        " ref-type='table-fn' rid='n1'><sup>b</sup></xref></td><td>7<sup>c</sup></td></tr><tr><td>Pinfold<sup><xref"
        " ref-type='table-fn' rid='n1'>b</xref>,<xref ref-type='table-fn' rid='n2'>*</xref></sup></td><td>37</td>"
        "<td>mean<sup>c</sup>by hand</td></tr></tbody></table><table-wrap-foot><fn id='n1'><label>b</label><p>"
        "Measured in 1987.</p></fn><fn id='n2'><label>*</label><p>Dry since.</p></fn><p><sup>a</sup>In feet; <sup>c"
        "</sup>of one day.</p></table-wrap-foot></table-wrap></sec></body></article>"
    )


FILES: list[tuple[str, Callable[[Path], None], list[str]]] = [
    ("a.csv", csv, ["Orchard: Alder | 2022: 410 | 2023: 395 (a: provisional figure)", "2022: n/a (not assessed)"]),
    ("b.txt", timetable, ["Sun: 09:50 (N: not in winter)", "07:02 (S: school days only)", "08:15 (#: sets down only)"]),
    ("c.html", page, ["42 (1: measured in 1987) | State: ● (open to the public)", "37 | State: ○ (closed)"]),
    ("d.html", terms, ["Has: W, F (W: drinking water; F: fireplace)", "Has: W (drinking water)"]),
    ("e.xlsx", beside, ["Mon: E (early shift) | Tue: L (late shift)", "Code: E | Meaning: early shift"]),
    ("f.xlsx", other_sheet, ["Bridge: Mill | Deck: A (no defects) | Piers: C (repair within a year)"]),
    ("g.xlsx", below, ["Water. | North: 24.5 (†: measured twice)", "South: NT (not tested)"]),
    ("h.docx", word, ["Fox trail¹ | Length: 4 km | Grade: E (easy) | Note 1: closed in May", "D (difficult, sure f"]),
    ("i.pptx", slide, ["March: F (failed) | April: OK (runs as planned)", "April: M (under maintenance)"]),
    ("j.pdf", printed, ["Rent: 240 (a: paid by the quarter) | Deposit: 480", "Deposit: NA (no deposit asked)"]),
    ("k.pdf", raised_figures, ["Bakery 240¹\nCheese 210"]),
    ("l.md", answers, ["Tern† | Monday: 08:15 | Sunday: 10:00 (S: summer months only) | Note †: carries no cars"]),
    ("m.nxml", article, [
        "Well: Oakham | Depthᵃ: 42 (Measured in 1987) (a: In feet) | Yield: 7 (c: of one day)",
        "Well: Pinfold | Depthᵃ: 37 (a: In feet) | Yield: meanᶜ by hand | Note: Measured in 1987 | Note: Dry since",
        "ᵇ Measured in 1987.", "* Dry since.", "ᵃ In feet; ᶜ of one day.", "9.4 × 10⁸ per litre at loss³,⁴ of 4 km2.",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "write", "parts"), FILES, ids=[name for name, _, _ in FILES])
def test_rows_of_a_file_carry_its_legend(
    tmp_path: Path, name: str, write: Callable[[Path], None], parts: list[str]
) -> None:
    write(tmp_path / name)
    text = load_one(tmp_path / name).text
    for part in parts:
        assert part in text, text


def test_headings_and_pages_are_found_behind_longer_rows(tmp_path: Path) -> None:
    answers(tmp_path / "ferry.md")
    with (tmp_path / "ferry.md").open("a") as file:
        file.write("\n## Prices\n\nA trip costs 9 euros.\n")
    document = load_one(tmp_path / "ferry.md")
    for offset, heading in document.metadata["sections"]:
        assert document.text[offset:].lstrip("# ").startswith(heading)
    other_sheet(tmp_path / "bridges.xlsx")
    document = load_one(tmp_path / "bridges.xlsx")
    assert [document.text[offset:].split("\n")[0] for _, offset in document.pages] == ["Sheet", "Legend"]


def test_marks_that_a_note_compares_stay_where_they_are(tmp_path: Path) -> None:
    """What such a note says of a cell it says of the letters: without these it says nothing."""
    path = tmp_path / "goats.nxml"
    path.write_text(
        "<article><front><article-meta><title-group><article-title>Goats</article-title></title-group></article-meta>"
        "</front><body><sec><title>Results</title><table-wrap><label>Table 1</label><table><thead><tr><th>District</th>"
        "<th>Share (%)</th></tr></thead><tbody><tr><td>Mopeia</td><td>50.9<xref ref-type='table-fn' rid='n1'>cd</xref>"
        "</td></tr><tr><td>Maganja</td><td>36.8<xref ref-type='table-fn' rid='n1'>c</xref></td></tr></tbody></table>"
        "<table-wrap-foot><fn id='n1'><label>c,d</label><p>Values with no superscripts in common differ.</p></fn>"
        "</table-wrap-foot></table-wrap></sec></body></article>"
    )
    text = load_one(path).text
    assert "District: Mopeia | Share (%): 50.9ᶜᵈ\n" in text
    assert "Values with no superscripts in common differ." in text
