"""Tables of the passages with the same text in a library, where `library/copies.py` stores what it finds.

They are created when a library is next written, so a library of an earlier version opens and is searched as before. A
document whose marks are older than its last write is compared anew, so the tables are right even after a killed
ingest, or after an earlier version of this package has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from preflight_rag.ingest.report import DocumentCopy
from preflight_rag.library.storage.database_file import DatabaseFile
from preflight_rag.library.storage.schema import CHUNK
from preflight_rag.text.words import on_one_line

_TABLES = """
CREATE TABLE IF NOT EXISTS document_marks (
    document_id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    words INTEGER NOT NULL,
    marks BLOB NOT NULL,
    compared INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS document_copies (
    document_id TEXT NOT NULL,
    of_document TEXT NOT NULL,
    share REAL NOT NULL,
    PRIMARY KEY (document_id, of_document)
);
CREATE TABLE IF NOT EXISTS passage_copies (
    row INTEGER NOT NULL,
    of_row INTEGER NOT NULL,
    PRIMARY KEY (row, of_row)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS document_copies_of ON document_copies (of_document);
CREATE INDEX IF NOT EXISTS passage_copies_of ON passage_copies (of_row)
"""
_WITHOUT_FINGERPRINT = """FROM documents d LEFT JOIN document_marks m ON m.document_id = d.id
    WHERE d.retired IS NULL AND (m.generation IS NULL OR m.generation != d.generation)"""
_OUTDATED = """SELECT document_id FROM document_marks m WHERE NOT EXISTS
    (SELECT 1 FROM documents d WHERE d.id = m.document_id AND d.retired IS NULL AND d.generation = m.generation)"""
_ROWS_OF_DOCUMENTS = "(SELECT row FROM passages WHERE document_id IN ({marks}))"


BYTES_OF_MARK = 4
WHOLE_COPY_SHARE = 0.7
"""Least share of a document's words in another one at which it is a copy of that, not one that quotes it."""


def copy_note(copy: DocumentCopy, name: Callable[[str], str] = str) -> str:
    """Return a sentence for users on what a copy has in common with the other document.

    Args:
        copy: The copy.
        name: Function that returns the name of a document's id for display.
    """
    document, of = on_one_line(name(copy.document_id)), on_one_line(name(copy.of_document))
    if WHOLE_COPY_SHARE <= copy.share < 1:
        return f"{document} shares text with {of}: what both have is searched once, and all else as well"
    if copy.share >= WHOLE_COPY_SHARE:
        return f"{document} has the text of {of}, which is searched in its place"
    return f"{document} quotes {of}: what both say is one source"


@dataclass(frozen=True, slots=True)
class DocumentMarks:
    """The fingerprint of a document: hashes of its words, by which similar documents are found.

    Attributes:
        words: Number of its words.
        marks: Little-endian uint32, ascending (`text.overlap.fingerprint`).
        compared: Whether it has been compared with the others.
    """

    document_id: str
    words: int
    marks: bytes
    compared: bool


class CopyTables(DatabaseFile):
    """A library's database with the tables of copies."""

    _copies_state: tuple[int, int, int] | None = None
    _copies: Mapping[int, tuple[int, ...]]
    _originals_state: tuple[int, int, int] | None = None
    _originals: Mapping[str, str]

    def make_copy_tables(self) -> None:
        """Create the tables if they are missing."""
        if not self._has_copies():
            with self._writing():
                # `executescript` would commit first, and so end a transaction that the caller has begun.
                for statement in _TABLES.split(";"):
                    self._connection.execute(statement)

    def _has_copies(self) -> bool:
        """Return whether the tables of copies exist, which are created when copies are first looked for."""
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE name = 'passage_copies'"))

    def passage_copies(self) -> Mapping[int, tuple[int, ...]]:
        """Return, for each copied passage's row, the rows of the passages with its text.

        The result is cached until the next write.
        """
        with self._lock:
            # What a transaction has written may be rolled back, so it is not cached.
            state = None if self._connection.in_transaction else self.state()
            if state is None or state != self._copies_state:
                originals: dict[int, list[int]] = {}
                if self._has_copies():
                    for row, original_row in self._rows("SELECT row, of_row FROM passage_copies"):
                        originals.setdefault(row, []).append(original_row)
                self._copies = {row: tuple(original_rows) for row, original_rows in originals.items()}
                self._copies_state = state
            return self._copies

    def document_copies(self) -> list[DocumentCopy]:
        """Return all documents that have the text of another one, ordered by id; none if the tables are missing."""
        if not self._has_copies():
            return []
        sql = """SELECT c.document_id, c.of_document, c.share FROM document_copies c
            JOIN documents a ON a.id = c.document_id AND a.retired IS NULL
            JOIN documents b ON b.id = c.of_document AND b.retired IS NULL ORDER BY c.document_id, c.of_document"""
        return [DocumentCopy(*row) for row in self._rows(sql)]

    def originals(self) -> Mapping[str, str]:
        """Return, for each copied document, the document searched instead; cached until the next write."""
        with self._lock:
            state = None if self._connection.in_transaction else self.state()
            if state is None or state != self._originals_state:
                self._originals = whole_copies(self.document_copies())
                self._originals_state = state
            return self._originals

    def forget_changed_documents(self) -> None:
        """Delete the fingerprints and copies of changed or removed documents; their former copies are compared anew."""
        outdated = [row[0] for row in self._rows(_OUTDATED)]
        for start in range(0, len(outdated), CHUNK):
            chunk = outdated[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            with self._writing():
                # In one transaction: the former copies of a document without a fingerprint would never be found again.
                select_copies = f"SELECT document_id FROM document_copies WHERE of_document IN ({marks})"  # noqa: S608
                former_copies = [row[0] for row in self._connection.execute(select_copies, chunk)]
                self._delete_copies(former_copies)
                self._connection.executemany(
                    "UPDATE document_marks SET compared = 0 WHERE document_id = ?", [(id,) for id in former_copies]
                )
                self._delete_copies(chunk)
                self._connection.execute(f"DELETE FROM document_marks WHERE document_id IN ({marks})", chunk)  # noqa: S608

    def _delete_copies(self, document_ids: Sequence[str]) -> None:
        """Delete which passages of some documents are copies or originals, and of which documents these are copies."""
        for start in range(0, len(document_ids), CHUNK):
            chunk = document_ids[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = _ROWS_OF_DOCUMENTS.format(marks=marks)
            for sql in (
                f"DELETE FROM passage_copies WHERE row IN {rows}",  # noqa: S608  # marks alone
                f"DELETE FROM passage_copies WHERE of_row IN {rows}",  # noqa: S608
                f"DELETE FROM document_copies WHERE document_id IN ({marks})",  # noqa: S608
            ):
                self._connection.execute(sql, chunk)

    def documents_without_fingerprint(self) -> Iterator[list[tuple[str, int]]]:
        """Yield batches of `(id, generation)` of documents without a fingerprint, for the caller to add."""
        sql = f"SELECT d.id, d.generation {_WITHOUT_FINGERPRINT} ORDER BY d.id LIMIT {CHUNK}"
        # It ends because the caller stores the marks of a batch before it asks for the next one.
        while rows := self._rows(sql):
            yield [(row[0], row[1]) for row in rows]

    def add_fingerprints(self, found: Sequence[tuple[str, int, int, bytes]]) -> None:
        """Store `(document id, generation, number of words, fingerprint)` of documents to be compared."""
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO document_marks VALUES (?, ?, ?, ?, 0)", found)

    def has_uncompared(self) -> bool:
        """Return whether a document waits to be compared with the others."""
        return bool(self._rows("SELECT 1 FROM document_marks WHERE compared = 0 LIMIT 1"))

    def fingerprints(self) -> Iterator[DocumentMarks]:
        """Yield the fingerprints of all documents, in the order in which the fingerprints were added.

        Raises:
            DatabaseCorrupt: A fingerprint is damaged.
        """
        last = 0
        sql = """SELECT m.rowid, m.document_id, m.words, m.marks, m.compared FROM document_marks m
            WHERE m.rowid > ? ORDER BY m.rowid LIMIT ?"""
        # Page by page: an open cursor would hold the lock for as long as the caller works.
        while rows := self._rows(sql, (last, CHUNK)):
            for _, document_id, words, marks, compared in rows:
                with self._damage_errors_of(f"the marks of the document {document_id!r}"):
                    if not isinstance(marks, bytes) or len(marks) % BYTES_OF_MARK:
                        raise ValueError("they are no marks")
                yield DocumentMarks(document_id, words, marks, bool(compared))
            last = rows[-1][0]

    def document_rows(self, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return title, source, date, authors, metadata and origin of documents, by document id."""
        sql = "SELECT id, title, source, date, authors, metadata, origin FROM documents WHERE id IN ({marks})"
        return {row["id"]: dict(row) for row in self._rows_in(sql, list(document_ids))}

    def passage_texts(self, document_ids: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        """Return `(row, text)` of the passages of each document in their order, by document id."""
        sql = """SELECT document_id, row, text FROM passages WHERE retired IS NULL AND document_id IN ({marks})
            ORDER BY document_id, position"""
        texts: dict[str, list[tuple[int, str]]] = {}
        for document_id, row, text in self._rows_in(sql, list(document_ids)):
            texts.setdefault(document_id, []).append((row, text))
        return texts

    def write_copies(
        self,
        compared: Sequence[str],
        documents: Sequence[DocumentCopy],
        passages: Mapping[int, Sequence[int]],
    ) -> None:
        """Store the copies found for the `compared` documents, in one transaction, and mark these as compared.

        Args:
            compared: The ids of the documents.
            documents: The documents that are copies.
            passages: For each copied passage's row, the rows of the passages with its text.
        """
        pairs = []
        for row, original_rows in passages.items():
            pairs += [(row, original_row) for original_row in original_rows]
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO document_copies VALUES (?, ?, ?)",
                [(copy.document_id, copy.of_document, copy.share) for copy in documents],
            )
            self._connection.executemany("INSERT OR IGNORE INTO passage_copies VALUES (?, ?)", pairs)
            self._connection.executemany(
                "UPDATE document_marks SET compared = 1 WHERE document_id = ?", [(id,) for id in compared]
            )

    def documents_of(self, passage_ids: Sequence[str]) -> dict[str, str]:
        """Return the document id of each existing passage, by passage id."""
        sql = "SELECT id, document_id FROM passages WHERE id IN ({marks})"
        return {row[0]: row[1] for row in self._rows_in(sql, list(passage_ids))}


def whole_copies(copies: Sequence[DocumentCopy]) -> dict[str, str]:
    """Return, for each document that is a whole copy of another one, the document that is searched instead."""
    originals = {copy.document_id: copy.of_document for copy in copies if copy.share >= WHOLE_COPY_SHARE}
    return {document_id: _searched_original(document_id, originals) for document_id in originals}


def _searched_original(document_id: str, originals: Mapping[str, str]) -> str:
    """Return the document of which `document_id` is a copy, directly or as a copy of a copy."""
    seen = {document_id}
    # Stored copies may form a circle.
    while (document_id := originals[document_id]) in originals and document_id not in seen:
        seen.add(document_id)
    return document_id
