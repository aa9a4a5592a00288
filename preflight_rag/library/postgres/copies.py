"""Tables of the passages with the same text in a PostgreSQL library, like `storage/copies.py` for a folder's library.

They are created when a library is next written, so a library of an earlier version opens and is searched as before.
They refer to versions of documents, and to rows, by numbers that are never reused, so entries of a version that is gone
have no effect. `link` finds the copies among published documents, one process at a time, in one transaction over
one state of the library; if its process is killed, the next one finds them anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import psycopg

from preflight_rag.databases.postgres import Connection, storable_text
from preflight_rag.ingest.report import DocumentCopy
from preflight_rag.library.copies import link_copies
from preflight_rag.library.postgres.schema import POLL_SECONDS, sees
from preflight_rag.library.storage.copies import DocumentMarks
from preflight_rag.library.storage.schema import CHUNK

LINKED = "linked"
"""Name of the setting that counts how often copies were found or removed; missing before the first time."""
# With the schema's name, so that two libraries in one database do not wait for each other.
_LOCK = "hashtextextended('preflight library copies ' || current_schema(), 0)"

_TABLES = """
create table if not exists library_document_marks (
    document bigint primary key,
    words integer not null,
    marks bytea not null,
    compared boolean not null
);
create table if not exists library_document_copies (
    document bigint not null,
    of_document bigint not null,
    share double precision not null,
    primary key (document, of_document)
);
create table if not exists library_passage_copies (
    row bigint not null,
    of_row bigint not null,
    primary key (row, of_row)
);
create index if not exists library_document_copies_of on library_document_copies (of_document);
create index if not exists library_passage_copies_of on library_passage_copies (of_row)
"""
# "C" is the order of bytes, as in SQLite, whatever language the server sorts by.
_COPIES = f"""
    select a.id, b.id, c.share from library_document_copies c
    join library_documents a on a.key = c.document and {sees("a")}
    join library_documents b on b.key = c.of_document and {sees("b")} order by a.id collate "C", b.id collate "C"
"""
_ROWS = f"""
    select id, title, source, date, authors::text, metadata::text, origin from library_documents
    where id = any(%s) and {sees()}
"""
_TEXTS = f"""
    select d.id, p.row, p.text from library_documents d join library_passages p on p.document = d.key
    where d.id = any(%s) and {sees("d")} order by d.key, p.position
"""
_DOCUMENTS_OF = f"""
    select p.id, d.id from library_passages p join library_documents d on d.key = p.document
    where p.id = any(%s) and {sees("d")}
"""
_GONE = f"""
    select document from library_document_marks m
    where not exists (select from library_documents d where d.key = m.document and {sees("d")})
"""
_WITHOUT_MARKS = f"""
    select d.id, d.key from library_documents d
    where {sees("d")} and not exists (select from library_document_marks where document = d.key)
    order by d.key limit {CHUNK}
"""
_MARKED = f"""
    select m.document, d.id, m.words, m.marks, m.compared from library_document_marks m
    join library_documents d on d.key = m.document and {sees("d")} where m.document > %s
    order by m.document limit {CHUNK}
