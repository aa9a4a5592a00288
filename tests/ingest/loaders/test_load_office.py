"""Office documents, books, mails and JSON, as their own programs' libraries write them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import office_files
import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document


def load_all(path: Path) -> list[Document]:
    found = list(load(path))
    assert all(isinstance(each, Document) for each in found)
    return [each for each in found if isinstance(each, Document)]


def load_one(path: Path) -> Document:
    (document,) = load_all(path)
    return document


def page_of(document: Document, text: str) -> int:
    place = document.text.index(text)
    return max(number for number, start in document.pages if start <= place)


def test_slides_are_pages_with_tables_charts_and_notes(tmp_path: Path) -> None:
    document = load_one(office_files.presentation(tmp_path / "a.pptx"))
    assert (document.title, document.authors) == ("Harbour survey", ("Ada Almgren",))
    assert [heading for _, heading in document.metadata["sections"]] == [
        "What was measured",
        "Depth by buoy",
        "Ships a year",
    ]
    assert "- Depth at six buoys\n- Salinity at two of them" in document.text
    assert "Notes: The buoy at Estmoor was lost in a storm." in document.text
    assert "Buoy: Caldria | Spring depth: 5.1 m | Autumn depth: 5.4 m" in document.text
    assert "2022 | Cargo ships: 342 | Ferries: 1260" in document.text
    assert [page_of(document, text) for text in ("Notes:", "Caldria", "Cargo ships")] == [1, 2, 3]


def test_sheets_are_pages_and_figures_stand_as_they_are_shown(tmp_path: Path) -> None:
    document = load_one(office_files.workbook(tmp_path / "a.xlsx"))
    lines = document.text.split("\n")
    assert (
        "Budget, Spending by town. | Town: Norhaven | Spent: $1,250.50 | Share: 62.5% | Decided on: 2024-03-04" in lines
    )
    assert "Town: Caldria | Spent: $750.30 | Share: 37.5% | Decided on: 2024-05-06" in lines
    assert "Telephone: 555 0134" in document.text
    assert page_of(document, "Telephone") == 2
    assert document.metadata["unread"] == "hidden sheets: Old figures"


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (0.253, "0%", "25%"),
        (1234567.891, "#,##0.0", "1,234,567.9"),
        (-3.5, "[$€-407] #,##0.00", "-€3.50"),
        (12, "General", "12"),
        (0.1 + 0.2, "General", "0.3"),
        (1.5e-7, "0.00E+00", "1.5e-07"),
        (True, "General", "TRUE"),
        (5, '0" mg"', "5 mg"),
    ],
)
def test_number_formats(tmp_path: Path, value: object, number_format: str, shown: str) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (("Name", "Kind", "Value"), ("x", "a", value), ("y", "b", value)):
        book.active.append(row)
    book.active["C2"].number_format = number_format
    book.save(tmp_path / "a.xlsx")
    assert f"x | Kind: a | Value: {shown}\n" in load_one(tmp_path / "a.xlsx").text


def test_two_tables_of_a_sheet_have_captions_of_their_own(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    rows = (("Rain",), ("Town", "mm"), ("Lindau", 12), ("Oakhurst", 9), (), ("Wind",), ("Town", "knots"))
    for row in (*rows, ("Lindau", 20), ("Oakhurst", 30)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    text = load_one(tmp_path / "a.xlsx").text
    assert "Rain. | Town: Lindau | mm: 12" in text
    assert "Wind. | Town: Lindau | knots: 20" in text


def test_a_merged_title_wider_than_its_table(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (("Cups",), ("Team", "Place", "Won"), ("Blues", "STL", 1), ("Flyers", "PHI", 2)):
        book.active.append(row)
    book.active.merge_cells("A1:F1")
    book.save(tmp_path / "a.xlsx")
    assert "Cups. | Team: Blues | Place: STL | Won: 1\nTeam: Flyers" in load_one(tmp_path / "a.xlsx").text


def test_open_document_text(tmp_path: Path) -> None:
    document = load_one(office_files.open_text(tmp_path / "a.odt"))
    assert document.text == (
        "Tides at Norhaven\n\nHigh water comes twice a day.\n\nComment: check\n\n- Spring tides\n- Neap tides\n\n"
        "Port: Norhaven | High water: 06:40\nPort: Caldria | High water: 07:15"
    )
    assert (document.title, document.metadata["file_saved"], document.authors) == (
        "Tide tables",
        "2023-07-08",
        ("Bruno Bastow",),
    )


def test_open_document_sheets_and_slides(tmp_path: Path) -> None:
    sheet = load_one(office_files.open_sheet(tmp_path / "a.ods"))
    assert "Tides. | Port: Norhaven | High water: 06:40\nPort: Caldria" in sheet.text
    slides = load_one(office_files.open_slides(tmp_path / "a.odp"))
    assert page_of(slides, "winter") == 2


def test_chapters_of_a_book_in_their_order(tmp_path: Path) -> None:
    document = load_one(office_files.book(tmp_path / "a.epub"))
    assert (document.title, document.authors, document.date) == (
        "The Keeper of Norhaven",
        ("Clara Corvini",),
        "2019-02-03",
    )
    assert [heading for _, heading in document.metadata["sections"]] == ["The tower", "The lamp"]
    assert "The tower was built of granite in 1871." in document.text
    assert "Floor: Second | Steps: 38" in document.text


def test_a_book_with_drm(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(office_files.book(tmp_path / "a.epub"), "a") as archive:
        archive.writestr("META-INF/rights.xml", "<rights/>")
    with pytest.raises(EncryptedDocument, match="DRM"):
        list(load(tmp_path / "a.epub"))


def test_a_mail_with_its_people_and_its_attachments_named(tmp_path: Path) -> None:
    document = load_one(office_files.mail(tmp_path / "a.eml"))
    assert (document.title, document.date, document.authors) == (
        "Depth at the buoys",
        "2024-03-04",
        ("Dmitri Delmar",),
    )
    assert "From: Dmitri Delmar\nTo: Elena Estrada" in document.text
    assert "lies at 7.2 metres.\n\nDmitri" in document.text
    assert document.metadata["attachments"] == ["chart.pdf"]
    assert str(document.metadata["unread"]).startswith("attachment chart.pdf: not a readable PDF")


def test_each_message_of_a_mailbox(tmp_path: Path) -> None:
    first, second = load_all(office_files.mailbox_file(tmp_path / "a.mbox"))
    assert (first.title, second.title) == ("Depth at the buoys", "The lamp")
    assert second.id.endswith("a.mbox#The.lamp@example.org")
    assert "x()" not in first.text


def test_rich_text(tmp_path: Path) -> None:
    document = load_one(office_files.rich_text(tmp_path / "a.rtf"))
    assert document.text.split("\n\n") == [
        "The café beside the tower opened in 1990.",
        "Keeper: Greta | Years: 12\nKeeper: Hugo | Years: 7",
        "After them the tower was locked.",
    ]
    assert (document.title, document.metadata["file_saved"], document.authors) == (
        "Keepers of Norhaven",
        "2020-05-06",
        ("Farid Lindau",),
    )


def test_json_records_and_other_json(tmp_path: Path) -> None:
    assert [each.id for each in load_all(office_files.json_records(tmp_path / "a.json"))] == ["j1", "j2"]
    other = load_one(office_files.json_settings(tmp_path / "b.json"))
    assert "lamp, seconds: 8\nlamp, lit: true" in other.text
    assert "buoys. | place: Norhaven | depth: 7.2\nplace: Caldria | depth: 5.1" in other.text


@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.odt"])
def test_password_protected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    with pytest.raises(EncryptedDocument):
        list(load(path))


@pytest.mark.parametrize("name", ["survey.pptx", "budget.xlsx", "tides.odt", "keeper.epub"])
def test_what_unpacks_to_more_than_the_limit(tmp_path: Path, name: str) -> None:
    import zipfile

    path = office_files.ALL[name](tmp_path / name)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.xml", b" " * 3_000_000)
    with pytest.raises(DocumentTooLarge):
        list(load(path, max_bytes=1_000_000))


def test_a_document_that_names_no_date_has_none(tmp_path: Path) -> None:
    """The libraries that read these kinds would say today."""
    from openpyxl import Workbook
    from pptx import Presentation

    book, show = Workbook(), Presentation()
    book.active.append(["Team", "Cups"])
    book.save(tmp_path / "with.xlsx")
    show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = "A title"
    show.save(tmp_path / "with.pptx")
    for kind in ("xlsx", "pptx"):
        with zipfile.ZipFile(tmp_path / f"with.{kind}") as whole, zipfile.ZipFile(tmp_path / f"no.{kind}", "w") as cut:
            for name in whole.namelist():
                if name != "docProps/core.xml":
                    cut.writestr(name, whole.read(name))
        [document] = load(tmp_path / f"no.{kind}")
        assert (document.date, document.authors) == (None, ())


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (".ppsx", "openxmlformats-officedocument.presentationml.slideshow.main+xml"),
        (".potx", "openxmlformats-officedocument.presentationml.template.main+xml"),
        (".ppsm", "ms-powerpoint.slideshow.macroEnabled.main+xml"),
        (".potm", "ms-powerpoint.template.macroEnabled.main+xml"),
    ],
)
def test_shows_and_templates_are_read_as_presentations(tmp_path: Path, ending: str, kind: str) -> None:
    made = Path(__file__).parents[2] / "made_files" / "kiln.pptx"
    usual = b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(tmp_path / f"a{ending}", "w") as target:
        for name in source.namelist():
            data = source.read(name)
            assert name != "[Content_Types].xml" or usual in data
            target.writestr(name, data.replace(usual, f"application/vnd.{kind}".encode()))
    document = load_one(tmp_path / f"a{ending}")
    assert "cone 5" in document.text
    assert len(document.pages) == 4


SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{room}:1.0"'
    for name, room in (*((name, name) for name in ("office", "text", "table", "style")), ("draw", "drawing"))
)
FLAT = (
    f'<?xml version="1.0"?><office:document {SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:math="http://www.w3.org/1998/Math/MathML"'
    ' office:version="1.2"><office:meta><dc:title>Minutes</dc:title></office:meta><office:body><office:KIND>'
    "CONTENT</office:KIND></office:body></office:document>"
)
FORMULA = "<math:math><math:mfrac><math:mn>3</math:mn><math:mn>4</math:mn></math:mfrac></math:math>"
PICTURE = (
    f"<draw:frame><draw:image><office:binary-data>{'A' * 11_000_000}</office:binary-data></draw:image></draw:frame>"
)


@pytest.mark.parametrize(
    ("ending", "kind", "content", "text"),
    [
        (".fodt", "text",
         f"<text:p>Two{PICTURE} of<draw:frame><draw:object>{FORMULA}</draw:object></draw:frame></text:p>",
         "Two of 3/4"),
        (".fods", "spreadsheet",
         '<table:table table:name="Fees"><table:table-row>'
         "<table:table-cell><text:p>Skiff</text:p></table:table-cell><table:table-cell><text:p>218</text:p></table:table-cell></table:table-row></table:table>",
         "Fees\n\nFees. | Skiff: 218"),
        (".fodp", "presentation", "<draw:page><draw:frame><draw:text-box><text:p>Quay</text:p></draw:text-box>"
         "</draw:frame></draw:page>", "Quay"),
        (".fodg", "drawing", "<draw:page><draw:custom-shape><text:p>Pump 7</text:p></draw:custom-shape></draw:page>",
         "Pump 7"),
    ],
)  # fmt: skip
def test_flat_documents_are_read_as_those_in_archives(
    tmp_path: Path, ending: str, kind: str, content: str, text: str
) -> None:
    path = tmp_path / f"a{ending}"
    path.write_text(FLAT.replace("KIND", kind).replace("CONTENT", content), encoding="utf-8")
    document = load_one(path)
    assert (document.title, document.text) == ("Minutes", text)


def test_flat_document_of_another_kind_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.fodt").write_text("<html><p>words</p></html>", encoding="utf-8")
    with pytest.raises(UnreadableDocument, match="no flat OpenDocument: its first element is 'html'"):
        list(load(tmp_path / "a.fodt"))


@pytest.mark.parametrize(
    "before",
    [
        "<office:binary-data/>",
        "<office:binary-data />",
        "<office:binary-data></office:binary-data>",
        "<office:binary-data>\n AAAA\n</office:binary-data>",
        "<![CDATA[<office:binary-data> ]]>",
        "<!-- <office:binary-data> or <![CDATA[ -->",
    ],
)
def test_flat_document_is_read_whatever_form_its_pictures_have(tmp_path: Path, before: str) -> None:
    (tmp_path / "a.fodt").write_text(
        '<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
        'office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>'
        f"<text:p>One {before}<text:span>berth</text:span>.</text:p><text:p>Two piers.</text:p>"
        "</office:text></office:body></office:document>",
        encoding="utf-8",
    )
    (document,) = load(tmp_path / "a.fodt")
    assert document.text.startswith("One ")
    assert document.text.endswith("berth.\n\nTwo piers.")
    assert "AAAA" not in document.text
