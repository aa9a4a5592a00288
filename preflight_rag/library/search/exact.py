"""Put passages first that contain a question's exact strings, or error lines if the question asks for errors.

Neither vectors nor BM25 distinguish GX-2290 from GX-2210: to both a code is one word among many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

LOOKED_THROUGH = 64
"""Passages that the index returns for a question's strings, which are then compared letter by letter. A guess."""
LOOKED_FURTHER = 2000
"""Passages to look through if none of the first has the exact letters: e.g. of A-18 an index knows only the number. A
guess."""
MOST_ERRORS = 6
"""Most passages with error lines that go first; a guess, below half of what a turn reads."""


def exact_first(
    library: Collection, question: str, pool: Sequence[AnyCandidate], where: Filter | None, k: int
) -> Sequence[AnyCandidate]:
    """Return the candidates, and new ones, with those first that contain the question's exact strings or error codes.

    A string that occurs in more passages than a turn reads is common: then only the first such passage goes before the
    others. Putting all of them first lost 0.02 nDCG@10 on such questions of `biomix` (BM25, 112 questions), leading
    with one lost 0.002; for rarer strings (351 questions) it gained 0.004.

    Args:
        library: The collection; if it cannot look up phrases, the pool is returned unchanged.
        question: The standalone question.
        pool: The candidates, best first.
        where: The filter that passages must pass.
        k: How many passages a turn reads.
    """
    strings, errors, parts = exact_strings(question), asks_errors(question), asked_parts(question)
    if not (strings or errors or parts) or not isinstance(library, PhraseSearch):
        return pool
    phrases = list(chain(chain.from_iterable(map(spellings, strings)), *(part.phrases() for part in parts)))
    best = cast("Collection", library).passages([each.passage.id for each in pool[:k]]) if parts else []
    titles = [passage.title for passage in best]

    def worth(passage: Passage) -> float:
        """Return how many of the question's strings and parts a passage has."""
        has_parts = _count_parts(passage, parts)
        if has_parts and not names_document_of(question, passage.title, titles):
            has_parts = 0
        return count_held(f"{passage.title} {passage.text}", strings) + has_parts

    first = _holding(library, phrases, where, worth, (LOOKED_THROUGH, LOOKED_FURTHER))
    if errors:
        known = {passage.id for passage, _ in first}
        asked = set(words(question)) - ERROR_WORDS
        found = _holding(
            library, sorted(ERROR_WORDS), where, lambda passage: _errors_worth(passage, asked), (LOOKED_THROUGH,)
        )
        # Less than a string or a part is worth, so that passages with these stay before them.
        first += [(passage, 0.1) for passage, _ in found[:MOST_ERRORS] if passage.id not in known]
    if not first:
        return pool
    if len(first) <= k:
        return _with_new(library, question, pool, first)
    holding = {passage.id for passage, _ in first}
    place = next((at for at, candidate in enumerate(pool[:k]) if candidate.passage.id in holding), None)
    if place is None:
        return _with_new(library, question, pool, first[:1])
    return pool if place == 0 else [pool[place], *pool[:place], *pool[place + 1 :]]


def _with_new(
    library: Collection, question: str, pool: Sequence[AnyCandidate], first: Sequence[tuple[Passage, float]]
) -> list[AnyCandidate]:
    """Return the pool with some passages first, ordered by their worth and then by their place in the pool."""
    candidates = list(pool)
    places = {candidate.passage.id: place for place, candidate in enumerate(candidates)}
    new = [passage for passage, _ in first if passage.id not in places]
    if new:
        vectors = dict(zip([each.id for each in new], library.vectors([each.id for each in new]), strict=True))
        near = cosines(library.embedder.encode_query(question), vectors)
        least = min((candidate.score for candidate in candidates), default=0.0)
        added = [Candidate(passage, len(candidates) + 1, least, near[passage.id]) for passage in new]
        places |= {candidate.passage.id: len(candidates) + at for at, candidate in enumerate(added)}
        candidates += added
    worth = {passage.id: value for passage, value in first}
    order = sorted(candidates, key=lambda each: (-worth.get(each.passage.id, 0.0), places[each.passage.id]))
    return [replace(candidate, rank=rank) for rank, candidate in enumerate(order, 1)]


def _holding(
    library: PhraseSearch,
    phrases: Sequence[str],
    where: Filter | None,
    worth: Callable[[Passage], float],
    limits: Sequence[int],
) -> list[tuple[Passage, float]]:
    """Return the passages found for some phrases whose `worth` is above 0, highest first.

    Args:
        library: The collection.
        phrases: The phrases to look up in the index.
        where: The filter that passages must pass.
        worth: Function that rates a passage.
        limits: How many passages to look through, and how many more if none of those is worth anything.
    """
    if not phrases:
        return []
    collection = cast("Collection", library)
    found: list[tuple[Passage, float]] = []
    for limit in limits:
        try:
            ids = library.passages_with(phrases, limit)
        except LibraryEmpty:
            return []
        fitting = collection.fitting(ids, where) if where is not None and ids else ids
        if isinstance(library, KnowsCopies):
            fitting = library.without_copies(fitting, where)
        found = [(passage, value) for passage in collection.passages(fitting) if (value := worth(passage)) > 0]
        if found or len(ids) < limit:
            break
    return sorted(found, key=lambda item: -item[1])


def _count_parts(passage: Passage, parts: Sequence[NumberedPart]) -> int:
    """Return twice the number of the question's numbered parts that a passage has, since many others mention one."""
    heading = str(passage.metadata.get("section") or "")
    return 2 * sum(part_of(passage.text, heading, part) is not None for part in parts)


def _errors_worth(passage: Passage, asked: set[str]) -> float:
    """Return how many of the question's other words a passage's error lines contain; 0 if it has no such line."""
    lines = error_lines(passage.text)
    if not lines:
        return 0.0
    shared = max(len(asked & set(words(line))) for line in lines)
    return 0.0 if asked and not shared else 1.0 + shared
