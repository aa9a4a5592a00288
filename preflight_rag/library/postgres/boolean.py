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

MOST_PHRASE_TEXTS = 20_000
"""Most passages with all words of a phrase in which the phrase itself is looked for: reading more takes two seconds or
longer."""


def matching_passages(store: PostgresStore, expression: Expression) -> ScoredRanking:
    """Return the rows and scores of all passages that match an expression, best first, ties by row.

    Raises:
        LibraryEmpty: There is no passage to find.
    """

    def read(connection: Connection) -> ScoredRanking:
        """Evaluate the expression within one transaction."""
        with connection.transaction():
            # The numbers of passages, the lists and the texts have to be of one state of the library.
            connection.execute("set transaction isolation level repeatable read, read only")
            return _Evaluation(store, connection, expression).best()

    return store.connections.read(read)


class _Evaluation:
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
        words: set[str] = set()
        for search_term in _search_terms(expression):
            words.update(word for _, word in self._positioned_words(search_term))
        lists: dict[str, list[bytes]] = {}
        for word, posting_list in connection.execute(LISTS, [sorted(words)], binary=True).fetchall():
            lists.setdefault(word, []).append(posting_list)
        self._records = {word: living_records(lists.get(word, ()), self._dead) for word in words}

    def best(self) -> ScoredRanking:
        """Return the passages that fit the expression, best first, with their scores."""
        result = self._evaluate(self._expression)
        return ScoredRanking.of([]) if result is None else ScoredRanking.sorted(result.rows, result.scores)

    def _evaluate(self, expression: Expression) -> _ScoredRows | None:
        """Return the passages that match; None if the expression has nothing to look up, such as only stop words."""
        if isinstance(expression, SearchTerm):
            return self._evaluate_term(expression)
        first, *others = [self._evaluate(part) for part in expression.parts]
        if expression.operator == "NOT":
            excluded = [part for part in others if part is not None]
            return first.without(excluded) if first is not None else None
        parts = [part for part in (first, *others) if part is not None]
        if not parts:
            return None
        return _unite(parts) if expression.operator == "OR" else _intersect(parts)

    def _evaluate_term(self, term: SearchTerm) -> _ScoredRows | None:
        """Return the passages with all words of a term; None if it has no words to look up.

        The words of a phrase must be adjacent, unless more than `MOST_PHRASE_TEXTS` passages have all of them.
        """
        words = self._positioned_words(term)
        if not words:
            return None
        having_all = _intersect([self._passages_with_word(word) for _, word in words])
        if len(words) < 2 or not term.phrase or len(having_all.rows) > MOST_PHRASE_TEXTS:
            return having_all
        return self._passages_with_phrase(words, having_all.rows)

    def _positioned_words(self, term: SearchTerm) -> list[tuple[int, str]]:
        """Return `(position, word)` of the analysed words of a term, at most `MAX_TERMS`."""
        return term_positions(self._analyse, term.text)[:MAX_TERMS]

    def _passages_with_word(self, word: str) -> _ScoredRows:
        """Return the passages with a word and their BM25 scores, by row."""
        records = self._records[word]
        weight = inverse_frequency(self._passages, len(records))
        scores = bm25(weight, records["count"], records["length"], self._average)
        order = records["row"].argsort()
        return _ScoredRows(records["row"][order].astype("int64"), scores[order].astype("float64"))

    def _passages_with_phrase(self, phrase: Sequence[tuple[int, str]], rows: np.ndarray) -> _ScoredRows:
        """Return the passages that contain a phrase, scored by how often.

        Args:
            phrase: Position and word of each of its words.
            rows: The passages that have all of these words.
        """
        import numpy as np

        count_by_row: dict[int, int] = {}
        for batch in passage_texts(self._connection, "p.row = any(%(rows)s)", {"rows": rows.tolist()}):
            for row, _, title, text in batch:
                if count := _count_phrase(phrase, term_positions(self._analyse, whole_text(title, text))):
                    count_by_row[row] = count
        matching_rows = np.array(sorted(count_by_row), dtype=np.int64)
        # A word's list also holds the lengths of the passages. It is sorted, as it was joined from several pieces.
        _, first_word = phrase[0]
        records = np.sort(self._records[first_word], order="row")
        length_codes = records["length"][np.searchsorted(records["row"], matching_rows)]
        weight = sum(inverse_frequency(self._passages, len(self._records[word])) for _, word in phrase)
        counts = np.array([count_by_row[row] for row in matching_rows.tolist()], dtype=np.float32)
        return _ScoredRows(matching_rows, bm25(weight, counts, length_codes, self._average).astype(np.float64))


@dataclass(frozen=True)
class _ScoredRows:
    """Passages that match a part of an expression.

    Attributes:
        rows: Their rows, ascending, each once (n,).
        scores: The part's share of each one's BM25 score (n,) float64.
    """

    rows: np.ndarray
    scores: np.ndarray

    def without(self, others: Sequence[_ScoredRows]) -> _ScoredRows:
        """Return these passages without those in any of the others."""
        import numpy as np

        is_kept = np.ones(len(self.rows), dtype=bool)
        for other in others:
            is_kept &= ~np.isin(self.rows, other.rows, assume_unique=True)
        return _ScoredRows(self.rows[is_kept], self.scores[is_kept])


def _intersect(parts: Sequence[_ScoredRows]) -> _ScoredRows:
    """Return the passages that match every part, with the sums of their scores."""
    import numpy as np

    rows = parts[0].rows
    for part in parts[1:]:
        rows = np.intersect1d(rows, part.rows, assume_unique=True)
    scores = [part.scores[np.searchsorted(part.rows, rows)] for part in parts]
    return _ScoredRows(rows, np.sum(scores, axis=0))


def _unite(parts: Sequence[_ScoredRows]) -> _ScoredRows:
    """Return the passages that match at least one part, with the sums of their scores."""
    import numpy as np

    # `indices`: for each entry of the concatenated parts, the index of its row in `rows`.
    rows, indices = np.unique(np.concatenate([part.rows for part in parts]), return_inverse=True)
    scores = np.concatenate([part.scores for part in parts])
    return _ScoredRows(rows, np.bincount(indices, scores, len(rows)))


def _search_terms(expression: Expression) -> list[SearchTerm]:
    """Return the terms at the leaves of an expression's tree."""
    if isinstance(expression, SearchTerm):
        return [expression]
    return list(chain.from_iterable(map(_search_terms, expression.parts)))


def _count_phrase(phrase: Sequence[tuple[int, str]], text: Sequence[tuple[int, str]]) -> int:
    """Return how often a text contains a phrase: its words in order, with its gaps.

    Both are given as position and word of each of their words.
    """
    positions: dict[str, set[int]] = {}
    for position, word in text:
        positions.setdefault(word, set()).add(position)
    (first_position, first_word), *others = phrase
    count = 0
    for start in positions.get(first_word, set()):
        shift = start - first_position
        if all(position + shift in positions.get(word, ()) for position, word in others):
            count += 1
    return count
