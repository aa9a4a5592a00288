"""The collection: the SQLite store, dense and lexical indices, search.

`Collection` is the interface that the application needs. `Library`, a folder on disk, implements it, and so does
`external.library.ExternalLibrary`, which wraps another program's retriever or vector store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.ingest.splitting.semantic_splitter import SemanticOverlapSplitter
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.library import Library

__all__ = ["Collection", "Library", "SemanticOverlapSplitter"]

# Imported on first use: `preflight --help` must not wait for FAISS and tantivy.
_MODULE_BY_NAME = {
    "Collection": "preflight_rag.library.collection",
    "Library": "preflight_rag.library.library",
    "SemanticOverlapSplitter": "preflight_rag.ingest.splitting.semantic_splitter",
}


def __getattr__(name: str) -> Any:
    """Return the object of a name in `__all__`, which is imported at its first use."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from preflight_rag.models.embedding.embedder import register_with_langchain

    # A program that uses the library as a LangChain component may never call `open_embedder` itself.
    register_with_langchain()
    return getattr(import_module(_MODULE_BY_NAME[name]), name)
