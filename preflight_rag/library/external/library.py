"""Another program's retriever or vector store in the place of a library.

Each question is passed to the retriever. The returned documents become passages like any other, stored in a folder of
this package under the hashes of their texts, so that citations and later turns find them by id. The dense ranking is
the retriever's own order; BM25 ranks what it returned; both are fused. Documents that the retriever does not return
are unknown here: they are not searched, their words do not help spelling, and only the folder's own calibration of
the preflight applies.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.ingest.identity import passage_id, vector_key
from preflight_rag.ingest.splitting import DEFAULT_SPLITTER, open_splitter
from preflight_rag.library.external.documents import Chunk, chunk_of
from preflight_rag.library.found import DEADLINE, InternReport, read_passages
from preflight_rag.library.search.fusion import reciprocal_rank_fusion
from preflight_rag.library.search.hybrid import Rankings, cosines
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
from preflight_rag.library.storage.store import Store
from preflight_rag.library.stored import FolderCollection
from preflight_rag.library.writer import Writer
from preflight_rag.state.errors import LibraryError, PreflightError, RetrieverError, UsageError, others_help
from preflight_rag.state.values import Document, Hit, Passage, Ranking
from preflight_rag.text.bm25 import pool_bm25
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.ingest.splitting.passage_splitter import PassageSplitter
    from preflight_rag.library.search.filters import Filter

SOURCE_SETTING = "borrowed"
"""Setting of a folder's database that names the source of its documents; the value is kept for older folders."""
FETCHED_DOCUMENTS = 32
"""Number of documents to request from a vector store; a guess, twice what a turn reads."""
EMBEDDED_AT_ONCE = 32
"""Passages that are embedded at once, between two checks of the deadline; a guess."""

ScoredDocument: TypeAlias = tuple[LangChainDocument, float | None]
"""A document with the score of its vector store; None from a retriever."""
Source: TypeAlias = VectorStore | RetrieverLike
"""A source of documents: a vector store, a retriever, or another `Runnable` from a text to documents."""


