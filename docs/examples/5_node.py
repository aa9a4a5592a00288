"""Preflight as a node of your own LangGraph graph, with your checkpointer.

python docs/examples/5_node.py
python docs/examples/5_node.py --model openai:gpt-4.1-mini

Both are kept in one checkpointer: your state, and beside it the state of the node.
"""

import argparse
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from preflight_rag import Preflight
from preflight_rag.langchain import preflight_graph

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--library", default="demo-library", help="`preflight demo` makes this one")
parser.add_argument("--model", default="offline")
given = parser.parse_args()


class State(MessagesState):
    """Yours. `messages` are shared; of what Preflight writes besides, you get what you declare."""

    citations: list[dict[str, Any]]
    abstained: bool
    helpful: str


def after(state: State) -> dict[str, str]:
    """A node of yours that reads what Preflight found."""
    return {"helpful": "nothing found" if state["abstained"] else f"{len(state['citations'])} sources"}


with Preflight.open(given.library, given.model) as app:
    graph = StateGraph(State)
    # checkpointer=True: its own state lives on between turns, in your checkpointer, apart from yours.
    graph.add_node("documents", preflight_graph(app, checkpointer=True, k=8))
    graph.add_node("after", after)
    graph.add_edge(START, "documents")
    graph.add_edge("documents", "after")
    graph.add_edge("after", END)
    yours = graph.compile(checkpointer=InMemorySaver())

    config = {"configurable": {"thread_id": "example-5"}}
    for question in ("What is a normal resting heart rate for adults?", "And for children?"):
        # subgraphs=True shows the stages inside; "messages" would show the tokens.
        asked = {"messages": [("user", question)]}
        for namespace, update in yours.stream(asked, config, stream_mode="updates", subgraphs=True):
            print("  " * len(namespace), *update)
        state = yours.get_state(config).values
        print(f"> {question}\n{state['messages'][-1].content}\n({state['helpful']})\n")
