"""The node `answer_plain`."""

import pytest
from langgraph.runtime import Runtime
from scripted_server import Reply, ScriptedServer

from preflight_rag.nodes.answer_plain import answer_plain, escalation, may_escalate
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ModelUnavailable
from preflight_rag.state.reading import Draft, Source


async def test_the_reader_sees_all_passages_and_its_cost_is_kept(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5)
    with ScriptedServer(default='Very hot [1].\nQUOTES\n[1] "hot"') as server:
        update = await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))
    told = {"text": "Very hot [1].", "quotes": [(1, "hot")], "found": True, "choice": None}
    assert update["draft"] == {**told, "short": "", "confidence": None}
    assert update["spent"][0]["calls"] == 1
    assert all(f'<passage n="{n}"' in server.requests[0].prompt for n in range(1, 6))


async def test_a_failed_call_is_an_error_and_never_an_answer(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5)
    with ScriptedServer(default=Reply("boom", status=500)) as server, pytest.raises(ModelUnavailable):
        await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))


SOURCES = [
    Source(n, str(n), "", text)
    for n, text in enumerate(["Saturn has 82 known moons.", "Saturn has 274 known moons.", "Rust is iron oxide."], 1)
]


@pytest.mark.parametrize(
    ("draft", "size", "to"),
    [
        (Draft("It has 82 moons [1].", ((1, "Saturn has 82 known moons"),)), 1, None),
        (Draft("Saturn has 82 known moons."), 1, None),
        (Draft("", found=False), 1, "map_reduce"),
        (Draft("", found=False), 3, None),
        (Draft("It has 999 moons [1].", ((1, "999 moons"),)), 1, "map_reduce"),
        (Draft("It has 999 moons [77]."), 1, "map_reduce"),
        (
            Draft("82 [1] or 274 [2].", ((1, "Saturn has 82 known moons."), (2, "Saturn has 274 known moons."))),
            3,
            "corg",
        ),
    ],
)
def test_a_step_follows_from_the_draft(draft, size, to):
    step = escalation(draft, SOURCES, size)
    assert (step and step["to"]) == to


@pytest.mark.parametrize(
    ("state", "may"),
    [
        ({"decision": {"name": "plain", "forced": False}, "escalations": []}, True),
        ({"decision": {"name": "plain", "forced": True}, "escalations": []}, False),
        ({"decision": {"name": "map_reduce"}, "escalations": []}, False),
        ({"decision": {"name": "plain"}, "escalations": [{"from": "plain", "to": "corg", "reason": ""}]}, False),
        ({}, False),
    ],
)
def test_only_a_route_chosen_freely_is_left_and_only_once(state, may):
    assert may_escalate(state, "plain") is may


@pytest.mark.parametrize(("ranks", "plural"), [([1], 0), ([1, 2], 1)])
async def test_the_one_group_of_corg_is_answered_for_its_aggregation(library, chat_reader, retrieved, ranks, plural):
    state = await retrieved("How many people live in Broken Bow?", k=5)
    view = state | {"passages": [ref for ref in state["passages"] if ref["rank"] in ranks], "group": 1}
    with ScriptedServer(default="3,559 [1]") as server:
        update = await answer_plain(view, Runtime(context=Context(chat_reader(server), library, Settings())))
    assert (update["onward"], update["group_drafts"][0]["ranks"]) == ("aggregate_groups", ranks)
    assert server.count("several that go by one name") == plural
