"""Algorithm 1: the relation of every two contexts against the paper's table, written out in `paper_table.py`."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_table import TABLE, algorithm_1, relation

from preflight_rag.corg.relation_graph import PrintedGraph, RelationGraph, follows, related
from preflight_rag.corg.relations import cut, merged
from preflight_rag.state.reading import ContextNote, RelationReply

FAMILY = {"counterfactual": "class", "duplicated": "class", "ambiguous": "undescribed", "none": "undescribed"}


def notes_of(facts):
    """Contexts 1, 2, … from `(descriptor, answer)` or "A1" for descriptor A and answer 1, "-1" without descriptor."""
    pairs = [(f[0].replace("-", "") or None, f[1:] or None) if isinstance(f, str) else f for f in facts]
    return {n: ContextNote(n, "Broken Bow", d, a) for n, (d, a) in enumerate(pairs, 1)}


def truth(notes, a, b):
    return relation(notes[a], notes[b])


def relate(facts, *, mode="careful", noted=True, spoil=lambda kind: kind):
    """Run the algorithm against a reader that knows the paper's table; `spoil` may change what it says."""
    notes = notes_of(facts)
    graph = PrintedGraph(list(notes)) if mode == "faithful" else RelationGraph(list(notes), mode=mode)
    while step := graph.next():
        pivot, others = step
        assert pivot not in others
        kinds = {}
        for n in others:
            answered = notes[n].answer and notes[pivot].answer
            kind = spoil(truth(notes, pivot, n) if answered else "none")
            if kind:
                kinds[n] = kind
        graph.absorb(pivot, others, RelationReply(kinds, notes if noted else {}))
    return graph, {(edge.a, edge.b): edge for edge in graph.relations(notes_of([("X", "?")] * len(facts)))}


def kinds(edges):
    return {pair: edge.kind for pair, edge in edges.items()}


@pytest.mark.parametrize(
    ("a", "b", "cell"),
    [
        ("A1", "A1", ("same descriptor", "same answer")),
        ("A1", "A2", ("same descriptor", "different answers")),
        ("A1", "B1", ("two descriptors", "same answer")),
        ("A1", "B2", ("two descriptors", "different answers")),
        ("A1", "-1", ("one descriptor alone", "same answer")),
        ("A1", "-2", ("one descriptor alone", "different answers")),
        ("-1", "-1", ("same descriptor", "same answer")),
        ("-1", "-2", ("same descriptor", "different answers")),
    ],
)
def test_two_notes_relate_as_the_papers_table_says(a, b, cell):
    notes = notes_of([a, b])
    assert related(notes[1], notes[2]) == related(notes[2], notes[1]) == relation(notes[1], notes[2]) == TABLE[cell]


EIGHT = ["A1", "A1", "A2", "B3", "B4", "B4", "C5", "C6"]


@pytest.mark.parametrize("mode", ["notes", "careful", "faithful"])
@pytest.mark.parametrize("noted", [True, False])
def test_eight_contexts_of_three_classes_take_at_most_four_calls(mode, noted):
    graph, edges = relate(EIGHT, mode=mode, noted=noted)
    assert len(graph.pivots) <= 4
    assert len(edges) == 28


def test_careful_finds_every_relation_of_the_eight_without_notes():
    _, edges = relate(EIGHT, noted=False)
    notes = notes_of(EIGHT)
    assert kinds(edges) == {pair: truth(notes, *pair) for pair in combinations(notes, 2)}


def test_faithful_mirrors_and_careful_asks_when_two_contradict_the_pivot():
    _, faithful = relate(["A1", "A2", "A2"], mode="faithful", noted=False)
    _, careful = relate(["A1", "A2", "A2"], noted=False)
    assert (faithful[2, 3].kind, faithful[2, 3].inferred) == ("counterfactual", True)
    assert (careful[2, 3].kind, careful[2, 3].inferred) == ("duplicated", False)


def test_a_note_saves_the_question():
    graph, edges = relate(["A1", "A2", "A2"])
    assert len(graph.pivots) == 1
    assert (edges[2, 3].kind, edges[2, 3].inferred) == ("duplicated", True)


