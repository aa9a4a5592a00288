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
from preflight_rag.library.postgres.copies import link
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

_WRITE = """
    update library_{table} set retired = %(run)s
    where {which} and retired is null
"""
# Two numbers: one for the runs of this schema, so that they meet no other lock, and the run's own.
_ALIVE = "('x' || substr(md5('preflight library run ' || current_schema()), 1, 8))::bit(32)::int, %s"
_MAINTENANCE = "hashtextextended('preflight library maintenance ' || current_schema(), 0)"


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
        self._known: tuple[str, StoredDocument | None] | None = None

    @property
    def number(self) -> int:
        """Number of this run, which begins with its first write."""
        if self._number is None:
            number = self._one("select nextval(%s)::integer", [RUNS])
            # Locked before it is listed: without its lock, a listed run passes for that of a killed process.
            self._connection.execute(f"select pg_advisory_lock({_ALIVE})", [number])
            self._connection.execute("insert into library_runs values (%s)", [number])
            self._number = number
        return self._number

    def meta(self, key: str) -> Any:
        """Return a setting, or None."""
        return self._store.meta(key)

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""
        self._store.set_meta(key, value)

    def document(self, document_id: str) -> StoredDocument | None:
        """Return the stored state of a document, including unpublished runs; None if it is not stored."""
        if self._known is None or self._known[0] != document_id:
            statement = "select content_hash, origin from library_documents where id = %s and retired is null"
            row = self._connection.execute(statement, [storable_text(document_id)]).fetchone()
            # An ingest reads each document's state twice.
            self._known = document_id, StoredDocument(*row) if row else None
        return self._known[1]

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
        self._known = None
        statement = "update library_documents set origin = %s where id = %s and retired is null"
        self._connection.execute(statement, [storable_text(origin), storable_text(document_id)])

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that exist already, stored or set aside, by key."""
        found: dict[str, bytes] = {}
        for statement in (
            "select input, vector_send(vector) from library_vectors where input = any(%s)",
            "select input, vector from library_kept_vectors where input = any(%s)",
        ):
            for key, sent in self._connection.execute(statement, [list(keys)], binary=True):
                found[key] = vector_values(sent).astype("<f4").tobytes()
        return found

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Set aside vectors of passages that are not stored, by key, for the next run."""
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "insert into library_kept_vectors values (%s, %s) on conflict (input) do nothing",
                [(key, vector_binary(vector)) for key, vector in vectors.items()],
            )

    def drop_kept_vectors(self) -> None:
        """Delete the vectors that an earlier run set aside."""
        if self._one("select exists (select from library_kept_vectors)"):
            self._connection.execute("delete from library_kept_vectors")

    def write_documents(self, documents: Sequence[PreparedDocument]) -> None:
        """Add or replace documents in one transaction, without those that another writer has stored meanwhile."""
        self._known = None
        latest = {storable_text(each.document.id): each for each in documents}
        with self._documents(latest) as known:
            new = {
                name: each for name, each in latest.items() if name not in known or known[name][0] != each.content_hash
            }
            self._retire([name for name in new if name in known])
            self._insert(new, {name: known[name][1] for name in new if name in known})

    def retire_document(self, document_id: str) -> bool:
        """Remove a document; return False if there is none."""
        return self.retire_documents([document_id]) > 0

    def retire_documents(self, document_ids: Sequence[str]) -> int:
        """Remove documents; return how many existed."""
        self._known = None
        names = dict.fromkeys(map(storable_text, document_ids))
        with self._documents(names) as known:
            self._retire(list(known))
        return len(known)

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags; return False if there is no such document."""
        name = storable_text(document_id)
        with self._documents([name]) as known:
            if name not in known:
                return False
            metadata = {key: value for key, value in known[name][1].items() if key != "tags"}
            changed = {**metadata, **({"tags": list(tags)} if tags else {}), "tagged": True}
            statement = "update library_documents set metadata = %s where id = %s and retired is null"
            self._connection.execute(statement, [storable_json(changed), name])
            self._count_on("tagged")
        return True

    @contextmanager
    def _documents(self, names: Sequence[str] | Mapping[str, Any]) -> Iterator[dict[str, tuple[str, dict[str, Any]]]]:
        """Lock documents for a transaction, and yield the hash and metadata of the existing ones.

        Raises:
            LibraryBusy: Another run has written one of them, and was not published in time.
        """
        number, deadline = self.number, time.monotonic() + self._wait
        while True:
            with self._connection.transaction():
                other = self._other_run(names, number)
                if other is None:
                    statement = """select id, content_hash, metadata::text from library_documents
                        where id = any(%s) and retired is null"""
                    rows = self._connection.execute(statement, [list(names)]).fetchall()
                    yield {name: (digest, json.loads(metadata)) for name, digest, metadata in rows}
                    return
            # Outside of the transaction, whose locks on the documents could keep the other run from going on.
            self._wait_for(other, deadline)

    def _other_run(self, names: Sequence[str] | Mapping[str, Any], number: int) -> int | None:
        """Return an unpublished run that has added or removed one of the documents; None if there is none.

        The documents are locked first, in one order, so that two runs with documents in common cannot deadlock.
        """
        self._connection.execute(
            """select pg_advisory_xact_lock(hashtextextended('preflight document ' || current_schema() || name, 0))
            from (select name from unnest(%s::text[]) as name order by name) as ordered""",
            [list(names)],
        )
        row = self._connection.execute(
            """select run from library_runs where run <> %(own)s and exists (
                select from library_documents where id = any(%(ids)s)
                and (added = library_runs.run or retired = library_runs.run)) limit 1""",
            {"own": number, "ids": list(names)},
        ).fetchone()
        if row is None or self._is_dead(row[0]):
            return None
        return int(row[0])

    def _is_dead(self, run: int) -> bool:
        """Return whether a run's process has ended; its documents are then taken over by the next publication."""
        if not self._one(f"select pg_try_advisory_lock({_ALIVE})", [run]):
            return False
        # The lock was taken only to see whether another process holds it.
        self._connection.execute(f"select pg_advisory_unlock({_ALIVE})", [run])
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

    def _retire(self, names: Sequence[str]) -> None:
        """Mark the present versions of documents as removed by this run."""
        if not names:
            return
        values = {"run": self.number, "ids": list(names)}
        statement = _WRITE.format(table="documents", which="id = any(%(ids)s)") + " returning key"
        values["keys"] = [row[0] for row in self._connection.execute(statement, values)]
        self._connection.execute(
            f"""with gone as ({_WRITE.format(table="passages", which="document = any(%(keys)s)")} returning row)
            update library_vectors set retired = %(run)s where row in (select row from gone)""",
            values,
        )

    def _insert(self, documents: Mapping[str, PreparedDocument], before: Mapping[str, dict[str, Any]]) -> None:
        """Add versions of documents, with the tags that users gave to the previous versions."""
        if not documents:
            return
        now, run, connection = datetime.now(UTC).isoformat(timespec="seconds"), self.number, self._connection
        # COPY returns no numbers, so they are taken from the sequences first.
        keys = self._next("library_documents_key_seq", len(documents))
        rows = iter(self._next(ROWS, sum(len(each.passages) for each in documents.values())))
        with connection.cursor() as cursor:
            with cursor.copy(
                """copy library_documents (key, id, source, title, date, authors, metadata, content_hash, origin,
                added_at, retracted, added) from stdin (format binary)"""
            ) as copy:
                copy.set_types(
                    [*("int8", "text", "text", "text", "text", "text", "text"), *["text"] * 3, "bool", "int4"]
                )
                for key, (name, each) in zip(keys, documents.items(), strict=True):
                    document = _tagged(each.document, before.get(name, {}))
                    texts = (name, document.source, document.title, document.date)
                    values = (
                        storable_json(document.authors),
                        storable_json(document.metadata),
                        each.content_hash,
                        each.origin,
                        now,
                    )
                    retracted = is_retracted(document.title)
                    copy.write_row((key, *map(storable_text, (*texts, *values)), retracted, run))
            passages, vectors = [], []
            for key, each in zip(keys, documents.values(), strict=True):
                for position, (passage, name, vector) in enumerate(
                    zip(each.passages, each.keys, each.vectors, strict=True)
                ):
                    row = next(rows)
                    kept, embedded = storable_passage(passage, name)
                    place = (position, kept.text, kept.start, kept.end, kept.page, kept.tokens)
                    terms = encoded_terms(kept.title, kept.text)
                    passages.append((row, kept.id, key, *place, storable_json(kept.metadata), terms, run))
                    vectors.append((row, embedded, vector_binary(vector), run))
            with cursor.copy(
                """copy library_passages (row, id, document, position, text, start, "end", page, tokens, metadata,
                terms, added) from stdin (format binary)"""
            ) as copy:
                copy.set_types(
                    [*("int8", "text", "int8", "int4", "text", "int4", "int4", "int4", "int4"), "text", "bytea", "int4"]
                )
                for values_of_passage in passages:
                    copy.write_row(values_of_passage)
            with cursor.copy("copy library_vectors (row, input, vector, added) from stdin (format binary)") as copy:
                # pgvector's binary form, sent without conversion.
                copy.set_types(["int8", "text", "bytea", "int4"])
                for values_of_vector in vectors:
                    copy.write_row(values_of_vector)

    def publish(self, step: Callable[[str], None] = lambda name: None) -> None:
        """Publish this run and the runs of killed processes, then delete what is no longer visible.

        Args:
            step: Called with "words" while posting lists are made, and with "purge" once the run is visible and the
                copies among its documents are found.
        """
        connection = self._connection
        dead = [run for run in self._runs() if self._adopts(run)]
        try:
            # A run that was published since the runs were read can be locked, too; its words are stored already.
            runs = sorted(self._runs() & {*dead, self._number})
            if runs:
                step(WORDS)
                with connection.transaction():
                    # What one of these runs has replaced again was never visible, and gets no words.
                    added = "p.added = any(%(runs)s) and (p.retired is null or p.retired <> all(%(runs)s))"
                    self._pieces.add(added, {"runs": runs})
                    connection.execute("delete from library_runs where run = any(%s)", [runs])
                    self._count_on("generation")
        finally:
            for run in dead:
                connection.execute(f"select pg_advisory_unlock({_ALIVE})", [run])
        if self._number is not None:
            connection.execute(f"select pg_advisory_unlock({_ALIVE})", [self._number])
            self._number = None
        # Copies are looked for among published documents; if this fails, the next publication finds them.
        self.copies = link(connection, self._wait)
        step(PURGE)
        self._tidy()

    def _runs(self) -> set[int]:
        """Return the runs that are not published."""
        return {run for (run,) in self._connection.execute("select run from library_runs")}

    def _adopts(self, run: int) -> bool:
        """Return whether an unpublished run has lost its process; if so, this run takes it over."""
        # Its own lock a session gets a second time, so its own run would pass for a killed one.
        return run != self._number and self._one(f"select pg_try_advisory_lock({_ALIVE})", [run])

    def _tidy(self) -> None:
        """Delete rows that are visible to nobody, merge pieces, and create the vector index if there are many vectors.

        One process at a time; a second one leaves the work to the next publication.
        """
        deadline = time.monotonic() + self._wait
        while not self._one(f"select pg_try_advisory_lock({_MAINTENANCE})"):
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_SECONDS)
        try:
            while self._purge():
                pass
            self._pieces.merge()
            self._index_vectors()
            self._count_values()
        finally:
            with suppress(psycopg.Error):
                self._connection.execute(f"select pg_advisory_unlock({_MAINTENANCE})")

    def _purge(self) -> bool:
        """Delete some of the rows that will never be visible again, with their words; return whether there were any."""
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
        if not self._one(f"select pg_try_advisory_lock({_MAINTENANCE})"):
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
                self._count_on("generation")
            # Only once the terms are stored: until then, searches must not rely on them.
            self.set_meta(ANALYSER, analysed_probe())
            self._index_vectors(again=True)
            connection.execute(f"vacuum analyze {', '.join(TABLES)}")
        finally:
            with suppress(psycopg.Error):
                connection.execute(f"select pg_advisory_unlock({_MAINTENANCE})")

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

    def _count_values(self) -> None:
        """Have the server update its planner statistics if a tenth of the data or more is new.

        The server does so by itself later. Vectors are left out.
        """
        passages = self._one("select coalesce(sum(passages), 0)::float8 from library_pieces")
        counted = self._one("select reltuples from pg_class where oid = 'library_passages'::regclass")
        if abs(passages - counted) > 0.1 * passages:
            self._connection.execute(
                "analyze library_documents, library_passages, library_postings, library_vectors (row, added, retired)"
            )

    def _index_vectors(self, *, again: bool = False) -> None:
        """Build the vector index if it is due, and count the change as a new generation."""
        dimension = int((self.meta("embedder") or {}).get("dimension", 0))
        if index_vectors(self._connection, dimension, again=again):
            self._count_on("generation")

    def _count_on(self, key: str) -> None:
        """Increase the number that a setting holds."""
        self._connection.execute("update library_meta set value = ((value::bigint) + 1)::text where key = %s", [key])

    def _next(self, sequence: str, count: int) -> list[int]:
        """Return the next numbers of a sequence."""
        statement = "select nextval(%s) from generate_series(1, %s)"
        return [number for (number,) in self._connection.execute(statement, [sequence, count])]

    def _one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Return the only value of a statement's only row."""
        row = self._connection.execute(statement, values or None).fetchone()
        return row[0] if row else None


@contextmanager
def writing(store: PostgresStore, wait_seconds: float) -> Iterator[DocumentWriting]:
    """Yield a run over its own connection; if it is not published, the next publication includes it.

    Raises:
        LibraryUnavailable: No server answers, or the connection was lost.
    """
    with translated_errors(store.name, store.address.unavailable):
        connection = store.connections.new()
        try:
            yield DocumentWriting(store, connection, wait_seconds)
        finally:
            connection.close()


def _tagged(document: Document, before: Mapping[str, Any]) -> Document:
    """Return a new version of a document, with the tags that users gave to the previous one."""
    if not before.get("tagged"):
        return document
    own = {name: before[name] for name in ("tags", "tagged") if name in before}
    return document.model_copy(update={"metadata": {**document.metadata, **own}})
