"""The truth of a library: documents, passages, vectors and settings in one SQLite file.

Queries read with plain `sqlite3`; sqlite-utils, which takes a while to import, serves the writes. One connection is
shared by all threads under a lock. Vectors are little-endian float32.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.storage.cards import card_of, document_of_card, is_card
from preflight_rag.library.storage.schema import (
    SCHEMA_VERSION,
    SELECT_PASSAGES,
    TABLES,
    UPSERT_DOCUMENT,
    UPSERT_PASSAGE,
    UPSERT_VECTOR,
    document_row,
    passage_of,
    passage_row,
)
from preflight_rag.state.errors import (
    LibraryBusy,
    LibraryClosed,
    LibraryCorrupt,
    LibraryError,
    LibraryMissing,
    is_closed,
    system_help,
)
from preflight_rag.state.values import Document, Passage

if TYPE_CHECKING:
    import numpy as np
    from sqlite_utils import Database

DATABASE = "library.db"
BUSY_SECONDS = 30.0
"""How long one writer waits for another; a guess at what a large document takes."""
CHUNK = 500
"""Values in one SQL statement: SQLite of some builds takes 999 parameters at most."""

_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What an ingest compares a document with."""

    content_hash: str
    origin: str


class Store:
    """An open `library.db`.

    Raises:
        LibraryMissing: There is none in `folder` and `create` is false.
        LibraryCorrupt: The file is damaged, or not a library's.
        LibraryError: It cannot be opened, or is of a newer version of the package.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.path = folder / DATABASE
        self._lock = threading.RLock()
        if not self.path.is_file():
            if not create:
                raise LibraryMissing(
                    f"There is no library at {folder}", help=f"Make one with: preflight ingest PATH --library {folder}"
                )
            _make_folder(folder)
            make_private(self.path)
        self._connection = _connect(self.path)
        try:
            with self._guard():
                if create:
                    self._create()
                version = self.meta("schema_version")
        except BaseException:
            self.close()
            raise
        if version is None or version > SCHEMA_VERSION:
            self.close()
            raise LibraryError(
                f"The library at {folder} has schema {version!r}, this version reads {SCHEMA_VERSION}",
                help="Upgrade preflight-rag",
            )

    def close(self) -> None:
        """Close the connection; the store cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    def _create(self) -> None:
        tables = self._rows("SELECT count(*) FROM sqlite_master WHERE type = 'table'")[0][0]
        if tables and not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            raise LibraryCorrupt(f"{self.path} is another program's database", help="Choose another folder")
        if tables:
            return
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.executescript(f"BEGIN IMMEDIATE;{TABLES}COMMIT;")
        self._connection.execute(
            "INSERT OR IGNORE INTO meta VALUES ('schema_version', ?), ('generation', '0')", (str(SCHEMA_VERSION),)
        )

    @cached_property
    def _database(self) -> Database:
        from sqlite_utils import Database

        return Database(self._connection, recursive_triggers=False)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Hold the lock; turn SQLite's errors into ours."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise _translated(error, self.path) from error

    @contextmanager
    def _transaction(self) -> Iterator[int]:
        """One transaction that writes documents; yields its generation."""
        with self._guard(), self._database.atomic():
            generation = self.generation() + 1
            self.set_meta("generation", generation)
            yield generation

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._guard():
            return self._connection.execute(sql, parameters).fetchall()

    def _rows_in(self, sql: str, values: Sequence[Any]) -> Iterator[sqlite3.Row]:
        """Rows of a query with `IN ({marks})`, for any number of values."""
        for start in range(0, len(values), CHUNK):
            chunk = values[start : start + CHUNK]
            yield from self._rows(sql.format(marks=",".join("?" * len(chunk))), chunk)

    def select(
        self, sql: str, parameters: Sequence[Any] = (), *, fits: Callable[[str, Any], bool] | None = None
    ) -> list[sqlite3.Row]:
        """Rows of a query that reads; `fits` may stand in it as a function of a JSON type and a value."""
        with self._guard():
            if fits:
                self._connection.create_function("fits", 2, fits)
            return self._rows(sql, parameters)

    def meta(self, key: str) -> Any:
        """A setting, or None."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""
        with self._guard():
            self._database.table("meta").upsert({"key": key, "value": json.dumps(value)}, pk="key")

    def generation(self) -> int:
        """Number of the last write of a document."""
        return int(self.meta("generation") or 0)

    def tagged(self) -> int:
        """Number of the last change of a document's tags, which changes nothing that is indexed."""
        return int(self.meta("tagged") or 0)

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Give a document tags in the place of those that it has; false where there is no such document."""
        with self._guard(), self._database.atomic():
            metadata = self._metadata(document_id)
            if metadata is None:
                return False
            metadata.pop("tags", None)
            changed = {**metadata, **({"tags": list(tags)} if tags else {}), "tagged": True}
            self._connection.execute(
                "UPDATE documents SET metadata = ? WHERE id = ?", (json.dumps(changed), document_id)
            )
            self.set_meta("tagged", self.tagged() + 1)
            return True

    def _metadata(self, document_id: str) -> dict[str, Any] | None:
        rows = self._rows("SELECT metadata FROM documents WHERE id = ? AND retired IS NULL", (document_id,))
        return dict(json.loads(rows[0][0])) if rows else None

    def _with_tags(self, document: Document) -> Document:
        """A document that is stored again, with the tags that somebody gave it by hand."""
        known = self._metadata(document.id)
        if not known or not known.get("tagged"):
            return document
        own = {name: known[name] for name in ("tags", "tagged") if name in known}
        return document.model_copy(update={"metadata": {**document.metadata, **own}})

    def document(self, document_id: str) -> StoredDocument | None:
        """What is known of a document, or None where it is not in the library."""
        rows = self._rows("SELECT content_hash, origin FROM documents WHERE id = ? AND retired IS NULL", (document_id,))
        return StoredDocument(*rows[0]) if rows else None

    def documents(self) -> Iterator[dict[str, Any]]:
        """Every document as a dict, ordered by id, with the number of its passages."""
        last = ""
        while rows := self._rows(
            """SELECT id, source, title, date, authors, metadata, origin, added_at,
                (SELECT count(*) FROM passages WHERE document_id = d.id AND retired IS NULL) AS passages
            FROM documents d WHERE retired IS NULL AND id > ? ORDER BY id LIMIT ?""",
            (last, CHUNK),
        ):
            for row in rows:
                yield dict(row) | {"authors": json.loads(row["authors"]), "metadata": json.loads(row["metadata"])}
            last = rows[-1]["id"]

    def origins(self) -> list[tuple[str, str]]:
        """`(document id, origin)` of all documents that came from a file."""
        sql = "SELECT id, origin FROM documents WHERE retired IS NULL AND origin != '' ORDER BY id"
        return [(row[0], row[1]) for row in self._rows(sql)]

    def documents_from(self, sources: Sequence[str]) -> dict[str, str]:
        """By source, the id of the document that a file holds under it."""
        sql = "SELECT source, id FROM documents WHERE retired IS NULL AND origin != '' AND source IN ({marks})"
        return {row[0]: row[1] for row in self._rows_in(sql, list(sources))}

    def set_origin(self, document_id: str, origin: str) -> None:
        """Record that an unchanged document now comes from another file."""
        with self._guard():
            self._database.table("documents").update(document_id, {"origin": origin})

    def write_document(
        self, document: Document, *, origin: str, content_hash: str, passages: Sequence[tuple[Passage, str, bytes]]
    ) -> None:
        """Add or replace a document, its passages and vectors in one transaction.

        Args:
            document: The document; its text is kept in its passages only.
            origin: The file it came from, or "".
            content_hash: What `document` returns next time.
            passages: Each with the key of what was embedded and the vector's bytes.
        """
        with self._transaction() as generation:
            document = self._with_tags(document)
            self._connection.execute(UPSERT_DOCUMENT, document_row(document, content_hash, origin, generation))
            self._connection.execute(
                "UPDATE passages SET retired = ? WHERE document_id = ? AND retired IS NULL", (generation, document.id)
            )
            for position, (passage, key, vector) in enumerate(passages):
                cursor = self._connection.execute(UPSERT_PASSAGE, passage_row(passage, position))
                ((row,),) = cursor.fetchall()
                self._connection.execute(UPSERT_VECTOR, (row, key, vector))

    def retire_document(self, document_id: str) -> bool:
        """Take a document out of the library; false where there is none. `purge` deletes it."""
        with self._transaction() as generation:
            changed = self._connection.execute(
                "UPDATE documents SET retired = ?, generation = ? WHERE id = ? AND retired IS NULL",
                (generation, generation, document_id),
            ).rowcount
            self._connection.execute(
                "UPDATE passages SET retired = ? WHERE document_id = ? AND retired IS NULL", (generation, document_id)
            )
        return changed > 0

    def purge(self, generation: int) -> None:
        """Delete what was retired up to `generation`; no index may point to it any more."""
        with self._guard(), self._database.atomic():
            self._connection.execute("DELETE FROM passages WHERE retired <= ?", (generation,))
            self._connection.execute("DELETE FROM documents WHERE retired <= ?", (generation,))

    def count_passages(self) -> int:
        """Number of passages that are not retired."""
        return int(self._rows("SELECT count(*) FROM passages WHERE retired IS NULL")[0][0])

    def counts(self) -> dict[str, int]:
        """Documents, passages, their tokens, and passages that wait to be deleted."""
        row = self._rows(
            """SELECT (SELECT count(*) FROM documents WHERE retired IS NULL) AS documents,
                count(*) FILTER (WHERE retired IS NULL) AS passages,
                coalesce(sum(tokens) FILTER (WHERE retired IS NULL), 0) AS tokens,
                count(*) FILTER (WHERE retired IS NOT NULL) AS retired FROM passages"""
        )[0]
        return dict(row)

    def pending(self, generation: int) -> int:
        """Number of documents that were added, changed or removed after `generation`."""
        return int(self._rows("SELECT count(*) FROM documents WHERE generation > ?", (generation,))[0][0])

    def all_passage_ids(self) -> list[str]:
        """Ids of all passages that are not retired, ordered by id."""
        return [row[0] for row in self._rows("SELECT id FROM passages WHERE retired IS NULL ORDER BY id")]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Those of the passages that exist, retired ones included, by id; a document's card is one, too."""
        found = {row["id"]: passage_of(row) for row in self._rows_in(SELECT_PASSAGES, list(ids))}
        if cards := [name for name in ids if is_card(name)]:
            found |= self._cards([document_of_card(name) for name in cards])
        return found

    def _cards(self, document_ids: Sequence[str]) -> dict[str, Passage]:
        sql = "SELECT id, source, title, date, authors, metadata FROM documents WHERE id IN ({marks})"
        cards = (card_of(dict(row)) for row in self._rows_in(sql, document_ids))
        return {card.id: card for card in cards}

    def passage_ids(self, document_ids: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the passages of each document, in the order of its text."""
        chosen = "FROM passages WHERE retired IS NULL AND document_id IN ({marks})"
        sql = f"SELECT document_id, id {chosen} ORDER BY position"
        found: dict[str, list[str]] = {}
        for row in self._rows_in(sql, list(document_ids)):
            found.setdefault(row[0], []).append(row[1])
        return found

    def identities(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """`(passage id, document id)` of each row that exists."""
        sql = "SELECT row, id, document_id FROM passages WHERE row IN ({marks})"
        return {row[0]: (row[1], row[2]) for row in self._rows_in(sql, list(rows))}

    def rows(self, ids: Sequence[str]) -> dict[str, int]:
        """The row of each passage that exists."""
        sql = "SELECT id, row FROM passages WHERE id IN ({marks})"
        return {row[0]: row[1] for row in self._rows_in(sql, list(ids))}

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Stored vectors by passage id."""
        import numpy as np

        sql = "SELECT p.id, v.vector FROM passages p JOIN vectors v ON v.row = p.row WHERE p.id IN ({marks})"
        return {row[0]: np.frombuffer(row[1], dtype="<f4") for row in self._rows_in(sql, list(ids))}

    def row_vectors(self, rows: Sequence[int]) -> dict[int, np.ndarray]:
        """Stored vectors by row."""
        import numpy as np

        sql = "SELECT row, vector FROM vectors WHERE row IN ({marks})"
        return {row[0]: np.frombuffer(row[1], dtype="<f4") for row in self._rows_in(sql, list(rows))}

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Vectors that are stored already, by the key of what was embedded."""
        sql = "SELECT input, vector FROM vectors WHERE input IN ({marks})"
        found = {row[0]: row[1] for row in self._rows_in(sql, list(keys))}
        if self._has_kept():
            sql = "SELECT input, vector FROM kept_vectors WHERE input IN ({marks})"
            found |= {row[0]: row[1] for row in self._rows_in(sql, list(keys))}
        return found

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors of passages that are not stored, for the next run, by the key of what was embedded."""
        with self._guard(), self._database.atomic():
            self._connection.execute("CREATE TABLE IF NOT EXISTS kept_vectors (input TEXT PRIMARY KEY, vector BLOB)")
            self._connection.executemany("INSERT OR REPLACE INTO kept_vectors VALUES (?, ?)", vectors.items())

    def drop_kept_vectors(self) -> None:
        """Forget vectors that an earlier run kept."""
        if self._has_kept():
            with self._guard():
                self._connection.execute("DROP TABLE kept_vectors")

    def _has_kept(self) -> bool:
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE name = 'kept_vectors'"))

    def matrix(self, dimension: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n,) int64 and vectors (n, dimension) float32 of all passages, ordered by row.

        Raises:
            LibraryCorrupt: A passage has no vector of that dimension.
        """
        import numpy as np

        sql = "FROM passages p LEFT JOIN vectors v ON v.row = p.row WHERE p.retired IS NULL"
        with self._guard():
            count = self.count_passages()
            rows, vectors = np.empty(count, dtype=np.int64), np.empty((count, dimension), dtype=np.float32)
            for i, row in enumerate(self._connection.execute(f"SELECT p.row, v.vector {sql} ORDER BY p.row")):
                if row[1] is None or len(row[1]) != 4 * dimension:
                    raise LibraryCorrupt(
                        f"A passage in {self.path} has no vector of {dimension} numbers",
                        help="Run: preflight library verify, then ingest the documents again",
                    )
                rows[i], vectors[i] = row[0], np.frombuffer(row[1], dtype="<f4")
        return rows, vectors

    def texts(self) -> Iterator[tuple[int, str, str]]:
        """`(row, title, text)` of all passages, ordered by row."""
        last = 0
        while rows := self._rows(
            """SELECT p.row, d.title, p.text FROM passages p JOIN documents d ON d.id = p.document_id
            WHERE p.retired IS NULL AND p.row > ? ORDER BY p.row LIMIT ?""",
            (last, CHUNK),
        ):
            yield from ((row[0], row[1], row[2]) for row in rows)
            last = rows[-1][0]

    def passages_like(self, pattern: str) -> Iterator[tuple[str, str, str]]:
        """`(id, document id, text)` of the passages whose text is LIKE a pattern, of each document in its order."""
        sql = """SELECT id, document_id, text FROM passages WHERE retired IS NULL AND (? = '' OR text LIKE ?)
            ORDER BY document_id, position"""
        yield from ((row[0], row[1], row[2]) for row in self._rows(sql, (pattern, pattern)))

    def titles(self) -> list[tuple[str, str]]:
        """`(id, title)` of all documents."""
        return [(row[0], row[1]) for row in self._rows("SELECT id, title FROM documents WHERE retired IS NULL")]

    def problems(self, dimension: int) -> list[str]:
        """What is wrong with the database, one line each."""
        found = [f"database: {row[0]}" for row in self._rows("PRAGMA integrity_check(10)") if row[0] != "ok"]
        found += [f"database: a row of {row[0]} points nowhere" for row in self._rows("PRAGMA foreign_key_check")]
        sql = """SELECT p.id FROM passages p LEFT JOIN vectors v ON v.row = p.row
            WHERE v.vector IS NULL OR length(v.vector) != ?"""
        found += [f"passage {row[0]} has no vector of {dimension} numbers" for row in self._rows(sql, (4 * dimension,))]
        return found


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise LibraryError(f"Cannot make the folder {folder}: {reason}", help="Choose another folder") from error


def make_private(path: Path) -> None:
    """Make an empty database file that only its owner can read, where there is none; SQLite's logs take its mode.

    What cannot be made is left for SQLite to say.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode; a library on a read-only disk opens as an unchanging file."""
    read_only = f"{path.absolute().as_uri()}?immutable=1"
    try:
        try:
            return _configured(sqlite3.connect(path, **_OPTIONS))
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
            return _configured(sqlite3.connect(read_only, uri=True, **_OPTIONS))
    except sqlite3.Error as error:
        raise _translated(error, path) from error


_OPTIONS: dict[str, Any] = {"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False}


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _translated(error: sqlite3.Error, path: Path) -> LibraryError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if isinstance(error, sqlite3.DatabaseError) and name.startswith(_DAMAGE):
        return LibraryCorrupt(f"{path} cannot be read as a library ({error})", help="Restore it, or ingest anew")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LibraryBusy(f"{path} is busy", help="Another process writes it; try again")
    if is_closed(error):
        return LibraryClosed(f"The library at {path.parent} was closed", help="Open it again, and use it before that.")
    return LibraryError(f"{path} failed: {error}", help=system_help(error))
