"""Put passages first that contain a question's exact strings, or error lines if the question asks for errors.

Neither vectors nor BM25 distinguish GX-2290 from GX-2210: to both a code is one word among many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, cast

from preflight_rag.library.collection import PhraseSearch
from preflight_rag.library.copies import KnowsCopies
from preflight_rag.library.search.hybrid import cosines
from preflight_rag.state.errors import LibraryEmpty
from preflight_rag.state.retrieval import AnyCandidate, Candidate
from preflight_rag.text.exact import count_held, exact_strings, spellings
from preflight_rag.text.log_lines import ERROR_WORDS, asks_errors, error_lines
from preflight_rag.text.numbered_parts import NumberedPart, asked_parts, names_document_of, part_of
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.state.values import Passage

FIRST_LIMIT = 64
"""Passages that the index returns for a question's strings, which are then compared letter by letter. A guess."""
SECOND_LIMIT = 2000
"""Passages to look through if none of the first has the exact letters: e.g. of A-18 an index knows only the number. A
guess."""
MOST_ERRORS = 6
"""Most passages with error lines that go first; a guess, below half of what a turn reads."""


def exact_first(
    library: Collection, question: str, pool: Sequence[AnyCandidate], where: Filter | None, k: int
) -> Sequence[AnyCandidate]:
    """Return the candidates with those first that contain the question's exact strings, numbered parts or error lines.

    Passages that the index finds for these are added to the candidates. If there are more of them than a turn reads,
    the strings are common: then only the first such passage goes before the others. Putting all of them first lost 0.02
    nDCG@10 on such questions of `biomix` (BM25, 112 questions), leading with one lost 0.002; for rarer strings (351
    questions) it gained 0.004.

    Args:
        library: The collection; if it cannot look up phrases, the pool is returned unchanged.
        question: The standalone question.
        pool: The candidates, best first.
        where: The filter that passages must pass.
        k: How many passages a turn reads.
    """
    strings, parts = exact_strings(question), asked_parts(question)
    asks_for_errors = asks_errors(question)
    if not (strings or asks_for_errors or parts) or not isinstance(library, PhraseSearch):
        return pool
    phrases = list(chain.from_iterable(map(spellings, strings)))
    for part in parts:
        phrases += part.phrases()
    titles = []
    if parts:
        first_ids = [candidate.passage.id for candidate in pool[:k]]
        titles = [passage.title for passage in cast("Collection", library).passages(first_ids)]

    def rate(passage: Passage) -> float:
        """Return how many of the question's strings and parts a passage has; a part counts twice."""
        part_score = _count_parts(passage, parts)
        # Section 4 of another document than the one that the question names is not meant.
        if part_score and not names_document_of(question, passage.title, titles):
            part_score = 0
        return count_held(f"{passage.title} {passage.text}", strings) + part_score

    first = _find_holding(library, phrases, where, rate, (FIRST_LIMIT, SECOND_LIMIT))
    if asks_for_errors:
        first += _find_error_passages(library, question, where, {passage.id for passage, _ in first})
    if not first:
        return pool
    if len(first) <= k:
        return _put_first(library, question, pool, first)
    # The strings are common: only one passage goes first.
    rated_ids = {passage.id for passage, _ in first}
    index = next((i for i, candidate in enumerate(pool[:k]) if candidate.passage.id in rated_ids), None)
    if index is None:
        return _put_first(library, question, pool, first[:1])
    return pool if index == 0 else [pool[index], *pool[:index], *pool[index + 1 :]]


def _find_error_passages(
    library: PhraseSearch, question: str, where: Filter | None, known_ids: Set[str]
) -> list[tuple[Passage, float]]:
    """Return at most `MOST_ERRORS` passages with error lines and their ratings, best first, without the known ones."""
    asked = set(words(question)) - ERROR_WORDS
    found = _find_holding(
        library, sorted(ERROR_WORDS), where, lambda passage: _rate_error_lines(passage, asked), (FIRST_LIMIT,)
    )
    # Less than a string or a part is worth, so that passages with these stay before them.
    return [(passage, 0.1) for passage, _ in found[:MOST_ERRORS] if passage.id not in known_ids]


def _put_first(
    library: Collection, question: str, pool: Sequence[AnyCandidate], rated: Sequence[tuple[Passage, float]]
) -> list[AnyCandidate]:
    """Return the pool with rated passages first, the best before others, and all else in the pool's order.

    Passages that are not in the pool are added to it.
    """
    candidates = list(pool)
    index_by_id = {candidate.passage.id: index for index, candidate in enumerate(candidates)}
    new = [passage for passage, _ in rated if passage.id not in index_by_id]
    if new:
        new_ids = [passage.id for passage in new]
        vectors = dict(zip(new_ids, library.vectors(new_ids), strict=True))
        cosine_by_id = cosines(library.embedder.encode_query(question), vectors)
        least_score = min((candidate.score for candidate in candidates), default=0.0)
        rank = len(candidates) + 1
        candidates += [Candidate(passage, rank, least_score, cosine_by_id[passage.id]) for passage in new]
        index_by_id = {candidate.passage.id: index for index, candidate in enumerate(candidates)}
    ratings = {passage.id: rating for passage, rating in rated}

    def sort_key(candidate: AnyCandidate) -> tuple[float, int]:
        """Return the sort key of a candidate: by rating, then by index."""
        return -ratings.get(candidate.passage.id, 0.0), index_by_id[candidate.passage.id]

    return [replace(candidate, rank=rank) for rank, candidate in enumerate(sorted(candidates, key=sort_key), 1)]


def _find_holding(
    library: PhraseSearch,
    phrases: Sequence[str],
    where: Filter | None,
    rate: Callable[[Passage], float],
    limits: Sequence[int],
) -> list[tuple[Passage, float]]:
    """Return the passages found for some phrases, with their ratings, highest first; ratings of 0 are left out.

    Args:
        library: The collection.
        phrases: The phrases to look up in the index.
        where: The filter that passages must pass.
        rate: Function that rates a passage.
        limits: Number of passages to look through, then the larger numbers to try if none of those has a rating.
    """
    if not phrases:
        return []
    collection = cast("Collection", library)
    rated: list[tuple[Passage, float]] = []
    for limit in limits:
        try:
            ids = library.passages_with(phrases, limit)
        except LibraryEmpty:
            return []
        passing_ids = collection.fitting(ids, where) if where is not None and ids else ids
        if isinstance(library, KnowsCopies):
            passing_ids = library.without_copies(passing_ids, where)
        rated = [(passage, rating) for passage in collection.passages(passing_ids) if (rating := rate(passage)) > 0]
        # With fewer ids than the limit, a larger limit finds nothing more.
        if rated or len(ids) < limit:
            break
    return sorted(rated, key=lambda item: -item[1])


def _count_parts(passage: Passage, parts: Sequence[NumberedPart]) -> int:
    """Return twice the number of the question's numbered parts that a passage is or contains.

    Twice, so that the part itself goes before the many passages that only mention its number.
    """
    heading = str(passage.metadata.get("section") or "")
    return 2 * sum(part_of(passage.text, heading, part) is not None for part in parts)


def _rate_error_lines(passage: Passage, asked: set[str]) -> float:
    """Return 1 plus the largest number of `asked` words that one of a passage's error lines contains.

    0 if the passage has no error line, or none of the words, if there are any.
    """
    lines = error_lines(passage.text)
    if not lines:
        return 0.0
    most_shared = max(len(asked & set(words(line))) for line in lines)
    return 0.0 if asked and not most_shared else 1.0 + most_shared
