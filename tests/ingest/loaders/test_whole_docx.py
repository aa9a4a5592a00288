"""Word documents that say things beside their paragraphs: expected texts are written by hand."""

# ruff: noqa: E501 -- markup and what mail programs write stand on lines of their own length
from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest
from loaded_files import text_and_report
from whole_documents import p, word

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document

NOTE = '<w:footnote w:id="0" w:type="separator"><w:p/></w:footnote><w:footnote w:id="4">{}</w:footnote>'
REFERENCE = '<w:r><w:footnoteReference w:id="4"/></w:r>'
BOX = f"<w:txbxContent>{p('Free parking in the yard.')}</w:txbxContent>"
PICTURE = '<w:drawing><wp:inline><wp:docPr id="1" name="Picture 1"{}/><a:graphic><pic:pic/></a:graphic></wp:inline></w:drawing>'
DESCRIBED = ' descr="A hut with a green roof"'
INNER = f"<w:tbl><w:tr><w:tc>{p('Valve')}</w:tc><w:tc>{p('9.40')}</w:tc></w:tr></w:tbl>"
DROPDOWN = '<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="North"/><w:listEntry w:val="South"/></w:ddList></w:ffData>'


@pytest.mark.parametrize(
    ("body", "parts", "expected", "counted"),
    [
        pytest.param(
            f"<w:p><w:r><w:t>Rent is due monthly.</w:t></w:r>{REFERENCE}</w:p>{p('Dogs are allowed.')}",
            {"footnotes": NOTE.format(p("Late rent costs 12 crowns."))},
            "Rent is due monthly.\n\nFootnote 1: Late rent costs 12 crowns.\n\nDogs are allowed.",
            {"footnotes": 1},
            id="footnote",
        ),
        pytest.param(
            '<w:p><w:r><w:t>Rent is due.</w:t><w:endnoteReference w:id="2"/></w:r></w:p>',
            {"endnotes": f'<w:endnote w:id="2">{p("By bank transfer.")}</w:endnote>'},
            "Rent is due.\n\nEndnote 1: By bank transfer.",
            {"footnotes": 1},
            id="endnote",
        ),
        pytest.param(
            p("The lease."),
            {"header": p("Lease 4711"), "header 2": p("Lease 4711"), "footer": p("Page 1 of 3"), "footer 2": p("Draft")},
            "Header: Lease 4711\n\nThe lease.\n\nFooter: Draft",
            {"headers": 2},
            id="headers once, page numbers never",
        ),
        pytest.param(
            f"<w:p><w:r><w:t>Welcome.</w:t><w:drawing><wps:txbx>{BOX}</wps:txbx></w:drawing></w:r></w:p>",
            {},
            "Welcome.\n\nFree parking in the yard.",
            {"text_boxes": 1},
            id="text box",
        ),
        pytest.param(
            "<w:p><w:r><w:t>Welcome.</w:t><mc:AlternateContent>"
            f"<mc:Choice><wps:txbx>{BOX}</wps:txbx></mc:Choice><mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict>"
            "</mc:Fallback></mc:AlternateContent></w:r></w:p>",
            {},
            "Welcome.\n\nFree parking in the yard.",
            {"text_boxes": 1},
            id="text box with a copy for older programs",
        ),
        pytest.param(
            '<w:p><w:r><w:t xml:space="preserve">Rent is </w:t></w:r><w:commentRangeStart w:id="7"/><w:r><w:t>900 crowns'
            '</w:t></w:r><w:commentRangeEnd w:id="7"/><w:r><w:commentReference w:id="7"/></w:r></w:p>',
            {"comments": f'<w:comment w:id="7" w:author="Anna Berg">{p("It was 850 last year.")}</w:comment>'},
            "Rent is 900 crowns\n\nComment by Anna Berg on “900 crowns”: It was 850 last year.",
            {"comments": 1},
            id="comment",
        ),
        pytest.param(
            '<w:p><w:r><w:t xml:space="preserve">Notice is </w:t></w:r><w:ins><w:r><w:t>90</w:t></w:r></w:ins>'
            "<w:del><w:r><w:delText>30</w:delText></w:r></w:del><w:r><w:t xml:space=\"preserve\"> days.</w:t></w:r></w:p>",
            {},
            "Notice is 90 days.",
            {"insertions": 1},
            id="tracked changes",
        ),
        pytest.param(
            f"<w:p><w:r><w:t>The hut.</w:t>{PICTURE.format(DESCRIBED)}</w:r></w:p>"
            f"<w:p><w:r>{PICTURE.format('')}</w:r></w:p>",
            {},
            "The hut.\n\nPicture: A hut with a green roof",
            {"pictures_described": 1, "pictures_without_text": 1},
            id="pictures",
        ),
        pytest.param(
            f"<w:tbl><w:tr><w:tc>{p('Part')}</w:tc><w:tc>{p('Needs')}</w:tc></w:tr>"
            f"<w:tr><w:tc>{p('Pump')}</w:tc><w:tc>{p('seal')}{INNER}</w:tc></w:tr></w:tbl>",
            {},
            "Part: Needs\nPump: seal\nValve: 9.40",
            {"tables": 2},
            id="table in a table",
        ),
        pytest.param(
            f"<w:p><w:r><w:t xml:space=\"preserve\">Branch: </w:t>{DROPDOWN}</w:r></w:p>"
            "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>" + p("Click here to enter text.") + "</w:sdtContent>"
            "</w:sdt><w:sdt><w:sdtContent>" + p("Tenant: Jon Vale") + "</w:sdtContent></w:sdt>",
            {},
            "Branch: South\n\nTenant: Jon Vale",
            {},
            id="controls",
        ),
    ],
)  # fmt: skip
def test_what_stands_beside_the_text(
    tmp_path: Path, body: str, parts: dict[str, str], expected: str, counted: dict[str, int]
) -> None:
    text, report = text_and_report(word(tmp_path / "a.docx", body, parts))
    assert text == expected
    assert counted.items() <= report["counts"].items()


