"""A turn whose model cannot be reached is taken by the offline reader where that is allowed, and says so."""

import pytest
from langchain_core.messages import HumanMessage

from preflight_rag import Preflight
from preflight_rag.graph.model_use import ModelUse
from preflight_rag.state.errors import BadReply, ModelUnavailable, UsageError
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

QUESTION = "How hot is the planet Venus?"


async def taken(app, **arguments):
    return [event async for event in app.astream(QUESTION, thread_id="t", **arguments)]


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
async def test_a_turn_goes_on_without_its_model_as_one_turn(own_folder, chat_reader, embedder, route):
    with ScriptedServer(default=Reply("no", status=500)) as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder, route=route) as app:
            *_, answer = await taken(app, use=ModelUse(or_offline=True))
            (row,) = app.ledger.turns("t")
            state = app._loop.call(app._open_turns().graph.aget_state({"configurable": {"thread_id": "t"}}))
    assert (answer.gaps[0].stage, answer.receipt.model, row.status) == ("model", "preflight reader", "answered")
    assert "HTTP 500" in answer.gaps[0].error
    assert row.result["gaps"][0]["item"] == "openai:scripted"
    assert answer.citations
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]


async def test_without_leave_it_fails_as_before(own_folder, chat_reader, embedder):
    with ScriptedServer(default=Reply("no", status=500)) as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder, route="plain") as app:
            with pytest.raises(ModelUnavailable):
                await taken(app)


async def test_a_reply_that_is_no_good_is_no_model_that_is_away(own_folder, chat_reader, embedder):
    with ScriptedServer(default=Reply("cut", finish_reason="content_filter")) as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder, route="plain") as app:
            with pytest.raises(BadReply) as caught:
                await taken(app, use=ModelUse(or_offline=True))
    assert caught.value.reason == "content_filter"


async def test_a_model_that_dies_while_it_writes_leaves_the_evidence_below(own_folder, chat_reader, embedder):
    dying = Reply("It is very hot there indeed, all over [1].", drop_after=3)
    with ScriptedServer(default=dying) as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder, route="plain") as app:
            *events, answer = await taken(app, use=ModelUse(or_offline=True))
    text = "".join(getattr(event, "text", "") for event in events)
    assert answer.receipt.model == "preflight reader"
    assert text.endswith(answer.answer)


async def test_sampling_reaches_every_call(own_folder, chat_reader, embedder):
    with ScriptedServer(default="Venus is hot [1].") as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder, route="plain", rewrite="model") as app:
            await taken(app, use=ModelUse(sampling={"temperature": 0.7, "seed": 3, "stop": ["END"]}))
            bodies = [request.body for request in server.requests]
    assert len(bodies) > 1
    assert {(body["temperature"], body["seed"], body["stop"][0]) for body in bodies} == {(0.7, 3, "END")}


async def test_one_call_of_the_model_with_messages_of_ones_own(own_folder, chat_reader, embedder):
    with ScriptedServer(default="A title") as server:
        with Preflight.open(own_folder, chat_reader(server), embedder=embedder) as app:
            kept = app.ledger.threads()
            text, usage = await app.complete([HumanMessage("Title?")], sampling={"temperature": 0.9})
            assert app.ledger.threads() == kept
    assert (text, usage.calls, server.requests[0].body["temperature"]) == ("A title", 1, 0.9)


async def test_without_a_model_there_is_no_call(own_folder, embedder):
    with Preflight.open(own_folder, "offline", embedder=embedder) as app:
        with pytest.raises(UsageError, match="writes no messages"):
            await app.complete([HumanMessage("Title?")])
