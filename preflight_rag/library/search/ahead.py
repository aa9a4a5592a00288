"""Reading ahead: a question's passages are found and read in a thread while other modules are still being imported."""

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
"""Modules that a search with default settings imports on first use: two threads must not import one at once."""


def may_be_found_ahead(library: Collection, settings: Settings) -> bool:
    """Return whether an additional search is cheap and needs no service: in a folder, with the package's own models."""
    needs_service = settings.reranker not in (FEATURES, NONE) or settings.pubmed or settings.subtree is not None
    return not needs_service and isinstance(library, Library)


def import_ahead() -> None:
    """Import the modules that `read_ahead` needs, before its thread starts."""
    for name in IMPORTED_LATER:
        import_module(name)


def read_ahead(
    library: Collection, question: str, settings: Settings, extractive: ExtractiveReader, is_wanted: Callable[[], bool]
) -> None:
    """Read the passages found for a question, best first, so that its turn finds their readings in the cache.

    No result of a turn depends on this. If the turn rewrites the question and searches for something else, the work is
    wasted.

    Args:
        library: The collection.
        question: The question, before any rewrite.
        settings: The turn's settings.
        extractive: The reader, which caches its readings.
        is_wanted: Function that is called before each passage; reading stops when it returns False.
    """
    for source in retrieve_passages(library, [question], settings, extractive=extractive).sources():
        if not is_wanted():
            return
        extractive.read([(question, source.title, source.text)])