def test_deletions_and_embedded_files_are_said_to_be_left_out(tmp_path: Path) -> None:
    body = p("Kept.") + "<w:p><w:del><w:r><w:delText>Gone.</w:delText></w:r></w:del></w:p>"
    path = word(tmp_path / "a.docx", body, more={"word/embeddings/budget.xlsx": "x"})
    text, report = text_and_report(path)
    assert text == "Kept."
    assert [each["what"] for each in report["left_out"]] == [
        "1 deletion of tracked changes",
        "embedded file budget.xlsx",
    ]


def test_a_damaged_file_inside_of_a_document_is_left_out_alone(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docx", p("Kept."), more={"word/embeddings/notes.txt": "The key is in the shed."})
    path.write_bytes(path.read_bytes().replace(b"in the shed", b"in the shop"))
    text, report = text_and_report(path)
    assert text == "Kept."
    assert [each["what"] for each in report["left_out"]] == ["embedded file notes.txt"]
    assert "cannot be unpacked: Bad CRC-32" in report["left_out"][0]["why"]


def test_files_inside_of_files_are_limited_over_all_depths(tmp_path: Path) -> None:
    body = p("Kept.")
    for depth in range(3):  # 20 files, each with 20 of its own
        path = word(tmp_path / f"{depth}.docx", body)
        if depth:
            with zipfile.ZipFile(path, "a") as archive:
                for number in range(20):
                    archive.write(tmp_path / f"{depth - 1}.docx", f"word/embeddings/in{number}.docx")
    documents = list(load(path))
    assert len(documents) == 201
    assert isinstance(documents[0], Document)
    assert documents[0].metadata["read_report"]["left_out"] == [
        {"what": "more embedded files", "why": "of one document 200 are read, at all depths"}
    ]
    assert len(list(load(path))) == 201


def test_a_document_of_pictures_is_marked(tmp_path: Path) -> None:
    text, report = text_and_report(
        word(tmp_path / "a.docx", p("Plans") + f"<w:p><w:r>{PICTURE.format('')}</w:r></w:p>")
    )
    assert text == "Plans"
    assert report["less"] == ["1 word beside 1 picture without text"]


def test_a_header_is_no_title(tmp_path: Path) -> None:
    path = word(
        tmp_path / "a.docx", p("Lease of the green hut") + p("Rent is due."), {"header": p("Norhaven Estates Ltd")}
    )
    (document,) = load(path)
    assert isinstance(document, Document)
    assert document.title == "Lease of the green hut"


def test_the_chart_of_a_document_is_a_table(tmp_path: Path) -> None:
    points = "".join(f'<c:pt idx="{n}"><c:v>{{}}</c:v></c:pt>' for n in range(2))
    chart = (
        f"<?raw?><c:chartSpace {WORD_CHART}><c:chart><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache>"
        '<c:pt idx="0"><c:v>Bicycles</c:v></c:pt></c:strCache></c:strRef></c:tx>'
        f"<c:cat><c:strRef><c:strCache>{points.format('2022', '2023')}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache>{points.format('310', '342.10000000000002')}</c:numCache></c:numRef></c:val>"
        "</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    text, _ = text_and_report(
        word(tmp_path / "a.docx", '<w:p><w:r><w:drawing><c:chart r:id="r1"/></w:drawing></w:r></w:p>', {"chart": chart})
    )
    assert text == "2022 | Bicycles: 310\n2023 | Bicycles: 342.1"


WORD_CHART = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'


def test_time_for_marks_above_the_line_grows_with_their_number(tmp_path: Path) -> None:
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r>'
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    half = f"<m:oMath {math}><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"

    def seconds(many: int) -> float:
        words = "<w:r><w:t> and of the northern pier 10</w:t></w:r>"
        word(tmp_path / "a.docx", f"<w:p>{(half + words + raised) * many}</w:p>")
        started = time.process_time()
        (document,) = load(tmp_path / "a.docx")
        assert isinstance(document, Document)
        assert document.text.startswith("1/2 and of the northern pier 10²1/2")
        return time.process_time() - started

    assert seconds(16_000) < 12 * max(0.05, seconds(4_000))


def styled(style: str, text: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


@pytest.mark.parametrize("style", ["TOC1", "Verzeichnis2", "Contents1"])
def test_the_table_of_contents_is_left_out_and_counted(tmp_path: Path, style: str) -> None:
    entries = styled("TOCHeading", "Contents") + styled(style, "Changing the filter\t2") + styled(style, "Locks\t14")
    text, report = text_and_report(
        word(tmp_path / "a.docx", entries + styled("TOC1", "Mind the step") + p("It works."))
    )
    assert text == "Mind the step\n\nIt works."
    assert report["counts"]["contents_lines"] == 3
