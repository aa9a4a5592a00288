"""A library as a LangChain retriever."""

from __future__ import annotations

from typing import Annotated

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from preflight_rag.library.collection import Collection
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.fusion import with_recency
from preflight_rag.library.search.hybrid import CANDIDATES, TOP_K


class LibraryRetriever(BaseRetriever):
    """Hybrid search over a library, as LangChain documents, best first.

    Each document's metadata holds `passage_id`, `document_id`, `source`, `title`, `page`, `date`, `rank` (from 1) and
    the fused `score`, `cosine`, `bm25` and the places `dense_rank` and `lexical_rank`, beside the document's own
    metadata.

    Example:
        retriever = LibraryRetriever(library=Library.open("library/"), k=8)
        documents = retriever.invoke("what lowers LDL cholesterol?")

    Raises:
        UsageError: A filter cannot be read, names a field that no document has, or a date in no known form.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Annotated[Collection, SkipValidation] = Field(description="An open `Library`, or another collection.")
    k: int = Field(default=TOP_K, ge=1, description="How many passages to return.")
    candidates: int = Field(default=CANDIDATES, ge=1, description="How many passages of each ranking are fused.")
    where: tuple[str, ...] = Field(default=(), description="Only passages whose metadata fit, such as year>=2020.")
    since: str | None = Field(default=None, description="Only documents dated at or after this day, month or year.")
    recency: float = Field(default=0.0, ge=0, le=1, description="Weight of a document's age in the ranking.")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[Document]:
        depth = max(self.k, self.candidates)
        found = self.library.candidates(query, depth=depth, where=Filter.parse(self.where, since=self.since))
        return [
            Document(
                id=candidate.passage.id,
                page_content=candidate.passage.text,
                metadata=candidate.passage.metadata
                | {
                    "passage_id": candidate.passage.id,
                    "document_id": candidate.passage.document_id,
                    "source": candidate.passage.source,
                    "title": candidate.passage.title,
                    "page": candidate.passage.page,
                    "start_index": candidate.passage.start,
                    "date": candidate.passage.date,
                    "rank": candidate.rank,
                    "score": candidate.score,
                    "cosine": candidate.cosine,
                    "dense_rank": candidate.dense_rank,
                    "lexical_rank": candidate.lexical_rank,
                    "bm25": candidate.bm25,
                },
            )
            for candidate in with_recency(found, self.recency)[: self.k]
        ]
