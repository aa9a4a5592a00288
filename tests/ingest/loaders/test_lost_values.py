"""What files say in other ways than in letters: equations, formulas to be computed, links, headers, numbers, marks.

The equations of `made_files/kinds` are by pandoc 2.17, orders.xlsx is by XlsxWriter 3.2, which stores 0 for each
formula and has the program that opens the file compute them; mill.pdf, by fpdf2, has a stamp that is turned by 90°.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import equations, html, load
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.ingest.loaders.xml import local, parse_xml
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files" / "kinds"


def read(path: Path) -> Document:
    document = next(iter(load(path)))
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize("kind", ["docx", "html", "epub", "xml", "odt"])
def test_equation_says_what_is_above_and_what_below(kind: str) -> None:
    text = read(MADE / f"equations.{kind}").text.replace(" ", "")
    assert "Threequartersare3/4andx²+√(a+b)=(a+1)/(2(b−c))" in text
    assert "∑_(i=1)" in text
    assert "i¹⁰" in text


def test_each_bracket_of_an_equation_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_parts = []
    monkeypatch.setattr(equations, "local", lambda element: read_parts.append(element) or local(element))
    math = "<d><e><t>x</t></e><e><t>y</t></e></d>"
    for _ in range(12):
        math = f"<d><e>{math}</e></d>"
    assert equations.equation(parse_xml(math.encode())) == "(" * 13 + "x|y" + ")" * 13
    assert len(read_parts) < 500  # 2 ** 12 and more, if each bracket reads its part twice


def test_equations_within_each_other_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    monkeypatch.setattr(html, "parse_xml", lambda data: parsed.append(data) or parse_xml(data))
    assert "So x = 4." in html.readable_text("<p>So " + "<math><mrow>" * 15 + "<mi>x</mi><mo>=</mo><mn>4</mn>"
                                             + "</mrow></math>" * 15 + ".</p>")  # fmt: skip
    assert len(parsed) == 1


def test_formulas_that_a_program_left_to_others_are_computed() -> None:
    document = read(MADE / "orders.xlsx")
    assert "Customer: Bell | Qty: 10 | Price: 1.2 | Total: 12" in document.text
    assert "Order: Sum | Total: 51.7" in document.text
    assert document.metadata[READ_REPORT]["counts"]["formulas"] == 4


def test_zero_that_excel_computed_stays(tmp_path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Item", "Left"])
        sheet.write(1, 0, "Chairs")
        sheet.write_formula(1, 1, "=5-5")
    assert "Chairs: 0" in read(tmp_path / "a.xlsx").text


def test_header_and_footer_of_a_sheet_are_read_without_page_numbers() -> None:
    lines = read(MADE / "orders.xlsx").text.split("\n")
    assert "Header: Bakery orders May" in lines
    assert "Footer: Confidential until June" in lines


def test_stamp_that_runs_up_a_page_has_no_raised_figures() -> None:
    assert "Stamp: received 4 July 2024" in read(MADE / "mill.pdf").text


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_link_of_a_cell_says_where_it_leads(kind: str) -> None:
    assert "Link on “Contract with the bank”: https://bank.example/contract-77" in read(MADE / f"budget.{kind}").text


def test_links_of_markdown_stand_behind_its_text(tmp_path: Path) -> None:
    path = tmp_path / "sauna.md"
    path.write_text(
        "# Sauna\n\nSee [the form](https://sauna.example/book?id=77), [rules](rules.md), https://sauna.example.\n\n"
        "<!-- [old](https://old.example) -->\n\n<table><tr><th>Card</th><th>Price</th></tr><tr><td>Ten visits</td>"
        "<td>60</td></tr></table>\n"
    )
    assert read(path).text == (
        "# Sauna\n\nSee the form, rules, https://sauna.example.\n\nCard: Ten visits | Price: 60\n\n"
        "Link on “the form”: https://sauna.example/book?id=77"
    )


def test_hidden_words_and_targets_of_links_in_word(tmp_path: Path) -> None:
    from docx import Document as Word
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    word = Word()
    paragraph = word.add_paragraph("The oven closes at ")
    paragraph.add_run("secret ").font.hidden = True
    paragraph.add_run("19:40, see ")
    link = word.part.relate_to("https://baker.example/form", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    paragraph._p.append(
        parse_xml(f'<w:hyperlink {nsdecls("w", "r")} r:id="{link}"><w:r><w:t>the form</w:t></w:r></w:hyperlink>')
    )
    word.save(str(tmp_path / "oven.docx"))
    document = read(tmp_path / "oven.docx")
    assert document.text == "The oven closes at 19:40, see the form\n\nLink on “the form”: https://baker.example/form"
    assert {"what": "1 stretch of text", "why": "hidden in the document"} in document.metadata[READ_REPORT]["left_out"]


def test_numbers_and_links_of_slides(tmp_path: Path) -> None:
    from pptx import Presentation

    deck = Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[1])
    page.shapes.title.text = "Steps"
    frame = page.placeholders[1].text_frame
    frame.text = "Moor"
    for text in ("Pay", "Leave"):
        frame.add_paragraph().text = text
    for paragraph in frame.paragraphs[:2]:
        mark = paragraph._p.get_or_add_pPr().makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum",
            {"type": "alphaLcParenR", "startAt": "3"},
        )
        paragraph._p.get_or_add_pPr().append(mark)
    run = frame.paragraphs[2].add_run()
    run.text = " at last"
    run.hyperlink.address = "https://dues.example"
    deck.save(str(tmp_path / "dues.pptx"))
    text = read(tmp_path / "dues.pptx").text
    assert "c) Moor\nd) Pay\n- Leave at last" in text
    assert "Link on “at last”: https://dues.example" in text


def test_address_that_a_link_writes_to_stands_behind_its_words(tmp_path: Path) -> None:
    path = tmp_path / "bikes.html"
    path.write_text(
        "<html><body><h1>Bikes</h1><p>Call <a href='tel:+4712345'>our desk</a> or <a href='tel:+4712345'>"
        "+47 123 45</a>, write to <a href='mailto:hire%40bikes.example?subject=x'>us</a>.</p>"
        "<pre>STATION  BIKES\nquay        12\nmill         7</pre></body></html>"
    )
    text = read(path).text
    assert "Call our desk (+4712345) or +47 123 45, write to us (hire@bikes.example)." in text
    assert "STATION: quay | BIKES: 12" in text


def test_mail_whose_page_has_a_table_that_its_text_lacks(tmp_path: Path) -> None:
    path = tmp_path / "van.eml"
    path.write_text(
        "From: Eva Lund <eva@x.example>\nSubject: Move\nMIME-Version: 1.0\n"
        'Content-Type: multipart/alternative; boundary="a"\n\n--a\nContent-Type: text/plain\n\n'
        "The van is booked for the move of the office, see below.\n--a\nContent-Type: text/html\n\n"
        "<p>The van is booked for the move of the office, see below.</p><table><tr><th>Day</th><th>Van</th>"
        "<th>Driver</th></tr><tr><td>6 May</td><td>VW-22</td><td>Pavel Ruzic</td></tr></table>\n--a--\n"
    )
    assert "Day: 6 May | Van: VW-22 | Driver: Pavel Ruzic" in read(path).text


def test_java_properties_are_read_with_their_letters_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "app.properties"
    path.write_text(
        "# mail\nmail.host=smtp.x.example\nretry = 5\ngreeting=Gr\\u00fc\\u00dfe\nlong=first \\\n   second\n"
    )
    assert read(path).text.split("\n") == [
        "mail.host: smtp.x.example (mail)",
        "retry: 5",
        "greeting: Grüße",
        "long: first second",
    ]


def test_rows_of_a_pivot_table_say_their_group() -> None:
    text = read(MADE / "pivot.xlsx").text  # by openpyxl 3.1
    assert "Region: North | Product: Coffee | Units: 30 | Revenue: 900" in text
    assert "Region: South | Product: Coffee | Units: 5 | Revenue: 150" in text
    assert "Region: Grand total | Units: 55 | Revenue: 1450" in text


def test_tables_below_each_other_without_a_blank_row_have_their_own_headers() -> None:
    text = read(MADE / "pivot.xlsx").text
    for row in ("Staff. | Name: Ida | Room: 12", "Name: Ole | Room: 14", "Key: K2 | Holder: Ole | Since: 2023"):
        assert row in text


def test_missing_label_of_a_plain_table_is_not_filled(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["Owner", "Boat", "Berth"], ["Ida", "Tern", 4], [None, "Gull", 7], ["Ole", "Auk", 9]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert "\nBoat: Gull | Berth: 7" in read(tmp_path / "a.xlsx").text


def test_definitions_and_org_mode(tmp_path: Path) -> None:
    (tmp_path / "words.md").write_text("# Words\n\nBollard\n:   A post to tie ships to.\n\nText.\n:) no definition\n")
    assert "Bollard: A post to tie ships to.\n\nText.\n:) no" in read(tmp_path / "words.md").text
    (tmp_path / "plan.org").write_text(
        "#+TITLE: Garden\n* Beds\nSee [[https://seeds.example][the seeds]].\n| Bed | Plants |\n|-----+--------|\n"
        "| A   |     14 |\n"
    )
    plan = read(tmp_path / "plan.org")
    assert plan.title == "Garden"
    for part in ("# Beds", "Bed: A | Plants: 14", "See the seeds.", "Link on “the seeds”: https://seeds.example"):
        assert part in plan.text


@pytest.mark.parametrize(
    ("made", "kind"),
    [("clauses.docx", "docm"), ("clauses.docx", "dotx"), ("clauses.odt", "ott"), ("budget.xlsx", "xltx")],
)
def test_templates_and_documents_with_macros_are_read_as_others(tmp_path: Path, made: str, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    path.write_bytes((MADE / made).read_bytes())
    assert read(path).text == read(MADE / made).text


def test_years_at_the_left_of_their_quarters_in_a_printed_sheet(tmp_path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    rows = [(["Region", "2023", "2024"], (35, 44, 44), "L"), (["", "Q1", "Q2", "Q1", "Q2"], (35, 22, 22, 22, 22), "L")]
    rows += [([name, *figures.split()], (35, 22, 22, 22, 22), "R") for name, figures in (
        ("North", "12 15 18 21"), ("South", "7 8 9 10"), ("West", "33 34 35 36"))]  # fmt: skip
    for cells, widths, align in rows:
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            pdf.cell(width, 7, cell, align="L" if place == 0 else align)
        pdf.ln()
    pdf.output(str(tmp_path / "a.pdf"))
    assert "Region: North | 2023 Q1: 12 | 2023 Q2: 15 | 2024 Q1: 18 | 2024 Q2: 21" in read(tmp_path / "a.pdf").text


def test_workbook_inside_of_slides_is_a_document_of_its_own(tmp_path: Path) -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.enum.shapes import PROG_ID
    from pptx.util import Inches

    deck = Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[5])
    page.shapes.title.text = "Orders"
    page.shapes.add_ole_object(str(MADE / "orders.xlsx"), PROG_ID.XLSX, Inches(1), Inches(1))
    data = CategoryChartData()
    data.categories = ["2021"]
    data.add_series("Ships", (310,))
    page.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(3), Inches(4), Inches(3), data)
    deck.save(str(tmp_path / "deck.pptx"))
    slides, inside = load(tmp_path / "deck.pptx")  # the figures of the chart are no further file
    assert isinstance(slides, Document)
    assert isinstance(inside, Document)
    assert slides.metadata[READ_REPORT]["counts"]["attachments"] == 1
    assert inside.id.startswith(f"{tmp_path / 'deck.pptx'}/")
    assert "Customer: Bell | Qty: 10 | Price: 1.2 | Total: 12" in inside.text


@pytest.mark.parametrize(("name", "folder"), [("clauses.docx", "word"), ("budget.xlsx", "xl")])
def test_files_inside_of_office_documents_are_read_or_reported(tmp_path: Path, name: str, folder: str) -> None:
    import zipfile

    path = tmp_path / name
    path.write_bytes((MADE / name).read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(MADE / "orders.xlsx", f"{folder}/embeddings/Sheet1.xlsx")
        archive.writestr(f"{folder}/embeddings/oleObject1.bin", b"\xd0\xcf\x11\xe0 another program's")
    outer, inside = load(path)
    assert isinstance(outer, Document)
    assert isinstance(inside, Document)
    assert "Order: Sum | Total: 51.7" in inside.text
    assert [each["what"] for each in outer.metadata[READ_REPORT]["left_out"]] == ["embedded file oleObject1.bin"]


@pytest.mark.parametrize("angle", [0, 90, 270])
def test_table_along_the_long_side_of_a_page_has_its_columns(tmp_path: Path, angle: int) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    rows = (("Stall", "2022", "2023"), ("Bakery", "240", "260"), ("Cheese", "210", "225"), ("Fish", "190", "188"))
    with pdf.rotation(angle, x=105, y=148):
        for down, row in enumerate(rows):
            for right, cell in enumerate(row):
                pdf.text(70 + right * 40, 120 + down * 8, cell)
    pdf.output(str(tmp_path / "a.pdf"))
    text = read(tmp_path / "a.pdf").text
    for line in ("Bakery | 2022: 240 | 2023: 260", "Cheese | 2022: 210 | 2023: 225", "Fish | 2022: 190 | 2023: 188"):
        assert line in text


def test_text_by_libreoffice_with_a_table_in_a_cell_and_hidden_words() -> None:
    document = read(MADE / "order-lo.odt")
    lines = document.text.split("\n")
    assert "Day: Friday | Loaves: 65" in lines
    assert not [line for line in lines if "Monday 40" in line]
    assert "The oven door closes at 19:40." in lines
    assert {"what": "1 stretch of text", "why": "hidden in the document"} in document.metadata[READ_REPORT]["left_out"]


def test_mark_of_a_note_in_a_book_is_no_part_of_its_word() -> None:
    text = read(MADE / "organ.epub").text  # by pandoc
    assert "The organ has 1,204 pipes¹, of which 88 are of wood." in text
    assert "Counted in 1998." in text


def test_power_in_an_item_of_a_list_stands_above_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<html><body><h1>Lake</h1><ul><li>3 × 10<sup>8</sup> cells</li><li>none</li></ul></body></html>")
    assert "- 3 × 10⁸ cells" in read(path).text
