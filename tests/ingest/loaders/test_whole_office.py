"""Workbooks, slides, OpenDocument, books and pages: what stands beside their cells and paragraphs."""

# ruff: noqa: E501 -- markup and what mail programs write stand on lines of their own length
from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from loaded_files import load_one, text_and_report
from openpyxl import Workbook
from openpyxl.comments import Comment

SPACES = (
    " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{room}:1.0"'
        for name, room in (
            *((name, name) for name in ("office", "text", "table", "style", "presentation")),
            ("draw", "drawing"),
        )
    )
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
)


def prices(path: Path, *formulas: str) -> Path:
    book = Workbook()
    sheet = book.active
    sheet.title = "Prices"
    for row in (("Part", "Price", "Pieces"), ("Valve", 12.5, 4), ("Pump", 100, 3)):
        sheet.append(row)
    for number, formula in enumerate(formulas):
        sheet.cell(1, 4 + number, f"Sum {number + 1}")
        sheet.cell(2, 4 + number, formula)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=B2*C2", "50"),
        ("=SUM(C2:C3)", "7"),
        ('=IF(B3>B2,"dearer","cheaper")', "dearer"),
        ('=VLOOKUP("Pump",A2:C3,2,FALSE)', "100"),
    ],
)
def test_formulas_without_a_value_are_computed(tmp_path: Path, formula: str, value: str) -> None:
    text, report = text_and_report(prices(tmp_path / "a.xlsx", formula))
    assert f"Valve | Price: 12.5 | Pieces: 4 | Sum 1: {value}" in text
    assert (report["counts"]["formulas"], report["less"]) == (1, [])


@pytest.mark.parametrize("formula", ["=TODAY()", "=B2*RAND()", "=NOSUCHFUNCTION(B2)"])
def test_formulas_that_cannot_be_computed_are_shown_and_the_file_is_marked(tmp_path: Path, formula: str) -> None:
    text, report = text_and_report(prices(tmp_path / "a.xlsx", formula))
    assert f"Sum 1: {formula} (formula without a value)" in text
    assert report["less"] == [
        "1 formula has no stored value and could not be computed; open and save the file to have them"
    ]


def test_comments_of_cells_and_hidden_sheets(tmp_path: Path) -> None:
    book = Workbook()
    book.active.title = "Prices"
    book.active.append(("Part", "Price"))
    book.active.append(("Valve", 12.5))
    book.active["B2"].comment = Comment("Up by a tenth in May.", "Anna Berg")
    book.create_sheet("Old prices").sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    text, report = text_and_report(tmp_path / "a.xlsx")
    assert "Comment by Anna Berg on Prices B2 (12.5): Up by a tenth in May." in text
    assert report["left_out"] == [{"what": "hidden sheets: Old prices", "why": ""}]
    assert report["counts"]["sheets"] == 1


def test_slides_have_notes_grouped_words_and_descriptions(tmp_path: Path) -> None:
    from PIL import Image
    from pptx import Presentation
    from pptx.util import Inches

    Image.new("RGB", (20, 20)).save(tmp_path / "p.png")
    opened = Presentation()
    slide = opened.slides.add_slide(opened.slide_layouts[5])
    slide.shapes.title.text = "The harbour"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Depth 7.2 m"
    picture = slide.shapes.add_picture(str(tmp_path / "p.png"), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "The lighthouse at dusk")
    bare = slide.shapes.add_picture(str(tmp_path / "p.png"), 0, 0)
    bare._element.nvPicPr.cNvPr.set("descr", "")
    slide.notes_slide.notes_text_frame.text = "Say that the buoy was lost."
    opened.save(str(tmp_path / "a.pptx"))
    text, report = text_and_report(tmp_path / "a.pptx")
    for expected in ("Depth 7.2 m", "Picture: The lighthouse at dusk", "Notes: Say that the buoy was lost."):
        assert expected in text
    assert {"slides": 1, "speaker_notes": 1, "pictures_described": 1, "pictures_without_text": 1}.items() <= report[
        "counts"
    ].items()


