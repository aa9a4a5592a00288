"""Writing a library in PostgreSQL: runs of several writers at once, each published as a whole.

A run has a connection of its own with an advisory lock, which tells others that it is alive. Its writes reach the
server after each batch, but stay invisible until it is published. A run that is killed loses its connection, and with
it the lock: the next run that publishes takes over the documents that it had written completely.

Two runs may write at once. If one of them comes to a document that the other has written but not yet published, it
waits for the other, unless both wrote the same content: no two versions of a document may be visible.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg

from preflight_rag.databases.postgres import Connection, storable_text, translated_errors
from preflight_rag.ingest.document_store import PreparedDocument, StoredDocument
from preflight_rag.ingest.report import DocumentCopy
from preflight_rag.library.index.terms import analysed_probe
from preflight_rag.library.postgres.copies import link_published
from preflight_rag.library.postgres.dense_index import index_vectors
from preflight_rag.library.postgres.hashed_terms import encoded_terms
from preflight_rag.library.postgres.pieces import PostingPieces, passage_texts
from preflight_rag.library.postgres.schema import POLL_SECONDS, ROWS, RUNS, TABLES, gone, sees
from preflight_rag.library.postgres.values import storable_json, storable_passage, vector_binary, vector_values
from preflight_rag.state.errors import LibraryBusy
from preflight_rag.state.values import Document
from preflight_rag.text.retractions import is_retracted

if TYPE_CHECKING:
    from preflight_rag.library.postgres.store import PostgresStore

STEPS = ("words", "purge", "")
WORDS, PURGE, _ = STEPS
"""Steps of a publication, as progress names them."""
ANALYSER = "analyser"
"""Setting with the analysed terms of a few sample lines: if today's analyser gives others, the stored terms are
outdated."""
PURGED_AT_ONCE = 20_000
"""Passages, and terms of them, whose lists are rewritten at once; guesses: lists take megabytes."""

_RETIRE = """
    update library_{table} set retired = %(run)s
    where {which} and retired is null
