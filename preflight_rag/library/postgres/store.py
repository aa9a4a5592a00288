"""The contents of a library in PostgreSQL, for reading; `writing.py` writes them."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.databases.postgres import SESSION, Address, Connection, Connections, storable_text
from preflight_rag.ingest.identity import passage_id
from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.library.postgres.copies import LINKED, FoundCopies
from preflight_rag.library.postgres.schema import DENSE_INDEX, TABLES, open_tables, sees
from preflight_rag.library.postgres.values import vector_values
from preflight_rag.library.storage.cards import card_of, document_of_card, is_card
from preflight_rag.library.storage.catalogue import ROW
from preflight_rag.library.storage.copies import whole_copies
from preflight_rag.library.storage.schema import DOCUMENT_ONLY_KEYS
from preflight_rag.state.errors import DatabaseCorrupt
from preflight_rag.state.values import COPY_OF, Passage

if TYPE_CHECKING:
    import numpy as np

MOST_CONNECTIONS = 8
"""Connections of one process for its searches; a guess: each search needs one for some milliseconds."""
EXAMINED_PASSAGES = 300
"""Passages that a search of the dense index examines (`hnsw.ef_search`): see docs/scaling.md for its recall."""
INDEX_CHECK_SECONDS = 10.0
"""Interval of checks whether the vectors have an index; a guess. Without an index all vectors are compared, exactly."""
CHUNK = 2000
"""Rows of one statement when many are read; a guess."""
Row = tuple[Any, ...]

_PASSAGES = """
    select p.row, p.id, d.id, p.text, p.start, p."end", p.page, p.tokens, p.metadata::text,
        d.title, d.source, d.date, d.metadata::text
    from library_passages p join library_documents d on d.key = p.document
"""

_LISTED = f"""
    select d.id, d.title, d.source, d.date, d.origin, d.added_at, d.metadata ->> 'doi', d.metadata ->> 'pmcid',
        d.metadata ->> 'pmid', d.metadata ->> 'url', d.metadata ->> 'tags',
        d.metadata ->> '{READ_REPORT}', d.metadata ->> 'file_saved',
        (select count(*) from library_passages where document = d.key and {sees()}),
        (select coalesce(sum(tokens), 0)::bigint from library_passages where document = d.key and {sees()})
    from library_documents d
