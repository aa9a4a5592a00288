"""Scanned pages: read by tesseract where it is installed, and said to be pictures where it is not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import office_files
import pytest
from loaded_files import load_one

from preflight_rag.ingest.loaders import load, ocr
from preflight_rag.library import Library
from preflight_rag.state.errors import EmptyDocument

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    ocr.languages.cache_clear()
    yield
    ocr.languages.cache_clear()


@pytest.fixture
def without_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@needs_tesseract
def test_a_scanned_page_is_read(tmp_path: Path) -> None:
    document = load_one(office_files.scan(tmp_path / "a.pdf", typed="The tower stands on a rock."))
    assert office_files.SCANNED[1] in document.text
    assert document.metadata["ocr_pages"] == [2]
    assert [number for number, _ in document.pages] == [1, 2]


@needs_tesseract
def test_a_scan_that_has_not_changed_is_not_read_again(tmp_path: Path, embedder, monkeypatch) -> None:
    path = office_files.scan(tmp_path / "a.pdf")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        report = library.ingest([path])
        assert (report.added, len(report.notes)) == (1, 1)
        assert "misread" in report.notes[0][1]
        monkeypatch.setattr(ocr, "recognised", lambda page: pytest.fail("read again"))
        assert library.ingest([path], prune=True).skipped == 1
        monkeypatch.undo()
        office_files.scan(path, typed="The tower stands on a rock.")
        assert library.ingest([path]).updated == 1


@pytest.mark.usefixtures("without_tesseract")
def test_without_tesseract_a_scan_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match=r"its page is a picture\. To read them, install tesseract"):
        list(load(office_files.scan(tmp_path / "a.pdf")))
    document = load_one(office_files.scan(tmp_path / "b.pdf", typed="The tower stands on a rock."))
    assert document.metadata["unread"].startswith("1 page is a picture: install tesseract")
