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

MAX_EXACT_CONTEXTS = 24
"""Largest number of contexts for which fewer groups than DSATUR's are searched exhaustively; a guess: milliseconds."""


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
    rank_order = {n: i for i, n in enumerate(contexts)}
    kept, dropped = _kept_and_dropped(
        [n for n in contexts if n in relevant],
        relations,
        described=described,
        drop_duplicates=not keep_duplicates,
        drop_undescribed=not keep_undescribed,
        seed=seed,
    )
    dropped += [
        DroppedContext(rank=n, why="it has no answer to the question", kept=None) for n in contexts if n not in relevant
    ]
    dropped.sort(key=lambda context: rank_order[context["rank"]])
    contradicting = [
        (relation.a, relation.b)
        for relation in relations
        if relation.kind == "counterfactual" and not no_grouping and {relation.a, relation.b} <= set(kept)
    ]
    groups = _separate_groups(sorted(kept, key=rank_order.__getitem__), contradicting)
    sources: dict[str, list[int]] = {}
    for context in dropped:
        if context["kept"] is not None:
            sources.setdefault(str(context["kept"]), []).append(context["rank"])
    sorted_groups = [sorted(group, key=rank_order.__getitem__) for group in groups]
    sorted_groups.sort(key=lambda group: rank_order[group[0]])
    return Organisation(groups=sorted_groups, dropped=dropped, sources=sources)


def _kept_and_dropped(
    relevant: Sequence[int],
    relations: Sequence[Relation[int]],
    *,
    described: Collection[int],
    drop_duplicates: bool,
    drop_undescribed: bool,
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
        kind_to = {other: kinds.get(frozenset((n, other)), "none") for other in kept}
        copy = next((other for other in kept if drop_duplicates and kind_to[other] == "duplicated"), None)
        clearer = next((other for other in kept if drop_undescribed and kind_to[other] == "ambiguous"), None)
        if copy is not None:
            dropped.append(DroppedContext(rank=n, why=f"duplicated with context {copy}", kept=copy))
        elif clearer is not None:
            why = f"ambiguous with context {clearer}, which says more of what it is about"
            dropped.append(DroppedContext(rank=n, why=why, kept=clearer))
        else:
            kept.append(n)
    return kept, dropped


def _separate_groups(kept: Sequence[int], contradicting: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return contexts in as few groups as possible, of similar sizes, so that no contradicting pair is in one group."""
    if not kept:
        return []
    if not contradicting:
        return [list(kept)]
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(kept)
    graph.add_edges_from(contradicting)
    colours = _colours_of_contexts(graph)
    count = 1 + max(colours.values())
    # Groups of equal size are sure to exist only with more colours than the largest degree (Hajnal, Szemerédi).
    if count > max(degree for _, degree in graph.degree):
        colours = nx.equitable_color(graph, count)
    else:
        colours = _evened_colouring(graph, colours, count)
    groups = []
    for colour in range(count):
        groups.append([n for n in kept if colours[n] == colour])
    return groups


def _colours_of_contexts(graph: nx.Graph) -> dict[int, int]:
    """Return a colour for each context: the fewest up to `MAX_EXACT_CONTEXTS` contexts with edges, else DSATUR's.

    Contexts without edges have the first colour.
    """
    import networkx as nx

    with_edges = graph.subgraph(n for n, degree in graph.degree if degree)
    colours: dict[int, int] = nx.greedy_color(with_edges, strategy="DSATUR")
    if len(with_edges) <= MAX_EXACT_CONTEXTS:
        # The largest colour is one less than their number, so each search is for one colour fewer.
        while fewer := _find_colouring(with_edges, max(colours.values())):
            colours = fewer
    return {n: colours.get(n, 0) for n in graph}


def _find_colouring(graph: nx.Graph, count: int) -> dict[int, int] | None:
    """Return a colouring with at most `count` colours, by backtracking; None if there is none."""
    # Contexts with most edges first, since they restrict the others most.
    order = sorted(graph, key=lambda n: -graph.degree[n])
    colours: dict[int, int] = {}

    def colour_from(i: int) -> bool:
        """Colour the contexts from index `i` on; return False, with none of them coloured, if that is impossible."""
        if i == len(order):
            return True
        n = order[i]
        neighbour_colours = {colours[other] for other in graph[n] if other in colours}
        used = 1 + max(colours.values(), default=-1)
        # Unused colours differ in name only, so one of them is tried.
        for colour in range(min(used + 1, count)):
            if colour not in neighbour_colours:
                colours[n] = colour
                if colour_from(i + 1):
                    return True
                del colours[n]
        return False

    return colours if count > 0 and colour_from(0) else None


def _evened_colouring(graph: nx.Graph, colours: Mapping[int, int], count: int) -> dict[int, int]:
    """Return the colouring after moving contexts from larger to smaller groups as long as that is possible."""
    even = dict(colours)
    moved = True
    while moved:
        moved = False
        sizes = []
        for colour in range(count):
            sizes.append(sum(other == colour for other in even.values()))
        smallest_first = sorted(range(count), key=sizes.__getitem__)
        for n in sorted(even, key=lambda n: (graph.degree[n], n)):
            neighbour_colours = {even[other] for other in graph[n]}
            target = next((colour for colour in smallest_first if colour not in neighbour_colours), None)
            # With a difference of one the move would swap the two sizes, and the loop would never end.
            if target is not None and sizes[target] + 1 < sizes[even[n]]:
                even[n], moved = target, True
                break
    return even
