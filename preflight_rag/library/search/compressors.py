"""Selection as LangChain document compressors, which take any documents and combine with any retriever.

A separate file, because a turn selects without LangChain (`selection.py`), whose import takes as long as a search.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation, model_validator

from preflight_rag.library.collection import Collection
from preflight_rag.library.search.diversity import check_limits, fps, mmr, token_budget, unit_scaled, within_budget
from preflight_rag.library.search.selection import arrange
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import LibraryCorrupt, UsageError

if TYPE_CHECKING:
    import numpy as np

_OFFSET_KEYS = ("start_index", "start", "page")
"""Metadata that may tell where in its source a document begins, the most exact first."""


class TokenBudget(BaseDocumentCompressor):
    """Keeps the first documents that together fit into a token budget; one that does not fit is skipped.

    Example:
        TokenBudget(budget=2000).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    budget: int | None = Field(default=None, description="Most tokens of all documents together (T_max).")
    compression: float | None = Field(default=None, description="Most tokens as a share of all documents' (c_r).")
    k: int | None = Field(default=None, description="Most documents.")
    count_tokens: Callable[[str], int] | None = Field(
        default=None, description="Counts a text's tokens; default: the word pieces of the embedder."
    )
    embeddings: Annotated[Embeddings | str | None, SkipValidation] = Field(
        default=None, description="LangChain Embeddings; default: the library's, or MiniLM."
    )
    library: Annotated[Collection | None, SkipValidation] = Field(
        default=None, description="A collection that has vectors of documents with a passage_id."
    )
    _embedder: Embedder | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise an error if a number is out of range."""
        check_limits(budget=self.budget, compression=self.compression, k=self.k)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the kept documents, in the given order."""
        tokens = self._tokens(documents)
        kept = within_budget(tokens or [0] * len(documents), self._limit(tokens), k=self.k)
        return [documents[index] for index in kept]

    def _limit(self, tokens: Sequence[int] | None) -> int | None:
        """Return how many tokens may be kept, for the documents' lengths; None without a limit."""
        return token_budget(tokens, budget=self.budget, compression=self.compression) if tokens else None

    def _tokens(self, documents: Sequence[Document]) -> list[int] | None:
        """Return the number of tokens of each document; None if there is no budget to need them."""
        if self.budget is None and self.compression is None:
            return None
        count = self.count_tokens or self._open_embedder().count_tokens
        return [count(document.page_content) for document in documents]

    def _open_embedder(self) -> Embedder:
        """Return the embedder, which is opened at its first use: the given one, the library's, or the default one."""
        if self._embedder is None:
            if self.embeddings is None and self.library is not None:
                self._embedder = self.library.embedder
            else:
                self._embedder = open_embedder(self.embeddings)
        return self._embedder


