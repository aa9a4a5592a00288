"""The collection: the SQLite store, dense and lexical indices, search.

`Collection` is what the application needs of one. `Library`, a folder on disk, keeps it, and so does
`external.library.ExternalLibrary`, somebody's own retriever or vector store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.ingest.splitting.semantic_splitter import SemanticOverlapSplitter
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.library import Library

__all__ = ["Collection", "Library", "SemanticOverlapSplitter"]

# Opened when they are asked for: `preflight --help` must not wait for FAISS and tantivy.
_HOMES = {
    "Collection": "preflight_rag.library.collection",
    "Library": "preflight_rag.library.library",
    "SemanticOverlapSplitter": "preflight_rag.ingest.splitting.semantic_splitter",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from preflight_rag.models.embedding.embedder import register_with_langchain

    register_with_langchain()
    return getattr(import_module(_HOMES[name]), name)
