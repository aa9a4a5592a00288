"""PDF through pypdfium2, each page read once: its text in columns and tables, what is laid over it, and its pictures.

Page offsets are kept, and paragraphs put back together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_float
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders import ocr
from preflight_rag.ingest.loaders.attachments import MOST_ATTACHMENTS, attached_documents, own_name, why_left_out
from preflight_rag.ingest.loaders.contents_lists import contents_lines
from preflight_rag.ingest.loaders.fields import absolute, file_document, iso_date, one_line, people, title_like
from preflight_rag.ingest.loaders.files import Pages, file_or_bytes
from preflight_rag.ingest.loaders.layout import (
    HYPHEN,
    is_table_row,
    paragraphs,
    parts_words,
    vocabulary,
)
from preflight_rag.ingest.loaders.pdf_annotations import page_annotations
from preflight_rag.ingest.loaders.pdf_columns import boxes_of_page, with_columns
from preflight_rag.ingest.loaders.pdf_lines import printed_lines, raise_marks, with_rows
from preflight_rag.ingest.loaders.pdf_order import reading_order
from preflight_rag.ingest.loaders.pdf_ruled_tables import Grid, page_grids, ruled_tables
from preflight_rag.ingest.loaders.pdf_tables import LEAST_ROWS, figure_tables
from preflight_rag.ingest.loaders.pdf_word_tables import may_have_columns, word_tables
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.running_lines import without_printed_edges, without_running_lines, without_titles
from preflight_rag.state.errors import DocumentError, EmptyDocument, EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import with_boxes
from preflight_rag.text.tables import is_row

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_NO_TITLE = re.compile(
    r"\(?(?:untitled|anonymous|unspecified).*|title|microsoft word - .*|.*slide 1|(?:table of )?contents|abstract"
    r"|.*\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|rtf|html?)|[\d\W]*|united states.*|for immediate release",
    re.IGNORECASE,
)
_FIGURES_BEHIND = re.compile(r"[\d)%—–-][*†‡a-f]?\s+[$(]*\d[\d.,]*[)%]*[*†‡a-f]?\s*$|^[$(]*\d[\d.,]*[)%]*\s*$")
"""The end of a row of figures, with or without marks of notes: "12 15", "240a 480", "(3) 12%"."""
_DOI = re.compile(r"(?:doi\.org/|\bdoi:?\s*)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
LEAST_LETTERS = 12
"""A page with fewer has a number or a stamp beside its picture, at most; a guess."""
MOST_OBJECTS = 300
"""Of a page that are looked at for pictures; a guess that keeps drawings of thousands of lines cheap."""
LEAST_SHARE = 0.03
"""Of its page that a picture takes to be counted; smaller ones are logos. A guess."""
MANY_LINES = 400
"""Of a document that parts words, one of which stands whole in another line of it; a guess: fewer may not have one."""
_PARTS_NO_WORDS = re.compile(r"Skia/PDF")
"""Producers that part no words unless a page asks for it: browsers."""
_INCLUDED = ("subject", "keywords", "creator", "producer", "total_pages")


@dataclass
class _Read:
    """The result of reading a file: the text of each page, and the lines of its annotations."""

    pages: list[str] = field(default_factory=list)
    over: list[list[str]] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    attachments: list[tuple[str, bytes]] = field(default_factory=list)
    report: ReadReport = field(default_factory=ReadReport)


def load_pdf(path: Path, max_bytes: int, on_page: Pages | None = None) -> Iterator[Document]:
    """Yield the PDF as one document, then the files attached to it.

    The text of scanned pages is recognised if tesseract is installed; `metadata["ocr_pages"]` lists these pages.

    Raises:
        EncryptedDocument: It cannot be opened without a password.
        EmptyDocument: It has no text.
        UnreadableDocument: PDFium cannot read it.
    """
    found = _read(path, on_page)
    pages, report, scanned = found.pages, found.report, found.scanned
    recognised = _recognise(path, pages, scanned, on_page) if scanned and ocr.languages() else []
    attached = _attached(path, found, max_bytes)
    texts = chain(pages, chain.from_iterable(found.over))
    if not any(char.isalnum() for text in texts for char in text):
        if scanned and not ocr.languages():
            counted = "its page is a picture" if len(pages) == 1 else f"its {len(pages)} pages are pictures"
            raise EmptyDocument(f"{path} is scanned: {counted}", help=f"To read them, {ocr.INSTALL}")
        raise EmptyDocument(f"{path} has no text on its {len(pages)} pages")
    _report_pages(report, found, recognised)
    properties = found.properties
    title = one_line(properties.get("title", ""))
    text, starts = _joined(_without_contents(pages, title, report), found.over, properties.get("producer", ""))
    yield file_document(
        path,
        text,
        title=title if title and not _NO_TITLE.fullmatch(title) else _first_heading(pages[0], text),
        saved=iso_date(properties.get("creationdate") or properties.get("moddate")),
        authors=people(properties.get("author", "")),
        pages=starts,
        metadata={
            **{key: properties[key] for key in _INCLUDED if properties.get(key)},
            "total_pages": len(pages),
            **_identifiers(pages[0]),
            **({"ocr_pages": recognised} if recognised else {}),
        },
        report=report,
        find_headings=True,
    )
    yield from attached


def _report_pages(report: ReadReport, found: _Read, recognised: list[int]) -> None:
    """Record which pages have no text, and which of these should have."""
    report.count("pages", len(found.pages))
    report.count("pages_recognised", len(recognised))
    blank = [number for number, text in enumerate(found.pages, 1) if not _has_text(text)]
    report.count("pages_without_text", len(blank))
    left = [number + 1 for number in found.scanned if number + 1 not in recognised]
    if left:
        counted = "1 page is a picture" if len(left) == 1 else f"{len(left)} pages are pictures"
        report.leave_out(counted, "no text was recognised on it" if ocr.languages() else ocr.INSTALL)
    if missing := sorted({*left, *(number + 1 for number in found.drawn)}):
        numbers = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
        many = "page has" if len(found.pages) == 1 else "pages has" if len(missing) == 1 else "pages have"
        report.less.append(f"{len(missing)} of {len(found.pages)} {many} no text that could be read ({numbers})")


def _attached(path: Path, found: _Read, max_bytes: int) -> list[Document]:
    """Return the documents of files attached to the PDF."""
    documents: list[Document] = []
    taken: set[str] = set()
    for name, data in found.attachments:
        place = Path(absolute(path)) / own_name(name, taken)
        try:
            documents += attached_documents(path, place, data, found.properties.get("title") or path.name, max_bytes)
            found.report.count("attachments")
        except DocumentError as error:
            found.report.leave_out(f"attachment {place.name}", why_left_out(place, error))
    return documents


def _read(path: Path, on_page: Pages | None) -> _Read:
    """Return the text and annotations of all pages, without recognising scanned ones."""
    from pypdfium2 import PdfDocument, PdfiumError

    found = _Read()
    try:
        document = PdfDocument(file_or_bytes(path))
        try:
            if document.get_formtype():
                document.init_forms()
            found.properties = _properties(document.get_metadata_dict())
            for number in range(len(document)):
                _read_page(document, number, found)
                if on_page:
                    on_page(number + 1, len(document))
            for number in range(min(document.count_attachments(), MOST_ATTACHMENTS)):
                attachment = document.get_attachment(number)
                found.attachments.append((attachment.get_name(), bytes(attachment.get_data())))
        finally:
            document.close()
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise EncryptedDocument(f"{path} needs a password", help="Save a copy without one") from error
        why = str(error).rstrip(".")
        raise UnreadableDocument(f"{path} is not a readable PDF: {why}", help="Open it in a viewer to check") from error
    return found


def _properties(given: Mapping[str, object]) -> dict[str, str]:
    """Return the PDF's properties by lower-case name."""
    return {key.lower(): str(value).strip() for key, value in given.items()}


