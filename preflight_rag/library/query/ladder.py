"""The ladder: search expressions from the most specific to the most general (CPQA, section III.B).

They are tried in order until enough documents are found:

    (muscle pain) AND statins AND (older patients)
    (muscle pain) AND statins
    (muscle pain) OR statins
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from preflight_rag.state.values import SearchExpression

ENOUGH = 20
"""Documents that are enough; a guess, never tuned."""

Search = Callable[[str], tuple[Sequence[str], int, str]]
"""From an expression to ids of documents, best first, the number of hits, and a note or ""."""


@dataclass(frozen=True)
class LadderSearch:
    """Documents that a ladder found, those of more specific rungs first, and every rung that was tried."""

    ids: tuple[str, ...]
    rungs: tuple[SearchExpression, ...]


def search_until_enough(
    expressions: Iterable[str],
    search: Search,
    *,
    enough: int = ENOUGH,
    where: str = "library",
    limit: int | None = None,
) -> LadderSearch:
    """Try expressions in order until at least `enough` different documents are found.

    Args:
        expressions: Most specific first; repeated ones are tried once.
        search: What is asked; its errors are the caller's.
        enough: Documents that are enough.
        where: Name of what is searched, for the rungs.
        limit: Most ids that come back; None for all that were found.
    """
    ids: dict[str, None] = {}
    rungs: list[SearchExpression] = []
    for expression in dict.fromkeys(text.strip() for text in expressions):
        if not expression:
            continue
        if len(ids) >= enough:
            break
        found, hits, note = search(expression)
        ids.update(dict.fromkeys(found))
        rungs.append(SearchExpression(where=where, expression=expression, hits=hits, note=note))
    return LadderSearch(tuple(ids)[:limit], tuple(rungs))
