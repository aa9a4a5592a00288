"""The collection: loaders, splitters, the SQLite store, dense and lexical indices, fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .library import Library
    from .semantic_splitter import SemanticOverlapSplitter

__all__ = ["Library", "SemanticOverlapSplitter"]


def __getattr__(name: str) -> Any:
    if name == "Library":
        from .library import Library

        return Library
    if name == "SemanticOverlapSplitter":
        from .semantic_splitter import SemanticOverlapSplitter

        return SemanticOverlapSplitter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
