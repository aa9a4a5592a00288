"""Rich text through striprtf: its text, the rows of its tables, and the notes and headers from `rtf_asides.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from preflight_rag.ingest.loaders.fields import checked_date, file_document, one_line, people, tidy, title_like
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.rtf_asides import divide
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import table_lines

_PROPERTY = re.compile(r"\{\\(title|author|subject|keywords) ([^{}]{1,500})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_CLAUSE_NUMBER = re.compile(r"(\(?[\w.]{1,10}[.)]?)\t(?=\S)")
"""The number of a clause or of a list item, before a tab: "2.1", "(a)"."""
_HEADER_AND_FOOTER = ("header", "footer")
_COUNT_OF_KIND = {
    **dict.fromkeys(_HEADER_AND_FOOTER, "headers"),
    "footnote": "footnotes",
    "comment": "comments",
    "text box": "text_boxes",
    "picture": "pictures_described",
}
"""The names of the report's counts, by the kind of an aside."""
_REPEATED_KINDS = (*_HEADER_AND_FOOTER, "picture")
"""Kinds of asides that a file repeats for other pages, or for older programs."""
_INFO_CHARACTERS = 20_000
"""Characters at the beginning of a file in which its properties are; a guess."""


def load_rtf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document: its text, then its notes, headers, footers, comments, boxes and descriptions.

    Raises:
        UnreadableDocument: It is no rich text.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    source = read_bytes(path, max_bytes).decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableDocument(f"{path} is no rich text: it does not begin with {{\\rtf")
    from striprtf.striprtf import rtf_to_text

    to_text: Callable[..., str] = rtf_to_text
    asides = divide(source)
    try:
        plain = tidy(to_text(asides.body, errors="replace"))
        aside_texts = [(kind, one_line(to_text(part, errors="replace"))) for kind, part in asides.found]
    except Exception as error:
        raise UnreadableDocument(f"{path} is no readable rich text: {type(error).__name__}: {error}") from error
    parts, report = Parts(), ReadReport()
    for is_table, lines in groupby(plain.split("\n"), key=lambda line: line.rstrip().endswith("|")):
        if is_table:
            grid = [[cell.strip() for cell in line.rstrip().removesuffix("|").split("|")] for line in lines]
            for row in report.table(table_lines(grid)):
                parts.add(row, "row")
        else:
            for line in map(str.strip, lines):
                parts.add(_CLAUSE_NUMBER.sub(r"\1 ", line, count=1) if _CLAUSE_NUMBER.match(line) else line)
    first_line = parts.joined().split("\n", 1)[0]
    for line in _aside_lines(aside_texts, report):
        parts.add(line)
    report.count("pictures_without_text", max(0, asides.pictures - report.counts.get("pictures_described", 0)))
    head = source[:_INFO_CHARACTERS]
    properties = {key: to_text("{\\rtf1 " + value + "}", errors="replace") for key, value in _PROPERTY.findall(head)}
    created = _CREATED.search(head)
    yield file_document(
        path,
        parts.joined(),
        title=one_line(properties.pop("title", "")) or (first_line if title_like(first_line) else ""),
        saved=checked_date(*created.groups()) if created else None,
        authors=people(properties.pop("author", "")),
        metadata={key: one_line(value) for key, value in properties.items() if value.strip()},
        report=report,
        find_headings=True,
    )


def _aside_lines(asides: Sequence[tuple[str, str]], report: ReadReport) -> Iterator[str]:
    """Yield a line for each aside, `(kind, text)`, with words; count it in the report.

    Headers, footers and pictures with the same text are written once; footnotes are numbered.
    """
    seen: set[tuple[str, str]] = set()
    footnotes = 0
    for kind, text in asides:
        footnotes += kind == "footnote"
        is_repeated = kind in _REPEATED_KINDS and (kind, text) in seen
        if is_repeated or not any(char.isalpha() for char in text):
            continue
        seen.add((kind, text))
        report.count(_COUNT_OF_KIND[kind])
        yield f"Footnote {footnotes}: {text}" if kind == "footnote" else f"{kind.capitalize()}: {text}"
