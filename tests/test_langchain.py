"""The parts for LangChain and LangGraph, in other people's chains, agents and graphs."""

import subprocess
import sys

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy
from plain_turn import STAGES

from preflight_rag import Preflight, build_graph
from preflight_rag.langchain import PreflightRetriever, preflight_graph, preflight_tool
from preflight_rag.state.errors import ModelError, UsageError
from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

QUESTION = "What is the surface temperature of Venus?"
TOOL = "search_documents"


def chat(server, **options):
    return ChatOpenAI(base_url=server.url, api_key="key", model="scripted", max_retries=0, timeout=20, **options)


def agent_script(*questions, tool=TOOL, answer="Venus is hot [1]."):
    """An agent that calls the tool once with each question, then tells what the tool gave; others get the answer."""

    def script(body):
        if not body.get("tools"):
            return answer
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"The tool says: {last['content'][:40]}"
        return Reply(tool_calls=tuple((tool, {"query" if tool != TOOL else "question": each}) for each in questions))

    return script


def test_the_retriever_in_a_chain(library):
    chain = PreflightRetriever(library=library, k=4) | RunnableLambda(
        lambda documents: [d.metadata["source"] for d in documents]
    )
    sources = chain.invoke(QUESTION)
    assert len(sources) == 4
    assert "venus.md" in sources[0]
    assert chain.batch([QUESTION, QUESTION]) == [sources, sources]


async def test_the_retriever_in_a_chain_with_a_model(library):
    prompt = ChatPromptTemplate.from_template("{documents}\n\n{question}")
    with ScriptedServer([("about 465 °C", "465 °C.")]) as server:
        found = PreflightRetriever(library=library, k=2) | (lambda docs: "\n".join(d.page_content for d in docs))
        chain = {"documents": found, "question": RunnablePassthrough()} | prompt | chat(server) | StrOutputParser()
        assert await chain.ainvoke(QUESTION) == "465 °C."
        assert "".join([piece async for piece in chain.astream(QUESTION)]) == "465 °C."


def test_the_retriever_in_an_agent(library):
    tool = create_retriever_tool(PreflightRetriever(library=library, k=2), "look_up", "Searches the documents.")
    with ScriptedServer(agent_script(QUESTION, tool="look_up")) as server:
        result = create_agent(chat(server), [tool]).invoke({"messages": [("user", QUESTION)]})
    assert "about 465 °C" in result["messages"][-2].content
    assert result["messages"][-1].content.startswith("The tool says:")


async def test_the_tool_gives_text_and_the_whole_answer(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        call = {"type": "tool_call", "id": "1", "name": TOOL, "args": {"question": QUESTION}}
        message = preflight_tool(app).invoke(call)
        later = await preflight_tool(app).ainvoke(call)
    assert "venus.md" in message.content
    assert message.artifact["schema"] == 1
    assert later.artifact["answer"] == message.artifact["answer"]
    assert later.artifact["thread_id"] != message.artifact["thread_id"]


async def test_an_agent_with_the_tool_and_the_same_model(own_folder):
    """Its stream holds no token of the tool's, its checkpointer nothing of ours; the tool's thread is the one named."""
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "trip", "preflight_thread_id": "trip"}}
    with ScriptedServer(agent_script(QUESTION)) as server:
        model = chat(server)
        with Preflight.open(own_folder, model, route="map-reduce", rewrite="rules") as app:
            agent = create_agent(model, [preflight_tool(app)], checkpointer=saver)
            asked = {"messages": [("user", "Hot?")]}
            shown = [piece async for piece in agent.astream(asked, config, stream_mode="messages")]
            state = await agent.ainvoke({"messages": [("user", "Really?")]}, config)
            turns = app.ledger.turns("trip")
    assert {facts["langgraph_node"] for _, facts in shown} == {"model", "tools"}
    assert {message.type for message, _ in shown} == {"AIMessageChunk", "tool"}
    assert [turn.status for turn in turns] == ["answered", "answered"]
    found = [message.artifact for message in state["messages"] if message.type == "tool"]
    assert [(each["thread_id"], each["turn"]) for each in found] == [("trip", 1), ("trip", 2)]
    assert found[0]["receipt"]["by_stage"]["map_context"]["calls"] == 4
    assert set(saver.storage["trip"]) == {""}


@pytest.mark.parametrize("status", [200, 401, 500])
async def test_what_fails_in_the_tool_is_told_to_the_agent(own_folder, status):
    """Two calls at once: one asks nothing, and the other's model may fail."""
    script = agent_script(" ", QUESTION, answer=Reply("Venus is hot [1].", status=status))
    with ScriptedServer(script) as server:
        with Preflight.open(own_folder, chat(server), route="plain") as app:
            agent = create_agent(chat(server), [preflight_tool(app)], checkpointer=InMemorySaver())
            config = {"configurable": {"thread_id": "t"}}
            state = await agent.ainvoke({"messages": [("user", "Hot?")]}, config)
    empty, asked = [message for message in state["messages"] if message.type == "tool"]
    assert (empty.status, empty.artifact) == ("error", None)
    assert empty.content.startswith("the question is empty")
    assert (asked.status == "error") == (status != 200)
    assert "\n" not in empty.content
    assert "Traceback" not in asked.content
    assert state["messages"][-1].content.startswith("The tool says:")


