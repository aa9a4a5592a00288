"""PDF through LangChain's PyPDFium2Loader, with page offsets and paragraphs put back together."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.library.loaders.fields import file_document, iso_date, one_line, people, title_like
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
_INCLUDED = ("subject", "keywords", "creator", "producer", "total_pages")


def load_pdf(path: Path, max_bytes: int) -> Iterator[Document]:
    """The PDF as one document.

    Raises:
        EncryptedDocument: It opens with a password only.
        EmptyDocument: It has no text layer.
        UnreadableDocument: PDFium cannot read it.
    """
    pages, properties = _read(path)
    if not any(char.isalnum() for page in pages for char in page):
        raise EmptyDocument(
            f"{path} has no text layer on its {len(pages)} pages (scanned?)", help="Run it through OCR first"
        )
    text, starts = _joined(pages)
    title = one_line(properties.get("title", ""))
    yield file_document(
        path,
        text,
        title=title if title and not _NO_TITLE.fullmatch(title) else _first_heading(pages[0], text),
        date=iso_date(properties.get("creationdate") or properties.get("moddate")),
        authors=people(properties.get("author", "")),
        pages=starts,
        metadata={**{key: properties[key] for key in _INCLUDED if properties.get(key)}, **_identifiers(pages[0])},
    )


def _read(path: Path) -> tuple[list[str], dict[str, Any]]:
    """The text of each page and the document's properties. PDFium tries the empty password by itself."""
    from pypdfium2 import PdfiumError

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*langchain-community.*", category=DeprecationWarning)
        from langchain_community.document_loaders import PyPDFium2Loader
    try:
        loaded = PyPDFium2Loader(path).load()
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise EncryptedDocument(f"{path} needs a password", help="Save a copy without one") from error
        raise UnreadableDocument(f"{path} is no readable PDF: {error}", help="Open it in a viewer to check") from error
    return _with_tables(path, [page.page_content for page in loaded]), dict(loaded[0].metadata) if loaded else {}


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
    document = PdfDocument(path)
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
