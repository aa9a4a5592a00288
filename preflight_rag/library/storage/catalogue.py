"""The collection as people look at it: documents page by page, their files, passages with what stands around them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from preflight_rag.library.loaders.files import ONE_DOCUMENT, open_regular, real_path, suffix_of
from preflight_rag.library.storage.identity import place_key
from preflight_rag.state.values import Passage
from preflight_rag.text.links import link_of

if TYPE_CHECKING:
    import sqlite3

    from preflight_rag.library.storage.store import Store

UPLOADS = "uploads"
"""Folder of the library for what was uploaded to its server."""

_ROW = """SELECT id, title, source, date, origin, added_at, json_extract(metadata, '$.doi') AS doi,
    json_extract(metadata, '$.pmcid') AS pmcid, json_extract(metadata, '$.pmid') AS pmid,
    json_extract(metadata, '$.url') AS url, json_extract(metadata, '$.tags') AS tags,
    (SELECT count(*) FROM passages WHERE document_id = d.id AND retired IS NULL) AS passages,
    (SELECT coalesce(sum(tokens), 0) FROM passages WHERE document_id = d.id AND retired IS NULL) AS tokens
    FROM documents d"""
_FITS = "(title LIKE :like ESCAPE '\\' OR id LIKE :like ESCAPE '\\' OR source LIKE :like ESCAPE '\\')"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One document of the list.

    Attributes:
        kind: The ending of its file without the dot, such as "pdf"; "" where it came from no file.
        origin: The file that it was read from, or "".
        file: That file, where it is this document alone and still there.
        gone: Whether there was such a file, which is no longer there.
        url: Where it can be read in the open web, or None.
        added: When it was stored, ISO 8601 in UTC.
        tags: What people, or its own metadata, file it under.
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


class Catalogue:
    """Looks things up in a library's database. May be used from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def counts(self) -> dict[str, int]:
        """Documents, passages and their tokens."""
        return self._store.counts()

    def documents(self, query: str = "", *, offset: int = 0, limit: int = 50) -> tuple[list[CatalogueEntry], int]:
        """Documents whose title, id or source holds the query, the latest first, and how many there are in all."""
        literal = query.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values: dict[str, Any] = {"like": f"%{literal}%", "offset": offset, "limit": limit}
        fits = f"d.retired IS NULL AND {_FITS}" if literal else "d.retired IS NULL"
        (total,) = self._select(f"SELECT count(*) FROM documents d WHERE {fits}", values)[0]  # noqa: S608  # constants
        rows = self._select(f"{_ROW} WHERE {fits} ORDER BY added_at DESC, id LIMIT :limit OFFSET :offset", values)
        return [_entry(row, self._store) for row in rows], int(total)

    def document(self, document_id: str) -> CatalogueEntry | None:
        """One document, or None."""
        rows = self._select(f"{_ROW} WHERE d.retired IS NULL AND d.id = :id", {"id": document_id})
        return _entry(rows[0], self._store) if rows else None

    def knows(self, document_id: str) -> bool:
        """Whether there is a document of that id."""
        sql = "SELECT 1 FROM documents WHERE retired IS NULL AND id = :id"
        return bool(self._select(sql, {"id": document_id}))

    def ids(self) -> list[str]:
        """Ids of all documents, ordered."""
        return [row[0] for row in self._select("SELECT id FROM documents WHERE retired IS NULL ORDER BY id", {})]

    def generation(self) -> int:
        """Number of the last change of a document."""
        return self._store.generation()

    def origin_is_used(self, origin: str) -> bool:
        """Whether a document of the library was read from this file."""
        sql = "SELECT 1 FROM documents WHERE retired IS NULL AND origin = :origin LIMIT 1"
        return bool(self._select(sql, {"origin": origin}))

    def tags(self) -> dict[str, int]:
        """How many documents there are of each tag."""
        sql = """SELECT trim(m.value) AS tag, count(*) FROM documents d, json_each(d.metadata, '$.tags') m
            WHERE d.retired IS NULL AND m.type = 'text' AND trim(m.value) != '' GROUP BY 1 ORDER BY 1 COLLATE NOCASE"""
        return {row[0]: row[1] for row in self._select(sql, {})}

    def folders(self) -> dict[str, int]:
        """How many documents there are in each folder and below it, by names that the filter field `folder` takes.

        A name begins with the last folder that all files have in common; of a single folder there is nothing to choose.
        """
        sql = "SELECT origin FROM documents WHERE retired IS NULL AND origin != ''"
        parents = [PurePath(row[0]).parent for row in self._select(sql, {})]
        uploads = self._store.path.parent.absolute() / UPLOADS
        own = [parent for parent in parents if not parent.is_relative_to(uploads)]
        found = {f"{uploads.parent.name}/{UPLOADS}": len(parents) - len(own)} if len(own) < len(parents) else {}
        if len({parent.anchor for parent in own}) == 1:
            common = PurePath(os.path.commonpath(own))
            for parent in own:
                for folder in (parent, *parent.parents):
                    if not folder.is_relative_to(common):
                        break
                    name = "/".join((common.name, *folder.relative_to(common).parts)).strip("/")
                    found[name] = found.get(name, 0) + 1
        return dict(sorted(found.items())) if len(found) > 1 else {}

    def kinds(self) -> dict[str, int]:
        """How many documents there are of each kind of file."""
        found: dict[str, int] = {}
        sql = "SELECT origin, count(*) FROM documents WHERE retired IS NULL GROUP BY origin"
        for origin, count in self._select(sql, {}):
            kind = _kind(origin)
            found[kind] = found.get(kind, 0) + count
        return dict(sorted(found.items()))

    def open_file(self, entry: CatalogueEntry) -> int:
        """The file of an entry, opened for reading: the one that lies where it was read from; for the caller to close.

        Raises:
            OSError: It is not there any more, or something else is.
        """
        if entry.file is None:
            raise FileNotFoundError(entry.origin)
        number = open_regular(entry.file)
        if str(real_path(number, entry.file)) != _place(self._store, entry.origin):
            os.close(number)
            raise FileNotFoundError(entry.origin)
        return number

    def passage(self, passage_id: str) -> Passage | None:
        """One passage, or None; also one of a document that has since been changed, while the index holds it."""
        return self._store.passages([passage_id]).get(passage_id)

    def passages(self, document_id: str, most: int) -> list[Passage]:
        """A document's first passages, in the order of its text."""
        ids = self._store.passage_ids([document_id]).get(document_id, [])[:most]
        found = self._store.passages(ids)
        return [found[id] for id in ids if id in found]

    def around(self, passage: Passage) -> tuple[str, str]:
        """What stands before and after a passage in its document, as far as its neighbours hold it."""
        ids = self._store.passage_ids([passage.document_id]).get(passage.document_id, [])
        if passage.id not in ids:
            return "", ""
        place = ids.index(passage.id)
        found = self._store.passages([ids[i] for i in (place - 1, place + 1) if 0 <= i < len(ids)])
        before = found.get(ids[place - 1]) if place else None
        after = found.get(ids[place + 1]) if place + 1 < len(ids) else None
        head = before.text[: max(passage.start - before.start, 0)] if before else ""
        tail = after.text[max(passage.end - after.start, 0) :] if after else ""
        return head, tail

    def _select(self, sql: str, values: dict[str, Any]) -> list[sqlite3.Row]:
        return self._store.select(sql, values)  # type: ignore[arg-type]


def _kind(origin: str) -> str:
    return suffix_of(Path(origin)).removesuffix(".gz").removeprefix(".") if origin else ""


def _place(store: Store, origin: str) -> str:
    """Where the file of that path lay when it was read. Another one that a link leads to is not what was given."""
    return str(store.meta(place_key(origin)) or origin)


def _real(path: Path) -> str:
    """Where a path leads to; "" where that changes while it is asked."""
    try:
        return os.path.realpath(path)
    except OSError:
        return ""


def _tags(value: object) -> tuple[str, ...]:
    """The tags of a document's metadata as SQLite extracts them: a list as JSON, or one text."""
    if not isinstance(value, str):
        return ()
    try:
        read = json.loads(value) if value.startswith("[") else [value]
    except ValueError:  # one text that begins so
        read = [value]
    return tuple(tag.strip() for tag in read if isinstance(tag, str) and tag.strip())


def _entry(row: sqlite3.Row, store: Store) -> CatalogueEntry:
    path = Path(row["origin"]) if row["origin"] else None
    of_one = path is not None and suffix_of(path) in ONE_DOCUMENT
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
    )
