"""Whole turns with a real model: what is asserted is their form, never whether a model of this size is right."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from real_forms import check_error, check_form, check_nothing_leaks

from preflight_rag import Answer, StageEvent, TokenEvent
from preflight_rag.state.errors import ModelError, TurnError

QUESTION = "Which rock is hard?"
ROUTES = {
    "plain": {"route": "plain"},
    "map-reduce": {"route": "map-reduce", "k": 2, "partition_size": 1},
    "corg": {"route": "corg", "k": 2},
}


async def ended(stream):
    """All that a stream gives, and how its turn ended: an answer, or an error that says why there is none."""
    events = []
    try:
        async for event in stream:
            events.append(event)
    except (ModelError, TurnError) as error:
        return events, error
    assert isinstance(events[-1], Answer)
    return events, events[-1]


def receipt_of(end):
    """What the turn has cost, also where it failed."""
    return end.receipt.model_dump() if isinstance(end, Answer) else end.receipt


def check_end(end, library):
    if isinstance(end, Answer):
        check_form(end, library)
    else:
        check_error(end)


@pytest.mark.parametrize("route", ROUTES)
async def test_every_route_ends_in_an_answer_of_the_right_form_and_shows_what_it_streams(app, route):
    events, end = await ended(app.astream(QUESTION, thread_id="t", **ROUTES[route]))
    check_end(end, app.library)
    stages = [event.stage for event in events if isinstance(event, StageEvent)]
    assert {"retrieve", "preflight"} <= set(stages)
    check_nothing_leaks("".join(event.text for event in events if isinstance(event, TokenEvent)))
    assert app.ledger.last("t").status in (("answered", "abstained") if isinstance(end, Answer) else ("failed",))
    receipt = receipt_of(end)
    assert receipt["model_calls"] >= 1
    assert receipt["output_tokens"] >= 1
    assert receipt["estimated"] is False


async def test_what_a_turn_says_it_has_read_and_written_is_what_the_server_counted(app, real_model, http_server):
    if real_model.busy != http_server.busy:
        pytest.skip("counted by tests/models/chat/test_local_model.py")
    before = http_server.counted()
    _, end = await ended(app.astream(QUESTION, route="map-reduce", k=2, partition_size=1))
    after = http_server.counted()
    receipt = receipt_of(end)
    assert (receipt["input_tokens"], receipt["output_tokens"]) == (after[0] - before[0], after[1] - before[1])


async def test_a_follow_up_is_a_turn_of_its_own_on_the_thread(app):
    for question in (QUESTION, "And which one is light?"):
        _, end = await ended(app.astream(question, thread_id="t", route="plain"))
        check_end(end, app.library)
    first, second = app.ledger.turns("t")
    assert (first.question, second.question) == (QUESTION, "And which one is light?")
    assert (first.turn, second.turn) == (1, 2)


async def test_an_answer_streams_word_by_word(app):
    events, end = await ended(app.astream(QUESTION, route="plain"))
    check_end(end, app.library)
    tokens = [event for event in events if isinstance(event, TokenEvent) and event.text]
    assert len(tokens) > 1
    assert [type(event).__name__ for event in events if event is not end][-1] != "Answer"


@pytest.mark.parametrize("at", ["the prompt", "the reply"])
async def test_a_turn_that_is_stopped_frees_its_slot(slow_app, real_model, at):
    stream = slow_app.astream(QUESTION, thread_id="t")
    async for event in stream:
        if at == "the prompt" and isinstance(event, StageEvent) and event.stage == "preflight":
            break
        if isinstance(event, TokenEvent) and event.text.strip():
            break
    if at == "the prompt":
        going_on = asyncio.ensure_future(anext(stream))
        for _ in range(600):
            if real_model.busy():
                break
            await asyncio.sleep(0.05)
        assert real_model.busy()
        going_on.cancel()
        await asyncio.gather(going_on, return_exceptions=True)
    await stream.aclose()
    assert await asyncio.to_thread(real_model.is_free_soon, reading=at == "the prompt")
    assert slow_app.ledger.last("t").status == "interrupted"


async def test_two_questions_at_once_are_two_turns(app):
    questions = (QUESTION, "What colour is marble?")
    turns = [ended(app.astream(question, thread_id=question[:12], route="plain")) for question in questions]
    for question, (_, end) in zip(questions, await asyncio.gather(*turns), strict=True):
        check_end(end, app.library)
        assert not isinstance(end, Answer) or end.question == question


def test_a_document_is_summarised_or_the_turn_says_why_not(app):
    name = next(row["id"] for row in app.library.documents() if row["id"].endswith("slate.txt"))
    try:
        found = app.summarize(name, tokens=120)
    except (ModelError, TurnError) as error:
        check_error(error)
        return
    assert found.summary.strip()
    check_nothing_leaks(found.summary)
    for citation in found.citations:
        (passage,) = app.library.passages([citation.passage_id])
        assert not citation.verified or passage.text[citation.start : citation.end] == citation.quote
    assert all(first.n < second.n for first, second in pairwise(found.citations))
