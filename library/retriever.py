"""A library as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from .library import Library
from .search import CANDIDATES, TOP_K


class LibraryRetriever(BaseRetriever):
    """Hybrid search over a library, as LangChain documents, best first.

    Each document's metadata holds `passage_id`, `document_id`, `source`, `title`, `page`, `date`, `rank` (from 1) and
    the fused `score`, beside the document's own metadata.

    Example:
        retriever = LibraryRetriever(library=Library.open("library/"), k=8)
        documents = retriever.invoke("what lowers LDL cholesterol?")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Any = Field(description="An open `Library`.")
    k: int = Field(default=TOP_K, ge=1, description="How many passages to return.")
    candidates: int = Field(default=CANDIDATES, ge=1, description="How many passages of each ranking are fused.")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[Document]:
        library: Library = self.library
        hits = library.search(query, k=self.k, candidates=self.candidates).fused
        passages = library.passages([hit.passage_id for hit in hits])
        return [
            Document(
                id=passage.id,
                page_content=passage.text,
                metadata=passage.metadata
                | {
                    "passage_id": passage.id,
                    "document_id": passage.document_id,
                    "source": passage.source,
                    "title": passage.title,
                    "page": passage.page,
                    "date": passage.date,
                    "rank": hit.rank,
                    "score": hit.score,
                },
            )
            for hit, passage in zip(hits, passages, strict=True)
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query)
