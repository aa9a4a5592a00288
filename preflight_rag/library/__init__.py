"""The collection: loaders, splitters, the SQLite store, dense and lexical indices, fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.library.library import Library
    from preflight_rag.library.splitting.semantic_splitter import SemanticOverlapSplitter

__all__ = ["Library", "SemanticOverlapSplitter"]


def __getattr__(name: str) -> Any:
    if name == "Library":
        from preflight_rag.library.library import Library

        return Library
    if name == "SemanticOverlapSplitter":
        from preflight_rag.library.splitting.semantic_splitter import SemanticOverlapSplitter

        return SemanticOverlapSplitter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
