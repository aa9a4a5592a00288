"""Rich text through striprtf: its text, the rows of its tables, and what `rtf_asides.py` finds beside it."""

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
_NUMBER = re.compile(r"(\(?[\w.]{1,10}[.)]?)\t(?=\S)")
"""The number of a clause or of a list's item, in front of a tab: "2.1", "(a)"."""
_RUNNING = ("header", "footer")
_COUNTED = {
    **dict.fromkeys(_RUNNING, "headers"),
    "footnote": "footnotes",
    "comment": "comments",
    "text box": "text_boxes",
    "picture": "pictures_described",
}
_ONCE = (*_RUNNING, "picture")
"""Asides that a file has again for other pages, or for older programs."""
_INFO_CHARACTERS = 20_000
"""The properties stand in the first part of a file; a guess at how large it is."""


def load_rtf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the file as one document.

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
        beside = [(kind, one_line(to_text(part, errors="replace"))) for kind, part in asides.found]
    except Exception as error:
        raise UnreadableDocument(f"{path} is no readable rich text: {type(error).__name__}: {error}") from error
    parts, report = Parts(), ReadReport()
    for is_table, lines in groupby(plain.split("\n"), key=lambda line: line.rstrip().endswith("|")):
        if is_table:
            grid = [[cell.strip() for cell in line.rstrip().removesuffix("|").split("|")] for line in lines]
            for row in report.table(table_lines(grid)):
                parts.add(row, "row")
        else:
            for line in lines:
                parts.add(_NUMBER.sub(r"\1 ", line.strip(), count=1) if _NUMBER.match(line.strip()) else line.strip())
    first = parts.joined().split("\n", 1)[0]
    for line in _aside_lines(beside, report):
        parts.add(line)
    report.count("pictures_without_text", max(0, asides.pictures - report.counts.get("pictures_described", 0)))
    head = source[:_INFO_CHARACTERS]
    properties = {key: to_text("{\\rtf1 " + value + "}", errors="replace") for key, value in _PROPERTY.findall(head)}
    created = _CREATED.search(head)
    yield file_document(
        path,
        parts.joined(),
        title=one_line(properties.pop("title", "")) or (first if title_like(first) else ""),
        saved=checked_date(*created.groups()) if created else None,
        authors=people(properties.pop("author", "")),
        metadata={key: one_line(value) for key, value in properties.items() if value.strip()},
        report=report,
        find_headings=True,
    )


def _aside_lines(beside: Sequence[tuple[str, str]], report: ReadReport) -> Iterator[str]:
    """Yield a line for each aside that contains words; headers, footers and pictures once, notes with a number."""
    seen: set[tuple[str, str]] = set()
    notes = 0
    for kind, text in beside:
        notes += kind == "footnote"
        if not any(char.isalpha() for char in text) or (kind in _ONCE and (kind, text) in seen):
            continue
        seen.add((kind, text))
        report.count(_COUNTED[kind])
        yield f"Footnote {notes}: {text}" if kind == "footnote" else f"{kind.capitalize()}: {text}"