def _read_page(document: PdfDocument, number: int, found: _Read) -> None:
    """Append the text, annotations and pictures of a page."""
    page = document[number]
    text_page = page.get_textpage()
    try:
        printed = raise_marks(text_page, text_page.get_text_range())
        text = "\n".join(printed.splitlines()).strip() + "\n"
        spaced = printed.replace("\r\n", " \n")
        order = reading_order(text_page, spaced)
        ordered = text if order == sorted(order) else with_rows(spaced, {}, set(), order)
        grids = page_grids(page)
        if _has_figures(text):
            ordered = with_rows(spaced, {}, set(), order)
            text = _with_tables(text_page, spaced, order, grids, figures=True) or ordered
        else:
            boxes = boxes_of_page(text_page, text)
            columns = with_columns(text_page, text, boxes, *page.get_size())
            words = columns is None and may_have_columns(boxes)
            if columns is None and (grids or words):
                columns = _with_tables(text_page, spaced, order, grids, words=words)
            text = columns or ordered
        over = list(page_annotations(document, page, text_page, found.report))
        pictures, drawings = _pictures(page, is_blank=not _has_text(text))
        if _has_text(text):
            found.report.count("pictures_without_text", pictures)
        elif pictures:
            found.scanned.append(number)
        elif drawings and not over:
            found.drawn.append(number)
        found.pages.append(with_boxes(text))
        found.over.append(over)
    finally:
        text_page.close()
        page.close()


def _with_tables(
    page: PdfTextPage,
    text: str,
    order: Sequence[int],
    grids: Sequence[Grid],
    *,
    figures: bool = False,
    words: bool = True,
) -> str:
    """Return a page's text with its tables written as rows; "" if it has none.

    Args:
        page: The page, for the positions of its characters.
        text: PDFium's text of the page, one line for each printed one.
        order: The numbers of these lines as they are read.
        grids: The cells that its rules enclose.
        figures: Whether it has rows of figures.
        words: Whether it may have rows of words without rules around them.
    """
    lines = sorted(printed_lines(page, text), key=lambda line: -line.middle)
    rows_at: dict[int, list[str]] = {}
    taken: set[int] = set()
    found = chain(
        ruled_tables(page, lines, grids),
        word_tables(page, lines, taken, centred=True) if words else (),
        figure_tables(lines) if figures else (),
        word_tables(page, lines, taken) if words else (),
    )
    for rows, places in found:
        if places.isdisjoint(taken):
            rows_at[min(places)] = rows
            taken |= places
    return with_rows(text, rows_at, taken, order) if taken else ""


