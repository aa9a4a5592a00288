"""PDF files through pypdfium2: the text of each page with its columns and tables, its annotations and its pictures.

Printed lines are joined to paragraphs, and the offset of each page in the text is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
from preflight_rag.ingest.loaders.pdf_lines import printed_lines, raise_marks, rotation_of, with_rows
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
"""Titles among a file's properties that programs write and that say nothing of the document."""
_ENDS_WITH_FIGURES = re.compile(r"[\d)%—–-][*†‡a-f]?\s+[$(]*\d[\d.,]*[)%]*[*†‡a-f]?\s*$|^[$(]*\d[\d.,]*[)%]*\s*$")
"""The end of a row of figures, with or without marks of notes: "12 15", "240a 480", "(3) 12%"."""
_DOI = re.compile(r"(?:doi\.org/|\bdoi:?\s*)(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
LEAST_LETTERS = 12
"""Minimum number of letters of a page with text; one with fewer has only a number or a stamp. A guess."""
MOST_OBJECTS = 300
"""Maximum number of objects of a page that is searched for pictures; a guess that keeps detailed drawings cheap."""
LEAST_SHARE = 0.03
"""Minimum share of its page that a picture covers; smaller ones are logos. A guess."""
MANY_LINES = 400
"""Number of lines from which a document that hyphenates words has one of these words whole in another line; a guess."""
_NEVER_HYPHENATES = re.compile(r"Skia/PDF")
"""Producers that divide no words at line ends unless a page asks for it: browsers."""
_INCLUDED = ("subject", "keywords", "creator", "producer", "total_pages")
"""Properties of the file that become metadata."""
MOST_LISTED = 10
"""Maximum number of page numbers that a message lists."""


@dataclass
class _PdfContent:
    """The content of a file.

    Attributes:
        pages: The text of each page.
        annotations: The lines of each page's annotations.
        scanned: The indexes of the pages that are pictures.
        drawn: The indexes of the pages without text that are drawings.
        properties: The file's properties by lower-case name.
        attachments: The name and content of each attached file.
        report: What was read and left out.
    """

    pages: list[str] = field(default_factory=list)
    annotations: list[list[str]] = field(default_factory=list)
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
    content = _read_content(path, on_page)
    pages, report, scanned = content.pages, content.report, content.scanned
    recognised = _recognise(path, pages, scanned, on_page) if scanned and ocr.languages() else []
    attached = _attached(path, content, max_bytes)
    texts = chain(pages, chain.from_iterable(content.annotations))
    if not any(char.isalnum() for text in texts for char in text):
        if scanned and not ocr.languages():
            counted = "its page is a picture" if len(pages) == 1 else f"its {len(pages)} pages are pictures"
            raise EmptyDocument(f"{path} is scanned: {counted}", help=f"To read them, {ocr.INSTALL}")
        raise EmptyDocument(f"{path} has no text on its {len(pages)} pages")
    _report_pages(report, content, recognised)
    properties = content.properties
    title = one_line(properties.get("title", ""))
    printed = _without_contents(pages, title, report)
    text, starts = _join_pages(printed, content.annotations, properties.get("producer", ""))
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


def _report_pages(report: ReadReport, content: _PdfContent, recognised: list[int]) -> None:
    """Report how many pages were read, and which pages have no text though they are pictures or drawings."""
    pages = len(content.pages)
    report.count("pages", pages)
    report.count("pages_recognised", len(recognised))
    report.count("pages_without_text", sum(not _has_text(text) for text in content.pages))
    unread = [index + 1 for index in content.scanned if index + 1 not in recognised]
    if unread:
        counted = "1 page is a picture" if len(unread) == 1 else f"{len(unread)} pages are pictures"
        report.leave_out(counted, "no text was recognised on it" if ocr.languages() else ocr.INSTALL)
    if missing := sorted({*unread, *(index + 1 for index in content.drawn)}):
        numbers = ", ".join(map(str, missing[:MOST_LISTED])) + (", …" if len(missing) > MOST_LISTED else "")
        have = "pages has" if len(missing) == 1 else "pages have"
        have = "page has" if pages == 1 else have
        report.less.append(f"{len(missing)} of {pages} {have} no text that could be read ({numbers})")


def _attached(path: Path, content: _PdfContent, max_bytes: int) -> list[Document]:
    """Return the documents of the files attached to a PDF; report attachments that cannot be read."""
    documents: list[Document] = []
    used_names: set[str] = set()
    for name, data in content.attachments:
        place = Path(absolute(path)) / own_name(name, used_names)
        try:
            documents += attached_documents(path, place, data, content.properties.get("title") or path.name, max_bytes)
            content.report.count("attachments")
        except DocumentError as error:
            content.report.leave_out(f"attachment {place.name}", why_left_out(place, error))
    return documents


def _read_content(path: Path, on_page: Pages | None) -> _PdfContent:
    """Return the content of a file, without recognising the text of scanned pages.

    Raises:
        EncryptedDocument: It cannot be opened without a password.
        UnreadableDocument: PDFium cannot read it.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    content = _PdfContent()
    try:
        document = PdfDocument(file_or_bytes(path))
        try:
            if document.get_formtype():
                document.init_forms()
            properties = document.get_metadata_dict()
            content.properties = {name.lower(): str(value).strip() for name, value in properties.items()}
            for number in range(len(document)):
                _read_page(document, number, content)
                if on_page:
                    on_page(number + 1, len(document))
            for number in range(min(document.count_attachments(), MOST_ATTACHMENTS)):
                attachment = document.get_attachment(number)
                content.attachments.append((attachment.get_name(), bytes(attachment.get_data())))
        finally:
            document.close()
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise EncryptedDocument(f"{path} needs a password", help="Save a copy without one") from error
        why = str(error).rstrip(".")
        raise UnreadableDocument(f"{path} is not a readable PDF: {why}", help="Open it in a viewer to check") from error
    return content


def _read_page(document: PdfDocument, index: int, content: _PdfContent) -> None:
    """Append the text and annotations of a page to the content, and record whether it is a picture or a drawing.

    A page has either tables or columns of prose: rows of figures are tables; otherwise columns are tried first.
    """
    page = document[index]
    text_page = page.get_textpage()
    try:
        as_drawn = raise_marks(text_page, text_page.get_text_range())
        text = "\n".join(as_drawn.splitlines()).strip() + "\n"
        same_length = as_drawn.replace("\r\n", " \n")  # so that an index in it is that of PDFium's character
        order = reading_order(text_page, same_length)
        is_in_order = order == sorted(order)
        ordered = text if is_in_order else with_rows(same_length, {}, set(), order)
        grids = page_grids(page)
        if _has_rows_of_figures(text):
            ordered = with_rows(same_length, {}, set(), order)
            text = _with_tables_as_rows(text_page, same_length, order, grids, figures=True) or ordered
        else:
            boxes = boxes_of_page(text_page, text)
            structured = with_columns(text_page, text, boxes, *page.get_size())
            may_have_words = structured is None and may_have_columns(boxes)
            if structured is None and (grids or may_have_words):
                structured = _with_tables_as_rows(text_page, same_length, order, grids, words=may_have_words)
            text = structured or ordered
        annotations = list(page_annotations(document, page, text_page, content.report))
        pictures, objects = _count_pictures(page, is_blank=not _has_text(text))
        if _has_text(text):
            content.report.count("pictures_without_text", pictures)
        elif pictures:
            content.scanned.append(index)
        elif objects and not annotations:
            content.drawn.append(index)
        content.pages.append(with_boxes(text))
        content.annotations.append(annotations)
    finally:
        text_page.close()
        page.close()


def _with_tables_as_rows(
    page: PdfTextPage,
    text: str,
    order: Sequence[int],
    grids: Sequence[Grid],
    *,
    figures: bool = False,
    words: bool = True,
) -> str:
    """Return a page's text with its tables written as rows; "" if it has none.

    Of tables that overlap, the one found first is written: those with rules are the surest.

    Args:
        page: The page, for the positions of its characters.
        text: PDFium's text of the page, one line for each printed one.
        order: The numbers of these lines as they are read.
        grids: The cells that the page's rules enclose.
        figures: Whether the page has rows of figures.
        words: Whether the page may have rows of words without rules around them.
    """
    lines = sorted(printed_lines(page, text), key=lambda line: -line.middle)
    rows_at: dict[int, list[str]] = {}
    taken: set[int] = set()  # text indexes of the tables found so far, which `word_tables` reads while it runs
    tables = chain(
        ruled_tables(page, lines, grids, rotation_of(page, text)) if grids else (),
        word_tables(page, lines, taken, centred=True) if words else (),
        figure_tables(lines) if figures else (),
        word_tables(page, lines, taken) if words else (),
    )
    for rows, text_indexes in tables:
        if text_indexes.isdisjoint(taken):
            rows_at[min(text_indexes)] = rows
            taken |= text_indexes
    return with_rows(text, rows_at, taken, order) if taken else ""


def _has_text(page: str) -> bool:
    """Return whether the text of a page has at least `LEAST_LETTERS` letters and digits."""
    return next(islice(filter(str.isalnum, page), LEAST_LETTERS - 1, None), None) is not None


def _count_pictures(page: PdfPage, *, is_blank: bool) -> tuple[int, int]:
    """Return the number of large pictures on a page, and of all its objects.

    Of a page without text (`is_blank`), pictures are also searched inside groups of objects, and are only found or not:
    1 or 0. A page with more than `MOST_OBJECTS` objects counts as one without pictures.
    """
    from pypdfium2.raw import (
        FPDF_PAGEOBJ_IMAGE,
        FPDFPage_CountObjects,
        FPDFPage_GetObject,
        FPDFPageObj_GetBounds,
        FPDFPageObj_GetType,
    )

    objects = FPDFPage_CountObjects(page)
    if is_blank:
        first_picture = next(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3), None)
        return int(first_picture is not None), objects
    if objects > MOST_OBJECTS:
        return 0, objects
    width, height = page.get_size()
    sides = [c_float() for _ in range(4)]
    pictures = 0
    for index in range(objects):
        shape = FPDFPage_GetObject(page, index)
        if FPDFPageObj_GetType(shape) == FPDF_PAGEOBJ_IMAGE and FPDFPageObj_GetBounds(shape, *sides):
            left, bottom, right, top = (side.value for side in sides)
            pictures += (right - left) * (top - bottom) >= LEAST_SHARE * width * height
    return pictures, objects


def _recognise(path: Path, pages: list[str], scanned: list[int], on_page: Pages | None) -> list[int]:
    """Replace the text of scanned pages by recognised text; return the numbers, from 1, of those on which there is any.

    Args:
        path: The file.
        pages: The text of each page, which is changed.
        scanned: The indexes of the scanned pages.
        on_page: Called with the number of pages done and of all pages.
    """
    from pypdfium2 import PdfDocument

    recognised = []
    document = PdfDocument(file_or_bytes(path))
    try:
        for done, index in enumerate(scanned, 1):
            page = document[index]
            text = ocr.recognised(page)
            page.close()
            if _has_text(text):
                pages[index] = text
                recognised.append(index + 1)
            if on_page:
                on_page(len(pages) - len(scanned) + done, len(pages))
    finally:
        document.close()
    return recognised


def _identifiers(first_page: str) -> dict[str, str]:
    """Return `{"doi": …}` with the DOI printed on a paper's first page; {} if there is none, or there are several."""
    dois = [match[1].rstrip(".,;)") for match in _DOI.finditer(first_page)]
    return {"doi": dois[-1]} if len({doi.lower() for doi in dois}) == 1 else {}


def _has_rows_of_figures(text: str) -> bool:
    """Return whether several lines of a page look like rows of a table."""
    return sum(1 for line in text.split("\n") if is_table_row(line) or _ENDS_WITH_FIGURES.search(line)) >= LEAST_ROWS


def _without_contents(pages: list[str], title: str, report: ReadReport) -> list[list[str]]:
    """Return the printed lines of each page without running heads and feet and without tables of contents."""
    printed = without_running_lines(without_printed_edges([_lines(page) for page in pages], title))
    contents = contents_lines(printed)
    report.count("contents_lines", len(contents))
    kept: list[list[str]] = []
    for number, page in enumerate(printed):
        kept.append([line for index, line in enumerate(page) if (number, index) not in contents])
    return without_titles(kept)


def _join_pages(
    printed: list[list[str]], annotations: list[list[str]], producer: str
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the pages as one text, and `(number, offset)` of each page; sentences may run over page breaks.

    Annotations of a page follow its text.

    Args:
        printed: The lines of each page.
        annotations: The annotations of each page.
        producer: The program that wrote the file.
    """
    all_lines = [line for page in printed for line in page]
    known_words = vocabulary(all_lines)
    may_hyphenate = len(all_lines) < MANY_LINES and not _NEVER_HYPHENATES.match(producer)
    is_hyphenated = parts_words(all_lines, known_words) or may_hyphenate
    previous, starts = "", []
    pieces: list[str] = []
    length = 0
    for number, lines in enumerate(printed, 1):
        body = "\n".join([*paragraphs(lines, known_words, parted=is_hyphenated), *annotations[number - 1]])
        if pieces and body:
            separator = " " if body[0].islower() and previous[-1:].isalpha() else "\n\n"
            pieces.append(separator)
            length += len(separator)
        starts.append((number, length))
        pieces.append(body)
        length += len(body)
        previous = body or previous
    return "".join(pieces), tuple(starts)


def _lines(page: str) -> list[str]:
    """Return the printed lines of a page; a line that ends inside a word ends with `HYPHEN`.

    PDFium writes U+FFFE or U+0002 for a hyphen at a line's end, and no line break. A row of a table stays one line,
    with `HYPHEN` inside its words.
    """
    lines: list[str] = []
    for joined_lines in page.split("\n"):
        parts = [one_line(part) for part in re.split("[\ufffe\x02]", joined_lines)]
        if is_row(joined_lines):
            lines.append(HYPHEN.join(parts))
        else:
            lines += [*(part + HYPHEN for part in parts[:-1]), parts[-1]]
    return lines


def _first_heading(page: str, text: str) -> str:
    """Return the first paragraph of a text, or else the first line of its first page, if it looks like a title, or "".

    A line that continues in the next one is no title.
    """
    first = text.split("\n", 1)[0]
    if not title_like(first):
        first, second, *_ = [*filter(None, _lines(page)), "", ""]
        if second[:1].islower() or first.endswith(HYPHEN):
            return ""
    return first if title_like(first) and not _NO_TITLE.fullmatch(first) else ""