async def test_a_thread_id_that_names_no_thread_here(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        call = {"type": "tool_call", "id": "1", "name": TOOL, "args": {"question": QUESTION}}
        for name in (7, "", "a\nb", "x" * 500):
            message = await preflight_tool(app).ainvoke(call, {"configurable": {"thread_id": name}})
            assert message.artifact["thread_id"].startswith("tool-")


class Around(MessagesState):
    """A state of somebody's own, which takes two channels of ours."""

    citations: list[dict]
    abstained: bool
    mine: str


def around(node, saver):
    graph = StateGraph(Around)
    graph.add_node("mine", lambda state: {"mine": f"{len(state['messages'])} messages"})
    graph.add_node("documents", node)
    graph.add_edge(START, "mine")
    graph.add_edge("mine", "documents")
    graph.add_edge("documents", END)
    return graph.compile(checkpointer=saver)


@pytest.fixture
def scripted_app(own_folder, chat_reader):
    with ScriptedServer([("<passage", "Venus has about 465 °C [1].")], default="Venus?") as server:
        with Preflight.open(own_folder, chat_reader(server), route="plain", rewrite="rules") as app:
            yield app


async def test_the_graph_runs_for_plain_and_for_asynchronous_callers(scripted_app):
    graph = preflight_graph(scripted_app)
    asked = {"messages": [("user", QUESTION)]}
    plain, awaited = graph.invoke(asked), await graph.ainvoke(asked)
    assert plain["answer"] == awaited["answer"] == "Venus has about 465 °C [1]."
    pieces = [message.content for message, facts in graph.stream(asked, stream_mode="messages")]
    assert "".join(pieces) == "Venus has about 465 °C [1]."
    assert len(pieces) > 5
    assert [state["answer"] for state in graph.batch([asked, asked])] == [plain["answer"]] * 2


async def test_the_bare_graph_takes_an_applications_context(scripted_app):
    graph = build_graph().compile()
    state = await graph.ainvoke({"messages": [("user", QUESTION)]}, context=scripted_app.context(k=3))
    assert len(state["passage_refs"]) == 3


async def test_as_a_node_of_a_graph_around_it(scripted_app):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    graph = around(preflight_graph(scripted_app, checkpointer=True), saver)
    seen = [
        each
        async for each in graph.astream(
            {"messages": [("user", QUESTION)]}, config, stream_mode=["updates", "messages", "custom"], subgraphs=True
        )
    ]
    inside = [(mode, payload) for space, mode, payload in seen if space == ("documents",)]
    stages = [stage for mode, payload in inside if mode == "updates" for stage in payload]
    assert stages == STAGES
    tokens = [payload[0].content for mode, payload in inside if mode == "messages"]
    assert tokens[:3] == ["Venus", " has", " about"]
    assert any(mode == "custom" and payload["type"] == "progress" for mode, payload in inside)
    state = (await graph.aget_state(config)).values
    assert set(state) == {"messages", "citations", "abstained", "mine"}
    assert state["citations"][0]["title"] == "Venus, the hottest planet"


RAW = [
    ("<extracts>", 'It is about 465 °C there [1].\nQUOTES\n[1] "about 465 °C"'),
    ("You read a few numbered", "It has about 465 °C [1].\nANSWER: 465 °C"),
    ("You answer questions from", 'Venus has about 465 °C [1].\nQUOTES\n[1] "about 465 °C"'),
]


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
@pytest.mark.parametrize("memory", [None, True])
async def test_the_messages_of_a_graph_around_it_are_the_answer_and_nothing_else(own_folder, route, memory):
    """Twice in one stream: with chunks put together by id, as clients do, it is what the state holds."""
    with ScriptedServer(RAW, default="Context2 - Distracting") as server:
        with Preflight.open(own_folder, chat(server), route=route, rewrite="rules") as app:
            graph = StateGraph(MessagesState)
            graph.add_node("documents", preflight_graph(app, checkpointer=memory))
            graph.add_node("ask", lambda _: {"messages": [HumanMessage(QUESTION)]})
            graph.add_node("again", preflight_graph(app, checkpointer=memory))
            graph.add_edge(START, "documents")
            graph.add_edge("documents", "ask")
            graph.add_edge("ask", "again")
            compiled = graph.compile(checkpointer=InMemorySaver())
            config = {"configurable": {"thread_id": "1"}}
            given = {"messages": [HumanMessage(QUESTION)]}
            shown: dict[str, str] = {}
            async for _, (message, _facts) in compiled.astream(given, config, stream_mode="messages", subgraphs=True):
                if message.type != "human":
                    shown[message.id] = shown.get(message.id, "") + message.text
            plain = [
                m.text for m, _ in compiled.stream(given, {"configurable": {"thread_id": "2"}}, stream_mode="messages")
            ]
            state = (await compiled.aget_state(config)).values
    answers = {message.id: message.text for message in state["messages"] if message.type == "ai"}
    assert shown == answers
    assert len(answers) == 2
    assert all("QUOTES" not in text and "ANSWER" not in text for text in shown.values())
    assert [text for text in plain if text != QUESTION] == [*answers.values()]


class Theirs(MessagesState):
    """Channels that happen to be called as ours are."""

    options: dict
    question: int
    instructions: list
    rewrite: str
    schema_version: str


@pytest.mark.parametrize("memory", [None, True])
@pytest.mark.parametrize("whole", [False, True])
def test_the_channels_of_a_graph_around_it_are_its_own(scripted_app, memory, whole):
    """With the bare graph as a node all channels are shared, but choices are only what can be choices."""
    theirs = {"question": 7, "instructions": [1], "rewrite": "mine", "schema_version": "x"}
    theirs = {"options": {"colour": "red"}} | ({} if whole else theirs)
    node = build_graph(resolve=lambda _: scripted_app.context()).compile() if whole else None
    graph = StateGraph(Theirs)
    graph.add_node("documents", node or preflight_graph(scripted_app, checkpointer=memory))
    graph.add_edge(START, "documents")
    compiled = graph.compile(checkpointer=InMemorySaver())
    for _ in range(2):
        given = {"messages": [("user", QUESTION)], **theirs}
        state = compiled.invoke(given, {"configurable": {"thread_id": "1"}})
        assert state["messages"][-1].content == "Venus has about 465 °C [1]."
        assert whole or {name: state[name] for name in theirs} == theirs


def test_choices_and_further_channels_are_shared_on_purpose(own_folder):
    with ScriptedServer([("<options>", "It is [1].\nCHOICE: B")]) as server:
        with Preflight.open(own_folder, chat(server), route="plain") as app:
            graph = preflight_graph(app, channels=("options", "choice", "rewrite"))
            state = graph.invoke({"messages": [("user", QUESTION)], "options": ["cold", "hot"]})
            with pytest.raises(UsageError, match="there is no channel 'answr'"):
                preflight_graph(app, channels=("answr",))
    assert state["choice"] == "hot"
    assert set(state) == {"messages", "options", "choice", "rewrite"}


@pytest.mark.parametrize("memory", [None, True])
@pytest.mark.parametrize(("status", "calls"), [(500, 2), (429, 2), (401, 1), (400, 1)])
async def test_langgraphs_retry_policy_repeats_what_may_succeed_and_nothing_else(own_folder, memory, status, calls):
    rules = [("<passage", Reply("no", status=status), 1), ("<passage", "Venus has about 465 °C [1].")]
    policy = RetryPolicy(initial_interval=0.01, jitter=False)
    with ScriptedServer(rules) as server:
        with Preflight.open(own_folder, chat(server), route="plain", rewrite="rules") as app:
            graph = StateGraph(MessagesState)
            graph.add_node("documents", preflight_graph(app, checkpointer=memory), retry_policy=policy)
            graph.add_edge(START, "documents")
            compiled = graph.compile(checkpointer=InMemorySaver())
            asked = compiled.ainvoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "1"}})
            if calls == 1:
                with pytest.raises(ModelError) as caught:
                    await asked
                assert not caught.value.retryable
            else:
                assert (await asked)["messages"][-1].content == "Venus has about 465 °C [1]."
        assert server.count("<passage") == calls


