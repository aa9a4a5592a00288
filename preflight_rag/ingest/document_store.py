"""The interface between an ingest and a store of documents: protocols of the store, and the values passed to it.

`Store` (SQLite, in a library's folder) implements these protocols. Any other store that does works with every ingest.
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
        origin: The file that it came from; "" if it came from none.
    """

    content_hash: str
    origin: str


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document and its passages, before anything is embedded.

    Attributes:
        document: The document as it is stored; its text is stored in its passages only.
        origin: The file it came from; "" if it came from none.
        content_hash: The hash with which the next ingest recognises that the document has not changed.
        passages: The passages in the order of the text; at least one.
        keys: The key of each passage's vector (`identity.vector_key`): passages with equal keys have equal vectors.
    """

    document: Document
    origin: str
    content_hash: str
    passages: tuple[Passage, ...]
    keys: tuple[str, ...]

    def inputs(self) -> dict[str, tuple[str, str]]:
        """Return the title and text to embed of each passage, by key."""
        return {key: (passage.title, passage.text) for key, passage in zip(self.keys, self.passages, strict=True)}

    def with_vectors(self, vectors: Mapping[str, bytes]) -> PreparedDocument:
        """Return the document in its stored form, with its passages' vectors from `vectors` (by key)."""
        own_vectors = tuple(vectors[key] for key in self.keys)
        return PreparedDocument(self.document, self.origin, self.content_hash, self.passages, self.keys, own_vectors)


@dataclass(frozen=True, slots=True)
class PreparedDocument(SplitDocument):
    """A document that is ready to be stored.

    Attributes:
        vectors: The vector of each passage, as bytes of little-endian float32 numbers.
    """

    vectors: tuple[bytes, ...]


class SettingsStore(Protocol):
    """The settings of a store: JSON values by name."""

    def meta(self, key: str) -> Any:
        """Return a setting as a JSON value; None if it is not set."""

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting, a JSON value."""


class PassageReader(Protocol):
    """A store from which passages can be read."""

    def passage_ids(self, document_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of each document's passages in the order of its text, by document id."""

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return those of the passages that exist, by passage id."""


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
        """Return the content hashes of the stored documents of a file, by document id."""

    def retire_document(self, document_id: str) -> bool:
        """Remove a document, and return True; return False if there is none with this id."""

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return those of the vectors that exist already, stored or set aside, by key."""

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Set aside vectors (by key) of passages that are not stored, so that the next run need not compute them."""

    def drop_kept_vectors(self) -> None:
        """Delete the vectors that an earlier run set aside."""


class FoundDocumentStore(DocumentStore, Protocol):
    """A store that can also take documents found elsewhere during a turn."""

    def documents_from(self, sources: Sequence[str]) -> dict[str, str]:
        """Return, by source, the id of the document that was read from that file."""
