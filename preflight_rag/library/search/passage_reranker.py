"""Reranking as a LangChain document compressor, over the documents of any retriever (CPQA, section III.C)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation, model_validator

from preflight_rag.library.search.hybrid import cosines
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder, open_reranker
from preflight_rag.models.reranking.rerankers import FEATURES, Reranker, rerank
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage
from preflight_rag.text.bm25 import pool_bm25
from preflight_rag.text.words import words

SCORE = "relevance_score"
NOTE = "rerank_note"
"""Keys of the metadata that this compressor adds."""


class PassageReranker(BaseDocumentCompressor):
    """Sorts documents by a reranker's scores.

    Each scored document has its `relevance_score` in the metadata; higher is better, and scores are comparable within
    one call only. Documents without a score follow in the given order, with a `rerank_note` that says why.

    The reranker without a model, "features", uses rankings too: the given order counts as the fused one and, without
    `embeddings`, as the dense one; BM25 is computed over the given documents.

    Example:
        PassageReranker(reranker="medcpt", top_n=8).compress_documents(retriever.invoke(question), question)

    Raises:
        RerankerError: The reranker is unknown, cannot be loaded, or fails.
        EmbedderError: The embeddings fail.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reranker: Annotated[Reranker | str, SkipValidation] = Field(
        default=FEATURES, description="What `open_reranker` takes, or a `Reranker`."
    )
    top_n: int | None = Field(default=None, ge=1, description="How many documents are returned; None: all.")
    candidates: int = Field(default=100, ge=1, description="How many documents are scored, the first ones.")
    batch_size: int | None = Field(default=None, ge=1, description="Pairs in one pass of a cross-encoder.")
    deadline: float = Field(default=60.0, gt=0, description="Seconds after which no further batch is scored.")
    embeddings: Annotated[Embeddings | str | None, SkipValidation] = Field(
        default=None, description="LangChain Embeddings, or an `Embedder`, for `features`."
    )
    _reranker: Reranker | None = PrivateAttr(default=None)
    _embedder: Embedder | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _open(self) -> Self:
        """Open the reranker and the embedder that were given by name."""
        reranker = self.reranker
        self._reranker = open_reranker(reranker, batch_size=self.batch_size) if isinstance(reranker, str) else reranker
        self._embedder = None if self.embeddings is None else open_embedder(self.embeddings)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the first `top_n` documents in the reranker's order, unsorted with the reranker "none"."""
        reranker = self._reranker
        if reranker is None or not documents:
            return list(documents[: self.top_n])
        passages = [_as_passage(str(i), document) for i, document in enumerate(documents)]
        cosine_by_id = {}
        if self._embedder is not None:
            vectors = self._embedder.encode_passages([(passage.title, passage.text) for passage in passages])
            vector_by_id = {passage.id: vector for passage, vector in zip(passages, vectors, strict=True)}
            cosine_by_id = cosines(self._embedder.encode_query(query), vector_by_id)
        candidates = _as_candidates(query, passages, cosine_by_id)
        reranked = rerank(reranker, query, candidates, limit=self.candidates, deadline=self.deadline)
        note = reranked.note or f"beyond the first {self.candidates} documents"
        scored = list(zip(reranked.order, reranked.scores, strict=True))
        return [
            # A candidate's rank is the document's number, from 1.
            _with_metadata(documents[candidate.rank - 1], {NOTE: note} if score is None else {SCORE: score})
            for candidate, score in scored[: self.top_n]
        ]


def _as_candidates(query: str, passages: Sequence[Passage], cosine_by_id: dict[str, float]) -> list[Candidate]:
    """Return passages as candidates, in the given order, with their ranks by cosine and by BM25 among them.

    Without cosines the given order counts as the dense ranking.
    """
    scores = pool_bm25(sorted(set(words(query))), [f"{passage.title} {passage.text}" for passage in passages])
    bm25 = {passage.id: score for passage, score in zip(passages, scores, strict=True) if score and score > 0}
    given_rank = {passage.id: rank for rank, passage in enumerate(passages, 1)}
    dense_rank, lexical_rank = _rank_by_score(cosine_by_id) or given_rank, _rank_by_score(bm25)
    return [
        Candidate(
            passage=passage,
            rank=rank,
            score=1 / rank,
            cosine=cosine_by_id.get(passage.id, 0.0),
            dense_rank=dense_rank.get(passage.id),
            lexical_rank=lexical_rank.get(passage.id),
            bm25=bm25.get(passage.id),
        )
        for rank, passage in enumerate(passages, 1)
    ]


def _as_passage(name: str, document: Document) -> Passage:
    """Return a LangChain document as a passage with the id `name`."""
    metadata = document.metadata
    document_id = metadata.get("document_id") or metadata.get("source") or name
    title = str(metadata.get("title") or "")
    return Passage(id=name, document_id=str(document_id), text=document.page_content, title=title)


def _rank_by_score(scores: dict[str, float]) -> dict[str, int]:
    """Return the rank of each name by its score, highest first, ties in the given order."""
    ordered = sorted(scores, key=lambda name: -scores[name])
    return {name: rank for rank, name in enumerate(ordered, 1)}


def _with_metadata(document: Document, added: dict[str, object]) -> Document:
    """Return a copy of a document with additional metadata, without the score or note of an earlier reranking."""
    kept = {key: value for key, value in document.metadata.items() if key not in (SCORE, NOTE)}
    return document.model_copy(update={"metadata": kept | added})