"""


def configure(connection: Connection) -> None:
    """Set up a new connection for searches."""
    for statement in SESSION:
        connection.execute(statement)
    connection.execute(f"set hnsw.ef_search = {EXAMINED_PASSAGES}")
    # The index knows nothing of runs: it is read on until enough of what it gives is visible.
    connection.execute("set hnsw.iterative_scan = strict_order")


class PostgresStore:
    """The documents, passages, vectors and settings of a library in PostgreSQL. Safe to use from several threads.

    Args:
        address: Address of the database.
        create: Create the tables if there are none.

    Raises:
        LibraryMissing: There are none, and `create` is false.
        LibraryUnavailable: No server answers.
        LibraryError: The server refuses the login, has no pgvector, or a newer version has written the tables.
    """

    def __init__(self, address: Address, *, create: bool = False) -> None:
        self.address = address
        self.name = address.name
        self.connections = Connections(address, MOST_CONNECTIONS, configure)
        self._index_checked_at, self._is_indexed = -math.inf, False
        # Caches, each with the state at which it was read: `LINKED`, which begins at 1, and the generation.
        self._copies: tuple[int, Mapping[int, tuple[int, ...]]] = 0, {}
        self._originals: tuple[tuple[int, int], Mapping[str, str]] = (0, 0), {}
        try:
            self.connections.read(lambda connection: open_tables(connection, address, create=create))
        except BaseException:
            self.connections.close()
            raise

    @property
    def place(self) -> str:
        """The library's place as error messages name it."""
        return f"in {self.name}"

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self.connections.close()

    def read_rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Return the rows that a statement reads, in PostgreSQL's binary format if that is shorter."""

        def read(connection: Connection) -> list[Row]:
            """Run the statement on a connection."""
            return connection.execute(statement, values or None, binary=True).fetchall()

        return self.connections.read(read)

    def meta(self, key: str) -> Any:
        """Return the value of a setting; None if it was never recorded."""
        rows = self.read_rows("select value from library_meta where key = %s", [storable_text(key)])
        try:
            return json.loads(rows[0][0]) if rows else None
        except ValueError:
            raise self.damaged(f"the setting {key!r} is not as it was written") from None

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""
        statement = """insert into library_meta values (%(key)s, %(value)s)
            on conflict (key) do update set value = excluded.value"""
        values = {"key": storable_text(key), "value": storable_text(json.dumps(value))}
        self.connections.read(lambda connection: connection.execute(statement, values))

    def generation(self) -> int:
        """Return the number of the last publication."""
        return int(self.meta("generation") or 0)

    def state(self) -> tuple[int, int]:
        """Return the numbers of the last publication and of the last change of tags."""
        rows: dict[str, str] = dict(
            self.read_rows("select key, value from library_meta where key in ('generation', 'tagged')")
        )  # type: ignore[arg-type]
        return int(rows["generation"]), int(rows["tagged"])

    def dimension(self) -> int:
        """Return the length of the stored vectors."""
        return int(self.meta("embedder")["dimension"])

    def damaged(self, what: str) -> DatabaseCorrupt:
        """Return the error for a value that this program cannot have written; `what` names it."""
        return DatabaseCorrupt(
            f"The library in {self.name} cannot be read: {what}",
            help="Restore the database from a backup, or ingest the document again.",
        )

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield every document as a dict, ordered by id, with the number of its passages."""
        names = ("id", "source", "title", "date", "authors", "metadata", "origin", "added_at", "passages")
        statement = """select d.id, d.source, d.title, d.date, d.authors::text, d.metadata::text, d.origin, d.added_at,
                (select count(*) from library_passages p where p.document = d.key)
            from library_documents d where d.key = any(%s) order by d.id collate "C" """
        keys = self.read_rows(f'select key from library_documents where {sees()} order by id collate "C"')
        for start in range(0, len(keys), CHUNK):
            for row in self.read_rows(statement, [[key for (key,) in keys[start : start + CHUNK]]]):
                document = dict(zip(names, row, strict=True))
                yield document | {name: json.loads(document[name]) for name in ("authors", "metadata")}

    def all_passage_ids(self) -> list[str]:
        """Return the ids of all passages, ordered by id."""
        statement = f'select id from library_passages where {sees()} order by id collate "C"'
        return [row[0] for row in self.read_rows(statement)]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages that exist, by id; while one is being replaced, its published version.

        A document's card is a passage, too.
        """
        # False sorts before true: of two versions the published one comes last, and so is the one in the dict.
        statement = f"{_PASSAGES} where p.id = any(%s) order by {sees('p')}, p.row"
        passages = {}
        for row in self.read_rows(statement, [list(map(storable_text, ids))]):
            passage = self._checked_passage(row)
            passages[passage.id] = passage
        originals = self.originals() if passages else {}
        for id, passage in passages.items() if originals else ():
            if original := originals.get(passage.document_id):
                passages[id] = passage.model_copy(update={"metadata": {**passage.metadata, COPY_OF: original}})
        if document_ids := [document_of_card(id) for id in ids if is_card(id)]:
            passages |= self._cards(document_ids)
        return passages

    def _checked_passage(self, row: Row) -> Passage:
        """Return the passage of a row.

        Raises:
            DatabaseCorrupt: The row is damaged, or the text does not match the id: an edited text is no source.
        """
        _, id, document_id, text, start, end, page, tokens, own_json, title, source, date, document_json = row
        try:
            inherited = {
                key: value for key, value in json.loads(document_json).items() if key not in DOCUMENT_ONLY_KEYS
            }
            passage = Passage(
                id=id,
                document_id=document_id,
                text=text,
                title=title,
                source=source,
                date=date,
                page=page,
                start=start,
                end=end,
                tokens=tokens,
                metadata=inherited | json.loads(own_json),
            )
        except (ValueError, TypeError, AttributeError):
            raise self.damaged(f"the passage {id!r} is not as it was written") from None
        if passage_id(document_id, start, text) != id:
            raise self.damaged(f"the passage {id!r} is not as it was written")
        return passage

    def _cards(self, document_ids: Sequence[str]) -> dict[str, Passage]:
        """Return the cards (passages of metadata) of those documents that exist, by the card's id."""
        names = ("id", "source", "title", "date", "authors", "metadata")
        statement = f"""select id, source, title, date, authors::text, metadata::text from library_documents
            where id = any(%s) order by {sees()}, key"""
        cards = {}
        for row in self.read_rows(statement, [list(map(storable_text, document_ids))]):
            card = card_of(dict(zip(names, row, strict=True)))
            cards[card.id] = card
        return cards

    def passage_ids(self, document_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the passages of each document, in the order of its text."""
        statement = f"""select d.id, p.id from library_documents d join library_passages p on p.document = d.key
            where d.id = any(%s) and {sees("d")} order by d.key, p.position"""
        ids_by_document: dict[str, list[str]] = {}
        for document_id, id in self.read_rows(statement, [list(map(storable_text, document_ids))]):
            ids_by_document.setdefault(document_id, []).append(id)
        return ids_by_document

    def documents_of(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the document id of each passage's row that still exists."""
        statement = """select p.row, d.id from library_passages p join library_documents d on d.key = p.document
            where p.row = any(%s)"""
        return dict(self.read_rows(statement, [list(rows)]))

    def passages_at(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the passage id of each row that still exists."""
        return dict(self.read_rows("select row, id from library_passages where row = any(%s)", [list(rows)]))

    def rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row of each passage that exists."""
        # The published version comes last, as in `passages`.
        statement = f"select id, row from library_passages where id = any(%s) order by {sees()}, row"
        return dict(self.read_rows(statement, [list(ids)]))

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the stored vectors, by passage id."""
        statement = f"""select p.id, vector_send(v.vector) from library_passages p join library_vectors v
            on v.row = p.row where p.id = any(%s) order by {sees("p")}, p.row"""
        return {name: vector_values(sent) for name, sent in self.read_rows(statement, [list(ids)])}

    def terms(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the stored terms of passages (`encoded_terms`), by passage id."""
        statement = f"select id, terms from library_passages where id = any(%s) order by {sees()}, row"
        return dict(self.read_rows(statement, [list(ids)]))

    def passages_like(self, pattern: str) -> Iterator[tuple[str, str, str]]:
        """Yield `(id, document id, text)` of the passages whose text is LIKE a pattern, by document."""
        statement = f"""select p.id, d.id, p.text from library_passages p join library_documents d on d.key = p.document
            where {sees("p")} and (%(like)s = '' or p.text ilike %(like)s) order by d.key, p.position"""
        yield from self.read_rows(statement, {"like": storable_text(pattern)})  # type: ignore[misc]

    def titles(self) -> list[tuple[str, str]]:
        """Return `(id, title)` of all documents."""
        return self.read_rows(f"select id, title from library_documents where {sees()}")  # type: ignore[return-value]

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents, passages, their tokens, and passages that wait to be deleted."""
        statement = f"""select (select count(*) from library_documents where {sees()}),
            count(*) filter (where {sees()}), coalesce(sum(tokens) filter (where {sees()}), 0)::bigint,
            count(*) filter (where retired is not null and not {sees()}) from library_passages"""
        names = ("documents", "passages", "tokens", "retired")
        return dict(zip(names, self.read_rows(statement)[0], strict=True))

    def size(self) -> int:
        """Return the size of the tables with their indices, in bytes."""
        statement = "select sum(pg_total_relation_size(name::regclass))::bigint from unnest(%s::text[]) as name"
        return int(self.read_rows(statement, [list(TABLES)])[0][0])

    def list_documents(self, like: str, offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Return one page of documents with title, id or source LIKE a pattern, and their total number.

        "" matches all; the latest come first.
        """
        names = ("d.title", "d.id", "d.source")
        fits = f"{sees('d')} and (%(like)s = '' or {' or '.join(f'{name} ilike %(like)s' for name in names)})"
        values = {"like": storable_text(like), "offset": offset, "limit": limit}
        total = self.read_rows(f"select count(*) from library_documents d where {fits}", values)[0][0]
        order = 'order by d.added_at desc, d.id collate "C" limit %(limit)s offset %(offset)s'
        rows = self.read_rows(f"{_LISTED} where {fits} {order}", values)
        return [dict(zip(ROW, row, strict=True)) for row in rows], int(total)

    def list_document(self, document_id: str) -> dict[str, Any] | None:
        """Return the row of one document as `list_documents` gives it."""
        rows = self.read_rows(f"{_LISTED} where {sees('d')} and d.id = %s", [storable_text(document_id)])
        return dict(zip(ROW, rows[0], strict=True)) if rows else None

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, ordered."""
        statement = f'select id from library_documents where {sees()} order by id collate "C"'
        return [row[0] for row in self.read_rows(statement)]

    def origin_is_used(self, origin: str) -> bool:
        """Return whether a document was read from this file."""
        statement = f"select 1 from library_documents where {sees()} and origin = %s and origin <> '' limit 1"
        return bool(self.read_rows(statement, [storable_text(origin)]))

    def count_by_origin(self) -> list[tuple[str, int]]:
        """Return each file with its number of documents; "" stands for documents that came from no file."""
        return [
            (row[0], row[1])
            for row in self.read_rows(f"""select origin, count(*) from library_documents
            where {sees()} group by origin""")
        ]

    def count_by_tag(self) -> list[tuple[str, int]]:
        """Return each tag with its number of documents, in alphabetical order."""
        statement = f"""select e.value::text from library_documents d, json_each(d.metadata) e
            where {sees("d")} and e.key = 'tags'"""
        counts = Counter[str]()
        for (text,) in self.read_rows(statement):
            value = json.loads(text)
            for tag in value if isinstance(value, list) else [value]:
                if isinstance(tag, str) and tag.strip():
                    counts[tag.strip()] += 1
        return sorted(counts.items(), key=lambda tag_and_count: tag_and_count[0].lower())

    @property
    def copies(self) -> FoundCopies:
        """The tables of copies among the documents."""
        return FoundCopies(self.read_rows)

    def passage_copies(self, linked: int | None) -> Mapping[int, tuple[int, ...]]:
        """Return, for each copied passage's row, the rows of the passages with its text; cached until copies change.

        Args:
            linked: How often copies were found (`LINKED`); None for never.
        """
        if linked is None:
            return {}
        cached_state, copies = self._copies
        if linked != cached_state:
            copies = self.copies.passage_copies()
            self._copies = linked, copies
        return copies

    def originals(self) -> Mapping[str, str]:
        """Return, for each copied document, the document searched instead; cached until the next write."""
        linked = self.meta(LINKED)
        if linked is None:
            return {}
        state = linked, self.generation()
        cached_state, originals = self._originals
        if state != cached_state:
            originals = whole_copies(self.copies.document_copies())
            self._originals = state, originals
        return originals

    def has_dense_index(self) -> bool:
        """Return whether there is an index of the vectors.

        The answer is checked again after some seconds, as another process may create one.
        """
        now = time.monotonic()
        if now > self._index_checked_at + INDEX_CHECK_SECONDS:
            statement = "select i.indisvalid from pg_index i where i.indexrelid = to_regclass(%s)"
            self._is_indexed = self.read_rows(statement, [DENSE_INDEX]) == [(True,)]
            self._index_checked_at = now
        return self._is_indexed

    def index_summary(self) -> dict[str, Any] | None:
        """Return the number of passages, the kind of vector search and the number of pieces; None without passages."""
        statement = "select coalesce(sum(passages), 0)::bigint, count(*) from library_pieces"
        ((passages, pieces),) = self.read_rows(statement)
        kind = "hnsw" if self.has_dense_index() else "exact"
        return {"passages": passages, "dense": kind, "pieces": pieces} if passages else None
