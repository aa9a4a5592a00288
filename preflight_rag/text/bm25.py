"""BM25 within a pool: scores of a few texts for a question's words, by the statistics of these texts alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

K1, B, EPSILON = 1.5, 0.75, 0.25
"""Constants of Okapi BM25 in rank_bm25; EPSILON is the share of the mean IDF that replaces a negative one."""


def pool_bm25(asked: Sequence[str], texts: Sequence[str], *, positive_idf: bool = False) -> list[float | None]:
    """Return the BM25 score of each text among these, in order; None for a text without any of the words.

    Args:
        asked: The question's words, from `words`; a repeated one counts repeatedly.
        texts: The pool.
        positive_idf: Whether a word's IDF is log((N + 1) / n). Okapi's, the default, is 0 or less for words in half of
            the texts, and in a pool that was found by the question's words these are the ones that matter.
    """
    return bm25_among(asked, [words(text) for text in texts], positive_idf=positive_idf)


def bm25_among(
    asked: Sequence[Hashable], pool: Sequence[Sequence[Hashable]], *, positive_idf: bool = False
) -> list[float | None]:
    """Return the scores of `pool_bm25` for texts given as terms, or as term numbers."""
    from rank_bm25 import BM25Okapi, BM25Plus

    if not asked or not any(len(text) for text in pool):
        return [None] * len(pool)
    filled = [text or [""] for text in pool]
    model = BM25Plus(filled, delta=0) if positive_idf else BM25Okapi(filled)
    scores = model.get_scores(list(asked))
    return [None if set(asked).isdisjoint(text) else float(score) for text, score in zip(pool, scores, strict=True)]


def bm25_of_numbers(asked: Sequence[int], pool: Sequence[np.ndarray]) -> list[float | None]:
    """Return the scores of `bm25_among` for term numbers, equal up to rounding, in a fifth of the time.

    Args:
        asked: The numbers of the question's terms, of which some may be in no text.
        pool: The numbers of each text's terms, of shape (t,).
    """
    import numpy as np

    if not asked or not all(len(text) for text in pool):
        return bm25_among(asked, [text.tolist() for text in pool])
    count, lengths = len(pool), np.array([len(text) for text in pool])
    text_of_term, terms = np.repeat(np.arange(count), lengths), np.concatenate(pool, dtype=np.int64)
    # Sorted pairs of (term, text): each different pair is one text that has the term.
    pairs = terms << 32 | text_of_term
    pairs.sort()
    term_of_pair = pairs[run_starts(pairs)] >> 32
    starts = run_starts(term_of_pair)
    vocabulary, document_frequency = term_of_pair[starts], run_lengths(starts, len(term_of_pair))
    idf = np.log(count - document_frequency + 0.5) - np.log(document_frequency + 0.5)
    idf = np.where(idf < 0, EPSILON * idf.mean(), idf)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    scores, has_any = np.zeros(count), np.zeros(count, dtype=bool)
    for term in asked:
        index = int(np.searchsorted(vocabulary, term))
        if index < len(vocabulary) and vocabulary[index] == term:
            frequency = np.bincount(text_of_term[terms == term], minlength=count)
            scores += idf[index] * (frequency * (K1 + 1) / (frequency + norm))
            has_any |= frequency > 0
    return [score if has_term else None for score, has_term in zip(scores.tolist(), has_any.tolist(), strict=True)]


def run_starts(values: np.ndarray) -> np.ndarray:
    """Return the index at which each run of equal values begins, (m,)."""
    import numpy as np

    is_new = np.empty(len(values), dtype=bool)
    is_new[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


def run_lengths(starts: np.ndarray, count: int) -> np.ndarray:
    """Return the lengths, (m,), of runs that begin at `starts`; the last one ends before `count`."""
    import numpy as np

    ends = np.empty_like(starts)
    ends[:-1], ends[-1:] = starts[1:], count
    lengths: np.ndarray = ends - starts
    return lengths
