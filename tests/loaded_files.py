"""Files of one document, as their loaders read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders import load
from preflight_rag.state.values import Document


def load_one(path: Path) -> Document:
    (document,) = load(path)
    assert isinstance(document, Document)
    return document


def text_and_report(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a file's only document, and the report on what was read and left out."""
    document = load_one(path)
    report: dict[str, Any] = document.metadata["read_report"]
    return document.text, report
