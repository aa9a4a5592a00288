"""A question's passages, found and read in a thread while what answers it is still being imported."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.reranking.rerankers import FEATURES, NONE

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader
    from preflight_rag.state.context import Settings

IMPORTED_LATER = (
    "preflight_rag.library.search.selection",
    "preflight_rag.models.opening",
    "preflight_rag.models.reranking.feature_reranker",
)
"""What a search with the default settings imports at its first use: two threads must not import it at once."""


def may_be_found_ahead(library: Collection, settings: Settings) -> bool:
    """Return whether a second search is cheap and asks nobody else: in a folder, with the package's own models."""
    plain = settings.reranker in (FEATURES, NONE) and not settings.pubmed and settings.subtree is None
    return plain and isinstance(library, Library)


def import_ahead() -> None:
    """Import what `read_ahead` needs, before its thread begins."""
    for name in IMPORTED_LATER:
        import_module(name)


def read_ahead(
    library: Collection, question: str, settings: Settings, extractive: ExtractiveReader, wanted: Callable[[], bool]
) -> None:
    """Read what is found for a question, best first, so that its turn finds it read.

    Nothing of a turn depends on it. Where the turn searches for something else, since the question is rewritten, this
    was in vain.

    Args:
        library: The collection.
        question: As it was asked.
        settings: Of the turn.
        extractive: What reads; it remembers its readings.
        wanted: Asked before each passage; once it is false the rest is left.
    """
    for source in retrieve_passages(library, [question], settings, extractive=extractive).sources():
        if not wanted():
            return
        extractive.read([(question, source.title, source.text)])
