"""The node `organize_contexts`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.organize_contexts import organize_contexts
from preflight_rag.state.context import Context, Settings


def context(rank, descriptor="Nebraska", relevant=True):
    return {
        "rank": rank, "entity": "Broken Bow", "descriptor": descriptor, "answer": "1", "told": True,
        "relevant": relevant,
    }  # fmt: skip


def relation(a, b, kind):
    return {"a": a, "b": b, "kind": kind, "inferred": False}


STATE = {
    "contexts": [context(1), context(2), context(3), context(4, None), context(5, relevant=False)],
    "relations": [
        relation(1, 2, "duplicated"),
        relation(1, 3, "counterfactual"),
        relation(2, 3, "counterfactual"),
        relation(1, 4, "ambiguous"),
        relation(2, 4, "ambiguous"),
        relation(3, 4, "none"),
    ],
}


async def test_who_stands_for_whom_and_who_stands_apart():
    update = await organize_contexts(STATE, Runtime(context=Context()))
    organisation = update["organisation"]
    assert organisation["groups"] == [[1], [3]]
    assert organisation["sources"] == {"1": [2, 4]}
    assert [(item["rank"], item["kept"]) for item in organisation["dropped"]] == [(2, 1), (4, 1), (5, None)]


@pytest.mark.parametrize(
    ("settings", "groups"),
    [({"keep_duplicates": True}, 3), ({"keep_undescribed": True}, 3), ({"no_grouping": True}, 2)],
)
async def test_the_ablations_are_settings(settings, groups):
    update = await organize_contexts(STATE, Runtime(context=Context(settings=Settings(**settings))))
    assert sum(map(len, update["organisation"]["groups"])) == groups


async def test_nothing_relevant_makes_no_group():
    state = {"contexts": [context(1, relevant=False)], "relations": []}
    update = await organize_contexts(state, Runtime(context=Context()))
    assert update["organisation"]["groups"] == []
