"""What an ingest needs of a store of documents, wherever that is, and what it gives to it.

`Store` (SQLite, in a library's folder) keeps these protocols. Another store that keeps them takes the same ingest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from preflight_rag.state.values import Document, Passage


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The stored state with which an ingest compares a document.

    Attributes:
        content_hash: The `content_hash` of the `PreparedDocument` that was stored.
        origin: The file that it came from, or "".
    """

    content_hash: str
    origin: str


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document and its passages, before anything is embedded.

    Attributes:
        document: As it is stored; its text is kept in its passages only.
        origin: The file it came from, or "".
        content_hash: What `StoredDocument` says of it next time.
        passages: In the order of the text; at least one.
        keys: Of each passage, what names the text that is embedded of it: equal keys have equal vectors.
    """

    document: Document
    origin: str
    content_hash: str
    passages: tuple[Passage, ...]
    keys: tuple[str, ...]

    def inputs(self) -> dict[str, tuple[str, str]]:
        """Return the title and text to embed, by key."""
        return {key: (each.title, each.text) for key, each in zip(self.keys, self.passages, strict=True)}

    def with_vectors(self, vectors: Mapping[str, bytes]) -> PreparedDocument:
        """Return the document in its stored form, with the vectors of its keys."""
        found = tuple(vectors[key] for key in self.keys)
        return PreparedDocument(self.document, self.origin, self.content_hash, self.passages, self.keys, found)


@dataclass(frozen=True, slots=True)
class PreparedDocument(SplitDocument):
    """A document that is ready to be stored.

    Attributes:
        vectors: Of each passage, little-endian float32.
    """

    vectors: tuple[bytes, ...]


class SettingsStore(Protocol):
    """The settings of a store."""

    def meta(self, key: str) -> Any:
        """Return a setting as JSON gives it, or None."""

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""


class PassageReader(Protocol):
    """A store from which passages can be read."""

    def passage_ids(self, document_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return ids of the passages of each document, in the order of its text."""

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages that exist, by id."""


class DocumentStore(SettingsStore, Protocol):
    """The interface through which an ingest stores documents and reads the stored ones."""

    def document(self, document_id: str) -> StoredDocument | None:
        """Return the stored state of a document; None if it is not stored."""

    def origins(self) -> list[tuple[str, str]]:
        """Return `(document id, origin)` of all documents that came from a file."""

    def set_origin(self, document_id: str, origin: str) -> None:
        """Record that an unchanged document now comes from another file."""

    def write_documents(self, documents: Sequence[PreparedDocument]) -> None:
        """Add or replace documents, each completely or not at all; writing the same again changes nothing.

        When the method returns, the documents are stored durably.
        """

    def contents_of(self, origin: str) -> dict[str, str]:
        """Return the content hashes of the documents of a file, by id."""

    def retire_document(self, document_id: str) -> bool:
        """Remove a document; return False if there is none."""

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that exist already, stored or set aside, by key."""

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Set aside vectors of passages that are not stored, by key, for the next run."""

    def drop_kept_vectors(self) -> None:
        """Delete the vectors that an earlier run set aside."""


class FoundDocumentStore(DocumentStore, Protocol):
    """A store that can also take documents found elsewhere during a turn."""

    def documents_from(self, sources: Sequence[str]) -> dict[str, str]:
        """Return, by source, the id of the document that was read from that file."""
