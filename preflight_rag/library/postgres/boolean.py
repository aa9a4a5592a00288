"""Boolean expressions over posting lists: which passages match, with the same BM25 scores as `LexicalIndex.match`.

The lists say which words a passage has, not where, so for a phrase the passages with all of its words are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from preflight_rag.library.index.lexical import MAX_TERMS, open_analyser, term_positions, whole_text
from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.library.postgres.pieces import passage_texts
from preflight_rag.library.postgres.postings import bm25, inverse_frequency, living_records
from preflight_rag.library.postgres.search import LISTS, STATE, no_passages
from preflight_rag.text.boolean import Expression, SearchTerm

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.databases.postgres import Connection
    from preflight_rag.library.postgres.store import PostgresStore

MOST_READ = 20_000
"""Most passages with all words of a phrase in which the phrase itself is looked for: reading more takes two seconds or
longer."""


def matching_passages(store: PostgresStore, expression: Expression) -> ScoredRanking:
    """Return the rows and scores of all passages that match an expression, best first, ties by row.

    Raises:
        LibraryEmpty: There is no passage to find.
    """

    def read(connection: Connection) -> ScoredRanking:
        with connection.transaction():
            # The numbers of passages, the lists and the texts have to be of one state of the library.
            connection.execute("set transaction isolation level repeatable read, read only")
            return _Matching(store, connection, expression).best()

    return store.connections.read(read)


class _Matching:
    """The evaluation of one expression over one state of the library."""

    def __init__(self, store: PostgresStore, connection: Connection, expression: Expression) -> None:
        import numpy as np

        self._connection, self._expression = connection, expression
        self._analyse = cache(open_analyser().analyze)  # texts that contain a phrase share most of their words
        ((_, passages, length, dead, _),) = connection.execute(STATE, binary=True).fetchall()
        if passages <= len(dead):
            raise no_passages(store)
        self._dead = np.array(dead, dtype=np.int64)
        self._passages, self._average = passages - len(dead), length / max(passages, 1)
        terms = sorted({term for _, term in chain.from_iterable(map(self._places, _leaves(expression)))})
        stored: dict[str, list[bytes]] = {}
        for term, each in connection.execute(LISTS, [terms], binary=True).fetchall():
            stored.setdefault(term, []).append(each)
        self._records = {term: living_records(stored.get(term, ()), self._dead) for term in terms}

    def best(self) -> ScoredRanking:
        """Return the passages that fit the expression, best first, with their scores."""
        found = self._of(self._expression)
        return ScoredRanking.of([]) if found is None else ScoredRanking.sorted(found.rows, found.scores)

    def _of(self, expression: Expression) -> _Fitting | None:
        """Return the passages that match; None if the expression has nothing to look up, such as only stop words."""
        if isinstance(expression, SearchTerm):
            return self._term(expression)
        parts = [self._of(part) for part in expression.parts]
        if expression.operator == "NOT":
            first, others = parts[0], [part for part in parts[1:] if part is not None]
            return first.without(others) if first is not None else None
        known = [part for part in parts if part is not None]
        if not known:
            return None
        return _any(known) if expression.operator == "OR" else _all(known)

    def _term(self, term: SearchTerm) -> _Fitting | None:
        """Return the passages with all words of a term, of a phrase in order; None if it has no words."""
        places = self._places(term)
        if not places:
            return None
        words = [self._word(word) for _, word in places]
        together = _all(words)
        if len(places) < 2 or not term.phrase or len(together.rows) > MOST_READ:
            return together
        return self._phrase(places, together.rows)

    def _places(self, term: SearchTerm) -> list[tuple[int, str]]:
        """Return position and word of each word of a term."""
        return term_positions(self._analyse, term.text)[:MAX_TERMS]

    def _word(self, word: str) -> _Fitting:
        """Return the passages with a word and their BM25 scores, by row."""
        records = self._records[word]
        weight = inverse_frequency(self._passages, len(records))
        scores = bm25(weight, records["count"], records["length"], self._average)
        order = records["row"].argsort()
        return _Fitting(records["row"][order].astype("int64"), scores[order].astype("float64"))

    def _phrase(self, places: Sequence[tuple[int, str]], rows: np.ndarray) -> _Fitting:
        """Return the passages that contain the phrase, scored by how often."""
        import numpy as np

        counts: dict[int, int] = {}
        for texts in passage_texts(self._connection, "p.row = any(%(rows)s)", {"rows": rows.tolist()}):
            for row, _, title, text in texts:
                if count := _times(places, term_positions(self._analyse, whole_text(title, text))):
                    counts[row] = count
        having = np.array(sorted(counts), dtype=np.int64)
        # The lists of several pieces follow each other, and are merged in any order.
        records = np.sort(self._records[places[0][1]], order="row")
        codes = records["length"][np.searchsorted(records["row"], having)]
        weight = sum(inverse_frequency(self._passages, len(self._records[word])) for _, word in places)
        times = np.array([counts[row] for row in having.tolist()], dtype=np.float32)
        return _Fitting(having, bm25(weight, times, codes, self._average).astype(np.float64))


@dataclass(frozen=True)
class _Fitting:
    """Passages that match a part of an expression.

    Attributes:
        rows: Their rows, ascending, each once (n,).
        scores: What the part adds to the score of each (n,) float64.
    """

    rows: np.ndarray
    scores: np.ndarray

    def without(self, others: Sequence[_Fitting]) -> _Fitting:
        """Return these passages without those in any of the others."""
        import numpy as np

        kept = np.ones(len(self.rows), dtype=bool)
        for other in others:
            kept &= ~np.isin(self.rows, other.rows, assume_unique=True)
        return _Fitting(self.rows[kept], self.scores[kept])


def _all(parts: Sequence[_Fitting]) -> _Fitting:
    """Return the passages that match every part, with summed scores."""
    import numpy as np

    rows = parts[0].rows
    for part in parts[1:]:
        rows = np.intersect1d(rows, part.rows, assume_unique=True)
    scores = [part.scores[np.searchsorted(part.rows, rows)] for part in parts]
    return _Fitting(rows, np.sum(scores, axis=0))


def _any(parts: Sequence[_Fitting]) -> _Fitting:
    """Return the passages that match at least one part, with summed scores."""
    import numpy as np

    rows, places = np.unique(np.concatenate([part.rows for part in parts]), return_inverse=True)
    return _Fitting(rows, np.bincount(places, np.concatenate([part.scores for part in parts]), len(rows)))


def _leaves(expression: Expression) -> list[SearchTerm]:
    """Return the terms at the leaves of an expression's tree."""
    if isinstance(expression, SearchTerm):
        return [expression]
    return list(chain.from_iterable(map(_leaves, expression.parts)))


def _times(phrase: Sequence[tuple[int, str]], text: Sequence[tuple[int, str]]) -> int:
    """Return how often a text contains a phrase: its words in order, with its gaps."""
    places: dict[str, set[int]] = {}
    for place, word in text:
        places.setdefault(word, set()).add(place)
    (first, word), *others = phrase
    times = 0
    for start in places.get(word, set()):
        shift = start - first
        times += all(place + shift in places.get(other, ()) for place, other in others)
    return times
