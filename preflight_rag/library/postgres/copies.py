"""Tables of the passages with the same text in a PostgreSQL library, like `storage/copies.py` for a folder's library.

They are created when a library is next written, so a library of an earlier version opens and is searched as before.
They refer to versions of documents, and to rows, by numbers that are never reused, so entries of a version that is gone
have no effect. `link_published` finds the copies among published documents, one process at a time, in one transaction
over one state of the library; if its process is killed, the next one finds them anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
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
_OUTDATED = f"""
    select document from library_document_marks m
    where not exists (select from library_documents d where d.key = m.document and {sees("d")})
"""
_WITHOUT_FINGERPRINT = f"""
    select d.id, d.key from library_documents d
    where {sees("d")} and not exists (select from library_document_marks where document = d.key)
    order by d.key limit {CHUNK}
"""
_FINGERPRINTS = f"""
    select m.document, d.id, m.words, m.marks, m.compared from library_document_marks m
    join library_documents d on d.key = m.document and {sees("d")} where m.document > %s
    order by m.document limit {CHUNK}
"""
_KEYS = f"select id, key from library_documents where id = any(%s) and {sees()}"
Row = tuple[Any, ...]


class FoundCopies:
    """Read access to the tables of copies, as `FoundCopyStore`.

    Args:
        read_rows: Function that runs a statement and returns its rows.
    """

    def __init__(self, read_rows: Callable[[str, Sequence[Any]], list[Row]]) -> None:
        self._read_rows = read_rows

    def has_tables(self) -> bool:
        """Return whether the tables of copies exist, which are created when copies are first looked for."""
        return self._read_rows("select to_regclass('library_passage_copies') is not null", ()) == [(True,)]

    def passage_copies(self) -> Mapping[int, tuple[int, ...]]:
        """Return, for each copied passage's row, the rows of the passages with the same text."""
        if not self.has_tables():
            return {}
        originals: dict[int, list[int]] = {}
        statement = "select row, of_row from library_passage_copies order by row, of_row"
        for row, original_row in self._read_rows(statement, ()):
            originals.setdefault(row, []).append(original_row)
        return {row: tuple(original_rows) for row, original_rows in originals.items()}

    def document_copies(self) -> list[DocumentCopy]:
        """Return all documents that have the text of another one, by id."""
        return [DocumentCopy(*row) for row in self._read_rows(_COPIES, ())] if self.has_tables() else []

    def document_rows(self, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return title, source, date, authors, metadata and origin of documents, by document id."""
        names = ("id", "title", "source", "date", "authors", "metadata", "origin")
        rows = self._read_rows(_ROWS, [list(map(storable_text, document_ids))])
        return {row[0]: dict(zip(names, row, strict=True)) for row in rows}

    def passage_texts(self, document_ids: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        """Return `(row, text)` of the passages of each document in their order, by document id."""
        texts: dict[str, list[tuple[int, str]]] = {}
        for document_id, row, text in self._read_rows(_TEXTS, [list(map(storable_text, document_ids))]):
            texts.setdefault(document_id, []).append((row, text))
        return texts

    def documents_of(self, passage_ids: Sequence[str]) -> dict[str, str]:
        """Return the document id of each existing passage, by passage id."""
        return dict(self._read_rows(_DOCUMENTS_OF, [list(map(storable_text, passage_ids))]))


class CopyTables(FoundCopies):
    """Write access to the tables of copies, as `CopyStore`; the caller has begun a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        super().__init__(self._execute)
        self.has_changed = False
        """Whether any copies were added or removed."""

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query, sent in the binary format."""
        return self._connection.execute(statement, values or None, binary=True).fetchall()

    def make_copy_tables(self) -> None:
        """Create the tables if they are missing."""
        if not self.has_tables():
            for statement in _TABLES.split(";\n"):
                self._connection.execute(statement)

    def forget_changed_documents(self) -> None:
        """Delete the fingerprints and copies of changed or removed documents; their former copies are compared anew."""
        outdated = [key for (key,) in self._execute(_OUTDATED)]
        if not outdated:
            return
        select_copies = "select distinct document from library_document_copies where of_document = any(%s)"
        former_copies = [key for (key,) in self._execute(select_copies, [outdated])]
        self._delete_copies([*former_copies, *outdated])
        update = "update library_document_marks set compared = false where document = any(%s)"
        self._connection.execute(update, [former_copies])
        self._connection.execute("delete from library_document_marks where document = any(%s)", [outdated])

    def _delete_copies(self, keys: Sequence[int]) -> None:
        """Delete which passages of some documents are copies, and of which documents these are copies.

        Entries of passages that exist no longer are deleted, too.
        """
        rows = "select row from library_passages where document = any(%s)"
        for statement in (
            f"delete from library_passage_copies where row in ({rows})",
            "delete from library_document_copies where document = any(%s)",
        ):
            self.has_changed |= self._connection.execute(statement, [list(keys)]).rowcount > 0
        # No table says any more to which document a purged passage belonged.
        for column in ("row", "of_row"):
            statement = f"""delete from library_passage_copies c
                where not exists (select from library_passages p where p.row = c.{column} and {sees("p")})"""
            self.has_changed |= self._connection.execute(statement).rowcount > 0

    def documents_without_fingerprint(self) -> Iterator[list[tuple[str, int]]]:
        """Yield batches of `(id, number)` of documents without a fingerprint, for the caller to add."""
        while rows := self._execute(_WITHOUT_FINGERPRINT):
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
        return self._execute("select exists (select from library_document_marks where not compared)") == [(True,)]

    def fingerprints(self) -> Iterator[DocumentMarks]:
        """Yield the fingerprints of all documents, the earliest added first."""
        last = 0
        while rows := self._execute(_FINGERPRINTS, [last]):
            for _, document_id, words, marks, compared in rows:
                yield DocumentMarks(document_id, words, bytes(marks), compared)
            last = rows[-1][0]

    def write_copies(
        self,
        compared: Sequence[str],
        documents: Sequence[DocumentCopy],
        passages: Mapping[int, Sequence[int]],
    ) -> None:
        """Store the copies found for the `compared` documents, and record that these have been compared."""
        ids = set(compared)
        for copy in documents:
            ids.update((copy.document_id, copy.of_document))
        keys: dict[str, int] = dict(self._execute(_KEYS, [sorted(ids)]))  # type: ignore[arg-type]
        pairs = []
        for row, original_rows in passages.items():
            pairs += [(row, original_row) for original_row in original_rows]
        self.has_changed |= bool(documents)
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into library_document_copies values (%s, %s, %s) on conflict do nothing",
                [(keys[copy.document_id], keys[copy.of_document], copy.share) for copy in documents],
            )
            cursor.executemany("insert into library_passage_copies values (%s, %s) on conflict do nothing", pairs)
        self._connection.execute(
            "update library_document_marks set compared = true where document = any(%s)",
            [[keys[id] for id in compared]],
        )


def link_published(connection: Connection, wait_seconds: float) -> list[DocumentCopy]:
    """Find and store the copies among documents published since the last call.

    If another process is busy with this for too long, none are found now, but after the next publication.

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
            copies = link_copies(tables)
            # Other processes keep what they have read of the tables until this number changes.
            if tables.has_changed:
                connection.execute(
                    """insert into library_meta values (%s, '1')
                    on conflict (key) do update set value = (library_meta.value::bigint + 1)::text""",
                    [LINKED],
                )
        return copies
    finally:
        # A connection that was lost has released the lock.
        with suppress(psycopg.Error):
            connection.execute(f"select pg_advisory_unlock({_LOCK})")
