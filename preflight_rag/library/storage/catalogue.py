"""The collection for display: documents page by page, their files, passages with the surrounding text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from preflight_rag.ingest.document_store import PassageReader
from preflight_rag.ingest.identity import place_key
from preflight_rag.ingest.loaders.files import ONE_DOCUMENT, open_regular, real_path, suffix_of
from preflight_rag.ingest.loaders.read_report import ReadReport, report_from
from preflight_rag.state.values import Passage
from preflight_rag.text.links import link_of

UPLOADS = "uploads"
"""Folder of the library for files uploaded to its server."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A document in the list of a library's documents.

    Attributes:
        kind: The extension of its file without the dot, such as "pdf"; "" if it came from no file.
        origin: The file from which it was read, or "".
        file: That file, if it contains only this document and still exists.
        gone: Whether that file no longer exists.
        url: Its address on the web, or None.
        added: When it was stored, ISO 8601 in UTC.
        tags: Tags given by users or by its own metadata.
        read: What was read of it and what was left out; None if its loader did not report that.
        copy_of: The document with the same text that is searched instead; "" if there is none.
        saved: When its file was saved, which is not the document's date; None if the file does not say.
    """

    id: str
    title: str
    source: str
    date: str | None
    passages: int
    tokens: int
    kind: str
    origin: str
    file: Path | None
    gone: bool
    url: str | None
    added: str
    tags: tuple[str, ...] = ()
    read: ReadReport | None = None
    copy_of: str = ""
    saved: str | None = None


class CatalogueStore(PassageReader, Protocol):
    """The store behind a catalogue. A row has the columns of `ROW`."""

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents, passages and their tokens."""

    def generation(self) -> int:
        """Return the number of the last change of a document."""

    def meta(self, key: str) -> Any:
        """Return a setting, or None."""

    def list_documents(self, like: str, offset: int, limit: int) -> tuple[Sequence[Mapping[str, Any]], int]:
        """Return one page of documents with title, id or source LIKE a pattern, and their total number.

        "" matches all; the latest come first.
        """

    def list_document(self, document_id: str) -> Mapping[str, Any] | None:
        """Return the row of one document."""

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, ordered."""

    def origin_is_used(self, origin: str) -> bool:
        """Return whether a document was read from this file."""

    def count_by_origin(self) -> list[tuple[str, int]]:
        """Return each file with its number of documents; "" stands for documents that came from no file."""

    def originals(self) -> Mapping[str, str]:
        """Return, for each copied document, the document that is searched instead."""

    def count_by_tag(self) -> list[tuple[str, int]]:
        """Return each tag with its number of documents, in alphabetical order."""


# The columns of a document's row in the catalogue.
ROW = (
    *("id", "title", "source", "date", "origin", "added_at", "doi", "pmcid", "pmid", "url", "tags", "read", "saved"),
    "passages",
    "tokens",
)


class Catalogue:
    """Looks things up in a library's database. May be used from several threads.

    Args:
        store: The library's store.
        folder: The folder for files that belong to the library, such as uploads.
    """

    def __init__(self, store: CatalogueStore, folder: Path) -> None:
        self._store, self._folder = store, folder

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents, passages and their tokens."""
        return self._store.counts()

    def documents(self, query: str = "", *, offset: int = 0, limit: int = 50) -> tuple[list[CatalogueEntry], int]:
        """Return one page of the documents whose title, id or source contains the query, and the number of all of them.

        The latest documents come first; an empty query matches all.
        """
        # The backslash first, so that those which escape % and _ are not escaped themselves.
        literal = query.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows, total = self._store.list_documents(f"%{literal}%" if literal else "", offset, limit)
        originals = self._store.originals() if rows else {}
        return [_make_entry(row, self._store, originals) for row in rows], total

    def document(self, document_id: str) -> CatalogueEntry | None:
        """Return the entry of a document by its id; None if there is none."""
        row = self._store.list_document(document_id)
        return None if row is None else _make_entry(row, self._store, self._store.originals())

    def knows(self, document_id: str) -> bool:
        """Return whether there is a document of that id."""
        return self._store.list_document(document_id) is not None

    def ids(self) -> list[str]:
        """Return the ids of all documents, ordered."""
        return self._store.document_ids()

    def generation(self) -> int:
        """Return the number of the last change of a document."""
        return self._store.generation()

    def origin_is_used(self, origin: str) -> bool:
        """Return whether a document of the library was read from this file."""
        return self._store.origin_is_used(origin)

    def tags(self) -> dict[str, int]:
        """Return each tag with its number of documents, in alphabetical order."""
        return dict(self._store.count_by_tag())

    def folders(self) -> dict[str, int]:
        """Return the number of documents in each folder and below it, by names that the filter field `folder` accepts.

        A name begins with the last folder that all files have in common. The result is empty if there is only one name.
        """
        counts_by_parent = [
            (PurePath(origin).parent, count) for origin, count in self._store.count_by_origin() if origin
        ]
        uploads = self._folder.absolute() / UPLOADS
        # Uploads are in the library's folder, which may have nothing in common with the folders of the documents.
        own = [(parent, count) for parent, count in counts_by_parent if not parent.is_relative_to(uploads)]
        uploaded_count = sum(count for _, count in counts_by_parent) - sum(count for _, count in own)
        counts = {f"{uploads.parent.name}/{UPLOADS}": uploaded_count} if uploaded_count else {}
        # `commonpath` refuses an empty list, and paths of two drives.
        if len({parent.anchor for parent, _ in own}) == 1:
            common = PurePath(os.path.commonpath([parent for parent, _ in own]))
            for parent, count in own:
                for folder in (parent, *parent.parents):
                    if not folder.is_relative_to(common):
                        break
                    name = "/".join((common.name, *folder.relative_to(common).parts)).strip("/")
                    counts[name] = counts.get(name, 0) + count
        return dict(sorted(counts.items())) if len(counts) > 1 else {}

    def kinds(self) -> dict[str, int]:
        """Return the number of documents of each kind of file, such as "pdf"; "" stands for no file."""
        counts: dict[str, int] = {}
        for origin, count in self._store.count_by_origin():
            kind = _kind(origin)
            counts[kind] = counts.get(kind, 0) + count
        return dict(sorted(counts.items()))

    def open_file(self, entry: CatalogueEntry) -> int:
        """Open an entry's file for reading, and return its file descriptor, which the caller has to close.

        Raises:
            OSError: The file is gone, or was replaced by something else.
        """
        if entry.file is None:
            raise FileNotFoundError(entry.origin)
        # Opened first and compared then: a link that takes the file's place in between leads elsewhere, and is noticed.
        descriptor = open_regular(entry.file)
        if str(real_path(descriptor, entry.file)) != _reading_path(self._store, entry.origin):
            os.close(descriptor)
            raise FileNotFoundError(entry.origin)
        return descriptor

    def passage(self, passage_id: str) -> Passage | None:
        """Return a passage, or None; also a passage of an older version, as long as the index refers to it."""
        return self._store.passages([passage_id]).get(passage_id)

    def passages(self, document_id: str, most: int) -> list[Passage]:
        """Return a document's first passages, at most `most`, in the order of its text."""
        ids = self._store.passage_ids([document_id]).get(document_id, [])[:most]
        passages = self._store.passages(ids)
        return [passages[id] for id in ids if id in passages]

    def around(self, passage: Passage) -> tuple[str, str]:
        """Return the text before and after a passage in its document, as far as the adjacent passages contain it.

        Both are empty if the passage is not in the document's present version.
        """
        ids = self._store.passage_ids([passage.document_id]).get(passage.document_id, [])
        if passage.id not in ids:
            return "", ""
        index = ids.index(passage.id)
        adjacent = self._store.passages([ids[i] for i in (index - 1, index + 1) if 0 <= i < len(ids)])
        before = adjacent.get(ids[index - 1]) if index else None
        after = adjacent.get(ids[index + 1]) if index + 1 < len(ids) else None
        # Adjacent passages may overlap; text that both have is returned once.
        head = before.text[: max(passage.start - before.start, 0)] if before else ""
        tail = after.text[max(passage.end - after.start, 0) :] if after else ""
        return head, tail


