"""Asking somebody's own LangChain retriever or vector store, and saying plainly where it fails."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.state.errors import PreflightError, RetrieverError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

ScoredDocument = tuple[Document, float | None]
"""A document with the score that a vector store gives it; a retriever gives none."""


class RetrieverAdapter:
    """A retriever or a vector store as something that can be asked from any thread.

    What can only be asked asynchronously runs on one event loop of the lender's own, so that its connections live on.

    Args:
        source: A `VectorStore`, a `BaseRetriever`, or another `Runnable` from a text to documents.
        fetch: How many documents a vector store is asked for; a retriever decides itself.

    Raises:
        UsageError: It is neither.
    """

    def __init__(self, source: Any, fetch: int) -> None:
        if not isinstance(source, VectorStore | Runnable):
            raise UsageError(
                f"{source!r} is no retriever",
                help="Give a LangChain retriever or vector store; a function becomes one with RunnableLambda.",
            )
        if fetch < 1:
            raise UsageError(f"fetch={fetch} is out of range", help="Ask for 1 document or more.")
        self.name = type(source).__name__
        self._source: Any = source
        self._fetch = fetch
        self._loop = BackgroundLoop("preflight-lender")

    def ask(self, query: str) -> list[ScoredDocument]:
        """The documents for a query, in the lender's order.

        Raises:
            RetrieverError: It failed, or gave something else than documents.
        """
        try:
            try:
                found = self._asked(query)
            except NotImplementedError:
                found = self._loop.call(self._asked_asynchronously(query))
            lent = list(found)
        except PreflightError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise RetrieverError(
                f"the retriever {self.name} failed: {type(error).__name__}{f': {reason}' if reason else ''}",
                help="Check the retriever's own settings, key and server.",
            ) from error
        for item in lent:
            if not isinstance(item[0], Document):
                raise RetrieverError(
                    f"the retriever {self.name} returned {type(item[0]).__name__}, not documents",
                    help="It has to give LangChain documents.",
                )
        return lent

    def close(self) -> None:
        """Stop the loop, if one was needed."""
        self._loop.close()

    def _asked(self, query: str) -> Iterable[ScoredDocument]:
        if not isinstance(self._source, VectorStore):
            return _unscored(self._source.invoke(query))
        try:
            return _scored(self._source.similarity_search_with_score(query, k=self._fetch))
        except NotImplementedError:
            return _unscored(self._source.similarity_search(query, k=self._fetch))

    async def _asked_asynchronously(self, query: str) -> Iterable[ScoredDocument]:
        if not isinstance(self._source, VectorStore):
            return _unscored(await self._source.ainvoke(query))
        try:
            return _scored(await self._source.asimilarity_search_with_score(query, k=self._fetch))
        except NotImplementedError:
            return _unscored(await self._source.asimilarity_search(query, k=self._fetch))


def _unscored(documents: Iterable[Document] | None) -> list[ScoredDocument]:
    return [(document, None) for document in documents or ()]


def _scored(pairs: Sequence[tuple[Document, float]]) -> list[ScoredDocument]:
    return [(document, float(score) if math.isfinite(score) else None) for document, score in pairs]