class _Selector(TokenBudget):
    """Base class of selectors that compare vectors."""

    score_key: str | None = Field(
        default=None,
        description="Metadata with a relevance score, such as a reranker's, that stands for the cosine; scaled to 0-1.",
    )

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the selected documents, in the order of selection."""
        if not documents:
            return []
        tokens, relevance = self._tokens(documents), self._relevance(documents)
        query_vector = self._open_embedder().encode_query(query) if relevance is None else None
        limits = {"k": self.k, "tokens": tokens, "budget": self._limit(tokens), "relevance": relevance}
        indices = self._pick(self._vectors(documents), query_vector, limits)
        return [documents[index] for index in indices]

    @abstractmethod
    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        """Return the indices of the selected documents, in the order of selection.

        Args:
            vectors: The documents' vectors (n, d).
            query: The query's vector (d,); None if the limits hold the relevance.
            limits: The keyword arguments `k`, `tokens`, `budget` and `relevance` of `mmr` and `fps`.
        """

    def _relevance(self, documents: Sequence[Document]) -> np.ndarray | None:
        """Return the documents' scores under `score_key`, scaled to 0-1; None without a key.

        Raises:
            UsageError: A document has no score.
        """
        if self.score_key is None:
            return None
        missing = [document for document in documents if self.score_key not in document.metadata]
        if missing:
            raise UsageError(
                f"a document has no {self.score_key!r} in its metadata: {missing[0].page_content[:40]!r}",
                help=f"It has {', '.join(sorted(missing[0].metadata)) or 'none'}",
            )
        return unit_scaled([document.metadata[self.score_key] for document in documents])

    def _vectors(self, documents: Sequence[Document]) -> np.ndarray:
        """Return the documents' vectors: the library's if it has all of them, else newly computed ones."""
        passage_ids = [document.metadata.get("passage_id") for document in documents]
        if self.library is not None and self.embeddings is None and all(passage_ids):
            try:
                return self.library.vectors([str(passage_id) for passage_id in passage_ids])
            # One of them is not in the library, or no longer: all are embedded anew.
            except LibraryCorrupt:
                pass
        return self._open_embedder().encode_passages([document.page_content for document in documents])


class MMRSelector(_Selector):
    """Selects documents by maximal marginal relevance, in the order of selection (Diversity, eq. 1).

    Example:
        MMRSelector(k=8, alpha=0.7, window=20).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    alpha: float = Field(default=0.5, description="Weight of relevance against redundancy, from 0 to 1.")
    window: int | None = Field(default=None, description="Redundancy looks at so many last picks; None: at all.")

    @model_validator(mode="after")
    def _check_mmr(self) -> Self:
        """Raise an error if a number is out of range."""
        check_limits(alpha=self.alpha, window=self.window)
        return self

    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        """Return the indices of the documents that maximal marginal relevance selects."""
        return mmr(vectors, query, alpha=self.alpha, window=self.window, **limits)


class FPSSelector(_Selector):
    """Selects documents by farthest point sampling, in the order of selection (Diversity, eq. 2; alpha > 0: modified).

    Example:
        FPSSelector(k=8, alpha=0.7).compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: A number is out of range or, in use, the budget is smaller than every document.
    """

    alpha: float = Field(default=0.0, description="Weight of relevance against distance, from 0 (plain FPS) to 1.")
    window: int | None = Field(default=None, description="Distance to the nearest of so many last picks; None: of all.")

    @model_validator(mode="after")
    def _check_fps(self) -> Self:
        """Raise an error if a number is out of range."""
        check_limits(alpha=self.alpha, window=self.window)
        return self

    def _pick(self, vectors: np.ndarray, query: np.ndarray | None, limits: dict[str, Any]) -> list[int]:
        """Return the indices of the documents that farthest point sampling selects."""
        return fps(vectors, query, alpha=self.alpha, window=self.window, **limits)


class Reorder(BaseDocumentCompressor):
    """Returns all documents in another order: "score", "index" or m:n, as `arrange`.

    "index" groups documents by source (`document_id`, else `source`), sources in the order of their first document, and
    sorts each group by the metadata `start_index`, `start` or `page`.

    Example:
        Reorder(ordering="2:1").compress_documents(retriever.invoke(question), question)

    Raises:
        UsageError: The ordering is unknown.
    """

    model_config = ConfigDict(extra="forbid")

    ordering: str = Field(default="1:1", description="score, index, or m:n such as 1:1, 2:1 or 3:1.")
    score_key: str | None = Field(
        default=None, description="Metadata with the score to sort by; default: documents come best first."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raise an error if there is no such order."""
        arrange([], self.ordering)
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the documents in prompt order; those without a score count as the worst."""
        first_index: dict[str, int] = {}
        for index, document in enumerate(documents):
            first_index.setdefault(_document_key(document), index)
        key = self.score_key
        order = arrange(
            documents,
            self.ordering,
            score=None if key is None else lambda document: document.metadata.get(key, float("-inf")),
            place=lambda document: (first_index[_document_key(document)], _offset(document)),
        )
        return [documents[index] for index in order]


def _document_key(document: Document) -> str:
    """Return the id or source of a document, "" if it has neither; passages of one document have the same."""
    return str(document.metadata.get("document_id") or document.metadata.get("source") or "")


def _offset(document: Document) -> float:
    """Return the offset of a document in its source, or its page; 0 if neither is known."""
    for key in _OFFSET_KEYS:
        value = document.metadata.get(key)
        if isinstance(value, (int, float)):
            return float(value)
    return 0.0
