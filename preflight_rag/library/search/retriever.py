"""A library as a LangChain retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import ConfigDict, Field, SkipValidation

from preflight_rag.library.collection import Collection
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.fusion import with_recency
from preflight_rag.library.search.query import CANDIDATES, TOP_K, SearchQuery
from preflight_rag.state.calls import chosen_of, configured, narrowed
from preflight_rag.state.context import Settings

CALL_SETTINGS = ("library", "k", "candidates", "where", "since", "recency")
"""Settings that one call may override, as arguments or in its `RunnableConfig`; other names there belong to other
components."""


class LibraryRetriever(BaseRetriever):
    """Hybrid search over a library, as LangChain documents, best first.

    Each document's metadata holds `passage_id`, `document_id`, `source`, `title`, `page`, `date`, `rank` (from 1) and
    the fused `score`, `cosine`, `bm25` and the ranks `dense_rank` and `lexical_rank`, beside the document's own
    metadata.

    One call may have other numbers, as arguments or as `configurable` of its config. Its conditions (`where`) are added
    to the retriever's own. With several libraries by name, each call names one.

    Example:
        retriever = LibraryRetriever(library=Library.open("library/"), k=8)
        documents = retriever.invoke("what lowers LDL cholesterol?")
        newest = retriever.invoke("what lowers LDL cholesterol?", k=4, where=["year>=2020"])
        same = retriever.invoke("what lowers LDL cholesterol?", {"configurable": {"k": 4, "where": ["year>=2020"]}})

    Raises:
        UsageError: A filter cannot be read, names a field that no document has, or a date in no known form; a number
            of a call is out of range; or no library is named among several.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Annotated[Collection | Mapping[str, Collection], SkipValidation] = Field(
        description="An open `Library`, or another collection; or several by name."
    )
    k: int = Field(default=TOP_K, ge=1, description="How many passages to return.")
    candidates: int = Field(default=CANDIDATES, ge=1, description="How many passages of each ranking are fused.")
    where: tuple[str, ...] = Field(default=(), description="Only passages whose metadata match, such as year>=2020.")
    since: str | None = Field(default=None, description="Only documents dated at or after this day, month or year.")
    recency: float = Field(default=0.0, ge=0, le=1, description="Weight of a document's age in the ranking.")

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the documents for a question; `kwargs` and the config may hold the settings of `CALL_SETTINGS`."""
        return super().invoke(input, config, **{**_settings_in_config(config), **kwargs})

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the documents for a question, asynchronously; see `invoke`."""
        return await super().ainvoke(input, config, **{**_settings_in_config(config), **kwargs})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun | None = None,
        library: str | None = None,
        k: int | None = None,
        candidates: int | None = None,
        where: Sequence[str] | str | None = None,
        since: str | None = None,
        recency: float | None = None,
    ) -> list[Document]:
        """Return the best passages for a query as documents, best first.

        Args:
            query: The text to search for.
            run_manager: LangChain's manager of callbacks, not used.
            library: The name of one of several libraries.
            k: Number of passages; None for the retriever's own number, as for the following arguments.
            candidates: How many passages of each ranking are fused.
            where: Conditions in addition to the retriever's own.
            since: Only documents of this date or later.
            recency: Weight of a document's age.
        """
        # The retriever has checked its own numbers when it was made.
        own_settings = Settings.model_construct(
            k=self.k, candidates=self.candidates, where=self.where, since=self.since, recency=self.recency
        )
        call_settings = {"k": k, "candidates": candidates, "where": where, "since": since, "recency": recency}
        settings = narrowed(own_settings, call_settings)
        depth = max(settings.k, settings.candidates)
        collection: Collection = chosen_of(self.library, library)
        conditions = Filter.parse(settings.where, since=settings.since)
        found = collection.candidates(SearchQuery(query, candidates=depth, where=conditions))
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
            for candidate in with_recency(found, settings.recency)[: settings.k]
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None, **given: Any
    ) -> list[Document]:
        """Run `_get_relevant_documents` in a thread; LangChain's own method would not pass the call's arguments on."""
        sync = run_manager.get_sync() if run_manager is not None else None
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=sync, **given)


def _settings_in_config(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the settings of one call from its config, or from that of the surrounding chain or graph."""
    return {name: value for name, value in configured(ensure_config(config)).items() if name in CALL_SETTINGS}
