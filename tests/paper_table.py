"""How two relevant contexts relate, written out from the COrg paper (section 2.1 and the prompt of its Figure 9)."""

TABLE = {
    ("same descriptor", "same answer"): "duplicated",
    ("same descriptor", "different answers"): "counterfactual",
    ("two descriptors", "same answer"): "distracting",
    ("two descriptors", "different answers"): "distracting",
    ("one descriptor alone", "same answer"): "ambiguous",
    ("one descriptor alone", "different answers"): "none",
}
"""Null is a descriptor like others where two contexts are the same: two that have none have the same one."""


def relation(a, b):
    """The relation of two notes whose descriptors and answers are the same only where they are equal as texts."""
    if a.descriptor == b.descriptor:
        descriptors = "same descriptor"
    else:
        descriptors = "two descriptors" if a.descriptor and b.descriptor else "one descriptor alone"
    return TABLE[descriptors, "same answer" if a.answer == b.answer else "different answers"]


def algorithm_1(contexts, rel):
    """The paper's Algorithm 1, line by line, over a set of edges; and the pairs that it asks about, in order.

    Lines 10 and 15 are printed with the indices of the edge (c', c_i), which is there already; what the text describes
    is the edge between c_i and c_j, as the other one of the pair relates to the pivot.
    """
    graph, asked, c = {}, [], list(contexts)
    while c:
        pivot, u = c[0], []
        for i in c[1:]:
            r = rel(i, pivot)
            asked.append((pivot, i))
            graph.setdefault((pivot, i), r)
            graph.setdefault((i, pivot), r)
            from_pivot = [(j, rj) for (first, j), rj in list(graph.items()) if first == pivot]
            if r in ("counterfactual", "duplicated"):
                for j, rj in from_pivot:
                    graph.setdefault((i, j), rj)
                    graph.setdefault((j, i), rj)
            else:
                for j, rj in from_pivot:
                    if rj in ("counterfactual", "duplicated"):
                        graph.setdefault((i, j), r)
                        graph.setdefault((j, i), r)
                    else:
                        u.append(i)
        c = list(dict.fromkeys(u))
    return {pair: kind for pair, kind in graph.items() if pair[0] < pair[1]}, asked
