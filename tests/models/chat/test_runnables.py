"""Models behind LangChain's wrappers: each answers, streams, stops, and says what it is."""

import asyncio
import os

import pytest
from langchain.chat_models import init_chat_model
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_openai import ChatOpenAI

from preflight_rag import Preflight, TokenEvent
from preflight_rag.langchain import preflight_graph
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.errors import BadReply, ModelTimeout, ModelUnavailable, UsageError
from preflight_rag.state.reading import Source
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How hot is the planet Venus?"
SOURCES = [Source(1, "a", "Venus", "Venus has about 465 °C.")]


def chat(server, model="scripted", **options):
    return ChatOpenAI(base_url=server.url, api_key="key", model=model, max_retries=0, timeout=20, **options)


def configurable(server, **options):
    given = {"base_url": server.url, "api_key": "key", "max_retries": 0, "timeout": 20}
    return init_chat_model("scripted", model_provider="openai", **given, **options)


WRAPPERS = {
    "with_retry": lambda server: chat(server).with_retry(stop_after_attempt=2, wait_exponential_jitter=False),
    "with_fallbacks": lambda server: chat(server).with_fallbacks([chat(server, "other")]),
    "bind": lambda server: chat(server).bind(stop=["END"]),
    "with_config": lambda server: chat(server).with_config(tags=["mine"]),
    "configurable_fields": lambda server: chat(server).configurable_fields(
        model_name=ConfigurableField(id="model"), temperature=ConfigurableField(id="heat")
    ),
    "configurable_alternatives": lambda server: chat(server).configurable_alternatives(
        ConfigurableField(id="which"), other=chat(server, "other")
    ),
    "init_chat_model with fields": lambda server: configurable(server, configurable_fields=("model", "temperature")),
    "init_chat_model with any field": lambda server: configurable(server, configurable_fields="any"),
    "several": lambda server: (
        chat(server).bind(stop=["END"]).with_retry(stop_after_attempt=1).with_fallbacks([chat(server, "other")])
    ),
    "a retry of a configurable one": lambda server: configurable(server, configurable_fields=("model",)).with_retry(
        stop_after_attempt=1
    ),
    "a chain": lambda server: RunnableLambda(lambda messages: messages) | chat(server),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_a_wrapped_model_takes_turns_on_several_loops_and_streams(own_folder, wrapper):
    """The application's loop, this one and the graph's ask the same object in turn, as an agent and its tool do."""
    reply = Reply("Venus has about 465 °C [1].\nQUOTES", chunk_delay=0.01)
    with ScriptedServer(default=reply) as server:
        model = WRAPPERS[wrapper](server)
        with Preflight.open(own_folder, model, route="plain", rewrite="rules") as app:
            assert app.reader.name == "openai:scripted"
            pieces = []
            for _ in range(2):
                answer = await asyncio.to_thread(app.ask, QUESTION, on_event=pieces.append)
                assert answer.answer == "Venus has about 465 °C [1]."
                assert (await model.ainvoke([HumanMessage("Hi")])).text
                state = await preflight_graph(app).ainvoke({"messages": [("user", QUESTION)]})
                assert state["answer"] == answer.answer
    assert sum(isinstance(piece, TokenEvent) for piece in pieces) > 6


@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_a_turn_with_a_wrapped_model_can_be_stopped(own_folder, wrapper):
    with ScriptedServer(default=Reply("It is hot. " * 200, chunk_delay=0.05)) as server:
        with Preflight.open(own_folder, WRAPPERS[wrapper](server), route="plain", rewrite="rules") as app:
            stream = app.astream(QUESTION, thread_id="t")
            async for event in stream:
                if isinstance(event, TokenEvent):
                    break
            await stream.aclose()
            server.wait_idle()
            assert app.ledger.last("t").status == "running" or app.ledger.last("t").error == "stopped"
        assert server.count() == 1
        assert not server.requests[0].delivered


async def test_a_retry_asks_again_and_a_fallback_another_model():
    with ScriptedServer([("", Reply("busy", status=500), 1)], default="465 °C [1].") as server:
        model = chat(server).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
        assert (await ChatReader(model).answer(question=QUESTION, sources=SOURCES)).value.found
        assert server.count() == 2
    with ScriptedServer(default="465 °C [1].", models=["other"]) as server:
        model = chat(server).with_fallbacks([chat(server, "other")])
        assert (await ChatReader(model).answer(question=QUESTION, sources=SOURCES)).value.found
        assert [request.body["model"] for request in server.requests] == ["other"]  # the first is refused


async def test_the_graph_around_chooses_a_configurable_model(own_folder):
    with ScriptedServer(default="465 °C [1].") as server:
        model = configurable(server, configurable_fields=("model",))
        with Preflight.open(own_folder, model, route="plain", rewrite="rules") as app:
            config = {"configurable": {"model": "other", "thread_id": "t"}}
            await preflight_graph(app).ainvoke({"messages": [("user", QUESTION)]}, config)
            await preflight_graph(app).ainvoke({"messages": [("user", QUESTION)]})
        assert [request.body["model"] for request in server.requests] == ["other", "scripted"]


async def test_a_graphs_own_configurable_is_kept_from_a_model_that_takes_any_field(own_folder):
    with ScriptedServer(default="465 °C [1].") as server:
        with Preflight.open(own_folder, configurable(server, configurable_fields="any"), route="plain") as app:
            await app.aask(QUESTION, thread_id="t")
        assert all("thread_id" not in request.body for request in server.requests)


@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_what_goes_wrong_has_the_same_names(wrapper):
    with ScriptedServer(default=Reply("oops", status=500)) as server, pytest.raises(ModelUnavailable, match="HTTP 500"):
        await ChatReader(WRAPPERS[wrapper](server)).answer(question=QUESTION, sources=SOURCES)
    with ScriptedServer(default=Reply("half", finish_reason=None)) as server, pytest.raises(BadReply, match="finished"):
        await ChatReader(WRAPPERS[wrapper](server)).answer(question=QUESTION, sources=SOURCES)
    with ScriptedServer(default=Reply("late", delay=2)) as server, pytest.raises(ModelTimeout):
        await ChatReader(WRAPPERS[wrapper](server), deadline=0.3).answer(question=QUESTION, sources=SOURCES)


async def test_the_temperature_is_left_out_where_a_server_takes_none():
    refusal = Reply("Unsupported value: 'temperature' does not support 0 with this model.", status=400)
    with ScriptedServer(lambda body: refusal if "temperature" in body else "465 °C [1].") as server:
        model = chat(server, temperature=0.0)
        asked = ChatReader(model.with_retry(stop_after_attempt=1))
        for _ in range(2):
            assert (await asked.instructed("Be brief.").answer(question=QUESTION, sources=SOURCES)).value.found
    assert ["temperature" in request.body for request in server.requests] == [True, False, False]


def test_the_context_window_is_that_of_the_models_inside(monkeypatch):
    monkeypatch.setattr("preflight_rag.models.chat.context_window.WINDOW_WAIT", 20)  # the number is asked for here
    with ScriptedServer(models=["scripted", "other"], windows={"scripted": 8192, "other": 4096}) as server:
        assert ChatReader(chat(server).with_retry()).context_window() == 8192
        both = chat(server).with_fallbacks([chat(server, "other")])
        assert ChatReader(both).context_window() == 4096
        assert ChatReader(configurable(server, configurable_fields=("model",))).context_window() == 8192
        assert ChatReader(both, context_window=2048).context_window() == 2048


@pytest.mark.parametrize("given", [AIMessage("465 °C [1]."), "465 °C [1]."])
async def test_a_function_of_messages_is_a_model(given):
    seen = []

    async def model(messages):
        seen.extend(messages)
        return given

    reader = ChatReader(RunnableLambda(model, name="mine"))
    reply = await reader.answer(question=QUESTION, sources=SOURCES)
    assert (reply.value.text, reply.usage.estimated, reader.name) == ("465 °C [1].", True, "mine")
    assert reader.context_window() is None
    assert QUESTION in seen[1].content


async def test_what_gives_no_message_says_so():
    reader = ChatReader(RunnableLambda(lambda _: {"text": "x"}, name="mine"))
    with pytest.raises(BadReply, match="mine gave dict, not a message"):
        await reader.answer(question=QUESTION, sources=SOURCES)


def test_a_configurable_model_without_a_default_opens(own_folder):
    assert "OPENAI_API_KEY" not in os.environ
    with Preflight.open(own_folder, init_chat_model(configurable_fields="any")) as app:
        assert app.reader.context_window() is None


def test_what_is_no_model_is_refused(own_folder):
    with pytest.raises(UsageError, match="a Runnable that yields messages"):
        Preflight.open(own_folder, 42)
    with Preflight.open(own_folder, FakeListChatModel(responses=["x"]).with_retry()) as app:
        assert app.reader.name == "fake-list"
