"""A model's client for each event loop."""

import asyncio

import httpx
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.loop_clients import LoopLocalClients
from preflight_rag.testing.scripted_server import ScriptedServer

ASKED = {"message": "And then?", "history": []}


async def test_one_model_on_several_loops(chat_reader):
    """Connections that one loop has opened are not taken up by another."""
    loops = [BackgroundLoop("first"), BackgroundLoop("second")]
    with ScriptedServer(default="QUESTION: What then?") as server:
        model = ChatOpenAI(base_url=server.url, api_key="key", model="any", max_retries=0, timeout=20)
        reader = ChatReader(model)
        for _ in range(3):
            assert (await model.ainvoke("Hello")).content
            assert (await reader.rewrite(**ASKED)).usage.calls == 1
            for loop in loops:
                reply = await asyncio.to_thread(loop.call, reader.rewrite(**ASKED))
                assert reply.usage.calls == 1
    for loop in loops:
        loop.close()
    assert server.count() == 12


async def test_a_client_of_the_users_own_stays():
    async with httpx.AsyncClient() as client:
        model = ChatOpenAI(api_key="key", model="any", http_async_client=client)
        assert LoopLocalClients().of(model) is model


async def test_other_models_stay_as_they_are():
    model = FakeListChatModel(responses=["a"])
    assert LoopLocalClients().of(model) is model


async def test_the_copy_is_made_once_for_a_model():
    own, model = LoopLocalClients(), ChatOpenAI(api_key="key", model="any")
    assert own.of(model) is own.of(model)
    assert own.of(model.bind(stop="x").bound) is own.of(model)
    other = ChatOpenAI(api_key="key", model="other")
    assert own.of(other).model_name == "other"


async def test_no_limit_between_chunks_may_swallow_a_stop():
    assert LoopLocalClients().of(ChatOpenAI(api_key="key", model="any")).stream_chunk_timeout is None
