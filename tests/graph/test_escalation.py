"""Turns that go on from a plain answer to map/reduce."""

import pytest
from broken_bow import QUESTION

from preflight_rag import TokenEvent
from preflight_rag.testing.scripted_server import ScriptedServer


def plain_first(answer, **more):
    """A reader whose plain answer is the given one, and whose map/reduce finds something."""
    return [
        *[(key, reply) for key, reply in more.items()],
        ("<extracts>", "1,001 people live in Broken Bow [1]."),
        ("You read a few numbered passages", "1,001 people live in Broken Bow [1]."),
        ("You answer questions from numbered passages", answer),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("NOT IN THE PASSAGES", "found nothing"),
        ("Seven million, as all agree [2].", "no citation of the plain answer could be verified"),
        ("Lots and lots.", "no citation of the plain answer could be verified"),
    ],
)
def test_a_plain_answer_without_ground_goes_on_to_map_reduce_once(opened, answer, reason):
    facts = ["A1"] * 6
    with ScriptedServer(plain_first(answer)) as server:
        with opened(server, facts, route="auto", corg_threshold=1) as app:
            found = app.ask(QUESTION)
    assert (found.route.name, reason in found.route.reason) == ("map_reduce", True)
    assert "they fit one map prompt" in found.route.reason
    assert {"answer_plain", "map_context", "reduce_context"} <= set(found.receipt.by_stage)
    assert found.receipt.model_calls == server.count() == 4
    assert not found.abstained


async def test_a_stream_tells_of_the_step_and_ends_with_the_second_answer(opened):
    with ScriptedServer(plain_first("Seven million, as all agree [2].")) as server:
        with opened(server, ["A1"] * 6, route="auto", corg_threshold=1) as app:
            events = [event async for event in app.astream(QUESTION)]
    text = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert text == "Seven million, as all agree [1].\n\n1,001 people live in Broken Bow [1]."
    assert events[-1].answer == "1,001 people live in Broken Bow [1]."


def test_an_escalated_turn_that_finds_nothing_abstains_after_one_step(opened):
    script_ = [("You read a few numbered passages", "NO RELEVANT INFORMATION")]
    with ScriptedServer(script_, default="NOT IN THE PASSAGES") as server:
        with opened(server, ["A1"] * 6, route="auto", corg_threshold=1) as app:
            found = app.ask(QUESTION)
    assert found.abstained
    assert server.count() == 3


DISPUTE = [
    ("Context2", "Context2 - Counterfactual\nContext1: Broken Bow | none | 1,001\nContext2: Broken Bow | none | 1,002"),
    ("<extracts>", "1,001 [1], as the census says; [2] says 1,002.\nDISPUTED: 1,001 / 1,002"),
]
PARTS = [
    ('<passage n="1"', "1,001 people live there [1].\nANSWER: 1,001", 1),
    ('<passage n="2"', "1,002 people live there [2].\nANSWER: 1,002", 1),
]
MAPPED = {"map_prompt_tokens": 0, "preflight": "iou", "threshold": 1, "partition_size": 1, "corg_threshold": 1}


@pytest.mark.parametrize(
    ("more", "reduced", "name"),
    [
        ({"route": "auto"}, DISPUTE[1][1], "corg"),
        ({"route": "auto"}, "1,001 in 2010 [1], 1,002 in 2020 [2].", "map_reduce"),
        ({"route": "auto", "corg": False}, DISPUTE[1][1], "map_reduce"),
        ({"route": "map-reduce"}, DISPUTE[1][1], "map_reduce"),
    ],
)
def test_parts_that_answer_differently_for_one_thing_go_on_to_corg(opened, more, reduced, name):
    replies = [DISPUTE[0], ("<extracts>", reduced), *PARTS]
    facts = ["A1", "A2", "A", "A"]
    with ScriptedServer(replies, default="NO RELEVANT INFORMATION") as server:
        with opened(server, facts, **(MAPPED | more)) as app:
            found = app.ask(QUESTION)
    assert found.route.name == name
    assert ("say “1,001” and “1,002” of the same thing" in found.route.reason) is (name == "corg")
    assert ("relate_contexts" in found.receipt.by_stage) is (name == "corg")
    assert "DISPUTED" not in found.answer


def test_a_choice_is_made_where_parts_differ(opened):
    replies = [("<extracts>", "Few, as the census says [1].\nDISPUTED: many / few\nCHOICE: B"), *PARTS]
    with ScriptedServer(replies, default="NO RELEVANT INFORMATION") as server:
        with opened(server, ["A1", "A2", "A", "A"], route="auto", **MAPPED) as app:
            found = app.ask(QUESTION, options=["many", "few"])
    assert (found.route.name, found.choice) == ("map_reduce", "few")


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
def test_a_forced_route_stays(opened, route):
    with ScriptedServer(default="NOT IN THE PASSAGES") as server, opened(server, ["A1"] * 6, route=route) as app:
        found = app.ask(QUESTION)
    assert set(found.receipt.by_stage) & {"answer_plain", "map_context"} == {
        "answer_plain" if route == "plain" else "map_context"
    }


@pytest.mark.parametrize(
    ("more", "stage"),
    [({}, "answer_plain"), ({"map_prompt_tokens": 0, "preflight": "iou", "threshold": 1}, "reduce_context")],
)
def test_different_numbers_in_an_answer_send_no_turn_to_corg(opened, more, stage):
    """A rule over words took two facts for a contradiction, and threw a good answer away: relations decide that."""
    facts = ["A1", "A2", *["A"] * 6]
    said = "1,001 people live in Broken Bow [1]. 1,002 people live in Broken Bow [2]."
    with ScriptedServer([("You read a few numbered passages", said)], default=said) as server:
        with opened(server, facts, route="auto", corg_threshold=1, partition_size=1, **more) as app:
            found = app.ask(QUESTION)
    assert (found.route.name, stage in found.receipt.by_stage) == ("map_reduce" if more else "plain", True)
    assert found.answer == said