"""
# Two numbers: one for the runs of this schema, so that they meet no other lock, and the run's own.
_RUN_LOCK = "('x' || substr(md5('preflight library run ' || current_schema()), 1, 8))::bit(32)::int, %s"
_MAINTENANCE_LOCK = "hashtextextended('preflight library maintenance ' || current_schema(), 0)"


class DocumentWriting:
    """One run that writes documents; implements `FoundDocumentStore` and `DocumentStore`. Make one with `writing`.

    Args:
        store: The library.
        connection: A connection that only this run uses.
        wait_seconds: How long to wait for another run that has written one of the documents.

    Attributes:
        copies: Documents with the text of another one, as found by the last publication.
    """

    def __init__(self, store: PostgresStore, connection: Connection, wait_seconds: float) -> None:
        self.copies: list[DocumentCopy] = []
        self._store, self._connection, self._wait = store, connection, wait_seconds
        self._pieces = PostingPieces(connection)
        self._number: int | None = None
        self._last_read: tuple[str, StoredDocument | None] | None = None

    @property
    def number(self) -> int:
        """Number of this run, which begins with its first write."""
        if self._number is None:
            number = self._read_value("select nextval(%s)::integer", [RUNS])
            # Locked before it is listed: without its lock, a listed run passes for that of a killed process.
            self._connection.execute(f"select pg_advisory_lock({_RUN_LOCK})", [number])
            self._connection.execute("insert into library_runs values (%s)", [number])
            self._number = number
        return self._number

    def meta(self, key: str) -> Any:
        """Return the value of a setting; None if it was never recorded."""
        return self._store.meta(key)

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""
        self._store.set_meta(key, value)

    def document(self, document_id: str) -> StoredDocument | None:
        """Return the stored state of a document, including unpublished runs; None if it is not stored."""
        # An ingest reads each document's state twice.
        last_id, document = self._last_read or (None, None)
        if last_id != document_id:
            statement = "select content_hash, origin from library_documents where id = %s and retired is null"
            row = self._connection.execute(statement, [storable_text(document_id)]).fetchone()
            document = StoredDocument(*row) if row else None
            self._last_read = document_id, document
        return document

    def documents_from(self, sources: Sequence[str]) -> dict[str, str]:
        """Return the id of the document read from each of these files, by source."""
        statement = """select source, id from library_documents
            where source = any(%s) and origin <> '' and retired is null"""
        return dict(self._connection.execute(statement, [list(map(storable_text, sources))]).fetchall())

    def origins(self) -> list[tuple[str, str]]:
        """Return `(document id, origin)` of all documents that came from a file."""
        statement = "select id, origin from library_documents where retired is null and origin <> '' order by id"
        return self._connection.execute(statement).fetchall()

    def contents_of(self, origin: str) -> dict[str, str]:
        """Return the content hashes of the documents of a file, by id."""
        statement = "select id, content_hash from library_documents where origin = %s and retired is null"
        return dict(self._connection.execute(statement, [storable_text(origin)]).fetchall())

    def set_origin(self, document_id: str, origin: str) -> None:
        """Record that an unchanged document now comes from another file."""
        self._last_read = None
        statement = "update library_documents set origin = %s where id = %s and retired is null"
        self._connection.execute(statement, [storable_text(origin), storable_text(document_id)])

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that are stored or set aside already, as bytes by the key of the embedded text."""
        vectors: dict[str, bytes] = {}
        for statement in (
            "select input, vector_send(vector) from library_vectors where input = any(%s)",
            "select input, vector from library_kept_vectors where input = any(%s)",
        ):
            for key, sent in self._connection.execute(statement, [list(keys)], binary=True):
                vectors[key] = vector_values(sent).astype("<f4").tobytes()
        return vectors

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Set aside vectors of passages that are not stored, by key, for the next run."""
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into library_kept_vectors values (%s, %s) on conflict (input) do nothing",
                [(key, vector_binary(vector)) for key, vector in vectors.items()],
            )

    def drop_kept_vectors(self) -> None:
        """Delete the vectors that an earlier run set aside."""
        if self._read_value("select exists (select from library_kept_vectors)"):
            self._connection.execute("delete from library_kept_vectors")

    def write_documents(self, documents: Sequence[PreparedDocument]) -> None:
        """Add or replace documents in one transaction, without those whose content is stored already."""
        self._last_read = None
        latest = {storable_text(prepared.document.id): prepared for prepared in documents}
        with self._lock_documents(latest) as stored:
            # Another writer may have stored some of them meanwhile.
            new, previous_metadata = {}, {}
            for id, prepared in latest.items():
                content_hash, metadata = stored.get(id, (None, None))
                if content_hash != prepared.content_hash:
                    new[id] = prepared
                    if metadata is not None:
                        previous_metadata[id] = metadata
            self._retire(list(previous_metadata))
            self._insert(new, previous_metadata)

    def retire_document(self, document_id: str) -> bool:
        """Remove a document; return False if there is none."""
        return self.retire_documents([document_id]) > 0

    def retire_documents(self, document_ids: Sequence[str]) -> int:
        """Remove documents; return how many existed."""
        self._last_read = None
        ids = dict.fromkeys(map(storable_text, document_ids))
        with self._lock_documents(ids) as stored:
            self._retire(list(stored))
        return len(stored)

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags; return False if there is no such document."""
        id = storable_text(document_id)
        with self._lock_documents([id]) as stored:
            if id not in stored:
                return False
            _, metadata = stored[id]
            metadata.pop("tags", None)
            if tags:
                metadata["tags"] = list(tags)
            metadata["tagged"] = True
            statement = "update library_documents set metadata = %s where id = %s and retired is null"
            self._connection.execute(statement, [storable_json(metadata), id])
            self._increment("tagged")
        return True

    @contextmanager
    def _lock_documents(
        self, ids: Sequence[str] | Mapping[str, Any]
    ) -> Iterator[dict[str, tuple[str, dict[str, Any]]]]:
        """Open a transaction, lock documents in it, and yield the content hash and metadata of the existing ones by id.

        Raises:
            LibraryBusy: Another run has written one of them, and was not published in time.
        """
        number, deadline = self.number, time.monotonic() + self._wait
        while True:
            with self._connection.transaction():
                other_run = self._find_other_run(ids, number)
                if other_run is None:
                    statement = """select id, content_hash, metadata::text from library_documents
                        where id = any(%s) and retired is null"""
                    rows = self._connection.execute(statement, [list(ids)]).fetchall()
                    yield {id: (content_hash, json.loads(metadata)) for id, content_hash, metadata in rows}
                    return
            # Outside of the transaction, whose locks on the documents could keep the other run from going on.
            self._wait_for(other_run, deadline)

    def _find_other_run(self, ids: Sequence[str] | Mapping[str, Any], number: int) -> int | None:
        """Return an unpublished run that has added or removed one of the documents; None if there is none.

        The documents are locked first, in one order, so that two runs with documents in common cannot deadlock.
        """
        self._connection.execute(
            """select pg_advisory_xact_lock(hashtextextended('preflight document ' || current_schema() || name, 0))
            from (select name from unnest(%s::text[]) as name order by name) as ordered""",
            [list(ids)],
        )
        row = self._connection.execute(
            """select run from library_runs where run <> %(own)s and exists (
                select from library_documents where id = any(%(ids)s)
                and (added = library_runs.run or retired = library_runs.run)) limit 1""",
            {"own": number, "ids": list(ids)},
        ).fetchone()
        if row is None or self._is_dead(row[0]):
            return None
        return int(row[0])

    def _is_dead(self, run: int) -> bool:
        """Return whether the process of an unpublished run has ended; the next publication takes the run over."""
        if not self._read_value(f"select pg_try_advisory_lock({_RUN_LOCK})", [run]):
            return False
        # The lock was taken only to see whether another process holds it.
        self._connection.execute(f"select pg_advisory_unlock({_RUN_LOCK})", [run])
        return True

    def _wait_for(self, run: int, deadline: float) -> None:
        """Wait until another run is published or its process has ended.

        Raises:
            LibraryBusy: Neither happened before the deadline.
        """
        while not self._is_dead(run):
            if time.monotonic() > deadline:
                raise LibraryBusy(
                    f"The library in {self._store.name} is being written by another process",
                    help="Try again when it has finished",
                )
            time.sleep(POLL_SECONDS)

    def _retire(self, ids: Sequence[str]) -> None:
        """Mark the present versions of documents as removed by this run."""
        if not ids:
            return
        values = {"run": self.number, "ids": list(ids)}
        statement = _RETIRE.format(table="documents", which="id = any(%(ids)s)") + " returning key"
        values["keys"] = [row[0] for row in self._connection.execute(statement, values)]
        self._connection.execute(
            f"""with gone as ({_RETIRE.format(table="passages", which="document = any(%(keys)s)")} returning row)
            update library_vectors set retired = %(run)s where row in (select row from gone)""",
            values,
        )

    def _insert(
        self, documents: Mapping[str, PreparedDocument], previous_metadata: Mapping[str, dict[str, Any]]
    ) -> None:
        """Add versions of documents by id, with the tags that users gave to the previous versions, if there are any."""
        if not documents:
            return
        now, run, connection = datetime.now(UTC).isoformat(timespec="seconds"), self.number, self._connection
        # COPY returns no numbers, so they are taken from the sequences first.
        keys = self._next_numbers("library_documents_key_seq", len(documents))
        rows = iter(self._next_numbers(ROWS, sum(len(prepared.passages) for prepared in documents.values())))
        with connection.cursor() as cursor:
            with cursor.copy(
                """copy library_documents (key, id, source, title, date, authors, metadata, content_hash, origin,
                added_at, retracted, added) from stdin (format binary)"""
            ) as copy:
                copy.set_types(
                    [*("int8", "text", "text", "text", "text", "text", "text"), *["text"] * 3, "bool", "int4"]
                )
                for key, (id, prepared) in zip(keys, documents.items(), strict=True):
                    document = _keep_user_tags(prepared.document, previous_metadata.get(id, {}))
                    texts = (id, document.source, document.title, document.date)
                    values = (
                        storable_json(document.authors),
                        storable_json(document.metadata),
                        prepared.content_hash,
                        prepared.origin,
                        now,
                    )
                    retracted = is_retracted(document.title)
                    copy.write_row((key, *map(storable_text, (*texts, *values)), retracted, run))
            passages, vectors = [], []
            for key, prepared in zip(keys, documents.values(), strict=True):
                with_vectors = zip(prepared.passages, prepared.keys, prepared.vectors, strict=True)
                for position, (original, original_key, vector) in enumerate(with_vectors):
                    row = next(rows)
                    passage, vector_key = storable_passage(original, original_key)
                    fields = (position, passage.text, passage.start, passage.end, passage.page, passage.tokens)
                    terms = encoded_terms(passage.title, passage.text)
                    passages.append((row, passage.id, key, *fields, storable_json(passage.metadata), terms, run))
                    vectors.append((row, vector_key, vector_binary(vector), run))
            with cursor.copy(
                """copy library_passages (row, id, document, position, text, start, "end", page, tokens, metadata,
                terms, added) from stdin (format binary)"""
            ) as copy:
                copy.set_types(
                    [*("int8", "text", "int8", "int4", "text", "int4", "int4", "int4", "int4"), "text", "bytea", "int4"]
                )
                for passage_values in passages:
                    copy.write_row(passage_values)
            with cursor.copy("copy library_vectors (row, input, vector, added) from stdin (format binary)") as copy:
                # pgvector's binary form, sent without conversion.
                copy.set_types(["int8", "text", "bytea", "int4"])
                for vector_row in vectors:
                    copy.write_row(vector_row)

    def publish(self, step: Callable[[str], None] = lambda name: None) -> None:
        """Publish this run and the runs of killed processes, then delete what is no longer visible.

        Args:
            step: Called with "words" while posting lists are made, and with "purge" once the run is visible and the
                copies among its documents are found.
        """
        connection = self._connection
        dead = [run for run in self._unpublished_runs() if self._takes_over(run)]
        try:
            # A run that was published since the runs were read can be locked, too; its words are stored already.
            runs = sorted(self._unpublished_runs() & {*dead, self._number})
            if runs:
                step(WORDS)
                with connection.transaction():
                    # What one of these runs has replaced again was never visible, and gets no words.
                    added = "p.added = any(%(runs)s) and (p.retired is null or p.retired <> all(%(runs)s))"
                    self._pieces.add(added, {"runs": runs})
                    connection.execute("delete from library_runs where run = any(%s)", [runs])
                    self._increment("generation")
        finally:
            for run in dead:
                connection.execute(f"select pg_advisory_unlock({_RUN_LOCK})", [run])
        if self._number is not None:
            connection.execute(f"select pg_advisory_unlock({_RUN_LOCK})", [self._number])
            self._number = None
        # Copies are looked for among published documents; if this fails, the next publication finds them.
        self.copies = link_published(connection, self._wait)
        step(PURGE)
        self._maintain()

    def _unpublished_runs(self) -> set[int]:
        """Return the numbers of the runs that are not published."""
        return {run for (run,) in self._connection.execute("select run from library_runs")}

    def _takes_over(self, run: int) -> bool:
        """Lock an unpublished run if its process has ended, and return whether it has; this run publishes it then."""
        # A session gets its own lock a second time, so its own run would seem to be one of a killed process.
        return run != self._number and self._read_value(f"select pg_try_advisory_lock({_RUN_LOCK})", [run])

    def _maintain(self) -> None:
        """Delete rows that are visible to nobody, merge pieces, and create the vector index if there are many vectors.

        One process at a time; a second one leaves the work to the next publication.
        """
        deadline = time.monotonic() + self._wait
        while not self._read_value(f"select pg_try_advisory_lock({_MAINTENANCE_LOCK})"):
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_SECONDS)
        try:
            while self._purge():
                pass
            self._pieces.merge()
            self._index_vectors()
            self._update_statistics()
        finally:
            with suppress(psycopg.Error):
                self._connection.execute(f"select pg_advisory_unlock({_MAINTENANCE_LOCK})")

    def _purge(self) -> bool:
        """Delete up to `PURGED_AT_ONCE` passages that will never be visible again; return whether there were any.

        Their vectors and words are deleted with them, and documents that have no passage left.
        """
        import numpy as np

        connection = self._connection
        with connection.transaction():
            # The texts tell which terms' lists contain the passages.
            rows = connection.execute(
                f"""select p.row, p.document, d.title, p.text from library_passages p join library_documents d
                on d.key = p.document where {gone("p")} order by p.row limit %s""",
                [PURGED_AT_ONCE],
                binary=True,
            ).fetchall()
            if rows:
                numbers = np.array([row[0] for row in rows])
                self._pieces.forget(numbers, {row: (document, title, text) for row, document, title, text in rows})
                connection.execute("delete from library_vectors where row = any(%s)", [numbers.tolist()])
                connection.execute("delete from library_passages where row = any(%s)", [numbers.tolist()])
            connection.execute(
                # Passages go in portions, and forgetting their words takes their document's title.
                f"""delete from library_documents d where {gone("d")}
                and not exists (select from library_passages where document = d.key)"""
            )
        return bool(rows)

    def rebuild(self) -> None:
        """Rebuild terms and words of all passages and the vector index, and vacuum.

        Searches meanwhile find each passage once: the new lists replace the old ones in one transaction.
        """
        connection = self._connection
        if not self._read_value(f"select pg_try_advisory_lock({_MAINTENANCE_LOCK})"):
            raise LibraryBusy(
                f"The library in {self._store.name} is being written by another process",
                help="Try again when it has finished",
            )
        try:
            with connection.transaction():
                # Between the deletion of the lists and their new ones, nobody may publish.
                connection.execute("lock table library_runs, library_pieces in share row exclusive mode")
                self._pieces.clear()
                self._renew_terms()
                self._pieces.add(sees("p"), {})
                self._increment("generation")
            # Only once the terms are stored: until then, searches must not rely on them.
            self.set_meta(ANALYSER, analysed_probe())
            self._index_vectors(again=True)
            connection.execute(f"vacuum analyze {', '.join(TABLES)}")
        finally:
            with suppress(psycopg.Error):
                connection.execute(f"select pg_advisory_unlock({_MAINTENANCE_LOCK})")

    def _renew_terms(self) -> None:
        """Rewrite the stored terms of passages for which today's analyser gives other terms."""
        if self.meta(ANALYSER) == analysed_probe():
            return
        for rows in passage_texts(self._connection, "true"):
            with self._connection.cursor() as cursor:
                cursor.executemany(
                    "update library_passages set terms = %s where row = %s",
                    [(encoded_terms(title, text), row) for row, _, title, text in rows],
                )

    def _update_statistics(self) -> None:
        """Have the server update its planner's statistics if a tenth of the data or more is new.

        The server does so by itself later. The contents of vectors are left out.
        """
        passages = self._read_value("select coalesce(sum(passages), 0)::float8 from library_pieces")
        counted = self._read_value("select reltuples from pg_class where oid = 'library_passages'::regclass")
        if abs(passages - counted) > 0.1 * passages:
            self._connection.execute(
                "analyze library_documents, library_passages, library_postings, library_vectors (row, added, retired)"
            )

    def _index_vectors(self, *, again: bool = False) -> None:
        """Build the vector index if it is due, and count the change as a new generation."""
        dimension = int((self.meta("embedder") or {}).get("dimension", 0))
        if index_vectors(self._connection, dimension, again=again):
            self._increment("generation")

    def _increment(self, key: str) -> None:
        """Increase the number in a setting by 1."""
        self._connection.execute("update library_meta set value = ((value::bigint) + 1)::text where key = %s", [key])

    def _next_numbers(self, sequence: str, count: int) -> list[int]:
        """Return the next `count` numbers of a sequence."""
        statement = "select nextval(%s) from generate_series(1, %s)"
        return [number for (number,) in self._connection.execute(statement, [sequence, count])]

    def _read_value(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Return the only value of a statement's only row; None if there is no row."""
        row = self._connection.execute(statement, values or None).fetchone()
        return row[0] if row else None


@contextmanager
def writing(store: PostgresStore, wait_seconds: float) -> Iterator[DocumentWriting]:
    """Yield a new run, with a connection of its own, which is closed at the end of the block.

    The caller publishes the run; if it does not, the next publication of another run includes it.

    Raises:
        LibraryUnavailable: No server answers, or the connection was lost.
    """
    with translated_errors(store.name, store.address.unavailable):
        connection = store.connections.new()
        try:
            yield DocumentWriting(store, connection, wait_seconds)
        finally:
            connection.close()


def _keep_user_tags(document: Document, previous_metadata: Mapping[str, Any]) -> Document:
    """Return a new version of a document, with the tags that users gave to the previous one, if they gave any."""
    if not previous_metadata.get("tagged"):
        return document
    user_tags = {key: previous_metadata[key] for key in ("tags", "tagged") if key in previous_metadata}
    return document.model_copy(update={"metadata": {**document.metadata, **user_tags}})
