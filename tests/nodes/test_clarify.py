"""The node `clarify`, where the graph stops: that needs a graph, and `tests/graph/test_clarify.py` has one."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from preflight_rag.nodes.clarify import clarify
from preflight_rag.state.context import Context
from preflight_rag.state.schema import State

NAMES = ["Nebraska", "Oklahoma"]
STATE = {
    "question": "How many?",
    "contexts": [
        {"rank": n, "entity": "Broken Bow", "descriptor": name, "answer": "1"} for n, name in enumerate(NAMES, 1)
    ],
    "organisation": {"groups": [[1], [2]], "dropped": [], "sources": {"2": [3]}},
    "choices": [{"label": f"Broken Bow ({name})", "entity": "Broken Bow", "descriptor": name} for name in NAMES],
}


async def test_it_keeps_the_groups_that_were_chosen():
    graph = StateGraph(State, Context).add_node("clarify", clarify).add_edge(START, "clarify")
    running = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await running.ainvoke(STATE, config, context=Context())
    state = await running.ainvoke(Command(resume="2"), config, context=Context())
    assert state["organisation"]["groups"] == [[2]]
    assert state["organisation"]["dropped"] == [{"rank": 1, "why": "another one was meant", "kept": None}]
    assert (state["left_out"], state["choices"]) == (["Broken Bow (Nebraska)"], [])