@pytest.mark.parametrize(
    ("facts", "wanted", "calls"),
    [
        ([], {}, 0),
        (["A1"], {}, 0),
        (["A1", "A1"], {(1, 2): "duplicated"}, 1),
        (["A1"] * 4, dict.fromkeys(combinations(range(1, 5), 2), "duplicated"), 1),
        (["A1", "A2", "A3"], dict.fromkeys(combinations(range(1, 4), 2), "counterfactual"), 2),
        (["A1", "B1", "C1"], dict.fromkeys(combinations(range(1, 4), 2), "distracting"), 2),
        (["A1", "A1", "B2"], {(1, 2): "duplicated", (1, 3): "distracting", (2, 3): "distracting"}, 1),
        (["A1", "A2", "-1"], {(1, 2): "counterfactual", (1, 3): "ambiguous", (2, 3): "none"}, 1),
        (["-1", "A1", "A2"], {(1, 2): "ambiguous", (1, 3): "none", (2, 3): "counterfactual"}, 2),
        (
            ["A1", "A2", "A2", "A3"],
            {
                **dict.fromkeys([(1, 2), (1, 3), (1, 4), (2, 4), (3, 4)], "counterfactual"),
                (2, 3): "duplicated",
            },
            2,
        ),
    ],
)
def test_relations_of_a_table_of_cases(facts, wanted, calls):
    graph, edges = relate(facts, noted=False)
    assert kinds(edges) == wanted
    assert len(graph.pivots) == calls


def test_contexts_noted_irrelevant_leave_the_graph():
    graph, edges = relate(["A1", "A", "A2", "B"])
    assert graph.relevant == [1, 3]
    assert set(edges) == {(1, 3)}


def test_all_irrelevant_takes_one_call_with_notes_and_two_without():
    assert len(relate(["A", "B", "-", "C"])[0].pivots) == 1
    assert relate(["A", "B", "-", "C"])[0].relevant == []
    assert len(relate(["A", "B", "-", "C"], noted=False)[0].pivots) == 2


def test_an_irrelevant_first_pivot_costs_the_one_call_that_is_left():
    facts = ["A", "B1", "B2", "B2", "C3", "C4"]
    graph, edges = relate(facts)
    notes = notes_of(facts)
    assert len(graph.pivots) <= 3
    assert kinds(edges) == {pair: truth(notes, *pair) for pair in combinations(range(2, 7), 2)}


def test_a_context_that_relates_by_its_answer_has_one_whatever_its_note_says():
    graph = RelationGraph([1, 2])
    silent = ContextNote(2, "Broken Bow", None, None)
    graph.absorb(1, [2], RelationReply({2: "duplicated"}, {2: silent}))
    assert graph.relevant == [1, 2]


def test_what_could_not_be_read_is_none_and_what_was_not_asked_is_ignored():
    graph = RelationGraph([1, 2, 3])
    graph.absorb(1, [2, 3], RelationReply({3: "duplicated", 9: "counterfactual"}, {}))
    edges = {(e.a, e.b): e for e in graph.relations(notes_of(["A1", "A1", "A1"]))}
    assert (edges[1, 2].kind, edges[1, 2].inferred) == ("none", True)
    assert edges[1, 3].kind == "duplicated"


described = st.tuples(st.sampled_from("ABC"), st.sampled_from(["1", "2", "3", None]))
undescribed = st.tuples(st.none(), st.sampled_from(["1", "2", "3", None]))


facts = st.lists(described | undescribed, max_size=9)


@given(st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from("123")), max_size=9))
@settings(max_examples=200)
def test_faithful_is_the_printed_algorithm_in_its_order(facts):
    notes, asked = notes_of(facts), []

    def spoil(kind):
        asked.append(kind)
        return kind

    graph, edges = relate(facts, mode="faithful", noted=False, spoil=spoil)
    printed, pairs = algorithm_1(notes, lambda a, b: truth(notes, a, b))
    assert kinds(edges) == printed
    assert graph.pivots == list(dict.fromkeys(pivot for pivot, _ in pairs))
    assert asked == [truth(notes, *pair) for pair in pairs]
    assert {pair for pair, edge in edges.items() if not edge.inferred} == set(pairs)


@given(st.lists(st.sampled_from([*TABLE.values(), None]), min_size=36, max_size=36), st.integers(2, 9))
@settings(max_examples=200)
def test_faithful_goes_on_until_no_context_is_left_whatever_is_said(said, count):
    """A reader that contradicts itself is asked as the printed algorithm asks it; nothing caps the calls."""
    of_pair = dict(zip(combinations(range(1, 10), 2), said, strict=True))
    graph = PrintedGraph(list(range(1, count + 1)))
    while step := graph.next():
        pivot, others = step
        told = {n: kind for n in others if (kind := of_pair[min(pivot, n), max(pivot, n)])}
        graph.absorb(pivot, others, RelationReply(told, {}))
    edges = {(edge.a, edge.b): edge for edge in graph.relations({})}
    printed, _ = algorithm_1(range(1, count + 1), lambda a, b: of_pair[min(a, b), max(a, b)] or "none")
    assert kinds(edges) == printed


def test_contexts_of_as_many_descriptors_take_a_pass_each():
    graph, edges = relate(["A1", "B1", "C1", "D1", "E1"], mode="faithful", noted=False)
    assert graph.pivots == [1, 2, 3, 4]
    assert set(kinds(edges).values()) == {"distracting"}