@dataclass
class _Returned:
    """The stored result of a query to the retriever: passages by document in its order, scores, problems."""

    passages: list[list[Passage]] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class ExternalLibrary(FolderCollection):
    """A collection whose documents come from another program. Make one with `ExternalLibrary.around`.

    `search` and `candidates` ask the retriever; all other methods know only what it has returned so far.
    """

    is_complete = False
    vocabulary = None
    """None: the words returned so far are not those of the whole collection."""

    def __init__(self, store: Store, embedder: RecordedEmbedder, retriever: RetrieverAdapter) -> None:
        super().__init__(store, embedder, Writer(store, embedder), retriever.name)
        self.retriever = retriever
        self._remove_folder: Callable[[], object] | None = None

    @classmethod
    def around(
        cls,
        source: Source,
        *,
        folder: str | Path | None = None,
        embedder: str | Embeddings | None = None,
        fetch: int = FETCHED_DOCUMENTS,
    ) -> ExternalLibrary:
        """Return a library around a retriever or a vector store.

        Args:
            source: A LangChain `VectorStore`, `BaseRetriever`, or another `Runnable` from a text to documents.
            folder: Where returned documents and conversations are stored; None for a temporary folder.
            embedder: The embedder for passages and questions, as `Library.open` takes it.
            fetch: How many documents are requested from a vector store.

        Raises:
            UsageError: The source is of none of these types, or the folder holds a library with documents of its own.
            EmbedderMismatch: The folder was made with another embedder.
        """
        retriever = RetrieverAdapter(source, fetch)
        temporary = None if folder is not None else tempfile.mkdtemp(prefix="preflight-")
        store = Store(Path(temporary or folder or "").expanduser(), create=True)
        try:
            if store.meta(SOURCE_SETTING) is None and store.count_passages():
                raise UsageError(
                    f"{store.path.parent} is a library with documents of its own",
                    help="Give another folder, or none, for what the retriever returns.",
                )
            recorded = RecordedEmbedder(store, embedder)
            store.set_meta(SOURCE_SETTING, retriever.name)
            library = cls(store, recorded, retriever)
        except BaseException:
            store.close()
            if temporary:
                shutil.rmtree(temporary, ignore_errors=True)
            raise
        if temporary:
            # Also at the end of the program, where nobody closes the library.
            library._remove_folder = weakref.finalize(library, shutil.rmtree, temporary, ignore_errors=True)
        return library

    def close(self) -> None:
        """Close the database; a temporary folder is removed."""
        self.retriever.close()
        super().close()
        if self._remove_folder is not None:
            self._remove_folder()

    @property
    def notes(self) -> list[str]:
        """Return an empty list: there is no index that could be out of date."""
        return []

    def warm(self) -> None:
        """Load the embedder ahead of the first search."""
        self.embedder.encode_query("warm")

    def intern(self, documents: Sequence[Document], *, deadline: float = DEADLINE) -> InternReport:
        """Store documents that a turn found elsewhere, such as in PubMed, without building an index of them."""
        return self._writer.intern(documents, deadline=deadline, index=False)

    def search(self, query: SearchQuery | str) -> Rankings:
        """Query the retriever, store its documents, and rank them by its order, by words, and by both.

        A returned document that is longer than a passage is represented by its passage nearest to the question; its
        other passages follow after the first passage of every document. A filter selects among the returned documents.
        The retriever's order may come without scores, so the query's `fusion` is ignored and ranks are fused.

        Raises:
            UsageError: The query cannot be searched for, or no document has a field of its filter.
            RetrieverError: The retriever failed.
        """
        query = SearchQuery.of(query)
        k, where = query.k, query.where
        returned = self._store_all(self.retriever.ask(query.text))
        if where is not None:
            ids = [passage.id for passage in chain.from_iterable(returned.passages)]
            passing_ids = set(self.fitting(ids, where)) if ids else set()
            returned.passages = _select_in_groups(returned.passages, passing_ids)
        full = self._rank(query, returned)
        rankings = replace(full, dense=full.dense[:k], lexical=full.lexical[:k], fused=full.fused[:k])
        return rankings if where is None else replace(rankings, note=self._filter_note(where, returned))

    def _filter_note(self, where: Filter, returned: _Returned) -> str:
        """Return a note on how many of the returned passages fit the filter."""
        count = sum(map(len, returned.passages))
        return f"{count} of the passages that {self.name} returned fit the filter: {where}"

    def _rank(self, query: SearchQuery, returned: _Returned) -> Rankings:
        """Return the source's ranking of the returned passages, that by BM25 among them, and their fusion."""
        depth = query.depth
        passages = {passage.id: passage for passage in chain.from_iterable(returned.passages)}
        cosine_by_id = {}
        if passages:
            vectors = dict(zip(passages, self.vectors(list(passages)), strict=True))
            cosine_by_id = cosines(self.embedder.encode_query(query.text), vectors)
        # In each document the nearest passage first.
        groups = [sorted(group, key=lambda passage: -cosine_by_id[passage.id]) for group in returned.passages]
        scores: dict[str, float | None] = {}
        for group, score in zip(groups, returned.scores, strict=True):
            for passage in group:
                scores.setdefault(passage.id, score)
        # The first passages of all documents, then the second ones, and so on.
        ids = []
        for passages_of_rank in zip_longest(*groups):
            ids += [passage.id for passage in passages_of_rank if passage is not None]
        order = list(dict.fromkeys(ids))
        texts = [f"{passage.title} {passage.text}" for passage in passages.values()]
        pool_scores = pool_bm25(words(query.text), texts, positive_idf=True)
        bm25 = {id: score for id, score in zip(passages, pool_scores, strict=True) if score is not None}
        lexical = sorted(bm25, key=lambda id: (-bm25[id], order.index(id)))
        fused = reciprocal_rank_fusion([order[:depth], lexical[:depth]], k=query.rrf_k)

        def as_ranking(scored: Iterable[tuple[str, float]]) -> Ranking:
            """Return `(passage id, score)`, best first, as a ranking."""
            return tuple(
                Hit(passage_id=id, document_id=passages[id].document_id, rank=rank, score=score)
                for rank, (id, score) in enumerate(scored, 1)
            )

        dense = []
        for rank, id in enumerate(order, 1):
            score = scores[id]
            dense.append((id, 1 / rank if score is None else score))
        return Rankings(
            dense=as_ranking(dense)[:depth],
            lexical=as_ranking((id, bm25[id]) for id in lexical)[:depth],
            fused=as_ranking(fused),
            dense_scores={id: cosine_by_id[id] for id, _ in fused},
            problems=tuple(returned.problems),
        )

    def _store_all(self, documents: Sequence[ScoredDocument]) -> _Returned:
        """Split and store the returned documents; those that cannot be stored are reported as problems."""
        returned = _Returned()
        chunks: list[Chunk] = []
        for document, score in documents:
            if (chunk := chunk_of(document)) is not None:
                chunks.append(chunk)
                returned.scores.append(score)
                returned.problems += [chunk.problem] if chunk.problem else []
        if len(chunks) < len(documents):
            returned.problems.append(f"{self.name} returned {len(documents) - len(chunks)} documents without text")
        groups = [self._split_chunk(chunk) for chunk in chunks]
        passages = {passage.id: passage for passage in chain.from_iterable(groups)}
        stored_ids = set(self._store.passages(list(passages)))
        if missing := {id: passage for id, passage in passages.items() if id not in stored_ids}:
            try:
                with self._writer.writing():
                    stored_ids |= self._embed_and_write(chunks, missing)
            except LibraryError as error:
                returned.problems.append(f"What {self.name} returned could not be stored: {error}")
        if unread_count := len(passages.keys() - stored_ids):
            returned.problems.append(
                f"{unread_count} of {len(passages)} returned passages were left out: there was no time to read them"
            )
        stored = {passage.id: passage for passage in self.passages([id for id in passages if id in stored_ids])}
        for group in groups:
            returned.passages.append([stored[passage.id] for passage in group if passage.id in stored])
        return returned

    def _split_chunk(self, chunk: Chunk) -> list[Passage]:
        """Return the passages of a returned chunk, with their offsets in the whole document."""
        bare = chunk.document.model_copy(update={"metadata": {}})
        return [
            passage.model_copy(
                update={
                    "id": passage_id(passage.document_id, chunk.start + passage.start, passage.text),
                    "start": chunk.start + passage.start,
                    "end": chunk.start + passage.end,
                    "metadata": chunk.document.metadata,
                }
            )
            for passage in self._splitter.split(bare)
        ]

    @cached_property
    def _splitter(self) -> PassageSplitter:
        """Return the splitter of returned documents."""
        return open_splitter(DEFAULT_SPLITTER, self.embedder)

    def _embed_and_write(self, chunks: Sequence[Chunk], missing: dict[str, Passage]) -> set[str]:
        """Embed new passages until the deadline, add them to their documents, and return the ids of the stored ones."""
        if self._store.meta("splitter") is None:
            self._store.set_meta("splitter", self._splitter.settings())
        end_time, passages, written_ids = time.monotonic() + DEADLINE, list(missing.values()), set[str]()
        rows: dict[str, list[tuple[Passage, str, bytes]]] = {}
        for start in range(0, len(passages), EMBEDDED_AT_ONCE):
            if time.monotonic() > end_time:
                break
            group = passages[start : start + EMBEDDED_AT_ONCE]
            vectors = self.embedder.encode_passages([(passage.title, passage.text) for passage in group])
            for passage, vector in zip(group, vectors, strict=True):
                row = (passage, vector_key(passage), vector.astype("<f4").tobytes())
                rows.setdefault(passage.document_id, []).append(row)
                written_ids.add(passage.id)
        # Backwards, so that the first of several chunks of a document names it.
        documents = {chunk.document.id: chunk.document for chunk in reversed(chunks)}
        for document_id, new_rows in rows.items():
            self._add_passages(documents[document_id], new_rows)
        return written_ids

    def _add_passages(self, document: Document, new_rows: list[tuple[Passage, str, bytes]]) -> None:
        """Add passages to a document, each with its key and vector; passages that are stored already stay."""
        old = read_passages(self._store, [document.id])
        vectors = self._store.vectors([passage.id for passage in old])
        old_rows = [(passage, vector_key(passage), vectors[passage.id].tobytes()) for passage in old]
        # `write_document` replaces a document's passages, so the older ones are written once more.
        rows = sorted([*old_rows, *new_rows], key=lambda row: (row[0].start, row[0].id))
        ids = "\0".join(passage.id for passage, _, _ in rows)
        content_hash = vector_key(Passage(id="", document_id=document.id, text=ids))
        # Chunks of one document may differ in their metadata, which is therefore stored with the passages.
        bare = document.model_copy(update={"metadata": {}})
        self._store.write_document(bare, origin="", content_hash=content_hash, passages=rows)


