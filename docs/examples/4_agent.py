"""An agent that may look things up in the library.

    pip install langchain
    python docs/examples/4_agent.py --model gpt-4.1-mini

Without --model the tool is called once, just as an agent would call it. The agent's model has to know function
calling; the tool itself answers with --reader, which need not.
"""

import argparse

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from preflight_rag import Preflight
from preflight_rag.langchain import preflight_tool

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--library", default="demo-library", help="`preflight demo` makes this one")
parser.add_argument("--model", help="the agent's model")
parser.add_argument("--reader", default="offline", help="what answers from the documents: provider:name, or offline")
given = parser.parse_args()
QUESTIONS = ("How deep is Lake Baikal?", "And who discovered penicillin?")

with Preflight.open(given.library, given.reader) as app:
    tool = preflight_tool(app)

    if not given.model:
        call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTIONS[0]}}
        message = tool.invoke(call)
        print(message.content)  # what the agent's model reads: the answer with its sources
        print(message.artifact["route"]["reason"])  # the whole Answer, for your program
        raise SystemExit

    from langchain.agents import create_agent

    agent = create_agent(
        ChatOpenAI(model=given.model),
        [tool],
        system_prompt="Look facts up with the tool. Keep its [n] marks and name the sources.",
        checkpointer=InMemorySaver(),
    )
    # Calls of the tool stand alone, so those of one step run side by side; with a thread of the tool's own, what it was
    # asked before is known when it is asked again. An error, such as a model that cannot be reached, comes back as the
    # tool's text, and the agent goes on.
    config = {"configurable": {"thread_id": "example-4", "preflight_thread_id": "example-4"}}
    for question in QUESTIONS:
        result = agent.invoke({"messages": [("user", question)]}, config)
        print(f"> {question}\n{result['messages'][-1].content}\n")
        for message in result["messages"]:
            if message.type == "tool" and message.artifact:
                print("  cited:", [citation["source"] for citation in message.artifact["citations"]])
