"""The parts for LangChain."""

from langchain_core.runnables import RunnableLambda

from preflight_rag import Preflight
from preflight_rag.langchain import PreflightRetriever, preflight_tool

QUESTION = "How hot is the planet Venus?"


def test_the_retriever_in_a_chain(library):
    chain = PreflightRetriever(library=library, k=4) | RunnableLambda(
        lambda documents: [d.metadata["source"] for d in documents]
    )
    sources = chain.invoke(QUESTION)
    assert len(sources) == 4
    assert "venus.md" in sources[0]


async def test_the_tool_gives_text_and_the_whole_answer(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        call = {"type": "tool_call", "id": "1", "name": "search_documents", "args": {"question": QUESTION}}
        message = preflight_tool(app).invoke(call)
        later = await preflight_tool(app).ainvoke(call)
    assert "venus.md" in message.content
    assert message.artifact["schema"] == 1
    assert later.artifact["answer"] == message.artifact["answer"]
