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
"""Documents that are enough; a guess, never tuned."""

Search = Callable[[str], tuple[Sequence[str], int, str]]
"""From an expression to ids of documents, best first, the number of hits, and a note or ""."""


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
        search: What is asked; its errors are the caller's.
        enough: Documents that are enough.
        where: Name of what is searched, for the rungs.
        limit: Most ids that come back; None for all that were found.
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

    What is enough in one of them stops the others one rung later: a more general expression finds there what has less
    to do with the question than what is there already. Documents count by their ids within a collection.

    Args:
        expressions: Most specific first; repeated ones are tried once.
        searches: What is asked, by its name for the rungs; its errors are the caller's.
        enough: Documents of one collection that are enough.
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
        # Another collection has had enough at an earlier rung, so this one is the last.
        last_round = len(wanting) < len(searches)

        def try_in(name: str, expression: str = expression) -> None:
            found, hits, note = searches[name](expression)
            ids[name].update(dict.fromkeys(found))
            rungs[name].append(SearchExpression(where=name, expression=expression, hits=hits, note=note))

        for _ in (ask or map)(try_in, wanting):  # type: ignore[attr-defined]
            pass
    return [LadderSearch(tuple(ids[name]), tuple(rungs[name])) for name in searches]
