"""COrg's organiser (section 4): which contexts represent others, and which form a group. Pure functions, no model.

Of ambiguous contexts those without descriptor are dropped, of duplicated ones all but one; a dropped context is
recorded as a further source of the one that stays. Contexts that are counterfactual to each other go to different
groups: a colouring of the counterfactual graph with as few colours as possible, with groups of similar size.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from preflight_rag.state.schema import DroppedContext, Organisation
from preflight_rag.state.values import Relation

if TYPE_CHECKING:
    import networkx as nx

EXACT_CONTEXTS = 24
"""Most contexts for which fewer groups than DSATUR's are searched for exhaustively; a guess that takes milliseconds."""


def organise(
    contexts: Sequence[int],
    relations: Sequence[Relation[int]],
    *,
    relevant: Collection[int],
    described: Collection[int],
    keep_duplicates: bool = False,
    keep_undescribed: bool = False,
    no_grouping: bool = False,
    seed: int | None = None,
) -> Organisation:
    """Return groups of contexts that agree or concern different entities; each group's best-ranked context comes first.

    Args:
        contexts: All contexts, best-ranked first.
        relations: Relations between the relevant contexts.
        relevant: Contexts with an answer.
        described: Contexts with a descriptor.
        keep_duplicates: Keep duplicated contexts (ablation).
        keep_undescribed: Keep ambiguous contexts without descriptor (ablation).
        no_grouping: Put all contexts into one group (ablation).
        seed: Keep a random one of duplicated contexts, as the paper does, instead of the best-ranked one.
    """
    place = {n: i for i, n in enumerate(contexts)}
    kept, dropped = _standing(
        [n for n in contexts if n in relevant],
        relations,
        described=described,
        duplicates=not keep_duplicates,
        undescribed=not keep_undescribed,
        seed=seed,
    )
    dropped += [
        DroppedContext(rank=n, why="it has no answer to the question", kept=None) for n in contexts if n not in relevant
    ]
    apart = [
        (relation.a, relation.b) for relation in relations if relation.kind == "counterfactual" and not no_grouping
    ]
    groups = _groups(sorted(kept, key=place.__getitem__), [pair for pair in apart if set(pair) <= set(kept)])
    sources: dict[str, list[int]] = {}
    for item in sorted(dropped, key=lambda item: place[item["rank"]]):
        if item["kept"] is not None:
            sources.setdefault(str(item["kept"]), []).append(item["rank"])
    ordered = sorted((sorted(group, key=place.__getitem__) for group in groups), key=lambda group: place[group[0]])
    return Organisation(groups=ordered, dropped=sorted(dropped, key=lambda d: place[d["rank"]]), sources=sources)


def _standing(
    relevant: Sequence[int],
    relations: Sequence[Relation[int]],
    *,
    described: Collection[int],
    duplicates: bool,
    undescribed: bool,
    seed: int | None,
) -> tuple[list[int], list[DroppedContext]]:
    """Return the contexts to keep, and the dropped ones with the kept context that represents each of them."""
    kinds = {frozenset((relation.a, relation.b)): relation.kind for relation in relations}
    order = list(relevant)
    if seed is not None:
        random.Random(seed).shuffle(order)  # noqa: S311
    # Those with a descriptor first, so that an ambiguous context finds the one that will represent it.
    order.sort(key=lambda n: n not in described)
    kept: list[int] = []
    dropped: list[DroppedContext] = []
    for n in order:
        to = {other: kinds.get(frozenset((n, other)), "none") for other in kept}
        copy = next((other for other in kept if duplicates and to[other] == "duplicated"), None)
        clearer = next((other for other in kept if undescribed and to[other] == "ambiguous"), None)
        if copy is not None:
            dropped.append(DroppedContext(rank=n, why=f"duplicated with context {copy}", kept=copy))
        elif clearer is not None:
            why = f"ambiguous with context {clearer}, which says more of what it is about"
            dropped.append(DroppedContext(rank=n, why=why, kept=clearer))
        else:
            kept.append(n)
    return kept, dropped


def _groups(kept: Sequence[int], apart: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the contexts in groups such that no two of a pair in `apart` are together."""
    if not kept:
        return []
    if not apart:
        return [list(kept)]
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(kept)
    graph.add_edges_from(apart)
    colours = _fewest_colours(graph)
    count = 1 + max(colours.values())
    # Evenly sized groups are sure to exist only with more colours than any context has opponents (Hajnal, Szemerédi).
    if count > max(degree for _, degree in graph.degree):
        colours = nx.equitable_color(graph, count)
    else:
        colours = _evened(graph, colours, count)
    groups = []
    for colour in range(count):
        groups.append([n for n in kept if colours[n] == colour])
    return groups


def _fewest_colours(graph: nx.Graph) -> dict[int, int]:
    """Colour the graph: with the fewest colours up to `EXACT_CONTEXTS` contexts, beyond that by DSATUR."""
    import networkx as nx

    coloured = graph.subgraph(n for n, degree in graph.degree if degree)
    found: dict[int, int] = nx.greedy_color(coloured, strategy="DSATUR")
    if len(coloured) <= EXACT_CONTEXTS:
        while fewer := _colouring(coloured, max(found.values())):
            found = fewer
    return {n: found.get(n, 0) for n in graph}


def _colouring(graph: nx.Graph, count: int) -> dict[int, int] | None:
    """Return a colouring with at most `count` colours, searched in the order of degrees; None if there is none."""
    order = sorted(graph, key=lambda n: -graph.degree[n])
    colours: dict[int, int] = {}

    def place(i: int) -> bool:
        """Colour the contexts from the i-th on; return False if that is impossible."""
        if i == len(order):
            return True
        n = order[i]
        taken = {colours[other] for other in graph[n] if other in colours}
        used = 1 + max(colours.values(), default=-1)
        # Unused colours differ in name only, so one of them is tried.
        for colour in range(min(used + 1, count)):
            if colour not in taken:
                colours[n] = colour
                if place(i + 1):
                    return True
                del colours[n]
        return False

    return colours if count > 0 and place(0) else None


def _evened(graph: nx.Graph, colours: Mapping[int, int], count: int) -> dict[int, int]:
    """Return the colouring after moving contexts from larger to smaller groups as long as that is possible."""
    even = dict(colours)
    moved = True
    while moved:
        moved = False
        sizes = []
        for c in range(count):
            sizes.append(sum(colour == c for colour in even.values()))
        by_size = sorted(range(count), key=sizes.__getitem__)
        for n in sorted(even, key=lambda n: (graph.degree[n], n)):
            taken = {even[other] for other in graph[n]}
            to = next((c for c in by_size if c not in taken), None)
            # With a difference of one the move would swap the two sizes, and the loop would never end.
            if to is not None and sizes[to] + 1 < sizes[even[n]]:
                even[n], moved = to, True
                break
    return even
