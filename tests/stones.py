"""A library of a few sentences about rocks, for tests that write to it or serve it."""

from __future__ import annotations

from pathlib import Path

from preflight_rag.library import Library
from preflight_rag.models.embedding.embedder import Embedder

FACTS = [("Basalt", "hard"), ("Pumice", "light"), ("Marble", "white"), ("Slate", "flat")]


def library(folder: Path, embedder: Embedder) -> Path:
    """Make the library in a folder, beside the files that it is made of; returns the library's own folder."""
    for name, fact in FACTS:
        (folder / f"{name.lower()}.txt").write_text(f"{name} is a rock that is {fact}.", encoding="utf-8")
    with Library.open(folder / "stones", embedder=embedder, create=True) as made:
        made.ingest([folder / f"{name.lower()}.txt" for name, _ in FACTS])
    return folder / "stones"
