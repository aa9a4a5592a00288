"""PDF through LangChain's PyPDFium2Loader, with page offsets and paragraphs put back together."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.library.loaders import ocr
from preflight_rag.library.loaders.fields import file_document, iso_date, one_line, people, title_like
from preflight_rag.library.loaders.files import Pages, open_place
from preflight_rag.library.loaders.layout import (
    HYPHEN,
    is_table_row,
    paragraphs,
    vocabulary,
    without_running_lines,
)
from preflight_rag.library.loaders.pdf_tables import LEAST_ROWS, with_tables
from preflight_rag.state.errors import EmptyDocument, EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document

_NO_TITLE = re.compile(
    r"\(?(?:untitled|anonymous|unspecified).*|title|microsoft word - .*|.*slide 1|(?:table of )?contents|abstract"
    r"|.*\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|rtf|html?)|[\d\W]*|united states.*|for immediate release",
    re.IGNORECASE,
)
_FIGURES_BEHIND = re.compile(r"[\d)%—–-]\s+[$(]*\d[\d.,]*[)%]*\s*$|^[$(]*\d[\d.,]*[)%]*\s*$")
_DOI = re.compile(r"(?:doi\.org/|\bdoi:?\s*)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
LEAST_LETTERS = 12
"""A page with fewer has a number or a stamp beside its picture, at most; a guess."""
_INCLUDED = ("subject", "keywords", "creator", "producer", "total_pages")


def load_pdf(path: Path, max_bytes: int, on_page: Pages | None = None) -> Iterator[Document]:
    """The PDF as one document; pages that are pictures are recognised where tesseract is installed.

    `metadata["ocr_pages"]` are those that were, `metadata["unread"]` says which could not be read.

    Raises:
        EncryptedDocument: It opens with a password only.
        EmptyDocument: It has no text.
        UnreadableDocument: PDFium cannot read it.
    """
    pages, properties = _read(path, on_page)
    scanned = _scanned(path, pages)
    read: list[int] = []
    if scanned and ocr.languages():
        read = _recognise(path, pages, scanned, on_page)
    if not any(char.isalnum() for page in pages for char in page):
        if scanned and not ocr.languages():
            counted = "its page is a picture" if len(pages) == 1 else f"its {len(pages)} pages are pictures"
            raise EmptyDocument(f"{path} is scanned: {counted}", help=f"To read them, {ocr.INSTALL}")
        raise EmptyDocument(f"{path} has no text on its {len(pages)} pages")
    left = [] if ocr.languages() else scanned
    noted: dict[str, Any] = _identifiers(pages[0])
    if read:
        noted["ocr_pages"] = read
    if left:
        counted = "1 page is a picture" if len(left) == 1 else f"{len(left)} pages are pictures"
        noted["unread"] = f"{counted}: {ocr.INSTALL}"
    text, starts = _joined(pages)
    title = one_line(properties.get("title", ""))
    yield file_document(
        path,
        text,
        title=title if title and not _NO_TITLE.fullmatch(title) else _first_heading(pages[0], text),
        date=iso_date(properties.get("creationdate") or properties.get("moddate")),
        authors=people(properties.get("author", "")),
        pages=starts,
        metadata={
            **{key: properties[key] for key in _INCLUDED if properties.get(key)},
            **_identifiers(pages[0]),
            **noted,
        },
    )


def _read(path: Path, on_page: Pages | None) -> tuple[list[str], dict[str, Any]]:
    """The text of each page and the document's properties. PDFium tries the empty password by itself."""
    from pypdfium2 import PdfiumError

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*langchain-community.*", category=DeprecationWarning)
        from langchain_community.document_loaders import PyPDFium2Loader
    loaded = []
    try:
        for page in PyPDFium2Loader(open_place(path)).lazy_load():
            loaded.append(page)
            if on_page:
                on_page(len(loaded), int(page.metadata.get("total_pages") or len(loaded)))
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise EncryptedDocument(f"{path} needs a password", help="Save a copy without one") from error
        why = str(error).rstrip(".")
        raise UnreadableDocument(f"{path} is no readable PDF: {why}", help="Open it in a viewer to check") from error
    return _with_tables(path, [page.page_content for page in loaded]), dict(loaded[0].metadata) if loaded else {}


