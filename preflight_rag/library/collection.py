"""The interface of a collection of documents, wherever it is stored.

Kept by `Library` (a folder on disk), by `PostgresLibrary` (a database that many processes share), and by
`ExternalLibrary` (somebody's own retriever or vector store).
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
    """A collection that can be searched, and whose passages are found again by their ids.

    All of it may be called from several threads.
    """

    @property
    def name(self) -> str:
        """The collection's name for people: its folder, or the class of its retriever."""

    @property
    def path(self) -> Path:
        """The folder for what belongs to the collection: conversations, calibration."""

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
        """Return the `k` best passages for a query by vectors, by words, and by both, of those that fit its filter."""

    def candidates(self, query: SearchQuery | str) -> list[Candidate]:
        """Return the first `query.candidates` passages of the fused ranking, with their places in the other ones."""

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
        """Return the documents whose text or title holds a phrase, by id, counted over all of them."""

    def intern(self, documents: Sequence[Document], *, deadline: float = ...) -> InternReport:
        """Store documents that a turn found elsewhere, such as in PubMed, so that their passages are found by id."""

    def delete_document(self, document_id: str) -> bool:
        """Delete a document, its passages and vectors; false where there is none."""

    def stats(self) -> dict[str, Any]:
        """Return counts, sizes in bytes, and the settings that the collection was made with."""

    def verify(self) -> list[str]:
        """Return the problems of the stored data, one line each."""

    def warm(self) -> None:
        """Load what the first search needs ahead of it."""

    def close(self) -> None:
        """Close the collection's files and connections."""


@runtime_checkable
class TakesFiles(Protocol):
    """A collection that files are read into."""

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
    """A collection whose documents are ours: they can be added, changed and deleted.

    Kept by `Library` (a folder) and `PostgresLibrary` (a database).
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
        """Delete documents, their passages and vectors; how many there were."""

    def rebuild(self) -> None:
        """Make the indices anew from what is stored, and give back the room of what was deleted."""

    def lost_documents(self) -> list[str]:
        """Return the documents that an index was built from and the database no longer holds, one line each."""

    def __enter__(self) -> Self:
        """Close it at the end of a block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""


def own_collection(collection: Collection) -> OwnCollection:
    """Return the collection as one whose documents can be changed.

    Raises:
        UsageError: Its documents are somebody else's.
    """
    if isinstance(collection, TakesFiles):  # of a protocol with properties, asking would read these
        return cast("OwnCollection", collection)
    raise UsageError(
        f"this library borrows its documents from {collection.name}",
        help="Add them there, or ingest into a library of your own.",
    )


@runtime_checkable
class BooleanSearch(Protocol):
    """A collection that takes Boolean expressions, too."""

    def match(self, expression: str, limit: int = ...) -> tuple[list[str], int]:
        """Return ids of documents that fit an expression in PubMed's syntax, best first, and how many passages fit."""


@runtime_checkable
class PhraseSearch(Protocol):
    """A collection whose index finds passages by phrases."""

    def passages_with(self, phrases: Sequence[str], limit: int = ...) -> list[str]:
        """Return the ids of passages whose words hold one of the phrases, best first by BM25, at most `limit`."""


@runtime_checkable
class IndexedTerms(Protocol):
    """A collection whose index holds the terms of its passages."""

    def indexed_terms(self, ids: Sequence[str]) -> list[PassageTerms] | None:
        """Return the terms of passages in the order of `ids`; None where the index lacks those of one."""
        ...


def indexed_terms(collection: Collection, ids: Sequence[str]) -> list[PassageTerms] | None:
    """Return the terms of passages in the order of `ids`; None where they have to be read from the texts."""
    if not ids or not isinstance(collection, IndexedTerms):
        return None
    return collection.indexed_terms(ids)
