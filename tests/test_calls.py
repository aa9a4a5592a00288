"""One process, many callers: threads, tool calls side by side, settings of one call, and what callers may not set."""

import asyncio
import subprocess
import sys

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from preflight_rag import Library, Preflight
from preflight_rag.langchain import PreflightRetriever, preflight_graph, preflight_tool, summarize_tool
from preflight_rag.state.calls import CHOICES, configured
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError, ThreadNotFound, UsageError
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

QUESTION = "What is the surface temperature of Venus?"
OTHERS = ("How deep is Lake Baikal?", "Who discovered penicillin?")
BACK = "show me the first source"


def chat(server):
    return ChatOpenAI(base_url=server.url, api_key="key", model="scripted", max_retries=0, timeout=30)


def tool_call(question, name="search_documents"):
    return {"type": "tool_call", "id": "1", "name": name, "args": {"question": question}}


def of(**configurable):
    return {"configurable": configurable}


# Threads


ASK = """
import sys
from preflight_rag import Preflight
with Preflight.open(sys.argv[1], "offline") as app:
    thread = {"thread_id": sys.argv[3]} if len(sys.argv) > 3 else {}
    answer = app.ask(sys.argv[2], **thread)
    print(answer.thread_id, answer.turn, *[citation.source for citation in answer.citations], sep="\\n")
"""


def in_a_process(*arguments):
    run = subprocess.run([sys.executable, "-c", ASK, *map(str, arguments)], capture_output=True, text=True, check=True)
    thread, turn, *sources = run.stdout.splitlines()
    return thread, int(turn), sources


def test_who_names_no_thread_sees_nothing_of_anybody_else_also_after_a_restart(own_folder):
    first, _, found = in_a_process(own_folder, QUESTION)
    second, turn, sources = in_a_process(own_folder, BACK)
    assert any("venus.md" in source for source in found)
    assert (turn, sources) == (1, [])
    assert first != second
    again, turn, sources = in_a_process(own_folder, BACK, first)
    assert (again, turn) == (first, 2)
    assert sources


