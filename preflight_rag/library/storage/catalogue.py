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

    def listed(self, like: str, offset: int, limit: int) -> tuple[Sequence[Mapping[str, Any]], int]:
        """Return one page of documents with title, id or source LIKE a pattern, and their total number.

        "" matches all; the latest come first.
        """

    def listed_row(self, document_id: str) -> Mapping[str, Any] | None:
        """Return the row of one document."""

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, ordered."""

    def origin_is_used(self, origin: str) -> bool:
        """Return whether a document was read from this file."""

    def origins_counted(self) -> list[tuple[str, int]]:
        """Return each file with its number of documents; "" stands for documents that came from no file."""

    def originals(self) -> Mapping[str, str]:
        """Return, for each copied document, the document that is searched instead."""

    def tags_counted(self) -> list[tuple[str, int]]:
        """Return each tag with its number of documents, in alphabetical order."""


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
        """Return a page of documents whose title, id or source contains the query, latest first, and their number."""
        # The backslash first: those that escape % and _ are not to be escaped themselves.
        literal = query.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows, total = self._store.listed(f"%{literal}%" if literal else "", offset, limit)
        originals = self._store.originals() if rows else {}
        return [_entry(row, self._store, originals) for row in rows], total

    def document(self, document_id: str) -> CatalogueEntry | None:
        """Return the entry of a document by its id; None if there is none."""
        row = self._store.listed_row(document_id)
        return None if row is None else _entry(row, self._store, self._store.originals())

    def knows(self, document_id: str) -> bool:
        """Return whether there is a document of that id."""
        return self._store.listed_row(document_id) is not None

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
        """Count the documents of each tag."""
        return dict(self._store.tags_counted())

    def folders(self) -> dict[str, int]:
        """Count the documents in each folder and below it, by names that the filter field `folder` accepts.

        A name begins with the last folder that all files have in common; a single folder is left out.
        """
        parents = [(PurePath(origin).parent, count) for origin, count in self._store.origins_counted() if origin]
        uploads = self._folder.absolute() / UPLOADS
        # Uploads are in the library's folder, which may have nothing in common with the folders of the documents.
        own = [(parent, count) for parent, count in parents if not parent.is_relative_to(uploads)]
        uploaded = sum(count for _, count in parents) - sum(count for _, count in own)
        found = {f"{uploads.parent.name}/{UPLOADS}": uploaded} if uploaded else {}
        # `commonpath` refuses an empty list, and paths of two drives.
        if len({parent.anchor for parent, _ in own}) == 1:
            common = PurePath(os.path.commonpath([parent for parent, _ in own]))
            for parent, count in own:
                for folder in (parent, *parent.parents):
                    if not folder.is_relative_to(common):
                        break
                    name = "/".join((common.name, *folder.relative_to(common).parts)).strip("/")
                    found[name] = found.get(name, 0) + count
        return dict(sorted(found.items())) if len(found) > 1 else {}

    def kinds(self) -> dict[str, int]:
        """Count the documents of each kind of file."""
        found: dict[str, int] = {}
        for origin, count in self._store.origins_counted():
            kind = _kind(origin)
            found[kind] = found.get(kind, 0) + count
        return dict(sorted(found.items()))

    def open_file(self, entry: CatalogueEntry) -> int:
        """Return an entry's file, opened for reading, which the caller has to close.

        Raises:
            OSError: The file is gone, or was replaced by something else.
        """
        if entry.file is None:
            raise FileNotFoundError(entry.origin)
        # Opened first and compared then: a link that takes the file's place in between leads elsewhere, and is noticed.
        number = open_regular(entry.file)
        if str(real_path(number, entry.file)) != _place(self._store, entry.origin):
            os.close(number)
            raise FileNotFoundError(entry.origin)
        return number

    def passage(self, passage_id: str) -> Passage | None:
        """Return a passage, or None; also a passage of an older version, as long as the index refers to it."""
        return self._store.passages([passage_id]).get(passage_id)

    def passages(self, document_id: str, most: int) -> list[Passage]:
        """Return a document's first passages, in the order of its text."""
        ids = self._store.passage_ids([document_id]).get(document_id, [])[:most]
        found = self._store.passages(ids)
        return [found[id] for id in ids if id in found]

    def around(self, passage: Passage) -> tuple[str, str]:
        """Return the text before and after a passage in its document, as far as its neighbours contain it."""
        ids = self._store.passage_ids([passage.document_id]).get(passage.document_id, [])
        if passage.id not in ids:
            return "", ""
        place = ids.index(passage.id)
        found = self._store.passages([ids[i] for i in (place - 1, place + 1) if 0 <= i < len(ids)])
        before = found.get(ids[place - 1]) if place else None
        after = found.get(ids[place + 1]) if place + 1 < len(ids) else None
        # Neighbours may overlap the passage; what both have is shown once.
        head = before.text[: max(passage.start - before.start, 0)] if before else ""
        tail = after.text[max(passage.end - after.start, 0) :] if after else ""
        return head, tail


def _kind(origin: str) -> str:
    """Return the extension of a file's name without the dot."""
    return suffix_of(Path(origin)).removesuffix(".gz").removeprefix(".") if origin else ""


def _place(store: CatalogueStore, origin: str) -> str:
    """Return the path at which the file was read; "" if it is gone.

    If a link leads to a different file now, that file is not returned.
    """
    return str(store.meta(place_key(origin)) or origin)


def _real(path: Path) -> str:
    """Return the resolved path; "" if the path changes meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError:
        return ""


def _tags(value: object) -> tuple[str, ...]:
    """Return the tags in a document's metadata as SQLite extracts them: a list as JSON, or one text."""
    if not isinstance(value, str):
        return ()
    try:
        read = json.loads(value) if value.startswith("[") else [value]
    except ValueError:  # a single tag that begins like JSON
        read = [value]
    return tuple(tag.strip() for tag in read if isinstance(tag, str) and tag.strip())


def _read(value: object) -> ReadReport | None:
    """Return the read report in a document's metadata, as the database extracts it."""
    try:
        return report_from(json.loads(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _entry(row: Mapping[str, Any], store: CatalogueStore, originals: Mapping[str, str]) -> CatalogueEntry:
    """Return a document's row as an entry of the catalogue, with whether its file can be opened."""
    path = Path(row["origin"]) if row["origin"] else None
    # A table's file is one document or many, whose ids are then not the file's.
    of_one = path is not None and (suffix_of(path) in ONE_DOCUMENT or row["id"] == row["origin"])
    opens = path is not None and of_one and path.is_file() and _real(path) == _place(store, row["origin"])
    return CatalogueEntry(
        id=row["id"],
        title=row["title"],
        source=row["source"],
        date=row["date"],
        passages=row["passages"],
        tokens=row["tokens"],
        kind=_kind(row["origin"]),
        origin=row["origin"],
        file=path if opens else None,
        gone=of_one and path is not None and not path.exists(),
        url=link_of(row["source"], {key: row[key] for key in ("doi", "pmcid", "pmid", "url")}),
        added=row["added_at"],
        tags=_tags(row["tags"]),
        read=_read(row["read"]),
        copy_of=originals.get(row["id"], ""),
        saved=row["saved"],
    )
