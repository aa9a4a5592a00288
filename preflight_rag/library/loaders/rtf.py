"""Rich text through striprtf: its text, and the rows of its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from preflight_rag.library.loaders.fields import checked_date, file_document, one_line, people, tidy, title_like
from preflight_rag.library.loaders.files import read_bytes
from preflight_rag.library.loaders.parts import Parts
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import table_lines

_PROPERTY = re.compile(r"\{\\(title|author|subject|keywords) ([^{}]{1,500})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_INFO_CHARACTERS = 20_000
"""The properties stand in the first part of a file; a guess at how large it is."""


def load_rtf(path: Path, max_bytes: int) -> Iterator[Document]:
    """The file as one document.

    Raises:
        UnreadableDocument: It is no rich text.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    source = read_bytes(path, max_bytes).decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableDocument(f"{path} is no rich text: it does not begin with {{\\rtf")
    from striprtf.striprtf import rtf_to_text

    to_text: Callable[..., str] = rtf_to_text
    try:
        plain = tidy(to_text(source, errors="replace"))
    except Exception as error:
        raise UnreadableDocument(f"{path} is no readable rich text: {type(error).__name__}: {error}") from error
    parts = Parts()
    for is_table, lines in groupby(plain.split("\n"), key=lambda line: line.rstrip().endswith("|")):
        if is_table:
            grid = [[cell.strip() for cell in line.rstrip().removesuffix("|").split("|")] for line in lines]
            for row in table_lines(grid):
                parts.add(row, "row")
        else:
            for line in lines:
                parts.add(line.strip())
    head = source[:_INFO_CHARACTERS]
    properties = {key: to_text("{\\rtf1 " + value + "}", errors="replace") for key, value in _PROPERTY.findall(head)}
    created = _CREATED.search(head)
    text = parts.joined()
    first = text.split("\n", 1)[0]
    yield file_document(
        path,
        text,
        title=one_line(properties.pop("title", "")) or (first if title_like(first) else ""),
        saved=checked_date(*created.groups()) if created else None,
        authors=people(properties.pop("author", "")),
        metadata={key: one_line(value) for key, value in properties.items() if value.strip()},
    )
