"""Storing documents that a turn found elsewhere (PubMed): without an ingest, they become passages of the library.

A document that the library already has, under its id or from a file with the same source (a PMID), is not stored again.
Failures never reach the caller: they are reported, and the passages that are there are returned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.ingest.identity import content_hash
from preflight_rag.state.values import Document, Passage

if TYPE_CHECKING:
    from preflight_rag.ingest.document_store import FoundDocumentStore, PassageReader
    from preflight_rag.ingest.run import Ingestion

DEADLINE = 30.0
"""Seconds that a turn waits for such documents to be stored; a guess at what a person waits."""
REBUILD_PASSAGES = 20_000
"""Passages up to which the index is rebuilt within a turn, which takes about a second; a guess."""
GROUP_CHARACTERS = 12_000
"""Such documents are embedded in groups of about this many characters, between two checks of the deadline."""


@dataclass(frozen=True)
class InternReport:
    """The result of storing documents that another source returned.

    Attributes:
        passages: Passages of all those documents that the library now has, in the order of the documents.
        problems: What could not be stored, one line each.
        new: Ids of those passages whose documents the library did not have before.
    """

    passages: tuple[Passage, ...] = ()
    problems: tuple[str, ...] = ()
    new: frozenset[str] = frozenset()


def find_stored_documents(store: FoundDocumentStore, documents: Sequence[Document]) -> dict[str, str]:
    """Return, for each document that the library already has, the id under which it is stored, by the document's id.

    A document from the same source counts as the same one; one with the same id only if its content is unchanged.
    """
    settings = store.meta("splitter") or {}
    by_source = store.documents_from([document.source for document in documents])
    stored_id_by_id = {}
    for document in documents:
        id_of_same_source = by_source.get(document.source)
        stored = store.document(document.id)
        if id_of_same_source is not None and id_of_same_source != document.id:
            stored_id_by_id[document.id] = id_of_same_source
        elif stored is not None and stored.content_hash == content_hash(document, settings):
            stored_id_by_id[document.id] = document.id
    return stored_id_by_id


def add_documents_until(run: Ingestion, documents: Sequence[Document], end_time: float) -> list[str]:
    """Split, embed and store documents until `end_time`, and return what could not be stored, one line each.

    Args:
        run: The ingestion.
        documents: The documents, which are stored in this order.
        end_time: Value of `time.monotonic()` after which no further group of documents is begun.
    """
    stored_count = 0
    for group in _groups_by_size(documents):
        if time.monotonic() > end_time:
            break
        run.add_documents(group)
        stored_count += len(group)
    problems = [f"{source} could not be taken in: {reason}" for source, reason in run.report.failed]
    if stored_count < len(documents):
        unread_sources = [document.source for document in documents[stored_count:]]
        names = ", ".join(unread_sources[:3]) + (", …" if len(unread_sources) > 3 else "")
        problems.append(f"{len(unread_sources)} of {len(documents)} new documents could not be read in time: {names}")
    return problems


def read_passages(store: PassageReader, document_ids: Sequence[str]) -> tuple[Passage, ...]:
    """Return all passages of documents, in the order of the documents and of their texts.

    Documents and passages that are not in the store are left out.
    """
    ids_by_document = store.passage_ids(document_ids)
    passage_ids: list[str] = []
    for document_id in document_ids:
        passage_ids += ids_by_document.get(document_id, [])
    passages = store.passages(passage_ids)
    # Another process may have replaced a document since its passages' ids were read.
    return tuple(passages[passage_id] for passage_id in passage_ids if passage_id in passages)


def _groups_by_size(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield groups of consecutive documents with about the same number of characters, each to be embedded at once."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
