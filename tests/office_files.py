"""Small office files, books, mails and scans, made with the programs' own libraries; the texts are made up."""

from __future__ import annotations

import json
import zipfile
from datetime import date
from email.message import EmailMessage
from pathlib import Path
from typing import Any

SCANNED = (
    "The lighthouse at Norhaven was built in 1871.",
    "Its keeper recorded the depth of the harbour every morning.",
    "In the winter of 1902 the lamp was replaced by an electric one.",
)


def presentation(path: Path) -> Path:
    """Three slides: points with notes, a table, a chart."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    opened = Presentation()
    opened.core_properties.title, opened.core_properties.author = "Harbour survey", "Ada Almgren"
    slide = opened.slides.add_slide(opened.slide_layouts[1])
    slide.shapes.title.text = "What was measured"
    slide.placeholders[1].text = "Depth at six buoys\nSalinity at two of them"
    slide.notes_slide.notes_text_frame.text = "The buoy at Estmoor was lost in a storm."
    slide = opened.slides.add_slide(opened.slide_layouts[5])
    slide.shapes.title.text = "Depth by buoy"
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
    _fill(
        table, (("Buoy", "Spring depth", "Autumn depth"), ("Norhaven", "7.2 m", "6.9 m"), ("Caldria", "5.1 m", "5.4 m"))
    )
    slide = opened.slides.add_slide(opened.slide_layouts[5])
    slide.shapes.title.text = "Ships a year"
    data = CategoryChartData()
    data.categories = ["2021", "2022"]
    data.add_series("Cargo ships", (310, 342))
    data.add_series("Ferries", (1200, 1260))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(6), Inches(4), data)
    opened.save(str(path))
    return path


def _fill(table: Any, rows: tuple[tuple[str, ...], ...]) -> None:
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            table.cell(y, x).text = text


def workbook(path: Path) -> Path:
    """Two sheets: one with a merged title, percentages, money and days, one with names and values; and a hidden one."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Budget"
    sheet["A1"] = "Spending by town"
    sheet.merge_cells("A1:D1")
    for row in (
        ("Town", "Spent", "Share", "Decided on"),
        ("Norhaven", 1250.5, 0.625, date(2024, 3, 4)),
        ("Caldria", 750.3, 0.375, date(2024, 5, 6)),
    ):
        sheet.append(row)
    for row in (3, 4):
        sheet.cell(row, 2).number_format = '"$"#,##0.00'
        sheet.cell(row, 3).number_format = "0.0%"
    notes = book.create_sheet("Contacts")
    for row in (("Harbour master", "Elena Estrada"), ("Telephone", "555 0134")):
        notes.append(row)
    hidden = book.create_sheet("Old figures")
    hidden.append(("Town", "Spent"))
    hidden.sheet_state = "hidden"
    book.save(path)
    return path


_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
_ODF_TABLE = (
    '<table:table table:name="Tides"><table:table-row>'
    "<table:table-cell><text:p>Port</text:p></table:table-cell>"
    "<table:table-cell><text:p>High water</text:p></table:table-cell>"
    '<table:table-cell table:number-columns-repeated="1021"/></table:table-row>'
    "<table:table-row><table:table-cell><text:p>Norhaven</text:p></table:table-cell>"
    "<table:table-cell><text:p>06:40</text:p></table:table-cell></table:table-row>"
    "<table:table-row><table:table-cell><text:p>Caldria</text:p></table:table-cell>"
    "<table:table-cell><text:p>07:15</text:p></table:table-cell></table:table-row>"
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row></table:table>'
)


def open_text(path: Path) -> Path:
    """A text with headings, a list and a table."""
    body = (
        '<text:h text:outline-level="1">Tides at Norhaven</text:h>'
        "<text:p>High water comes<text:s/>twice a day."
        "<office:annotation><text:p>check</text:p></office:annotation></text:p>"
        "<text:list><text:list-item><text:p>Spring tides</text:p></text:list-item>"
        "<text:list-item><text:p>Neap tides</text:p></text:list-item></text:list>" + _ODF_TABLE
    )
    return _open_document(path, f"<office:text>{body}</office:text>")


def open_sheet(path: Path) -> Path:
    """A sheet with a table."""
    return _open_document(path, f"<office:spreadsheet>{_ODF_TABLE}</office:spreadsheet>")


def open_slides(path: Path) -> Path:
    """Two slides."""
    pages = "".join(
        f"<draw:page><draw:frame><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame></draw:page>"
        for text in ("The harbour in summer", "The harbour in winter")
    )
    return _open_document(path, f"<office:presentation>{pages}</office:presentation>")