"""
_KEYS = f"select id, key from library_documents where id = any(%s) and {sees()}"
Row = tuple[Any, ...]


class FoundCopies:
    """Read access to the tables of copies, as `FoundCopyStore`.

    Args:
        read: Runs a statement and returns its rows.
    """

    def __init__(self, read: Callable[[str, Sequence[Any]], list[Row]]) -> None:
        self._read = read

    def has_tables(self) -> bool:
        """Return whether the tables of copies exist, which are created when copies are first looked for."""
        return self._read("select to_regclass('library_passage_copies') is not null", ()) == [(True,)]

    def passage_copies(self) -> Mapping[int, tuple[int, ...]]:
        """Return, for each copied passage's row, the rows of the passages with the same text."""
        found: dict[int, list[int]] = {}
        if self.has_tables():
            for row, of_row in self._read("select row, of_row from library_passage_copies order by row, of_row", ()):
                found.setdefault(row, []).append(of_row)
        return {row: tuple(of) for row, of in found.items()}

    def document_copies(self) -> list[DocumentCopy]:
        """Return all documents that have the text of another one, by id."""
        return [DocumentCopy(*row) for row in self._read(_COPIES, ())] if self.has_tables() else []

    def document_rows(self, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return title, source, date, authors, metadata and origin of documents, by document id."""
        names = ("id", "title", "source", "date", "authors", "metadata", "origin")
        found = self._read(_ROWS, [list(map(storable_text, document_ids))])
        return {row[0]: dict(zip(names, row, strict=True)) for row in found}

    def passage_texts(self, document_ids: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        """Return `(row, text)` of the passages of each document in their order, by document id."""
        found: dict[str, list[tuple[int, str]]] = {}
        for name, row, text in self._read(_TEXTS, [list(map(storable_text, document_ids))]):
            found.setdefault(name, []).append((row, text))
        return found

    def documents_of(self, passage_ids: Sequence[str]) -> dict[str, str]:
        """Return the document id of each existing passage, by passage id."""
        return dict(self._read(_DOCUMENTS_OF, [list(map(storable_text, passage_ids))]))


class CopyTables(FoundCopies):
    """Write access to the tables of copies, as `CopyStore`; the caller has begun a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        super().__init__(self._rows)
        self.has_changed = False
        """Whether any copies were added or removed."""

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query, sent in the binary format."""
        return self._connection.execute(statement, values or None, binary=True).fetchall()

    def make_copy_tables(self) -> None:
        """Create the tables if they are missing."""
        if not self.has_tables():
            for statement in _TABLES.split(";\n"):
                self._connection.execute(statement)

    def forget_changed_documents(self) -> None:
        """Delete the fingerprints and copies of changed or removed documents; their former copies are compared anew."""
        gone = [key for (key,) in self._rows(_GONE)]
        if not gone:
            return
        statement = "select distinct document from library_document_copies where of_document = any(%s)"
        again = [key for (key,) in self._rows(statement, [gone])]
        self._forget_copies([*again, *gone])
        self._connection.execute("update library_document_marks set compared = false where document = any(%s)", [again])
        self._connection.execute("delete from library_document_marks where document = any(%s)", [gone])

    def _forget_copies(self, keys: Sequence[int]) -> None:
        """Delete the fingerprints and copies of some documents."""
        rows = "select row from library_passages where document = any(%s)"
        for statement in (
            f"delete from library_passage_copies where row in ({rows})",
            "delete from library_document_copies where document = any(%s)",
        ):
            self.has_changed |= self._connection.execute(statement, [list(keys)]).rowcount > 0
        for column in ("row", "of_row"):  # for purged passages no table says any more to which document they belonged
            statement = f"""delete from library_passage_copies c
                where not exists (select from library_passages p where p.row = c.{column} and {sees("p")})"""
            self.has_changed |= self._connection.execute(statement).rowcount > 0

    def documents_without_fingerprint(self) -> Iterator[list[tuple[str, int]]]:
        """Yield batches of `(id, number)` of documents without a fingerprint, for the caller to add."""
        while rows := self._rows(_WITHOUT_MARKS):
            yield [(row[0], row[1]) for row in rows]

    def add_fingerprints(self, found: Sequence[tuple[str, int, int, bytes]]) -> None:
        """Store `(document id, version number, number of words, fingerprint)` of documents to be compared."""
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into library_document_marks values (%s, %s, %s, false)",
                [(key, words, marks) for _, key, words, marks in found],
            )

    def has_uncompared(self) -> bool:
        """Return whether a document waits to be compared with the others."""
        return self._rows("select exists (select from library_document_marks where not compared)") == [(True,)]

    def fingerprints(self) -> Iterator[DocumentMarks]:
        """Yield the fingerprints of all documents, the earliest added first."""
        last = 0
        while rows := self._rows(_MARKED, [last]):
            for _, name, words, marks, compared in rows:
                yield DocumentMarks(name, words, bytes(marks), compared)
            last = rows[-1][0]

    def write_copies(
        self,
        compared: Sequence[str],
        documents: Sequence[DocumentCopy],
        passages: Mapping[int, Sequence[int]],
    ) -> None:
        """Store the copies found for the `compared` documents, and record that these have been compared."""
        names = {*compared, *chain.from_iterable((each.document_id, each.of_document) for each in documents)}
        keys: dict[str, int] = dict(self._rows(_KEYS, [sorted(names)]))  # type: ignore[arg-type]
        self.has_changed |= bool(documents)
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into library_document_copies values (%s, %s, %s) on conflict do nothing",
                [(keys[each.document_id], keys[each.of_document], each.share) for each in documents],
            )
            pairs = []
            for row, of in passages.items():
                for of_row in of:
                    pairs.append((row, of_row))
            cursor.executemany(
                "insert into library_passage_copies values (%s, %s) on conflict do nothing",
                pairs,
            )
        self._connection.execute(
            "update library_document_marks set compared = true where document = any(%s)",
            [[keys[name] for name in compared]],
        )


def link(connection: Connection, wait_seconds: float) -> list[DocumentCopy]:
    """Find and store the copies among documents published since the last call.

    If another process is busy with this for too long, the rest is found after the next publication.

    Args:
        connection: The connection of a run that has published its documents.
        wait_seconds: How long to wait for another process.
    """
    deadline = time.monotonic() + wait_seconds
    while connection.execute(f"select pg_try_advisory_lock({_LOCK})").fetchone() != (True,):
        if time.monotonic() > deadline:
            return []
        time.sleep(POLL_SECONDS)
    try:
        with connection.transaction():
            # Other processes publish meanwhile: with a snapshot, all statements read the same version of each document.
            connection.execute("set transaction isolation level repeatable read")
            tables = CopyTables(connection)
            found = link_copies(tables)
            # Other processes keep what they have read of the tables until this number changes.
            if tables.has_changed:
                connection.execute(
                    """insert into library_meta values (%s, '1')
                    on conflict (key) do update set value = (library_meta.value::bigint + 1)::text""",
                    [LINKED],
                )
        return found
    finally:
        # A connection that was lost has released the lock.
        with suppress(psycopg.Error):
            connection.execute(f"select pg_advisory_unlock({_LOCK})")
