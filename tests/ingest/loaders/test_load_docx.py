"""Word documents."""

from __future__ import annotations

import zipfile
from datetime import datetime
from pathlib import Path

import docx
import pytest
from loaded_files import load_one

from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import DocumentTooLarge, EncryptedDocument, UnreadableDocument


def test_headings_lists_tables_and_properties(tmp_path: Path) -> None:
    file = docx.Document()
    file.core_properties.title, file.core_properties.author = "On pain", "Anna One"
    file.core_properties.created = datetime(2021, 3, 4)
    file.add_heading("Methods", 1)
    file.add_paragraph("Patients were seen.")
    for item in ("first", "second"):
        file.add_paragraph(item, style="List Bullet")
    table = file.add_table(rows=2, cols=2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), ("Drug", "Dose", "Aspirin", "5 mg"), strict=True
    ):
        cell.text = text
    file.save(str(tmp_path / "a.docx"))
    document = load_one(tmp_path / "a.docx")
    assert document.text == "Methods\n\nPatients were seen.\n\n- first\n- second\n\nDrug: Aspirin | Dose: 5 mg"
    assert (document.title, document.metadata["file_saved"], document.authors) == (
        "On pain",
        "2021-03-04",
        ("Anna One",),
    )
    assert document.metadata["sections"] == [[0, "Methods"]]


def test_first_heading_is_the_title_without_one(tmp_path: Path) -> None:
    file = docx.Document()
    file.core_properties.title = ""
    file.add_heading("On pain", 0)
    file.add_paragraph("Text.")
    file.save(str(tmp_path / "a.docx"))
    assert load_one(tmp_path / "a.docx").title == "On pain"


def test_password_protected(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    with pytest.raises(EncryptedDocument):
        list(load(path))


@pytest.mark.parametrize(
    ("part", "content", "kind"),
    [
        ("word/document.xml", b"<w:document", UnreadableDocument),
        ("word/document.xml", b" " * 200_000, DocumentTooLarge),
        ("mimetype", b"x", UnreadableDocument),
    ],
)
def test_other_archives(tmp_path: Path, part: str, content: bytes, kind: type[Exception]) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, content)
    with pytest.raises(kind, match=r"a\.docx"):
        list(load(path, max_bytes=100_000))


def test_when_the_template_of_a_library_was_saved_is_no_date_of_a_document(tmp_path: Path) -> None:
    file = docx.Document()
    file.add_paragraph("Patients were seen.")
    file.save(str(tmp_path / "a.docx"))
    document = load_one(tmp_path / "a.docx")
    assert "file_saved" not in document.metadata
    assert "description" not in document.metadata
    assert document.authors == ()


def test_a_document_from_a_template_was_saved_when_it_was_changed(tmp_path: Path) -> None:
    file = docx.Document()
    file.add_paragraph("Patients were seen.")
    file.core_properties.modified = datetime(2025, 6, 7)
    file.save(str(tmp_path / "a.docx"))
    assert load_one(tmp_path / "a.docx").metadata["file_saved"] == "2025-06-07"
