"""Storing documents that a turn found elsewhere (PubMed): without an ingest, they become passages of the library.

A document that the library already has, under its id or from a file with the same source (a PMID), is not stored again.
Failures never reach the caller: they are reported, and the passages that are there are returned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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


def known_documents(store: FoundDocumentStore, documents: Sequence[Document]) -> dict[str, str]:
    """Return the library's id of each document that it already has, by the document's own id."""
    settings = store.meta("splitter") or {}
    by_source = store.documents_from([document.source for document in documents])
    found = {}
    for document in documents:
        other = by_source.get(document.source)
        stored = store.document(document.id)
        if other is not None and other != document.id:
            found[document.id] = other
        elif stored is not None and stored.content_hash == content_hash(document, settings):
            found[document.id] = document.id
    return found


def add_until(run: Ingestion, documents: Sequence[Document], end: float) -> list[str]:
    """Split, embed and store documents until `end` (in `time.monotonic()`); return what could not be stored."""
    done = 0
    for group in _groups(documents):
        if time.monotonic() > end:
            break
        run.add_documents(group)
        done += len(group)
    problems = [f"{source} could not be taken in: {reason}" for source, reason in run.report.failed]
    if done < len(documents):
        left = [document.source for document in documents[done:]]
        names = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
        problems.append(f"{len(left)} of {len(documents)} new documents could not be read in time: {names}")
    return problems


def passages_of(store: PassageReader, document_ids: Sequence[str]) -> tuple[Passage, ...]:
    """Return all passages of documents, in the order of the documents and of their texts."""
    names = store.passage_ids(document_ids)
    found = store.passages(list(chain.from_iterable(names.get(document, []) for document in document_ids)))
    stored_passages = []
    for document in document_ids:
        # Another process may have replaced the document since its ids were read.
        for name in names.get(document, []):
            if name in found:
                stored_passages.append(found[name])
    return tuple(stored_passages)


def _groups(documents: Sequence[Document]) -> Iterator[list[Document]]:
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