async def test_each_call_without_a_thread_has_its_own_and_names_it(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        answers = [app.ask(QUESTION), await app.aask(QUESTION), app.ask(QUESTION, thread_id=None)]
        async for event in app.astream(QUESTION):
            last = event
        threads = [answer.thread_id for answer in [*answers, last]]
        assert len(set(threads)) == 4
        assert [answer.turn for answer in answers] == [1, 1, 1]
        assert app.ask("And Mercury?", thread_id=threads[0]).standalone_question != "And Mercury?"
        assert app.ask("And Mercury?").standalone_question == "And Mercury?"


def test_what_failed_without_a_thread_is_resumed_by_the_id_of_its_error(own_folder):
    with ScriptedServer([("<passage", Reply("down", status=500), 1)], default="About 465 °C [1].") as server:
        with Preflight.open(own_folder, chat(server), route="plain", rewrite="rules") as app:
            with pytest.raises(ModelError) as failed:
                app.ask(QUESTION)
            assert app.ask("Hello!").turn == 1
            assert app.resume(failed.value.thread_id).answer == "About 465 °C [1]."
            with pytest.raises(ThreadNotFound):
                app.resume("default")


@pytest.mark.parametrize("config", [of(thread_id=None), of(k=3), of(thread_id=""), {}, None])
def test_a_graph_with_a_checkpointer_begins_a_thread_where_none_is_named(own_folder, tmp_path, config):
    asked = [{"messages": [("user", text)]} for text in (QUESTION, BACK)]
    with Preflight.open(own_folder, "offline") as app, SqliteSaver.from_conn_string(str(tmp_path / "mine.db")) as saver:
        graph = preflight_graph(app, checkpointer=saver)
        first, second = [graph.invoke(each, config) for each in asked]
        named = [graph.with_config(tags=["x"]).invoke(each, of(thread_id="mine")) for each in asked]
        stored = {each.config["configurable"]["thread_id"] for each in saver.list(None)}
    assert first["citations"]
    assert not second["citations"]
    assert len(second["messages"]) == 2
    assert len(named[1]["messages"]) == 4
    assert len(stored) == 3
    assert "None" not in stored


async def test_a_graph_begins_a_thread_for_asynchronous_callers(own_folder):
    saver = InMemorySaver()
    with Preflight.open(own_folder, "offline") as app:
        graph = preflight_graph(app, checkpointer=saver)
        for text in (QUESTION, BACK):
            state = await graph.ainvoke({"messages": [("user", text)]}, of(thread_id=None))
    assert len(state["messages"]) == 2
    assert len(saver.storage) == 2


# Calls of a tool side by side


def asking(*questions, delay=0.0):
    """An agent that asks all questions in one step; the tool's own model takes its time."""

    def script(body):
        if not body.get("tools"):
            return Reply("It is so [1].", delay=delay)
        if body["messages"][-1]["role"] == "tool":
            return "Done."
        return Reply(tool_calls=tuple(("search_documents", {"question": each}) for each in questions))

    return script


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("thread", [None, "agent"])
def test_the_tool_calls_of_one_step_run_side_by_side(own_folder, way, thread):
    """Three questions are three calls of the tool's model at once, and no call to rewrite any of them."""
    with ScriptedServer(asking(QUESTION, *OTHERS, delay=1.0)) as server:
        with Preflight.open(own_folder, chat(server), route="plain", lock_wait=0.1) as app:
            agent = create_agent(chat(server), [preflight_tool(app)], checkpointer=InMemorySaver() if thread else None)
            asked, config = {"messages": [("user", "All three?")]}, of(thread_id=thread) if thread else None
            state = agent.invoke(asked, config) if way == "invoke" else asyncio.run(agent.ainvoke(asked, config))
        own = [request for request in server.requests if not request.body.get("tools")]
    found = [message for message in state["messages"] if message.type == "tool"]
    assert [message.status for message in found] == ["success"] * 3
    assert len({message.artifact["thread_id"] for message in found} - {thread}) == 3
    assert server.peak == 3
    assert len(own) == 3
    assert max(request.arrived for request in own) < min(request.finished for request in own)


def test_a_later_step_goes_on_with_a_thread_that_is_given_to_the_tool(own_folder):
    questions = iter((QUESTION, "And Mercury?", "And Mercury?"))

    def script(body):
        return "Done." if body["messages"][-1]["role"] == "tool" else asking(next(questions))(body)

    with ScriptedServer(script) as server, Preflight.open(own_folder, "offline") as app:
        agent = create_agent(chat(server), [preflight_tool(app)], checkpointer=InMemorySaver())
        understood = []
        for own in ({"preflight_thread_id": "trip"}, {"preflight_thread_id": "trip"}, {}):
            state = agent.invoke({"messages": [("user", "?")]}, of(thread_id="agent", **own))
            answer = [message for message in state["messages"] if message.type == "tool"][-1].artifact
            understood.append((answer["thread_id"], answer["standalone_question"]))
    assert [thread for thread, _ in understood[:2]] == ["trip", "trip"]
    assert "surface temperature of Mercury" in understood[1][1]
    assert understood[2][0] not in ("trip", "agent")
    assert understood[2][1] == "And Mercury?"


# Settings of one call


def sources(documents):
    return {document.metadata["source"].rpartition("/")[2] for document in documents}


async def test_one_search_of_the_retriever_has_its_own_numbers(library):
    retriever = PreflightRetriever(library=library, k=6)
    mercury = ["source ~ mercury"]
    assert len(retriever.invoke(QUESTION)) == 6
    for found in (
        retriever.invoke(QUESTION, k=2, where=mercury),
        retriever.invoke(QUESTION, of(k=2, where=mercury)),
        retriever.invoke(QUESTION, of(k=9, preflight_where="source ~ mercury"), k=2),
        await retriever.ainvoke(QUESTION, of(preflight_k=2, where=mercury)),
        (await retriever.abatch([QUESTION], of(k=2, where=mercury)))[0],
        (RunnableLambda(lambda text: text) | retriever).invoke(QUESTION, of(k=2, where=mercury)),
    ):
        assert len(found) == 2
        assert all("mercury" in source for source in sources(found))
    tool = create_retriever_tool(retriever, "look_up", "Searches.", response_format="content_and_artifact")
    chain = RunnableLambda(lambda text: tool.invoke({**tool_call(text, "look_up"), "args": {"query": text}}).artifact)
    assert sources(chain.invoke(QUESTION, of(k=1))) == {"venus.md"}


def test_a_call_can_look_at_less_but_never_at_more(own_folder):
    only, other = ["source ~ venus.md"], ["source ~ mercury"]
    with Preflight.open(own_folder, "offline", where=only) as app:
        retriever = PreflightRetriever(library=app.library, k=4, where=only)
        assert sources(retriever.invoke(QUESTION, where=[])) == {"venus.md"}
        assert retriever.invoke(QUESTION, where=other) == []
        assert app.ask(QUESTION, where=()).citations
        assert app.ask(QUESTION, where=other).outcome == "not_found"
        assert not app.search(QUESTION, where=other).fused
        message = preflight_tool(app).invoke(tool_call(QUESTION), of(where=other))
        assert message.artifact["abstained"]
        graph = preflight_graph(app, where=only)
        assert graph.invoke({"messages": [("user", QUESTION)]}, of(where=other))["abstained"]
        assert "1 document" in app.ask("How many documents are there?").answer


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": "many"}, {"where": ["colour = red"]}, {"where": ["year>"]}])
def test_a_wrong_number_of_a_search_is_one_line(library, wrong):
    with pytest.raises(UsageError, match=next(iter(wrong)) if "k" in wrong else "colour|no value"):
        PreflightRetriever(library=library).invoke(QUESTION, **wrong)


def test_the_tool_and_the_graph_take_settings_of_a_run(own_folder):
    config = of(k=3, where=["source ~ venus.md"], preflight_route="map-reduce", thread_id="t", colour="theirs")
    with Preflight.open(own_folder, "offline") as app:
        answer = preflight_tool(app).invoke(tool_call(QUESTION), config).artifact
        state = preflight_graph(app, route="plain").invoke({"messages": [("user", QUESTION)]}, config)
        mine = StateGraph(MessagesState).add_node("documents", preflight_graph(app, checkpointer=True))
        around = mine.add_edge(START, "documents").compile(checkpointer=InMemorySaver())
        inside = [
            update["retrieve"]
            for _, update in around.stream(
                {"messages": [("user", QUESTION)]}, config, stream_mode="updates", subgraphs=True
            )
            if "retrieve" in update
        ]
    assert (answer["thread_id"], answer["route"]["name"], answer["route"]["forced"]) == ("t", "map_reduce", True)
    assert {citation["source"].rpartition("/")[2] for citation in answer["citations"]} == {"venus.md"}
    assert state["decision"]["name"] == "map_reduce"
    for passages in (state["passage_refs"], inside[0]["passage_refs"]):
        assert 1 <= len(passages) <= 3
        assert all("venus" in passage["document_id"] for passage in passages)


def library_of(folder, embedder, name, text):
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with Library.open(folder / name, embedder=embedder, create=True) as made:
        made.ingest([folder / f"{name}.md"])
    return folder / name


@pytest.fixture
def tenants(tmp_path, embedder):
    """Two applications over libraries of their own, by name."""
    red = library_of(tmp_path, embedder, "red", "# Red\n\nThe door code of the red house is 4711.")
    blue = library_of(tmp_path, embedder, "blue", "# Blue\n\nThe door code of the blue house is 0815.")
    with Preflight.open(red, "offline") as one, Preflight.open(blue, "offline") as two:
        yield {"red": one, "blue": two}


CODE = "What is the door code of the house?"


def test_one_tool_one_graph_and_one_retriever_serve_many_tenants(tenants):
    tool, graph = preflight_tool(tenants), preflight_graph(tenants, checkpointer=InMemorySaver())
    retriever = PreflightRetriever(library={name: app.library for name, app in tenants.items()})
    asked = {"messages": [("user", CODE)]}
    for name, code in (("red", "4711"), ("blue", "0815")):
        config = of(library=name)
        assert code in tool.invoke(tool_call(CODE), config).content
        assert code in graph.invoke(asked, config)["answer"]
        assert [code in document.page_content for document in retriever.invoke(CODE, config)] == [True]
        assert [code in document.page_content for document in retriever.invoke(CODE, library=name)] == [True]


def test_tenants_at_once_in_one_process(tenants):
    tool = preflight_tool(tenants)

    async def ask(name):
        return (await tool.ainvoke(tool_call(CODE), of(library=name))).content

    async def all_of_them():
        return await asyncio.gather(*[ask(name) for name in ("red", "blue") * 4])

    found = asyncio.run(all_of_them())
    assert ["4711" in text for text in found] == [True, False] * 4
    assert ["0815" in text for text in found] == [False, True] * 4


@pytest.mark.parametrize("named", [None, "green", "/etc", 7, "red.library"])
def test_a_library_that_is_not_offered_is_one_line_without_the_others_names(tenants, named):
    config = {} if named is None else of(library=named)
    message = preflight_tool(tenants).invoke(tool_call(CODE), config)
    assert message.status == "error"
    assert "\n" not in message.content
    assert "blue" not in message.content
    with pytest.raises(UsageError, match="library"):
        preflight_graph(tenants).invoke({"messages": [("user", CODE)]}, config)
    with pytest.raises(UsageError, match="library"):
        PreflightRetriever(library={name: app.library for name, app in tenants.items()}).invoke(CODE, config)


# What callers may not set


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"preflight_mesh": "/etc/passwd"}, "'mesh' is set where the server is started"),
        ({"preflight_extractive_reader": "evil/model"}, "'extractive_reader'"),
        ({"preflight_reranker": "evil/model"}, "'evil/model' is not offered"),
        ({"preflight_model": "openai:gpt-9"}, "'model' is not known"),
        ({"preflight_base_url": "http://evil"}, "'base_url' is not known"),
        ({"preflight_deadline": 9999}, "'deadline' is set where"),
        ({"preflight_rote": "plain"}, "'rote' is not known"),
        ({"library": "/etc"}, "'/etc' cannot be chosen here"),
        ({"k": 10_000}, "k = 10000 is not valid"),
        ({"preflight_thread_id": 7}, "must be text"),
    ],
)
def test_what_a_caller_may_not_set_is_one_line(own_folder, given, line):
    with Preflight.open(own_folder, "offline") as app:
        message = preflight_tool(app).invoke(tool_call(QUESTION), of(**given))
        assert message.status == "error"
        assert line in message.content
        assert "\n" not in message.content
        if "preflight_thread_id" not in given:
            with pytest.raises(UsageError, match=r"setting|reranker|library|valid"):
                preflight_graph(app).invoke({"messages": [("user", QUESTION)]}, of(**given))


def test_settings_of_other_parts_are_left_alone():
    theirs = {"model": "gpt", "temperature": 1, "route": "billing", "window": 3, "mesh": "x", "user_id": "u"}
    assert configured(of(**theirs)) == {}
    assert configured(of(**theirs, k=3, preflight_route="plain")) == {"k": 3, "route": "plain"}


def test_callers_choose_nothing_that_names_a_file_or_a_model():
    assert set(CHOICES) <= Settings.model_fields.keys()
    kept = Settings.model_fields.keys() - set(CHOICES)
    assert {"mesh", "extractive_reader", "deadline", "max_question_chars", "max_concurrency"} <= kept


def test_a_summary_keeps_to_the_callers_documents(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        venus = next(row["id"] for row in app.library.documents() if row["id"].endswith("venus.md"))
        call = {"type": "tool_call", "id": "1", "name": "summarize_document", "args": {"document_id": venus}}
        assert summarize_tool(app, tokens=100).invoke(call, of(where=["source ~ venus"])).artifact["citations"]
        refused = summarize_tool(app).invoke(call, of(where=["source ~ mercury"]))
    assert refused.status == "error"
    assert "there is no document" in refused.content
    assert "Did you mean" not in refused.content
