"""Files inside of OLE objects are documents of their own; an object of another program is reported with its name."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from compound_files import compound_file, dropped, program
from loaded_files import text_and_report
from olefile import OleFileIO

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.ole_objects import files_in_workbook
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.errors import DocumentError
from preflight_rag.state.values import Document

MADE = Path(__file__).parents[2] / "made_files"
CSV = b"Buoy,Depth\nNorth 77,18 m\nSouth 78,22 m\n"


def with_object(path: Path, data: bytes, folder: str = "word", made: str = "kiln.docx") -> Path:
    path.write_bytes((MADE / made).read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{folder}/embeddings/oleObject1.bin", data)
    return path


def test_compound_files_of_these_tests_are_what_olefile_reads() -> None:
    streams = {"a": b"one" * 30, "B": b"x" * 9000, "MBD01/c": b"three"}
    found = OleFileIO(io.BytesIO(compound_file(streams)))
    assert {name: found.openstream(name).read() for name in streams} == streams


@pytest.mark.parametrize(
    ("stream", "content", "name", "fact"),
    [
        ("\x01Ole10Native", dropped("buoys.csv", CSV), "buoys.csv", "Buoy: North 77 | Depth: 18 m"),
        (
            "\x01Ole10Native",
            dropped("notes", (MADE / "kiln.odt").read_bytes()),
            "oleObject1.odt",
            "The kiln is heated slowly",
        ),
        ("Package", (MADE / "stores-lo.xlsx").read_bytes(), "oleObject1.xlsx", "555-0"),
        ("Package", (MADE / "kiln.pptx").read_bytes(), "oleObject1.pptx", "Parts"),
        ("EmbeddedOdf", (MADE / "lease-lo.odt").read_bytes(), "oleObject1.odt", "Oars belong to rack"),
        ("CONTENTS", (MADE / "lease-lo.pdf").read_bytes(), "oleObject1.pdf", "Oars belong to rack"),
    ],
)
def test_file_in_an_object_is_a_document(tmp_path: Path, stream: str, content: bytes, name: str, fact: str) -> None:
    outer, inside = load(with_object(tmp_path / "a.docx", compound_file({stream: content})))
    assert isinstance(outer, Document)
    assert isinstance(inside, Document)
    assert Path(inside.id) == tmp_path / "a.docx" / name
    assert fact in inside.text
    assert outer.metadata[READ_REPORT]["counts"]["attachments"] == 1
    assert outer.metadata[READ_REPORT]["left_out"] == []


@pytest.mark.parametrize(
    ("streams", "what", "why"),
    [
        ({"Equation Native": b"x", "\x01CompObj": program("Microsoft Equation 3.0")}, "oleObject1.bin",
         "an object of Microsoft Equation 3.0"),
        ({"WordDocument": b"x" * 99}, "oleObject1.doc", "an old Word document; save it as .docx"),
        ({"CONTENTS": b"another program's"}, "oleObject1.bin", "an object of another program"),
        ({"\x01Ole10Native": b"\x09\0\0\0\x02\0name"}, "oleObject1.bin", "a damaged package"),
        ({"\x01Ole10Native": dropped("draw.dwg", b"AC1027")}, "draw.dwg",
         "has the ending '.dwg', which no loader reads"),
    ],
    ids=["equation", "old Word", "unknown", "damaged", "no loader"],
)  # fmt: skip
def test_object_that_cannot_be_read_is_reported(tmp_path: Path, streams: dict[str, bytes], what: str, why: str) -> None:
    _, report = text_and_report(with_object(tmp_path / "a.docx", compound_file(streams)))
    assert report["left_out"] == [{"what": f"embedded file {what}", "why": why}]


@pytest.mark.parametrize(("made", "folder"), [("kiln.pptx", "ppt"), ("stores-lo.xlsx", "xl")])
def test_objects_of_slides_and_workbooks_are_read(tmp_path: Path, made: str, folder: str) -> None:
    data = compound_file({"\x01Ole10Native": dropped("buoys.csv", CSV)})
    documents = [each for each in load(with_object(tmp_path / made, data, folder, made)) if isinstance(each, Document)]
    assert "Buoy: South 78 | Depth: 22 m" in documents[-1].text


def test_objects_of_an_old_workbook_are_found_in_its_folders() -> None:
    book = compound_file(
        {
            "Workbook": b"x" * 50,
            "MBD0001/\x01Ole10Native": dropped("buoys.csv", CSV),
            "MBD0002/WordDocument": b"x" * 50,
        }
    )
    first, second = files_in_workbook(book)
    assert first == ("buoys.csv", CSV)
    assert second[0] == "MBD0002"
    assert isinstance(second[1], DocumentError)


@pytest.mark.parametrize("cut", [9, 100, 600, 1200])
def test_damaged_object_does_not_end_the_document(tmp_path: Path, cut: int) -> None:
    data = compound_file({"\x01Ole10Native": dropped("buoys.csv", CSV)})[:cut]
    _, report = text_and_report(with_object(tmp_path / "a.docx", data))
    assert [each["what"] for each in report["left_out"]] == ["embedded file oleObject1.bin"]
