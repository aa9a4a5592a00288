"""Jupyter notebooks (.ipynb): texts, code, and its outputs, in the order of the cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import clean, whole_number
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.html import readable_text
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.text import markdown_document
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

_COLOUR = re.compile(r"\x1b\[[\d;]{0,20}m")
"""An escape sequence that colours the words of a terminal."""
_OBJECT = re.compile(r"<[\w.]{1,100}(?: [^<>\n]{0,200})?>")
"""Python's representation of an object without text: "<IPython.core.display.HTML object>"."""
_LONGEST_OUTPUT = 20_000
"""Maximum number of characters read of one output; a guess."""


def load_notebook(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the notebook as one document: its cells and outputs as Markdown.

    Raises:
        UnreadableDocument: It is no notebook.
    """
    try:
        notebook = json.loads(decode(read_bytes(path, max_bytes), path))
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{path} is no notebook: {error}") from error
    cells = _cells(notebook)
    if cells is None:
        raise UnreadableDocument(f"{path} is no notebook: it has no cells")
    report = ReadReport()
    blocks: list[str] = []
    for cell in cells:
        if isinstance(cell, dict):
            blocks += filter(str.strip, _markdown_blocks(cell, report))
    yield markdown_document(path, clean("\n\n".join(blocks)), report)


def _cells(notebook: object) -> list[Any] | None:
    """Return the cells of a notebook, which before version 4 had worksheets of cells; None if it has no such list."""
    worksheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    holders = worksheets if isinstance(worksheets, list) and worksheets else [notebook]
    cells: list[Any] | None = None
    for holder in holders:
        if isinstance(holder, dict) and isinstance(holder.get("cells"), list):
            cells = [*(cells or []), *holder["cells"]]
    return cells


def _markdown_blocks(cell: Mapping[str, Any], report: ReadReport) -> Iterator[str]:
    """Yield the source of a cell and each of its outputs as Markdown; count the cell in the report."""
    source = _as_text(cell.get("source", cell.get("input")))
    report.count("cells")
    if cell.get("cell_type") == "code":
        yield _fence(source)
    elif cell.get("cell_type") == "heading":  # before version 4
        yield f"{'#' * whole_number(str(cell.get('level')), 1, 6)} {source}"
    else:
        yield source
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield _output_as_markdown(output, report)


def _output_as_markdown(output: Mapping[str, Any], report: ReadReport) -> str:
    """Return an output of a cell as Markdown: an error, a table in HTML, Markdown, plain text, or other HTML.

    A table in HTML is preferred to its plain text, in which its columns are aligned by spaces. A picture is counted in
    the report, and gives "".
    """
    inner = output.get("data")
    data: Mapping[str, Any] = inner if isinstance(inner, dict) else output
    if "ename" in output:
        return f"{output['ename']}: {_COLOUR.sub('', str(output.get('evalue', '')))}"
    page = _as_text(data.get("text/html"))
    if "<table" in page:
        return readable_text(page)
    if markdown := _as_text(data.get("text/markdown")):
        return markdown
    text = _COLOUR.sub("", _as_text(data.get("text/plain") or data.get("text"))).strip("\n")
    has_no_words = not text or _OBJECT.fullmatch(text)
    if page and has_no_words and (words := readable_text(page)):
        return _shorten(words, report)
    if any(str(name).startswith("image/") for name in data):
        report.count("pictures_without_text")
        return ""
    return _fence(_shorten(text, report))


def _shorten(text: str, report: ReadReport) -> str:
    """Return at most the first `_LONGEST_OUTPUT` characters of an output; report how many are left out."""
    if len(text) > _LONGEST_OUTPUT:
        report.leave_out(f"{len(text) - _LONGEST_OUTPUT:,} characters that a cell printed", "it printed too many")
    return text[:_LONGEST_OUTPUT]


def _fence(text: str) -> str:
    """Return a text as a code block of Markdown; "" for a blank text."""
    return f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""


def _as_text(value: object) -> str:
    """Return a text that a notebook stores as one string or as a list of lines; "" for any other value."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else ""