@pytest.mark.parametrize("memory", [None, True])
def test_a_conversation_in_the_checkpointer_of_the_graph_around_it(scripted_app, memory):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    kept = scripted_app.ledger.threads()
    graph = around(preflight_graph(scripted_app, checkpointer=memory), saver)
    graph.invoke({"messages": [("user", QUESTION)]}, config)
    state = graph.invoke({"messages": [("user", "And at night?")]}, config)
    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]
    assert len({message.id for message in state["messages"]}) == 4
    assert state["mine"] == "3 messages"
    inner = [space for space in saver.storage["1"] if space.startswith("documents")]
    assert len(inner) == (1 if memory else 2)
    assert scripted_app.ledger.threads() == kept


def test_a_question_back_stops_the_graph_around_it(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        node = preflight_graph(app, checkpointer=True, clarify=True, clarify_above=1)
        graph, config = around(node, InMemorySaver()), {"configurable": {"thread_id": "1"}}
        stopped = graph.invoke({"messages": [("user", "How many people live in Broken Bow?")]}, config)
        (asked,) = stopped["__interrupt__"]
        label = asked.value["choices"][0]["label"]
        state = graph.invoke(Command(resume=label), config)
    assert len(asked.value["choices"]) == 2
    assert not state.get("__interrupt__")
    assert {citation["title"] for citation in state["citations"]} == {label.replace(" (", ", ").rstrip(")")}


def test_nothing_of_the_package_langchain_is_imported():
    code = "import sys, preflight_rag.langchain as parts; parts.preflight_tool; sys.exit('langchain' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
