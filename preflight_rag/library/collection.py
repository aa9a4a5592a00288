"""The interface of a collection of documents, wherever it is stored.

Implemented by `Library` (a folder on disk), by `PostgresLibrary` (a database that many processes share), and by
`ExternalLibrary` (another program's retriever or vector store).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, cast, runtime_checkable

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.ingest.report import IngestReport, Progress, Stop
    from preflight_rag.library.found import InternReport
    from preflight_rag.library.index.vocabulary import Vocabulary
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.library.search.hybrid import Rankings
    from preflight_rag.library.search.mentions import Mention
    from preflight_rag.library.search.query import SearchQuery
    from preflight_rag.library.storage.catalogue import Catalogue
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.state.retrieval import Candidate, PassageTerms
    from preflight_rag.state.values import Document, Passage


class Collection(Protocol):
    """A collection that can be searched, and that returns its passages by their ids.

    All of it may be called from several threads.
    """

    @property
    def name(self) -> str:
        """The collection's name for display: its folder, or the class of its retriever."""

    @property
    def path(self) -> Path:
        """The folder for files that belong to the collection: conversations, calibration."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of its passages, opened at the first use."""

    @property
    def embedder_revision(self) -> str:
        """Checksum of the embedder's weights, known without opening it."""

    @property
    def is_complete(self) -> bool:
        """Whether the collection knows all of its documents, not only those that searches have returned so far."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of its documents, for spelling; None where they are not known."""

    @property
    def notes(self) -> list[str]:
        """Notes for the user about its index."""

    @property
    def fields(self) -> list[str]:
        """Names of the fields that a filter may name."""

    @property
    def catalogue(self) -> Catalogue:
        """Its documents and passages for display."""

    def search(self, query: SearchQuery | str) -> Rankings:
        """Return the `k` best passages that pass the query's filter: by vectors, by words, and by both."""

    def candidates(self, query: SearchQuery | str) -> list[Candidate]:
        """Return the first `query.candidates` passages of the fused ranking, with their ranks in both others."""

    def fitting(self, ids: Sequence[str], where: Filter) -> list[str]:
        """Return the ids of those passages that pass a filter, in the order of `ids`."""

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Return passages in the order of `ids`.

        Raises:
            LibraryCorrupt: One of them is not in the collection.
        """

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Return vectors (n, d) float32 of passages, in the order of `ids`.

        Raises:
            LibraryCorrupt: One of them is not in the collection.
        """

    def document_passages(self, document_id: str) -> list[Passage]:
        """Return a document's passages in the order of its text; none where there is no such document."""

    def all_passage_ids(self) -> list[str]:
        """Return the ids of all passages, ordered by id."""

    def documents(self) -> Iterator[dict[str, Any]]:
        """Return the rows of all documents, ordered by id."""

    def mentions(self, phrase: str) -> dict[str, Mention]:
        """Return the documents whose text or title contains a phrase, by id; all documents are looked through."""

    def intern(self, documents: Sequence[Document], *, deadline: float = ...) -> InternReport:
        """Store documents that a turn found elsewhere, such as in PubMed, so that their passages can be read by id."""

    def delete_document(self, document_id: str) -> bool:
        """Delete a document, its passages and vectors; return False if there is none."""

    def stats(self) -> dict[str, Any]:
        """Return counts, sizes in bytes, and the settings that the collection was made with."""

    def verify(self) -> list[str]:
        """Return the problems of the stored data, one line each."""

    def warm(self) -> None:
        """Load what the first search needs before it comes."""

    def close(self) -> None:
        """Close the collection's files and connections."""


@runtime_checkable
class TakesFiles(Protocol):
    """A collection into which files can be read."""

    def ingest(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        prune: bool = False,
        progress: Progress | None = None,
        max_bytes: int = ...,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Add or update the documents of files and folders; `prune` removes documents whose files there are gone."""


class OwnCollection(Collection, TakesFiles, Protocol):
    """A collection whose documents this package stores: they can be added, changed and deleted.

    Implemented by `Library` (a folder) and `PostgresLibrary` (a database).
    """

    def ingest_with_ray(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        max_bytes: int = ...,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Add or update documents of files and folders with many workers."""

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory."""

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags; return False if there is no such document."""

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Delete documents, their passages and vectors; return how many existed."""

    def rebuild(self) -> None:
        """Build the indices anew from what is stored, and release the space of deleted documents."""

    def lost_documents(self) -> list[str]:
        """Return the documents that an index was built from but that are missing in the database, one line each."""

    def __enter__(self) -> Self:
        """Return the collection, which is closed at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the collection."""


def own_collection(collection: Collection) -> OwnCollection:
    """Return the collection as one whose documents can be changed.

    Raises:
        UsageError: Its documents belong to an external retriever.
    """
    # `isinstance` with a protocol would read its properties, and so open the embedder
    if isinstance(collection, TakesFiles):
        return cast("OwnCollection", collection)
    raise UsageError(
        f"this library borrows its documents from {collection.name}",
        help="Add them there, or ingest into a library of your own.",
    )


@runtime_checkable
class BooleanSearch(Protocol):
    """A collection that can be searched by Boolean expressions."""

    def match(self, expression: str, limit: int = ...) -> tuple[list[str], int]:
        """Return ids of documents that fit an expression in PubMed's syntax, best first, and how many passages fit."""


@runtime_checkable
class PhraseSearch(Protocol):
    """A collection whose index can look up phrases."""

    def passages_with(self, phrases: Sequence[str], limit: int = ...) -> list[str]:
        """Return the ids of at most `limit` passages that contain one of the phrases, best first by BM25."""


@runtime_checkable
class IndexedTerms(Protocol):
    """A collection whose index stores the terms of its passages."""

    def indexed_terms(self, ids: Sequence[str]) -> list[PassageTerms] | None:
        """Return the terms of passages in the order of `ids`; None if the index lacks those of one."""
        ...


def indexed_terms(collection: Collection, ids: Sequence[str]) -> list[PassageTerms] | None:
    """Return the terms of passages in the order of `ids`; None if they have to be computed from the texts."""
    if not ids or not isinstance(collection, IndexedTerms):
        return None
    return collection.indexed_terms(ids)
