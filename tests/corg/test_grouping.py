"""The organiser against a brute-force reference."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight_rag.corg.grouping import organise
from preflight_rag.state.values import Relation

KINDS = ["distracting", "ambiguous", "counterfactual", "duplicated", "none"]


def edges_of(table):
    return [Relation[int](a=a, b=b, kind=kind) for (a, b), kind in table.items()]


def organised(count, table, **options):
    everything = range(1, count + 1)
    options = {"relevant": set(everything), "described": set(everything)} | options
    return organise(list(everything), edges_of(table), **options)


C, U, A, D = "counterfactual", "duplicated", "ambiguous", "distracting"


@pytest.mark.parametrize(
    ("count", "table", "groups", "kept"),
    [
        (0, {}, [], {}),
        (1, {}, [[1]], {}),
        (3, {(1, 2): D, (1, 3): D, (2, 3): D}, [[1, 2, 3]], {}),
        (3, {(1, 2): U, (1, 3): U, (2, 3): U}, [[1]], {2: 1, 3: 1}),
        (3, {(1, 2): C, (1, 3): C, (2, 3): C}, [[1], [2], [3]], {}),
        (3, {(1, 2): C, (1, 3): C, (2, 3): U}, [[1], [2]], {3: 2}),
        (4, {(1, 2): C, (3, 4): C}, [[1, 3], [2, 4]], {}),
        (4, {(1, 2): C}, [[1, 3], [2, 4]], {}),
        (6, {(1, 2): C, (1, 3): C, (1, 4): C, (1, 5): C, (1, 6): C}, [[1], [2, 3, 4, 5, 6]], {}),
    ],
)
def test_groups_of_a_table_of_cases(count, table, groups, kept):
    found = organised(count, table)
    assert sorted(len(g) for g in found["groups"]) == sorted(len(g) for g in groups)
    if count != 4:
        assert found["groups"] == groups
    assert {d["rank"]: d["kept"] for d in found["dropped"]} == kept
    assert found["sources"] == {str(k): [r for r, by in kept.items() if by == k] for k in set(kept.values())}


def test_of_ambiguous_contexts_the_one_without_descriptor_goes():
    found = organised(2, {(1, 2): A}, described={2})
    assert found["groups"] == [[2]]
    assert found["dropped"][0]["rank"] == 1
    assert "ambiguous" in found["dropped"][0]["why"]


def test_irrelevant_contexts_are_dropped_with_their_reason():
    found = organised(3, {(1, 3): D}, relevant={1, 3})
    assert found["groups"] == [[1, 3]]
    assert found["dropped"] == [{"rank": 2, "why": "it has no answer to the question", "kept": None}]


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({"keep_duplicates": True}, [[1, 2], [3]]),
        ({"keep_undescribed": True, "described": {1, 2, 3}}, [[1, 4], [3]]),
        ({"no_grouping": True}, [[1, 3]]),
    ],
)
def test_the_ablations(options, groups):
    table = {(1, 2): U, (1, 3): C, (2, 3): C, (1, 4): A, (2, 4): A}
    found = organised(4, table, **({"described": {1, 2, 3}} | options))
    assert sorted(map(len, found["groups"])) == sorted(map(len, groups))


def test_a_seed_keeps_a_random_duplicate_and_always_the_same():
    table = dict.fromkeys(combinations(range(1, 7), 2), U)
    kept = {organised(6, table, seed=seed)["groups"][0][0] for seed in range(20)}
    assert len(kept) > 1
    assert organised(6, table, seed=3) == organised(6, table, seed=3)


def fewest(nodes, apart):
    """The least number of groups, by trying all."""
    for count in range(1, len(nodes) + 1):
        for colours in product(range(count), repeat=len(nodes)):
            of = dict(zip(nodes, colours, strict=True))
            if all(of[a] != of[b] for a, b in apart):
                return count
    return 0


tables = st.integers(0, 7).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.sampled_from(KINDS), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2)
    )
)


@given(tables, st.sets(st.integers(1, 7)), st.one_of(st.none(), st.integers(0, 5)))
@settings(max_examples=300, deadline=None)
def test_no_two_that_contradict_share_a_group_and_no_answer_is_lost(drawn, described, seed):
    count, said = drawn
    table = dict(zip(combinations(range(1, count + 1), 2), said, strict=True))
    found = organised(count, table, described=described, seed=seed)
    kept = [rank for group in found["groups"] for rank in group]
    apart = [pair for pair in combinations(sorted(kept), 2) if table[pair] == C]
    assert all(table[tuple(sorted(pair))] != C for group in found["groups"] for pair in combinations(group, 2))
    assert sorted(kept + [d["rank"] for d in found["dropped"]]) == list(range(1, count + 1))
    assert all(d["kept"] in kept for d in found["dropped"])
    assert all(table[tuple(sorted((d["rank"], d["kept"])))] in (U, A) for d in found["dropped"])
    assert len(found["groups"]) == fewest(kept, apart)


@given(st.integers(2, 6), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_groups_are_even_where_a_class_is_as_large_as_their_number(sides, rest):
    table = dict.fromkeys(combinations(range(1, sides + 1), 2), C)
    sizes = [len(group) for group in organised(sides + rest, table)["groups"]]
    assert len(sizes) == sides
    assert max(sizes) - min(sizes) <= 1


def test_many_contexts_are_grouped_too():
    table = {pair: C for pair in combinations(range(1, 61), 2) if (pair[0] - pair[1]) % 3}
    assert len(organised(60, table)["groups"]) == 3
