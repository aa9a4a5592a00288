"""Notebooks of Jupyter (.ipynb): their texts, their programs, and what these printed, in the order of the cells."""

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
"""What colours the words of a terminal."""
_OBJECT = re.compile(r"<[\w.]{1,100}(?: [^<>\n]{0,200})?>")
"""What Python shows for an object without words, as "<IPython.core.display.HTML object>" is."""
_LONGEST_OUTPUT = 20_000
"""Characters of what a cell printed; a guess."""


def load_notebook(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the notebook as one document, as its texts' Markdown has it.

    Raises:
        UnreadableDocument: It is no notebook.
    """
    try:
        notebook = json.loads(decode(read_bytes(path, max_bytes), path))
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{path} is no notebook: {error}") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    holders = sheets if isinstance(sheets, list) and sheets else [notebook]  # before version 4
    lists = [found for each in holders if isinstance(each, dict) and isinstance(found := each.get("cells"), list)]
    cells = [cell for each in lists for cell in each]
    if not lists:
        raise UnreadableDocument(f"{path} is no notebook: it has no cells")
    report = ReadReport()
    blocks = [block for cell in cells if isinstance(cell, dict) for block in _blocks(cell, report) if block.strip()]
    yield markdown_document(path, clean("\n\n".join(blocks)), report)


def _blocks(cell: Mapping[str, Any], report: ReadReport) -> Iterator[str]:
    """Yield the texts of a cell in Markdown: its own, and what it printed."""
    source = _joined(cell.get("source", cell.get("input")))
    report.count("cells")
    if cell.get("cell_type") == "code":
        yield _fenced(source)
    elif cell.get("cell_type") == "heading":  # before version 4
        yield f"{'#' * whole_number(str(cell.get('level')), 1, 6)} {source}"
    else:
        yield source
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield _output(output, report)


def _output(output: Mapping[str, Any], report: ReadReport) -> str:
    """Return what a cell printed or showed: a table's rows before the same as a picture of characters."""
    inner = output.get("data")
    data: Mapping[str, Any] = inner if isinstance(inner, dict) else output
    if "ename" in output:
        return f"{output['ename']}: {_COLOUR.sub('', str(output.get('evalue', '')))}"
    page = _joined(data.get("text/html"))
    if "<table" in page:
        return readable_text(page)
    if words := _joined(data.get("text/markdown")):
        return words
    text = _COLOUR.sub("", _joined(data.get("text/plain") or data.get("text"))).strip("\n")
    if page and (not text or _OBJECT.fullmatch(text)) and (words := readable_text(page)):
        return _shortened(words, report)
    if any(str(name).startswith("image/") for name in data):
        report.count("pictures_without_text")
        return ""
    return _fenced(_shortened(text, report))


def _shortened(text: str, report: ReadReport) -> str:
    """Return the beginning of a text that is longer than what is read of an output."""
    if len(text) > _LONGEST_OUTPUT:
        report.leave_out(f"{len(text) - _LONGEST_OUTPUT:,} characters that a cell printed", "it printed too many")
    return text[:_LONGEST_OUTPUT]


def _fenced(text: str) -> str:
    return f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""


def _joined(text: object) -> str:
    """Return a text that a notebook has as one or as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else text if isinstance(text, str) else ""