def _kind(origin: str) -> str:
    """Return the extension of a file's name, without the dot and without ".gz"; "" for no file."""
    return suffix_of(Path(origin)).removesuffix(".gz").removeprefix(".") if origin else ""


def _reading_path(store: CatalogueStore, origin: str) -> str:
    """Return the path, with links resolved, at which a document's file was read; a link may lead elsewhere by now."""
    return str(store.meta(place_key(origin)) or origin)


def _resolved_path(path: Path) -> str:
    """Return the path with links resolved; "" if that fails, such as for a path that is changed meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError:
        return ""


def _parse_tags(value: object) -> tuple[str, ...]:
    """Return the tags in a document's metadata as SQLite extracts them: a list as JSON, or one text."""
    if not isinstance(value, str):
        return ()
    try:
        entries = json.loads(value) if value.startswith("[") else [value]
    except ValueError:  # a single tag that begins like JSON
        entries = [value]
    return tuple(tag.strip() for tag in entries if isinstance(tag, str) and tag.strip())


def _parse_read_report(value: object) -> ReadReport | None:
    """Return the read report in a document's metadata, given as JSON; None if there is none, or it cannot be read."""
    try:
        return report_from(json.loads(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _make_entry(row: Mapping[str, Any], store: CatalogueStore, originals: Mapping[str, str]) -> CatalogueEntry:
    """Return a document's row as an entry of the catalogue, with whether its file can be opened."""
    path = Path(row["origin"]) if row["origin"] else None
    # A table's file is one document, whose id is the file's path, or many with other ids.
    has_own_file = path is not None and (suffix_of(path) in ONE_DOCUMENT or row["id"] == row["origin"])
    is_readable = path is not None and has_own_file and path.is_file()
    is_same_file = path is not None and is_readable and _resolved_path(path) == _reading_path(store, row["origin"])
    return CatalogueEntry(
        id=row["id"],
        title=row["title"],
        source=row["source"],
        date=row["date"],
        passages=row["passages"],
        tokens=row["tokens"],
        kind=_kind(row["origin"]),
        origin=row["origin"],
        file=path if is_same_file else None,
        gone=has_own_file and path is not None and not path.exists(),
        url=link_of(row["source"], {key: row[key] for key in ("doi", "pmcid", "pmid", "url")}),
        added=row["added_at"],
        tags=_parse_tags(row["tags"]),
        read=_parse_read_report(row["read"]),
        copy_of=originals.get(row["id"], ""),
        saved=row["saved"],
    )
