"""The ladder: search expressions from the most specific to the most general (CPQA, section III.B).

They are tried in order until enough documents are found:

    (muscle pain) AND statins AND (older patients)
    (muscle pain) AND statins
    (muscle pain) OR statins
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from preflight_rag.state.values import SearchExpression

ENOUGH = 20
"""Number of documents that are enough; a guess, never tuned."""

Search = Callable[[str], tuple[Sequence[str], int, str]]
"""Maps an expression to ids of documents, best first, the number of hits, and a note or ""."""


@dataclass(frozen=True)
class LadderSearch:
    """The documents that a ladder found, those of more specific rungs first, and every rung that was tried."""

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
        search: The search function; its errors reach the caller.
        enough: Number of documents that are enough.
        where: Name of the searched collection, for the rungs.
        limit: Most ids that are returned; None for all.
    """
    (found,) = search_together(expressions, {where: search}, enough=enough)
    return LadderSearch(found.ids[:limit], found.rungs)


def search_together(
    expressions: Iterable[str],
    searches: Mapping[str, Search],
    *,
    enough: int = ENOUGH,
    ask: Callable[[Callable[[str], None], Iterable[str]], object] | None = None,
) -> list[LadderSearch]:
    """Try expressions in several collections, rung by rung, each until it has `enough` different documents.

    If one of them has enough, the others stop one rung later: a more general expression would find documents there that
    are less related to the question than those found already. Documents are counted by their ids within a collection.

    Args:
        expressions: Most specific first; repeated ones are tried once.
        searches: The search functions, by their names for the rungs; their errors reach the caller.
        enough: Number of documents of one collection that are enough.
        ask: Calls its first argument with each of its second, such as the `map` of an executor; None: in turn.
    """
    ids: dict[str, dict[str, None]] = {name: {} for name in searches}
    rungs: dict[str, list[SearchExpression]] = {name: [] for name in searches}
    last_round = False
    for expression in dict.fromkeys(text.strip() for text in expressions):
        wanting = [name for name in searches if len(ids[name]) < enough]
        if not expression:
            continue
        if last_round or not wanting:
            break
        # Another collection had enough at an earlier rung, so this rung is the last.
        last_round = len(wanting) < len(searches)

        def try_in(name: str, expression: str = expression) -> None:
            """Try an expression in one collection."""
            found, hits, note = searches[name](expression)
            ids[name].update(dict.fromkeys(found))
            rungs[name].append(SearchExpression(where=name, expression=expression, hits=hits, note=note))

        for _ in (ask or map)(try_in, wanting):  # type: ignore[attr-defined]
            pass
    return [LadderSearch(tuple(ids[name]), tuple(rungs[name])) for name in searches]