def _scanned(path: Path, pages: list[str]) -> list[int]:
    """Numbers, from 0, of pages without text that show a picture."""
    blank = [number for number, text in enumerate(pages) if sum(char.isalnum() for char in text) < LEAST_LETTERS]
    if not blank:
        return []
    from pypdfium2 import PdfDocument
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    found = []
    document = PdfDocument(open_place(path))
    try:
        for number in blank:
            page = document[number]
            if next(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None:
                found.append(number)
            page.close()
    finally:
        document.close()
    return found


def _recognise(path: Path, pages: list[str], scanned: list[int], on_page: Pages | None) -> list[int]:
    """Put the recognised text in the place of scanned pages; the numbers, from 1, of those that had any."""
    from pypdfium2 import PdfDocument

    read = []
    document = PdfDocument(open_place(path))
    try:
        for done, number in enumerate(scanned, 1):
            page = document[number]
            text = ocr.recognised(page)
            page.close()
            if sum(char.isalnum() for char in text) >= LEAST_LETTERS:
                pages[number] = text
                read.append(number + 1)
            if on_page:
                on_page(len(pages) - len(scanned) + done, len(pages))
    finally:
        document.close()
    return read


def _identifiers(first_page: str) -> dict[str, str]:
    """The DOI that a paper prints on its first page, where it prints no other."""
    found = {match[1].rstrip(".,;)").lower(): match[1].rstrip(".,;)") for match in _DOI.finditer(first_page)}
    return {"doi": next(iter(found.values()))} if len(found) == 1 else {}


def _with_tables(path: Path, pages: list[str]) -> list[str]:
    """The pages with their tables' rows as lines; pages without figures are not looked at again."""
    numbers = [number for number, text in enumerate(pages) if _has_figures(text)]
    if not numbers:
        return pages
    from pypdfium2 import PdfDocument

    found = list(pages)
    document = PdfDocument(open_place(path))
    try:
        for number in numbers:
            page = document[number]
            text_page = page.get_textpage()
            text = text_page.get_text_range()
            found[number] = with_tables(text_page, text.replace("\r\n", " \n"))
            text_page.close()
            page.close()
    finally:
        document.close()
    return found


def _has_figures(text: str) -> bool:
    return sum(1 for line in text.split("\n") if is_table_row(line) or _FIGURES_BEHIND.search(line)) >= LEAST_ROWS


def _joined(pages: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The whole text and `(number, offset)` of each page; a sentence that runs over a page break stays one line."""
    printed = without_running_lines([_lines(page) for page in pages])
    known = vocabulary([line for page in printed for line in page])
    text, starts = "", []
    pieces: list[str] = []
    length = 0
    for number, lines in enumerate(printed, 1):
        body = "\n".join(paragraphs(lines, known))
        if pieces and body:
            separator = " " if body[0].islower() and text[-1:].isalpha() else "\n\n"
            pieces.append(separator)
            length += len(separator)
        starts.append((number, length))
        pieces.append(body)
        length += len(body)
        text = body or text
    return "".join(pieces), tuple(starts)


def _lines(page: str) -> list[str]:
    """Printed lines; those that end inside a word (U+FFFE or U+0002 in PDFium) keep `HYPHEN` as their end."""
    lines = []
    for stretch in page.split("\n"):
        *broken, last = re.split("[\ufffe\x02]", stretch)
        lines.extend([one_line(part) + HYPHEN for part in broken])
        lines.append(one_line(last))
    return lines


def _first_heading(page: str, text: str) -> str:
    """The first paragraph, or its first printed line when it is long, if that reads like a title."""
    first = text.split("\n", 1)[0]
    if not title_like(first):
        first, second = [*(line for line in _lines(page) if line), "", ""][:2]
        if second[:1].islower() or first.endswith(HYPHEN):
            return ""
    return first if title_like(first) and not _NO_TITLE.fullmatch(first) else ""