def _has_text(page: str) -> bool:
    """Return whether a page has enough letters to count as text."""
    return next(islice(filter(str.isalnum, page), LEAST_LETTERS - 1, None), None) is not None


def _pictures(page: PdfPage, *, is_blank: bool) -> tuple[int, int]:
    """Return the number of pictures on a page and of its other objects; for a blank page also inside forms."""
    from pypdfium2.raw import (
        FPDF_PAGEOBJ_IMAGE,
        FPDFPage_CountObjects,
        FPDFPage_GetObject,
        FPDFPageObj_GetBounds,
        FPDFPageObj_GetType,
    )

    number = FPDFPage_CountObjects(page)
    if is_blank:
        if next(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None:
            return 1, number
        return 0, number
    if number > MOST_OBJECTS:
        return 0, number
    width, height = page.get_size()
    sides = [c_float() for _ in range(4)]
    pictures = 0
    for place in range(number):
        shape = FPDFPage_GetObject(page, place)
        if FPDFPageObj_GetType(shape) == FPDF_PAGEOBJ_IMAGE and FPDFPageObj_GetBounds(shape, *sides):
            left, bottom, right, top = (side.value for side in sides)
            pictures += (right - left) * (top - bottom) >= LEAST_SHARE * width * height
    return pictures, number


def _recognise(path: Path, pages: list[str], scanned: list[int], on_page: Pages | None) -> list[int]:
    """Replace scanned pages by their recognised text; return the numbers, from 1, of the pages with text."""
    from pypdfium2 import PdfDocument

    read = []
    document = PdfDocument(file_or_bytes(path))
    try:
        for done, number in enumerate(scanned, 1):
            page = document[number]
            text = ocr.recognised(page)
            page.close()
            if _has_text(text):
                pages[number] = text
                read.append(number + 1)
            if on_page:
                on_page(len(pages) - len(scanned) + done, len(pages))
    finally:
        document.close()
    return read


def _identifiers(first_page: str) -> dict[str, str]:
    """Return the DOI printed on a paper's first page, if it is the only one there."""
    found = {match[1].rstrip(".,;)").lower(): match[1].rstrip(".,;)") for match in _DOI.finditer(first_page)}
    return {"doi": next(iter(found.values()))} if len(found) == 1 else {}


def _has_figures(text: str) -> bool:
    """Return whether a page has several lines that look like rows of a table."""
    return sum(1 for line in text.split("\n") if is_table_row(line) or _FIGURES_BEHIND.search(line)) >= LEAST_ROWS


def _without_contents(pages: list[str], title: str, report: ReadReport) -> list[list[str]]:
    """Return the printed lines of each page without running heads and feet and without tables of contents."""
    printed = without_running_lines(without_printed_edges([_lines(page) for page in pages], title))
    contents = contents_lines(printed)
    report.count("contents_lines", len(contents))
    return without_titles(
        [[line for at, line in enumerate(page) if (number, at) not in contents] for number, page in enumerate(printed)]
    )


def _joined(printed: list[list[str]], over: list[list[str]], producer: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the pages as one text, and `(number, offset)` of each page; sentences may run over page breaks.

    Annotations of a page follow its text.

    Args:
        printed: The lines of each page.
        over: The annotations of each page.
        producer: The program that wrote the file.
    """
    lines = [line for page in printed for line in page]
    known = vocabulary(lines)
    parted = parts_words(lines, known) or (len(lines) < MANY_LINES and not _PARTS_NO_WORDS.match(producer))
    text, starts = "", []
    pieces: list[str] = []
    length = 0
    for number, lines in enumerate(printed, 1):
        body = "\n".join([*paragraphs(lines, known, parted=parted), *over[number - 1]])
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
    """Return the printed lines of a page; a line that ends inside a word ends with `HYPHEN`.

    A row of a table stays one line, with `HYPHEN` inside its words.
    """
    lines: list[str] = []
    for stretch in page.split("\n"):
        parts = [one_line(part) for part in re.split("[\ufffe\x02]", stretch)]
        if is_row(stretch):
            lines.append(HYPHEN.join(parts))
        else:
            lines += [*(part + HYPHEN for part in parts[:-1]), parts[-1]]
    return lines


def _first_heading(page: str, text: str) -> str:
    """Return the first paragraph, or its first line if it is long, if that looks like a title."""
    first = text.split("\n", 1)[0]
    if not title_like(first):
        first, second = [*(line for line in _lines(page) if line), "", ""][:2]
        if second[:1].islower() or first.endswith(HYPHEN):
            return ""
    return first if title_like(first) and not _NO_TITLE.fullmatch(first) else ""
