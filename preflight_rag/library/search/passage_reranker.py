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
    _opened: Reranker | None = PrivateAttr(default=None)
    _embedder: Embedder | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _open(self) -> Self:
        """Open the reranker and the embedder that were given by name."""
        given = self.reranker
        self._opened = open_reranker(given, batch_size=self.batch_size) if isinstance(given, str) else given
        self._embedder = None if self.embeddings is None else open_embedder(self.embeddings)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the first `top_n` documents in the reranker's order, unsorted with the reranker "none"."""
        reranker = self._opened
        if reranker is None or not documents:
            return list(documents[: self.top_n])
        passages = [_passage(str(i), document) for i, document in enumerate(documents)]
        near = {}
        if self._embedder is not None:
            vectors = self._embedder.encode_passages([(passage.title, passage.text) for passage in passages])
            by_name = {passage.id: vector for passage, vector in zip(passages, vectors, strict=True)}
            near = cosines(self._embedder.encode_query(query), by_name)
        found = _candidates(query, passages, near)
        done = rerank(reranker, query, found, limit=self.candidates, deadline=self.deadline)
        note = done.note or f"beyond the first {self.candidates} documents"
        return [
            _marked(documents[candidate.rank - 1], {NOTE: note} if score is None else {SCORE: score})
            for candidate, score in list(zip(done.order, done.scores, strict=True))[: self.top_n]
        ]


def _candidates(query: str, passages: Sequence[Passage], near: dict[str, float]) -> list[Candidate]:
    """Return passages as candidates, with the rankings that can be computed over them; `near` are known cosines."""
    scores = pool_bm25(sorted(set(words(query))), [f"{passage.title} {passage.text}" for passage in passages])
    bm25 = {passage.id: score for passage, score in zip(passages, scores, strict=True) if score and score > 0}
    given = {passage.id: rank for rank, passage in enumerate(passages, 1)}
    dense, lexical = _places(near) or given, _places(bm25)
    return [
        Candidate(
            passage=passage,
            rank=rank,
            score=1 / rank,
            cosine=near.get(passage.id, 0.0),
            dense_rank=dense.get(passage.id),
            lexical_rank=lexical.get(passage.id),
            bm25=bm25.get(passage.id),
        )
        for rank, passage in enumerate(passages, 1)
    ]


def _passage(name: str, document: Document) -> Passage:
    """Return a LangChain document as a passage."""
    known = document.metadata
    owner = known.get("document_id") or known.get("source") or name
    return Passage(id=name, document_id=str(owner), text=document.page_content, title=str(known.get("title") or ""))


def _places(scores: dict[str, float]) -> dict[str, int]:
    """Return the rank of each name by its score, ties in the given order."""
    return {name: rank for rank, name in enumerate(sorted(scores, key=lambda name: -scores[name]), 1)}


def _marked(document: Document, added: dict[str, object]) -> Document:
    """Return a copy of a document with additional metadata."""
    # A document may have been reranked before.
    kept = {key: value for key, value in document.metadata.items() if key not in (SCORE, NOTE)}
    return document.model_copy(update={"metadata": kept | added})
