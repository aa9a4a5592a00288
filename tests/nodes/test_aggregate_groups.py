"""The node `aggregate_groups`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.corg.group_answers import as_evidence
from preflight_rag.nodes.aggregate_groups import aggregate_groups
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import Draft
from preflight_rag.text.headers import CLOSEST, SEVERAL

WORDS = {1: "One of them.", 2: "Two of them."}


def draft(group, rank, text, status="answered"):
    return {"group": group, "ranks": [rank], "text": text, "quotes": [], "status": status}


def context(rank):
    return {
        "rank": rank, "entity": f"E{rank}", "descriptor": None, "answer": f"{rank}", "told": True, "relevant": True
    }  # fmt: skip


@pytest.fixture
def aggregated(library, retrieved):
    async def make(*drafts, gaps=(), claims=True):
        state = await retrieved("How many people live in Broken Bow?", k=4)
        state |= {
            "contexts": [context(rank) for rank in (1, 2)],
            "relations": [],
            "organisation": {"groups": [[1], [2]], "dropped": [], "sources": {}},
            "group_drafts": list(drafts),
            "draft": {"text": "", "quotes": [], "found": False, "choice": None, "claims": claims},
            "gaps": list(gaps),
        }
        return await aggregate_groups(state, Runtime(context=Context(library=library)))

    return make


async def test_groups_stand_in_their_order_with_their_names(aggregated):
    update = await aggregated(draft(2, 2, "Two [2]."), draft(1, 1, "One [1]."))
    assert update["draft"]["text"] == "**E1**: One [1]\n\n**E2**: Two [2]"
    assert [entry["entity"] for entry in update["entries"]] == ["E1", "E2"]
    assert update["onward"] == "cite"


async def test_nothing_in_any_group_is_an_abstention(aggregated):
    update = await aggregated(draft(1, 1, "", "nothing"), draft(2, 2, "", "nothing"))
    assert (update["onward"], update["draft"]["found"], update["entries"]) == ("abstain", False, [])


async def test_all_groups_failed_is_an_error_with_the_first_reason(aggregated):
    gaps = [{"stage": "answer_group", "item": "1", "error": "the server is down"}]
    with pytest.raises(AllPartitionsFailed, match="none of the 2 groups could be answered: the server is down"):
        await aggregated(draft(1, 1, "", "failed"), draft(2, 2, "", "failed"), gaps=gaps)


def unsure(group, *ranks):
    """A group's answers, each with the words of its passage."""
    text = "\n".join(f"E{n}: {WORDS[n]} [{n}]" for n in ranks)
    return {**draft(group, ranks[0], text), "ranks": list(ranks), "quotes": [(n, WORDS[n]) for n in ranks]}


async def test_answers_that_are_not_sure_stand_as_what_the_documents_say(aggregated):
    update = await aggregated(unsure(1, 1, 2), claims=False)
    assert update["draft"]["text"] == f"{SEVERAL}\n\n**E1**: “One of them.” [1]\n\n**E2**: “Two of them.” [2]"
    assert (update["draft"]["claims"], update["draft"]["short"], update["draft"]["confidence"]) == (False, "", None)
    assert [(entry["entity"], entry["answer"]) for entry in update["entries"]] == [
        ("E1", "One of them."),
        ("E2", "Two of them."),
    ]
    assert update["onward"] == "cite"


async def test_one_answer_is_no_comparison(aggregated):
    update = await aggregated(unsure(1, 1), claims=False)
    assert update["draft"]["text"] == f"{CLOSEST}\n\n**E1**: “One of them.” [1]"
    assert (update["entries"], update["draft"]["claims"]) == ([], False)


def test_evidence_without_words_to_quote_is_nothing():
    made, entries = as_evidence(
        "Which?", Draft("One [1]."), [{"entity": "E", "descriptor": None, "answer": "One", "ranks": [1]}], {}
    )
    assert (made.found, made.text, entries) == (False, "", [])
