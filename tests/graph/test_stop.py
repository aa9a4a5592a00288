"""A turn that is stopped: the model's connection is closed, the ledger says so, and the thread goes on."""

import asyncio
import time

import pytest

from preflight_rag import StageEvent, TokenEvent
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How hot is the planet Venus?"
SLOW = Reply("Hot [1]. " * 200, chunk_delay=0.05)
LATE = Reply("Hot [1].", delay=30)


def was_closed_within(server, stopped, seconds=1.0):
    """Whether the request that was being answered lost its client soon after the turn was stopped."""
    server.wait_idle(timeout=10)
    last = server.requests[-1]
    assert last.delivered is False
    assert last.gone is not None
    return last.gone - stopped < seconds


async def until(stream, wanted):
    async for event in stream:
        if wanted(event):
            return event
    raise AssertionError("the stream ended")


def is_token(event):
    return isinstance(event, TokenEvent) and event.text.strip()


def has_routed(event):
    return isinstance(event, StageEvent) and event.stage == "preflight"


@pytest.mark.parametrize(("reply", "wanted"), [(SLOW, is_token), (LATE, has_routed)], ids=["streaming", "waiting"])
async def test_closing_the_stream_closes_the_models_connection(over_the_demo, reply, wanted):
    with ScriptedServer([("<passages>", reply, 1)], default="Hot [1].") as server, over_the_demo(server) as app:
        stream = app.astream(QUESTION, thread_id="t")
        await until(stream, wanted)
        await asyncio.to_thread(server.wait_for, 1, "<passages>")
        stopped = time.time()
        await stream.aclose()
        assert time.time() - stopped < 1
        assert app.ledger.last("t").status == "interrupted"
        assert await asyncio.to_thread(was_closed_within, server, stopped)


@pytest.mark.parametrize("tokens", [True, False])
async def test_cancelling_the_task_closes_the_models_connection(over_the_demo, tokens):
    with ScriptedServer([("<passages>", LATE, 1)], default="Hot [1].") as server, over_the_demo(server) as app:

        async def ask():
            async for _ in app.astream(QUESTION, thread_id="t", tokens=tokens):
                pass

        task = asyncio.create_task(ask())
        await asyncio.to_thread(server.wait_for, 1, "<passages>")
        stopped = time.time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert app.ledger.last("t").status == "interrupted"
        assert await asyncio.to_thread(was_closed_within, server, stopped)


async def test_all_calls_of_a_fan_out_are_closed(over_the_demo):
    with ScriptedServer(default=LATE) as server, over_the_demo(server, route="map-reduce") as app:
        stream = app.astream(QUESTION, thread_id="t")
        await until(stream, has_routed)
        reading = asyncio.create_task(until(stream, lambda event: False))
        await asyncio.to_thread(server.wait_for, 4, "<passages>")
        stopped = time.time()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await stream.aclose()
        await asyncio.to_thread(server.wait_idle)
        assert [request.gone is not None and request.gone - stopped < 1 for request in server.requests] == [True] * 4


async def test_the_thread_goes_on_and_the_stopped_question_stays_known(over_the_demo):
    script = [("<passages>", LATE, 1), ("<conversation>", "How hot is Mercury?"), ("<passages>", "Warm [1].")]
    with ScriptedServer(script) as server, over_the_demo(server) as app:
        stream = app.astream(QUESTION, thread_id="t")
        await until(stream, has_routed)
        await asyncio.to_thread(server.wait_for, 1, "<passages>")
        await stream.aclose()
        answer = await app.aask("And Mercury?", thread_id="t")
        assert (answer.turn, answer.answer, answer.standalone_question) == (2, "Warm [1].", "How hot is Mercury?")
        assert f"user: {QUESTION}\nassistant: (not answered" in server.requests[1].prompt
        assert [turn.status for turn in app.ledger.turns("t")] == ["interrupted", "answered"]


async def test_asking_a_stopped_question_again_is_a_fresh_start(over_the_demo):
    with ScriptedServer([("<passages>", LATE, 1)], default="Hot [1].") as server, over_the_demo(server) as app:
        stream = app.astream(QUESTION, thread_id="t")
        await until(stream, has_routed)
        await asyncio.to_thread(server.wait_for, 1, "<passages>")
        await stream.aclose()
        answer = await app.aask(QUESTION, thread_id="t")
        assert (answer.answer, answer.receipt.model_calls) == ("Hot [1].", 1)


async def test_a_stopped_turn_can_be_finished_later(over_the_demo):
    with ScriptedServer([("<passages>", LATE, 1)], default="Hot [1].") as server, over_the_demo(server) as app:
        stream = app.astream(QUESTION, thread_id="t")
        await until(stream, has_routed)
        await asyncio.to_thread(server.wait_for, 1, "<passages>")
        await stream.aclose()
        events = [event async for event in app.astream_resume("t")]
    assert [event.stage for event in events if isinstance(event, StageEvent)] == ["answer_plain", "cite"]
    assert (events[-1].answer, events[-1].turn) == ("Hot [1].", 1)