def test_one_call_of_notes_relates_all_contexts():
    facts = ["A1", "A2", "A2", "B3", "-1", "-1", "-4", "B", "C5"]
    graph, edges = relate(facts, mode="notes")
    notes = notes_of(facts)
    assert graph.pivots == [1]
    assert kinds(edges) == {pair: truth(notes, *pair) for pair in combinations((1, 2, 3, 4, 5, 6, 7, 9), 2)}
    assert len(relate(facts)[0].pivots) == 4


def test_what_is_not_noted_is_asked_about():
    """Figure 9's form alone, relations without notes, is Algorithm 1."""
    graph, edges = relate(EIGHT, mode="notes", noted=False)
    notes = notes_of(EIGHT)
    assert len(graph.pivots) == len(relate(EIGHT, noted=False)[0].pivots) > 1
    assert kinds(edges) == {pair: truth(notes, *pair) for pair in combinations(notes, 2)}


def test_notes_of_two_prompts_are_not_compared():
    notes = notes_of(["A1", "B1", "B1"])
    graph = RelationGraph([1, 2, 3], mode="notes")
    graph.absorb(1, [2, 3], RelationReply({2: "distracting", 3: "distracting"}, notes), [[2], [3]])
    assert graph.next() == (2, [3])


@given(facts, st.booleans(), st.sampled_from(["notes", "careful"]))
@settings(max_examples=300)
def test_every_two_relevant_contexts_are_related_within_the_bound(facts, noted, mode):
    graph, edges = relate(facts, noted=noted, mode=mode)
    classes = {descriptor for descriptor, answer in facts if answer}
    assert len(graph.pivots) <= max(1, len(classes)) + 1
    assert set(edges) == set(combinations(graph.relevant, 2))
    if noted:
        notes = notes_of(facts)
        if graph.pivots:
            assert graph.relevant == [n for n in notes if notes[n].answer]
        assert all(
            edge.kind == truth(notes, *pair) for pair, edge in edges.items() if all(notes[n].answer for n in pair)
        )


CONTEXTS = [ContextNote(0, "Broken Bow", d, a) for d in (None, "A", "B", "C") for a in "1234"]


def test_nothing_follows_from_a_pivot_but_what_some_contexts_can_be_to_each_other():
    """Each pivot, each two contexts, by brute force: what is inferred is what holds for some such contexts, no less."""
    possible = {}
    for pivot, a, b in product(CONTEXTS, repeat=3):
        seen = frozenset({relation(pivot, a), relation(pivot, b)})
        for known in (pivot.descriptor is not None, None):
            possible.setdefault((seen, known), set()).add(relation(a, b))
    for (seen, known), kinds_ in possible.items():
        first, last = (*seen, *seen)[:2]
        assert follows(first, last, described=known) == follows(last, first, described=known) == kinds_


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("123")), max_size=9))
@settings(max_examples=200)
def test_without_notes_only_the_answers_of_one_class_are_ever_guessed(facts):
    notes = notes_of(facts)
    _, edges = relate(facts, noted=False)
    for pair, edge in edges.items():
        true = truth(notes, *pair)
        assert edge.kind == true or (edge.inferred and FAMILY.get(edge.kind) == FAMILY.get(true) == "class")


@given(facts, st.randoms(use_true_random=False), st.booleans(), st.sampled_from(["notes", "careful"]))
@settings(max_examples=200)
def test_a_reader_that_says_anything_keeps_to_the_bound_of_what_it_showed(facts, random, noted, mode):
    anything = [*TABLE.values(), None]
    graph, edges = relate(facts, mode=mode, noted=noted, spoil=lambda _: random.choice(anything))
    assert len(graph.pivots) <= len(facts)
    assert set(edges) == set(combinations(graph.relevant, 2))


@given(st.lists(st.integers(1, 900), max_size=20), st.integers(256, 2000))
def test_runs_fit_or_hold_one_context(sizes, most):
    tokens = dict(enumerate([100, *sizes]))
    runs = list(cut(0, list(range(1, len(tokens))), tokens, most))
    assert [n for run in runs for n in run] == list(range(1, len(tokens)))
    assert all(len(run) == 1 or 100 + sum(tokens[n] for n in run) <= most for run in runs)


def test_a_note_with_an_answer_counts_before_one_without():
    none, some = ContextNote(1, "x", None, None), ContextNote(1, "x", None, "3")
    reply = merged([RelationReply({2: "none"}, {1: none}), RelationReply({3: "duplicated"}, {1: some})])
    assert reply == RelationReply({2: "none", 3: "duplicated"}, {1: some})