def _open_document(path: Path, body: str) -> Path:
    content = f"<office:document-content {_ODF}><office:body>{body}</office:body></office:document-content>"
    meta = (
        f"<office:document-meta {_ODF}><office:meta><dc:title>Tide tables</dc:title>"
        "<meta:initial-creator>Bruno Bastow</meta:initial-creator><dc:date>2023-07-08T10:00:00</dc:date>"
        "</office:meta></office:document-meta>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
        archive.writestr("meta.xml", meta)
    return path


def book(path: Path) -> Path:
    """Two chapters, the second named before the first in the archive."""
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>The Keeper of Norhaven</dc:title><dc:creator>Clara Corvini</dc:creator><dc:date>2019-02-03</dc:date>"
        '</metadata><manifest><item id="one" href="text/one%20.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="one"/><itemref idref="two"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    chapters = {
        "two.xhtml": "<h1>The lamp</h1><p>In 1902 the lamp became electric.</p><aside>A note on lamps.</aside>",
        "one .xhtml": "<h1>The tower</h1><p>The tower was built of <em>granite</em> in 1871.</p>"
        "<table><tr><th>Floor</th><th>Steps</th></tr><tr><td>First</td><td>40</td></tr><tr><td>Second</td><td>38</td></tr></table>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("OEBPS/book.opf", package)
        for name, text in chapters.items():
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{text}</body></html>'
            archive.writestr(f"OEBPS/text/{name}", page)
    return path


def message(subject: str = "Depth at the buoys", html: bool = False) -> EmailMessage:
    """A mail with an attachment."""
    mail = EmailMessage()
    mail["From"], mail["To"] = "Dmitri Delmar <dmitri@example.org>", "Elena Estrada <elena@example.org>"
    mail["Subject"], mail["Date"] = subject, "Mon, 04 Mar 2024 10:00:00 +0100"
    mail["Message-ID"] = f"<{subject.replace(' ', '.')}@example.org>"
    text = "The buoy at Norhaven lies at 7.2 metres.\n\nDmitri"
    if html:
        mail.set_content(f"<p>{text}</p><script>x()</script>", subtype="html")
    else:
        mail.set_content(text)
        mail.add_alternative(f"<p>{text}</p>", subtype="html")
    mail.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="chart.pdf")
    return mail


def mail(path: Path) -> Path:
    """One message."""
    path.write_bytes(message().as_bytes())
    return path


def mailbox_file(path: Path) -> Path:
    """Two messages."""
    import mailbox

    box = mailbox.mbox(path)
    for subject in ("Depth at the buoys", "The lamp"):
        box.add(message(subject, html=True))
    box.close()
    return path


def rich_text(path: Path) -> Path:
    """A title, a paragraph with a letter beyond ASCII, and a table."""
    rows = "".join(
        r"\trowd\cellx3000\cellx6000 " + "".join(rf"\intbl {cell}\cell " for cell in row) + r"\row" + "\n"
        for row in (("Keeper", "Years"), ("Greta", "12"), ("Hugo", "7"))
    )
    path.write_text(
        r"{\rtf1\ansi\deff0{\info{\title Keepers of Norhaven}{\author Farid Lindau}{\creatim\yr2020\mo5\dy6}}"
        + r"\pard The caf\'e9 beside the tower opened in 1990.\par"
        + "\n"
        + rows
        + r"\pard After them the tower was locked.\par}",
        encoding="ascii",
    )
    return path


def json_records(path: Path) -> Path:
    """Records with texts."""
    records = [
        {"id": "j1", "title": "Fog", "text": "Fog signals sound every minute."},
        {"id": "j2", "text": "Fog lifts at noon."},
    ]
    path.write_text(json.dumps({"items": records}), encoding="utf-8")
    return path


def json_settings(path: Path) -> Path:
    """No records, but names, values and a list of alike objects."""
    value = {
        "name": "Harbour",
        "lamp": {"colour": "white", "seconds": 8, "lit": True},
        "buoys": [{"place": "Norhaven", "depth": 7.2}, {"place": "Caldria", "depth": 5.1}],
    }
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def scan(path: Path, typed: str = "") -> Path:
    """A PDF whose page is a picture of text; with `typed` a page of real text stands before it."""
    import io

    from fpdf import FPDF
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (1654, 1000), 255)
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(SCANNED):
        draw.text((120, 150 + 120 * number), line, fill=0, font=ImageFont.load_default(size=44))
    data = io.BytesIO()
    picture.save(data, format="PNG")
    pdf = FPDF()
    if typed:
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        pdf.multi_cell(0, 8, typed)
    pdf.add_page()
    pdf.image(data, x=0, y=0, w=210)
    pdf.output(str(path))
    return path


ALL = {
    "survey.pptx": presentation,
    "budget.xlsx": workbook,
    "tides.odt": open_text,
    "tides.ods": open_sheet,
    "harbour.odp": open_slides,
    "keeper.epub": book,
    "depth.eml": mail,
    "letters.mbox": mailbox_file,
    "keepers.rtf": rich_text,
    "records.json": json_records,
    "settings.json": json_settings,
    "scan.pdf": scan,
}
"""A file of each kind by its name."""


def write_all(folder: Path) -> Path:
    """Write all of them into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in ALL.items():
        make(folder / name)
    return folder