def _select_in_groups(groups: Sequence[Sequence[Passage]], ids: Set[str]) -> list[list[Passage]]:
    """Return the groups with only the passages that have one of the ids; a group may become empty."""
    return [[passage for passage in group if passage.id in ids] for group in groups]


class RetrieverAdapter:
    """A retriever or a vector store that can be called from any thread.

    Asynchronous sources run on one event loop of their own, so that their connections persist.

    Args:
        source: A `VectorStore`, a `BaseRetriever`, or another `Runnable` from a text to documents.
        fetch: Number of documents to request from a vector store; a retriever has its own number.

    Raises:
        UsageError: The source is of none of these types.
    """

    def __init__(self, source: Source, fetch: int) -> None:
        if not isinstance(source, VectorStore | Runnable):
            raise UsageError(
                f"{source!r} is no retriever",
                help="Give a LangChain retriever or vector store; a function becomes one with RunnableLambda.",
            )
        if fetch < 1:
            raise UsageError(f"fetch={fetch} is out of range", help="Ask for 1 document or more.")
        self.name = type(source).__name__
        self._source: Source = source
        self._fetch = fetch
        self._loop = BackgroundLoop("preflight-retriever")

    def ask(self, query: str) -> list[ScoredDocument]:
        """Return the documents for a query, in the source's order.

        Raises:
            RetrieverError: The source failed, or returned something other than documents.
        """
        try:
            documents = list(self._query_source(query))
        except PreflightError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise RetrieverError(
                f"the retriever {self.name} failed: {type(error).__name__}{f': {reason}' if reason else ''}",
                help=others_help(error, "the retriever"),
            ) from error
        for document, _ in documents:
            if not isinstance(document, LangChainDocument):
                raise RetrieverError(
                    f"the retriever {self.name} returned {type(document).__name__}, not documents",
                    help="It has to give LangChain documents.",
                )
        return documents

    def close(self) -> None:
        """Stop the event loop, if one was started."""
        self._loop.close()

    def _query_source(self, query: str) -> Iterable[ScoredDocument]:
        """Return the documents that the source gives for a query, called asynchronously if it has to be."""
        # Another `Runnable` may contain a part that is only asynchronous.
        if isinstance(self._source, VectorStore | BaseRetriever):
            # A retriever that is only asynchronous raises this error, and is then called on the event loop.
            with suppress(NotImplementedError):
                return self._documents(query)
        return self._loop.call(self._documents_async(query))

    def _documents(self, query: str) -> Iterable[ScoredDocument]:
        """Return the source's documents for a query, with scores if it gives any."""
        if not isinstance(self._source, VectorStore):
            return _without_scores(self._source.invoke(query))
        try:
            return _with_scores(self._source.similarity_search_with_score(query, k=self._fetch))
        except NotImplementedError:
            return _without_scores(self._source.similarity_search(query, k=self._fetch))

    async def _documents_async(self, query: str) -> Iterable[ScoredDocument]:
        """Return what `_documents` returns, without blocking the event loop."""
        if not isinstance(self._source, VectorStore):
            return _without_scores(await self._source.ainvoke(query))
        try:
            return _with_scores(await self._source.asimilarity_search_with_score(query, k=self._fetch))
        except NotImplementedError:
            return _without_scores(await self._source.asimilarity_search(query, k=self._fetch))


def _without_scores(documents: Iterable[LangChainDocument] | None) -> list[ScoredDocument]:
    """Return documents with None for their scores."""
    return [(document, None) for document in documents or ()]


def _with_scores(pairs: Sequence[tuple[LangChainDocument, float]]) -> list[ScoredDocument]:
    """Return documents with their scores; a score that is no finite number becomes None."""
    return [(document, float(score) if math.isfinite(score) else None) for document, score in pairs]
