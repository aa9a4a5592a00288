"""BM25 over a pool: how well each of a few texts fits a question's words, by the statistics of these texts alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from preflight_rag.text.words import words


def pool_bm25(asked: Sequence[str], texts: Sequence[str], *, positive_idf: bool = False) -> list[float | None]:
    """BM25 of each text among these, in their order; None for a text without any of the words.

    Args:
        asked: The question's words, as `words` gives them; one that is repeated counts as often.
        texts: The pool.
        positive_idf: Whether a word's IDF is log((N + 1) / n). Okapi's, the default, is 0 or less for words in half of
            the texts, and in a pool that was found by the question's words these are just the ones that matter.
    """
    return bm25_among(asked, [words(text) for text in texts], positive_idf=positive_idf)


def bm25_among(
    asked: Sequence[Hashable], pool: Sequence[Sequence[Hashable]], *, positive_idf: bool = False
) -> list[float | None]:
    """What `pool_bm25` gives, of texts whose terms, or numbers that stand for them, are known."""
    from rank_bm25 import BM25Okapi, BM25Plus

    if not asked or not any(len(found) for found in pool):
        return [None] * len(pool)
    filled = [found or [""] for found in pool]
    model = BM25Plus(filled, delta=0) if positive_idf else BM25Okapi(filled)
    scores = model.get_scores(list(asked))
    return [None if set(asked).isdisjoint(found) else float(score) for found, score in zip(pool, scores, strict=True)]
