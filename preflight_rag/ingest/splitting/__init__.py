"""Splitters: from documents to passages, and how a library names the one that it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.ingest.splitting.passage_splitter import PassageSplitter
    from preflight_rag.models.embedding.embedder import Embedder

SplitterName = Literal["sentence", "semantic"]
DEFAULT_SPLITTER: SplitterName = "sentence"


def check_splitter(name: str) -> None:
    """Raise an error unless a name is that of a splitter.

    Raises:
        UsageError: There is none of this name.
    """
    if name not in get_args(SplitterName):
        raise UsageError(f"splitter is {name!r}", help=f"Choose {' or '.join(get_args(SplitterName))} (--splitter)")


def open_splitter(name: str, embedder: Embedder) -> PassageSplitter:
    """Return a splitter for an embedder: `sentence` packs sentences, `semantic` breaks where the subject changes.

    Raises:
        UsageError: There is no such splitter.
    """
    check_splitter(name)
    if name == "semantic":
        from preflight_rag.ingest.splitting.semantic_splitter import SemanticOverlapSplitter

        return SemanticOverlapSplitter(embedder)
    from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter

    return SentenceSplitter(embedder)
