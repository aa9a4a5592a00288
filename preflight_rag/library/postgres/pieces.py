"""The tables of posting lists in a PostgreSQL library: how they are extended, merged, and cleaned of deleted rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.databases.postgres import Connection
from preflight_rag.library.postgres.postings import (
    RECORD,
    RECORD_BYTES,
    PostingPiece,
    count_words,
    make_piece,
    terms_of,
    without_rows,
)

if TYPE_CHECKING:
    import numpy as np

PIECE_PASSAGES = 50_000
"""Most passages of one new piece: its lists take about 100 MB in memory. A guess."""
READ_AT_ONCE = 2_000
"""Passages, or posting lists, that one statement reads; a guess."""
MERGED = 8
"""Number of pieces of similar size that are merged into one, so that a search reads few lists and a posting is
rewritten few times. A guess."""


class PostingPieces:
    """The posting lists, piece by piece. All methods but `merge` are part of the caller's transaction.

    Args:
        connection: The connection of the run that writes.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, which: str, values: Mapping[str, Any]) -> None:
        """Make and store the posting lists of the passages that fulfil an SQL condition.

        Args:
            which: The condition, in which passages are called `p`.
            values: The values of its parameters.
        """
        passages = list[tuple[int, int, str, str]]()
        for batch in passage_texts(self._connection, which, values):
            passages += batch
            if len(passages) >= PIECE_PASSAGES:
                self._write(make_piece(passages))
                passages = []
        self._write(make_piece(passages))

    def clear(self) -> None:
        """Delete all pieces."""
        for table in ("postings", "words", "pieces"):
            self._connection.execute(f"delete from library_{table}")

    def _write(self, piece: PostingPiece | None) -> None:
        """Store a piece under the next number; None is no piece, and nothing is stored."""
        if piece is None:
            return
        number = self._next_piece_number()
        self._connection.execute(
            "insert into library_pieces values (%s, %s, %s, %s, %s)",
            [number, piece.passages, piece.length, piece.first, piece.last],
        )
        with (
            self._connection.cursor() as cursor,
            cursor.copy("copy library_postings from stdin (format binary)") as copy,
        ):
            copy.set_types(["text", "int4", "int4", "bytea"])
            for term, stored in sorted(piece.lists.items()):
                copy.write_row((term, number, len(stored) // RECORD_BYTES, stored))
        with self._connection.cursor() as cursor, cursor.copy("copy library_words from stdin (format binary)") as copy:
            copy.set_types(["text", "int4", "int4", "int4"])
            for word, (passages, documents) in sorted(piece.words.items()):
                copy.write_row((word, number, passages, documents))

    def forget(self, rows: np.ndarray, texts: Mapping[int, tuple[int, str, str]]) -> None:
        """Remove passages from all posting lists and word counts.

        Args:
            rows: The passages' rows (n,).
            texts: Document, title and text of each row.
        """
        pieces = self._connection.execute(
            "select piece, passages, first, last from library_pieces where first <= %s and last >= %s",
            [int(rows.max()), int(rows.min())],
        ).fetchall()
        for piece, passage_count, first, last in pieces:
            self._forget_in_piece(piece, passage_count, rows[(rows >= first) & (rows <= last)], texts)

    def _forget_in_piece(
        self, piece: int, passage_count: int, rows: np.ndarray, texts: Mapping[int, tuple[int, str, str]]
    ) -> None:
        """Remove passages from the lists and word counts of one piece, which has `passage_count` passages."""
        import numpy as np

        connection = self._connection
        terms = sorted(terms_of(texts[row][1:] for row in rows.tolist()))
        # Rows that were replaced before their run was published are in no list, so only those found are subtracted.
        changed, found_rows = [], set[int]()
        removed_terms = 0
        for term, stored in self._read_lists(piece, terms):
            remaining = without_rows(stored, rows)
            if len(remaining) != len(stored):
                changed.append((term, remaining))
                records = np.frombuffer(stored, RECORD)
                removed = records[np.isin(records["row"], rows)]
                found_rows.update(removed["row"].tolist())
                removed_terms += int(removed["count"].sum())
        if not changed:
            return
        removed_words = count_words(texts[row] for row in sorted(found_rows))
        with connection.cursor() as cursor:
            cursor.executemany(
                "delete from library_postings where piece = %s and term = %s",
                [(piece, term) for term, remaining in changed if not remaining],
            )
            cursor.executemany(
                "update library_postings set list = %s, count = %s where piece = %s and term = %s",
                [(remaining, len(remaining) // RECORD_BYTES, piece, term) for term, remaining in changed if remaining],
            )
            cursor.executemany(
                """update library_words set passages = passages - %s, documents = documents - %s
                where word = %s and piece = %s""",
                [(*counts, word, piece) for word, counts in sorted(removed_words.items())],
            )
        connection.execute(
            "delete from library_words where piece = %s and word = any(%s) and passages <= 0",
            [piece, list(removed_words)],
        )
        if len(found_rows) >= passage_count:
            connection.execute("delete from library_pieces where piece = %s", [piece])
        else:
            connection.execute(
                "update library_pieces set passages = passages - %s, length = length - %s where piece = %s",
                [len(found_rows), removed_terms, piece],
            )

    def merge(self) -> None:
        """Merge pieces of similar size into one, repeatedly, so that there are few.

        Pieces are of similar size, or of one level, if their numbers of passages have the same logarithm to the base
        `MERGED`, rounded down.
        """
        while True:
            pieces_by_level: dict[int, list[int]] = {}
            for piece, passages in self._connection.execute("select piece, passages from library_pieces order by 1"):
                level = 0
                while passages >= MERGED ** (level + 1):
                    level += 1
                pieces_by_level.setdefault(level, []).append(piece)
            # The smallest ones first: they take the least time, and joined they may fill the next level.
            chosen = next((pieces for _, pieces in sorted(pieces_by_level.items()) if len(pieces) >= MERGED), None)
            if chosen is None:
                return
            with self._connection.transaction():
                number = self._next_piece_number()
                values = {"new": number, "old": chosen}
                for statement in (
                    """insert into library_pieces select %(new)s, sum(passages), sum(length), min(first), max(last)
                    from library_pieces where piece = any(%(old)s)""",
                    # Each record names its row, so lists can be joined in any order.
                    """insert into library_postings select term, %(new)s, sum(count), string_agg(list, ''::bytea)
                    from library_postings where piece = any(%(old)s) group by term""",
                    """insert into library_words select word, %(new)s, sum(passages), sum(documents)
                    from library_words where piece = any(%(old)s) group by word""",
                    "delete from library_postings where piece = any(%(old)s)",
                    "delete from library_words where piece = any(%(old)s)",
                    "delete from library_pieces where piece = any(%(old)s)",
                ):
                    self._connection.execute(statement, values)

    def _read_lists(self, piece: int, terms: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield `(term, posting list)` of those terms that a piece has."""
        statement = "select term, list from library_postings where piece = %s and term = any(%s)"
        for start in range(0, len(terms), READ_AT_ONCE):
            values = [piece, list(terms[start : start + READ_AT_ONCE])]
            yield from self._connection.execute(statement, values, binary=True).fetchall()

    def _next_piece_number(self) -> int:
        """Return the number of the next piece."""
        ((number,),) = self._connection.execute("select nextval('library_piece')::integer").fetchall()
        return int(number)


def passage_texts(
    connection: Connection, which: str, values: Mapping[str, Any] = {}
) -> Iterator[list[tuple[int, int, str, str]]]:
    """Yield batches of `(row, document, title, text)` of passages that fulfil an SQL condition, by row."""
    statement = f"""select p.row, p.document, d.title, p.text from library_passages p join library_documents d
        on d.key = p.document where {which} and p.row > %(last)s order by p.row limit %(most)s"""
    last = -1
    while rows := connection.execute(statement, {**values, "last": last, "most": READ_AT_ONCE}, binary=True).fetchall():
        last = rows[-1][0]
        yield rows
