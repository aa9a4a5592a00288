"""PubMed and PMC as a LangChain retriever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Annotated

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from preflight_rag.pubmed.client import EntrezClient
from preflight_rag.pubmed.fetch import DEADLINE, fetch_documents
from preflight_rag.state.context import PubMedSources
from preflight_rag.state.errors import PubMedUnavailable, UsageError
from preflight_rag.text.concepts import rewrite_by_rules

logger = logging.getLogger(__name__)
MOST = 200
"""Documents of each kind that a search may fetch."""


class PubMedRetriever(BaseRetriever):
    """Live search of PubMed and PMC: abstracts, and reviews in full, as LangChain documents.

    Each document's metadata has `source` ("PMID …" or "PMC…"), `title`, `date`, `origin` ("D1" an abstract of PubMed's,
    "D2" a review of PMC's, "D3" another article of PMC's), and the fields of the record itself.

    Example:
        with EntrezClient(email="you@example.org") as client:
            retriever = PubMedRetriever(client=client, k=10)
            documents = retriever.invoke("metformin heart failure")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Annotated[EntrezClient, SkipValidation] = Field(
        default_factory=EntrezClient, description="An `EntrezClient`."
    )
    k: int = Field(default=20, ge=1, le=MOST, description="Most documents of each kind.")
    since: str | None = Field(default=None, description="Only documents published from this year, month or day on.")
    until: str | None = Field(default=None, description="Only documents published until then.")
    full_text: bool = Field(default=False, description="Open-access articles that are no reviews, too, in full.")
    sources: PubMedSources = Field(
        default="D1+D2", description="Abstracts (D1), PMC's reviews (D2), other articles (D3)."
    )
    deadline: float = Field(default=DEADLINE, gt=0, description="Seconds that a search may take.")
    ladder: Callable[[str], Sequence[str]] = Field(
        default_factory=lambda: rules_ladder, description="Makes expressions of a query, most specific first."
    )

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None, k: int | None = None
    ) -> list[Document]:
        """Search; `k` of one call, as in `invoke(query, k=5)`, replaces the retriever's own."""
        most = self.k if k is None else k
        if not 1 <= most <= MOST:
            raise UsageError(f"k={most} is out of range", help=f"Use 1 to {MOST}.")
        expressions = self.ladder(query)
        if not expressions:
            raise UsageError(f"There is nothing to search for in {query!r}", help="Name at least one term")
        fetched = fetch_documents(
            self.client,
            expressions,
            enough=most,
            per_database=most,
            since=self.since,
            until=self.until,
            deadline=self.deadline,
            full_text=self.full_text,
            sources=self.sources,
        )
        if fetched.problems and not fetched.documents:
            raise PubMedUnavailable(fetched.problems[0])
        for problem in fetched.problems:
            logger.warning(problem)
        found = []
        for document in fetched.documents:
            metadata = {key: value for key, value in document.metadata.items() if key != "sections"}
            metadata |= {"source": document.source, "title": document.title, "date": document.date}
            found.append(Document(id=document.id, page_content=document.text, metadata=metadata))
        return found

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None, k: int | None = None
    ) -> list[Document]:
        """Run `_get_relevant_documents` in a thread; LangChain's own method would not pass the call's `k` on."""
        sync = run_manager.get_sync() if run_manager is not None else None
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=sync, k=k)


def rules_ladder(query: str) -> Sequence[str]:
    """Return expressions made by rules: AND of all the query's concepts, of fewer, OR of all."""
    return rewrite_by_rules(query).expressions
