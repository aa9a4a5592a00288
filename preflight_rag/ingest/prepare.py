"""Turn a document into passages and their vectors, without a store.

Splitting and embedding need no library, so that other processes may do it; the process that has the library stores
their results (`PreparedDocument`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from preflight_rag.ingest.document_store import SplitDocument
from preflight_rag.ingest.identity import vector_key
from preflight_rag.ingest.loaders.fields import json_values
from preflight_rag.ingest.loaders.read_report import report_of
from preflight_rag.ingest.report import ReadDocument
from preflight_rag.models.opening import embedder_for_many
from preflight_rag.state.errors import DocumentError, EmptyDocument, PreflightError
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.document_dates import find_date
from preflight_rag.text.words import on_one_line, unicode_text

if TYPE_CHECKING:
    from preflight_rag.models.embedding.embedder import Embedder

GROUP_PASSAGES = 64
"""Number of passages embedded at once, which takes about two seconds; in between, an ingest checks whether to stop."""


class Splitter(Protocol):
    """The interface of a splitter for an ingest."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that passage boundaries depend on."""

    def split(self, document: Document) -> list[Passage]:
        """Return the document's passages in order."""


def storable(document: Document) -> Document:
    """Return the document in the form in which it is stored.

    A blank text is replaced by the title, a lone surrogate by U+FFFD, and NaN in the metadata by null.

    Raises:
        UnreadableDocument: Its metadata has too many levels.
    """
    if not document.text.strip():
        document = document.model_copy(update={"text": document.title})
    changed: dict[str, Any] = {}
    for name in ("id", "text", "source", "title", "date"):
        value = getattr(document, name)
        if isinstance(value, str) and (text := unicode_text(value)) != value:
            changed[name] = text
    try:
        json.dumps(document.metadata, allow_nan=False, default=str)
    except (ValueError, RecursionError):
        changed["metadata"] = json_values(document.metadata)
    return document.model_copy(update=changed) if changed else document


def dated(document: Document) -> Document:
    """Return the document with `metadata["date_from"]`, which says where its date is from: "metadata" or "text".

    A document without a date gets the one found in its text; if there is none there, it is returned unchanged.
    """
    if document.date:
        return document.model_copy(update={"metadata": {"date_from": "metadata"} | document.metadata})
    found = find_date(document.text, title=document.title, url=document.source)
    if found is None:
        return document
    metadata = {"date_from": "text"} | document.metadata
    return document.model_copy(update={"date": str(found.date), "metadata": metadata})


def notes_on(document: Document) -> list[tuple[str, str]]:
    """Return `(source, note)` on the parts of a document that were not read, or not reliably."""
    source, notes = on_one_line(document.source or document.id), []
    if unread := document.metadata.get("unread"):
        notes.append((source, f"not read: {unread}"))
    if pages := document.metadata.get("ocr_pages"):
        counted = f"{len(pages)} pages are pictures" if len(pages) > 1 else "1 page is a picture"
        notes.append((source, f"{counted}; the text was recognised, and may hold misread letters"))
    report = report_of(document.metadata)
    if report and report.less:
        notes.append((source, f"less than expected was read: {'; '.join(report.less)}"))
    return notes


def read_of(document: Document) -> ReadDocument | None:
    """Return the loader's report on a document; None if its loader gives none."""
    report = report_of(document.metadata)
    source = on_one_line(document.source or document.id)
    return ReadDocument(source, on_one_line(document.title), report) if report else None


def split_document(document: Document, splitter: Splitter, *, origin: str, content_hash: str) -> SplitDocument:
    """Return a document with its passages; one without a date gets the date found in its text.

    Args:
        document: A document in the form that `storable` returns.
        splitter: Makes the passages.
        origin: The file that it came from, or "".
        content_hash: The hash (`identity.content_hash`) of the document as it was loaded.

    Raises:
        DocumentError: It contains no text, or cannot be split.
    """
    document = dated(document)
    try:
        passages = splitter.split(document)
    except PreflightError:
        raise
    except Exception as error:
        raise DocumentError(f"Cannot be split ({type(error).__name__}: {error})") from error
    if not passages:
        raise EmptyDocument(f"{document.source or document.id} holds no text")
    return SplitDocument(document, origin, content_hash, tuple(passages), tuple(map(vector_key, passages)))


def embedded_groups(embedder: Embedder, inputs: Mapping[str, tuple[str, str]]) -> Iterator[dict[str, bytes]]:
    """Embed texts in groups, and yield the vectors of each group by key, as bytes of little-endian float32 numbers.

    Texts of similar length are embedded together, because the shorter texts of a group are padded to the longest.

    Args:
        embedder: Computes the vectors; for many texts, a faster equivalent one (`embedder_for_many`) may do it.
        inputs: Title and text by key.
    """
    keys = sorted(inputs, key=lambda key: len(inputs[key][1]))
    embedder = embedder_for_many(embedder, len(keys))
    for start in range(0, len(keys), GROUP_PASSAGES):
        group = keys[start : start + GROUP_PASSAGES]
        rows = embedder.encode_passages([inputs[key] for key in group])
        yield {key: row.astype("<f4").tobytes() for key, row in zip(group, rows, strict=True)}