def open_document(path: Path, body: str, *, styles: str = "", automatic: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "content.xml",
            f"<office:document-content {SPACES}><office:automatic-styles>{automatic}</office:automatic-styles>"
            f"<office:body>{body}</office:body></office:document-content>",
        )
        if styles:
            archive.writestr("styles.xml", f"<office:document-styles {SPACES}>{styles}</office:document-styles>")
    return path


def test_an_open_text_with_notes_comments_boxes_and_headers(tmp_path: Path) -> None:
    body = (
        '<office:text><text:p>Rent is due<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Late rent costs 12 crowns.</text:p></text:note-body></text:note> monthly."
        "<office:annotation><dc:creator>Anna Berg</dc:creator><text:p>Since May.</text:p></office:annotation>"
        "<draw:frame><draw:text-box><text:p>Free parking.</text:p></draw:text-box></draw:frame></text:p>"
        "<text:p><draw:frame><draw:image/><svg:desc>A green roof</svg:desc></draw:frame></text:p></office:text>"
    )
    styles = "<style:master-page><style:header><text:p>Lease 4711</text:p></style:header></style:master-page>"
    text, report = text_and_report(open_document(tmp_path / "a.odt", body, styles=styles))
    assert text == (
        "Header: Lease 4711\n\nRent is due monthly.\n\nFootnote 1: Late rent costs 12 crowns.\n\n"
        "Comment by Anna Berg: Since May.\n\nFree parking.\n\nPicture: A green roof"
    )
    assert {"headers": 1, "footnotes": 1, "comments": 1, "text_boxes": 1}.items() <= report["counts"].items()


def test_the_title_of_an_open_text_is_no_page_header(tmp_path: Path) -> None:
    body = "<office:text><text:p>Manual of the mill</text:p><text:p>It grinds.</text:p></office:text>"
    styles = "<style:master-page><style:header><text:p>Chapter one Page 3</text:p></style:header></style:master-page>"
    assert load_one(open_document(tmp_path / "a.odt", body, styles=styles)).title == "Manual of the mill"


def test_an_open_sheet_with_a_hidden_one_and_a_formula(tmp_path: Path) -> None:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    rows = f"<table:table-row>{cell.format('Part')}{cell.format('Price')}</table:table-row>"
    rows += f'<table:table-row>{cell.format("Valve")}<table:table-cell table:formula="of:=[.B1]*2"/></table:table-row>'
    body = (
        f'<office:spreadsheet><table:table table:name="Prices">{rows}</table:table>'
        f'<table:table table:name="Old" table:style-name="h">{rows}</table:table></office:spreadsheet>'
    )
    automatic = '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    text, report = text_and_report(open_document(tmp_path / "a.ods", body, automatic=automatic))
    assert text == "Prices\n\nPrices. | Part: Price\nPrices. | Valve: =[.B1]*2 (formula without a value)"
    assert report["left_out"] == [{"what": "hidden sheets: Old", "why": ""}]
    assert report["less"] == ["1 formula has no stored value; open and save the file to have them"]


def test_open_slides_with_notes(tmp_path: Path) -> None:
    body = (
        "<office:presentation><draw:page><draw:frame><draw:text-box><text:p>The harbour</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Say it slowly.</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page></office:presentation>"
    )
    text, report = text_and_report(open_document(tmp_path / "a.odp", body))
    assert text == "The harbour\n\nNotes: Say it slowly."
    assert report["counts"]["speaker_notes"] == 1


def test_pictures_of_a_page_are_described(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<main><h1>The hut</h1><p>The hut stands above the lake and is open from June to October.</p>"
        '<figure><img src="a.png" alt="The hut with its green roof in snow"><figcaption>Winter of 1902</figcaption></figure>'
        '<p><img src="b.png" alt="logo">Dogs are allowed.</p></main>',
        encoding="utf-8",
    )
    text, report = text_and_report(path)
    assert "Picture: The hut with its green roof in snow." in text
    assert "Winter of 1902" in text
    assert "logo" not in text
    assert (report["counts"]["pictures_described"], report["counts"]["pictures_without_text"]) == (1, 1)
