"""A library's database: documents, passages, vectors and settings in one SQLite file.

Queries use plain `sqlite3`; sqlite-utils, which takes a while to import, serves the writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from preflight_rag.ingest.document_store import PreparedDocument, StoredDocument
from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.storage.cards import card_of, document_of_card, is_card
from preflight_rag.library.storage.database_file import BUSY_SECONDS, DAMAGE_ERRORS, DATABASE
from preflight_rag.library.storage.schema import (
    CHUNK,
    SELECT_PASSAGES,
    UPSERT_DOCUMENT,
    UPSERT_PASSAGE,
    UPSERT_VECTOR,
    document_row,
    passage_of,
    passage_row,
)
from preflight_rag.library.storage.vectors import VectorTables
from preflight_rag.state.values import COPY_OF, Document, Passage

__all__ = ["BUSY_SECONDS", "DATABASE", "Store"]

MOST_CACHED = 256
"""Passages that are cached in memory; a guess: those of a dozen turns that run at once."""

_SELECT_ROW = """SELECT id, title, source, date, origin, added_at, json_extract(metadata, '$.doi') AS doi,
    json_extract(metadata, '$.pmcid') AS pmcid, json_extract(metadata, '$.pmid') AS pmid,
    json_extract(metadata, '$.url') AS url, json_extract(metadata, '$.tags') AS tags,
    json_extract(metadata, '$.read_report') AS read, json_extract(metadata, '$.file_saved') AS saved,
    (SELECT count(*) FROM passages WHERE document_id = d.id AND retired IS NULL) AS passages,
    (SELECT coalesce(sum(tokens), 0) FROM passages WHERE document_id = d.id AND retired IS NULL) AS tokens
    FROM documents d"""
_MATCHES_LIKE = "(title LIKE :like ESCAPE '\\' OR id LIKE :like ESCAPE '\\' OR source LIKE :like ESCAPE '\\')"


class Store(VectorTables):
    """The documents, passages, vectors and settings of an open `library.db`."""

    _cache_state: tuple[int, int, int] | None = None
    _cache: dict[str, Passage]

    @contextmanager
    def _transaction(self) -> Iterator[int]:
        """Open a transaction that writes documents, and yield its generation, a new number."""
        with self._writing():
            generation = self.generation() + 1
            # In one transaction with the rows, because by this number an index is judged to be complete.
            self.set_meta("generation", generation)
            yield generation

    def generation(self) -> int:
        """Return the number of the last write of a document."""
        return int(self.meta("generation") or 0)

    def notes(self) -> list[str]:
        """Return a note for the user if the last writes may be missing; else an empty list."""
        log = self.meta("damaged_log")
        return [f"The last writes to {self.path} may be missing: its log was damaged (kept as {log})"] if log else []

    def skip_to(self, generation: int) -> None:
        """Raise the generation to a number, because an index uses the numbers below it for writes that are lost."""
        if generation > self.generation():
            with self._writing():
                self.set_meta("generation", generation)
                self.set_meta("lost_until", generation)

    def lost_until(self) -> int:
        """Return the generation up to which an index may include writes that the database has lost; 0 if none are."""
        return int(self.meta("lost_until") or 0)

    def tags_generation(self) -> int:
        """Return how often the tags of a document were changed; this is no new generation, as tags are in no index."""
        return int(self.meta("tagged") or 0)

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags; return False if there is no such document."""
        with self._writing():
            metadata = self._metadata_of(document_id)
            if metadata is None:
                return False
            metadata.pop("tags", None)
            if tags:
                metadata["tags"] = list(tags)
            # The mark says that users gave the tags: those of the document itself change with its next version.
            metadata["tagged"] = True
            self._connection.execute(
                "UPDATE documents SET metadata = ? WHERE id = ?", (json.dumps(metadata), document_id)
            )
            self.set_meta("tagged", self.tags_generation() + 1)
            return True

    def _metadata_of(self, document_id: str) -> dict[str, Any] | None:
        """Return a document's metadata; None if there is no such document."""
        rows = self._rows("SELECT metadata FROM documents WHERE id = ? AND retired IS NULL", (document_id,))
        with self._damage_errors_of(f"the document {document_id!r}"):
            return dict(json.loads(rows[0][0])) if rows else None

    def _keep_user_tags(self, document: Document) -> Document:
        """Return a new version of a document with the tags that users gave to the stored version, if they gave any."""
        stored = self._metadata_of(document.id)
        if not stored or not stored.get("tagged"):
            return document
        user_tags = {key: stored[key] for key in ("tags", "tagged") if key in stored}
        return document.model_copy(update={"metadata": {**document.metadata, **user_tags}})

    def document(self, document_id: str) -> StoredDocument | None:
        """Return the stored state of a document; None if it is not in the library."""
        rows = self._rows("SELECT content_hash, origin FROM documents WHERE id = ? AND retired IS NULL", (document_id,))
        return StoredDocument(*rows[0]) if rows else None

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield every document as a dict, ordered by id, with the number of its passages."""
        last = ""
        while rows := self._rows(
            """SELECT id, source, title, date, authors, metadata, origin, added_at,
                (SELECT count(*) FROM passages WHERE document_id = d.id AND retired IS NULL) AS passages
            FROM documents d WHERE retired IS NULL AND id > ? ORDER BY id LIMIT ?""",
            (last, CHUNK),
        ):
            for row in rows:
                with self._damage_errors_of(f"the document {row['id']!r}"):
                    parsed = {name: json.loads(row[name]) for name in ("authors", "metadata")}
                yield dict(row) | parsed
            last = rows[-1]["id"]

    def has_changes_since(self, generation: int, row: int) -> bool:
        """Return whether a document that has a passage at `row` or before was written or removed after a generation."""
        sql = """SELECT 1 FROM documents d JOIN passages p ON p.document_id = d.id
            WHERE d.generation > ? AND p.row <= ? LIMIT 1"""
        return bool(self._rows(sql, (generation, row)))

    def documents_since(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """Yield each document written after a generation, ordered by id, for an index's list of documents."""
        last = ""
        while rows := self._rows(
            """SELECT id, source, title, origin, content_hash,
                (SELECT count(*) FROM passages WHERE document_id = d.id AND retired IS NULL) AS passages
            FROM documents d WHERE retired IS NULL AND generation > ? AND id > ? ORDER BY id LIMIT ?""",
            (since, last, CHUNK),
        ):
            yield from map(dict, rows)
            last = rows[-1]["id"]

    def origins(self) -> list[tuple[str, str]]:
        """Return `(document id, origin)` of all documents that came from a file."""
        sql = "SELECT id, origin FROM documents WHERE retired IS NULL AND origin != '' ORDER BY id"
        return [(row[0], row[1]) for row in self._rows(sql)]

    def documents_from(self, sources: Sequence[str]) -> dict[str, str]:
        """Return the id of the document read from each of these files, by source."""
        sql = "SELECT source, id FROM documents WHERE retired IS NULL AND origin != '' AND source IN ({marks})"
        return {row[0]: row[1] for row in self._rows_in(sql, list(sources))}

    def contents_of(self, origin: str) -> dict[str, str]:
        """Return the content hashes of the documents of a file, by id."""
        sql = "SELECT id, content_hash FROM documents WHERE origin = ? AND retired IS NULL"
        return {row[0]: row[1] for row in self._rows(sql, (origin,))}

    def set_origin(self, document_id: str, origin: str) -> None:
        """Record that an unchanged document now comes from another file."""
        with self._guard():
            self._database.table("documents").update(document_id, {"origin": origin})

    def write_document(
        self, document: Document, *, origin: str, content_hash: str, passages: Sequence[tuple[Passage, str, bytes]]
    ) -> None:
        """Add or replace a document, its passages and vectors in one transaction.

        Args:
            document: The document; of its text only the passages are stored.
            origin: The file from which it was read, or "".
            content_hash: A hash of its content, by which the next ingest sees whether it has changed.
            passages: Each with the key of the embedded text and the vector's bytes.
        """
        with self._transaction() as generation:
            self._write_one(document, origin, content_hash, passages, generation)

    def write_documents(self, documents: Sequence[PreparedDocument]) -> None:
        """Add or replace documents, their passages and vectors, all in one transaction."""
        with self._transaction() as generation:
            for prepared in documents:
                passages = list(zip(prepared.passages, prepared.keys, prepared.vectors, strict=True))
                self._write_one(prepared.document, prepared.origin, prepared.content_hash, passages, generation)

    def _write_one(
        self,
        document: Document,
        origin: str,
        content_hash: str,
        passages: Sequence[tuple[Passage, str, bytes]],
        generation: int,
    ) -> None:
        """Write a document with its passages and vectors, within a transaction; an older version is retired."""
        document = self._keep_user_tags(document)
        self._connection.execute(UPSERT_DOCUMENT, document_row(document, content_hash, origin, generation))
        self._connection.execute(
            "UPDATE passages SET retired = ? WHERE document_id = ? AND retired IS NULL", (generation, document.id)
        )
        # All passages are retired above; those that the new version still has are revived, under their old rows.
        for position, (passage, key, vector) in enumerate(passages):
            cursor = self._connection.execute(UPSERT_PASSAGE, passage_row(passage, position))
            ((row,),) = cursor.fetchall()
            self._connection.execute(UPSERT_VECTOR, (row, key, vector))

    def retire_document(self, document_id: str) -> bool:
        """Mark a document as removed; return False if there is none. `purge` deletes it."""
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
        """Delete documents and passages that were retired up to `generation`; no index may point to them any more.

        Deleted content is overwritten in the database's file; `flush` removes it from the log.
        """
        with self._writing():
            # Passages first: SQLite refuses to delete a document to which a passage refers.
            self._connection.execute("DELETE FROM passages WHERE retired <= ?", (generation,))
            self._connection.execute("DELETE FROM documents WHERE retired <= ?", (generation,))

    def count_rows(self) -> int:
        """Return the number of passages, retired ones included; this is ten times as fast as `count_passages`."""
        return int(self._rows("SELECT count(*) FROM passages")[0][0])

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents, passages, their tokens, and passages that wait to be deleted."""
        row = self._rows(
            """SELECT (SELECT count(*) FROM documents WHERE retired IS NULL) AS documents,
                count(*) FILTER (WHERE retired IS NULL) AS passages,
                coalesce(sum(tokens) FILTER (WHERE retired IS NULL), 0) AS tokens,
                count(*) FILTER (WHERE retired IS NOT NULL) AS retired FROM passages"""
        )[0]
        return dict(row)

    def count_changed_since(self, generation: int) -> int:
        """Return the number of documents that were added, changed or removed after `generation`."""
        return int(self._rows("SELECT count(*) FROM documents WHERE generation > ?", (generation,))[0][0])

    def all_passage_ids(self) -> list[str]:
        """Return the ids of all passages that are not retired, ordered by id."""
        return [row[0] for row in self._rows("SELECT id FROM passages WHERE retired IS NULL ORDER BY id")]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages that exist, by id, including retired ones and the cards of documents.

        They are cached until the library is written: a turn needs the same ones more than once.
        """
        with self._lock:
            # What a transaction has written may still be rolled back.
            state = None if self._connection.in_transaction else self.state()
            if state is None or state != self._cache_state:
                self._cache, self._cache_state = {}, state
            cache = self._cache
            originals = self.originals()
            for row in self._rows_in(SELECT_PASSAGES, [id for id in ids if id not in cache]):
                passage = self._checked_passage(row)
                if original := originals.get(passage.document_id):
                    passage = passage.model_copy(update={"metadata": {**passage.metadata, COPY_OF: original}})
                cache[passage.id] = passage
            passages = {id: cache[id] for id in ids if id in cache}
            # Only now, because one request may be larger than the cache. The oldest entries come first.
            for id in list(cache)[: max(0, len(cache) - MOST_CACHED)]:
                del cache[id]
        if card_ids := [id for id in ids if is_card(id)]:
            passages |= self._cards([document_of_card(id) for id in card_ids])
        return passages

    def _checked_passage(self, row: sqlite3.Row) -> Passage:
        """Return the passage of a row.

        Raises:
            DatabaseCorrupt: The row is damaged, or the text does not match the id: an edited text is no source.
        """
        # The context manager is entered only for a damaged row: for each of many rows it would take too long.
        try:
            passage = passage_of(row)
            if passage_id(passage.document_id, passage.start, passage.text) == passage.id:
                return passage
        except DAMAGE_ERRORS:
            pass
        with self._damage_errors_of(f"the passage {row['id']!r}"):
            passage_of(row)
            raise ValueError("the text is another one")

    def _cards(self, document_ids: Sequence[str]) -> dict[str, Passage]:
        """Return the cards (passages of metadata) of those documents that exist, by the card's id."""
        sql = "SELECT id, source, title, date, authors, metadata FROM documents WHERE id IN ({marks})"
        cards = {}
        for row in self._rows_in(sql, document_ids):
            with self._damage_errors_of(f"the document {row['id']!r}"):
                card = card_of(dict(row))
            cards[card.id] = card
        return cards

    def passage_ids(self, document_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the passages of each document, in the order of its text."""
        chosen = "FROM passages WHERE retired IS NULL AND document_id IN ({marks})"
        sql = f"SELECT document_id, id {chosen} ORDER BY position"
        ids_by_document: dict[str, list[str]] = {}
        for document_id, id in self._rows_in(sql, list(document_ids)):
            ids_by_document.setdefault(document_id, []).append(id)
        return ids_by_document

    def identities(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return `(passage id, document id)` of each row that exists."""
        sql = "SELECT row, id, document_id FROM passages WHERE row IN ({marks})"
        return {row[0]: (row[1], row[2]) for row in self._rows_in(sql, list(rows))}

    def beginnings(self, rows: Sequence[int], characters: int) -> dict[int, str]:
        """Return the first characters of the passage at each row that exists."""
        sql = f"SELECT row, substr(text, 1, {int(characters)}) FROM passages WHERE row IN ({{marks}})"  # noqa: S608
        return {row[0]: row[1] for row in self._rows_in(sql, list(rows))}

    def has_all_rows(self, rows: Sequence[int]) -> bool:
        """Return whether there is a passage, possibly retired, at each of these different rows."""
        counts = self._rows_in("SELECT count(*) FROM passages WHERE row IN ({marks})", list(rows))
        return sum(int(count) for (count,) in counts) == len(rows)

    def rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row of each passage that exists."""
        sql = "SELECT id, row FROM passages WHERE id IN ({marks})"
        return {row[0]: row[1] for row in self._rows_in(sql, list(ids))}

    def texts(self, after: int = 0) -> Iterator[tuple[int, str, str]]:
        """Yield `(row, title, text)` of the passages with rows above `after`, by row."""
        last = after
        while rows := self._rows(
            """SELECT p.row, d.title, p.text FROM passages p JOIN documents d ON d.id = p.document_id
            WHERE p.retired IS NULL AND p.row > ? ORDER BY p.row LIMIT ?""",
            (last, CHUNK),
        ):
            yield from ((row[0], row[1], row[2]) for row in rows)
            last = rows[-1][0]

    def passage_places(self, after: int = 0) -> Iterator[sqlite3.Row]:
        """Yield `(row, id, document id, title, tokens, start)` of the passages with rows above `after`, by row."""
        last = after
        while rows := self._rows(
            """SELECT p.row, p.id, p.document_id, d.title, p.tokens, p.start
            FROM passages p JOIN documents d ON d.id = p.document_id
            WHERE p.retired IS NULL AND p.row > ? ORDER BY p.row LIMIT ?""",
            (last, CHUNK),
        ):
            yield from rows
            last = rows[-1][0]

    def list_documents(self, like: str, offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Return one page of documents with title, id or source LIKE a pattern, and their total number.

        "" matches all; the latest come first.
        """
        values: dict[str, Any] = {"like": like, "offset": offset, "limit": limit}
        fits = f"retired IS NULL AND {_MATCHES_LIKE}" if like else "retired IS NULL"
        (total,) = self.select(f"SELECT count(*) FROM documents d WHERE {fits}", values)[0]  # noqa: S608  # constants
        rows = self.select(f"{_SELECT_ROW} WHERE {fits} ORDER BY added_at DESC, id LIMIT :limit OFFSET :offset", values)
        return [dict(row) for row in rows], int(total)

    def list_document(self, document_id: str) -> dict[str, Any] | None:
        """Return the row of one document as `list_documents` gives it."""
        rows = self.select(f"{_SELECT_ROW} WHERE d.retired IS NULL AND d.id = ?", (document_id,))
        return dict(rows[0]) if rows else None

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, ordered."""
        return [row[0] for row in self._rows("SELECT id FROM documents WHERE retired IS NULL ORDER BY id")]

    def origin_is_used(self, origin: str) -> bool:
        """Return whether a document was read from this file."""
        return bool(self._rows("SELECT 1 FROM documents WHERE retired IS NULL AND origin = ? LIMIT 1", (origin,)))

    def count_by_origin(self) -> list[tuple[str, int]]:
        """Return each file with its number of documents; "" stands for documents that came from no file."""
        sql = "SELECT origin, count(*) FROM documents WHERE retired IS NULL GROUP BY origin"
        return [(row[0], row[1]) for row in self._rows(sql)]

    def count_by_tag(self) -> list[tuple[str, int]]:
        """Return each tag with its number of documents, in alphabetical order."""
        sql = """SELECT trim(m.value) AS tag, count(*) FROM documents d, json_each(d.metadata, '$.tags') m
            WHERE d.retired IS NULL AND m.type = 'text' AND trim(m.value) != '' GROUP BY 1 ORDER BY 1 COLLATE NOCASE"""
        return [(row[0], row[1]) for row in self._rows(sql)]

    def passages_like(self, pattern: str) -> Iterator[tuple[str, str, str]]:
        """Yield `(id, document id, text)` of the passages whose text is LIKE a pattern, by document."""
        sql = """SELECT id, document_id, text FROM passages WHERE retired IS NULL AND (? = '' OR text LIKE ?)
            ORDER BY document_id, position"""
        yield from ((row[0], row[1], row[2]) for row in self._rows(sql, (pattern, pattern)))

    def titles(self) -> list[tuple[str, str]]:
        """Return `(id, title)` of all documents."""
        return [(row[0], row[1]) for row in self._rows("SELECT id, title FROM documents WHERE retired IS NULL")]
