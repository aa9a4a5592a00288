"""Preflight RAG as LangChain's and LangGraph's parts: a retriever, tools, a router, the graph as a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from preflight_rag.library.search.retriever import LibraryRetriever
from preflight_rag.router import PreflightRouter
from preflight_rag.state.errors import PreflightError, UsageError

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from preflight_rag.app import Preflight

__all__ = ["PreflightRetriever", "PreflightRouter", "preflight_graph", "preflight_tool", "summarize_tool"]

PreflightRetriever = LibraryRetriever


def preflight_graph(
    app: Preflight, *, checkpointer: Any = None, name: str = "preflight", **settings: Any
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph over an application's library, to run as it is or as a node of your own graph; it needs no `context`.

    It takes `messages` and adds the answer to them; a graph around it that declares further channels of `State`, such
    as `citations`, gets them too. The application's threads stay out of it.

    Args:
        app: Open as long as the graph is used.
        checkpointer: Of a graph that runs by itself, yours. As a node: True keeps the conversation's state between
            turns, in the checkpointer of the graph around it; None begins each turn anew, with its messages alone.
        name: Of the graph.
        **settings: Fields of `Settings`, such as `route="plain"`.
    """
    from preflight_rag.graph.build import build_graph

    context = app.context(**settings)
    graph = build_graph(resolve=lambda _: context)
    return graph.compile(checkpointer=checkpointer, name=name)


def preflight_tool(
    app: Preflight,
    *,
    name: str = "search_documents",
    description: str = "Answers a question from the document collection, with citations. Ask one full question.",
) -> BaseTool:
    """A tool for agents: its content is the cited answer with its sources, its artifact the `Answer` as a dict.

    Questions of one conversation with the agent share a thread of the agent's thread id; without one each question is
    a thread of its own. What goes wrong is told as the tool's content, so that the agent can go on.
    """

    def content_of(answer: Any) -> tuple[str, dict[str, Any]]:
        sources = [f'[{c.n}] {c.title or c.source} ({c.source}): "{c.quote}"' for c in answer.citations]
        return "\n".join([answer.answer, *sources]), answer.model_dump()

    def run(question: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        try:
            with set_config_context(_apart(config)) as context:
                return content_of(context.run(app.ask, question, **_turn(config)))
        except PreflightError as error:
            raise ToolException(str(error)) from error

    async def arun(question: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        try:
            with set_config_context(_apart(config)) as context:
                return content_of(await asyncio.create_task(app.aask(question, **_turn(config)), context=context))
        except PreflightError as error:
            raise ToolException(str(error)) from error

    return _tool(run, arun, name, description)


def summarize_tool(
    app: Preflight,
    *,
    tokens: int = 800,
    name: str = "summarize_document",
    description: str = "Summarises one document of the collection, with citations. Give the document's id.",
) -> BaseTool:
    """A tool for agents: its content is the cited summary with its sentences, its artifact the `Summary` as a dict.

    Only documents of the library can be named, no files. What cannot be summarised is told as the tool's content.
    """

    def run(document_id: str) -> tuple[str, dict[str, Any]]:
        from preflight_rag.summarize import unknown_document

        try:
            if not app.library.document_passages(document_id):
                raise unknown_document(app.library, document_id)
            found = app.summarize(document_id, tokens=tokens)
        except PreflightError as error:
            raise ToolException(str(error)) from error
        sources = [f'[{c.n}] "{c.quote}"' for c in found.citations]
        return "\n".join([found.summary, *sources]), found.model_dump()

    async def arun(document_id: str) -> tuple[str, dict[str, Any]]:
        return await asyncio.to_thread(run, document_id)

    return _tool(run, arun, name, description)


def _tool(run: Callable[..., Any], arun: Callable[..., Any], name: str, description: str) -> BaseTool:
    """A tool with content and artifact, whose errors are told as its content."""
    return StructuredTool.from_function(
        run,
        arun,
        name=name,
        description=description,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _turn(config: RunnableConfig) -> dict[str, Any]:
    """How an agent's question is asked: to its end, without asking back, whatever became of the one before."""
    return {"thread_id": _thread_of(config), "discard": True, "clarify": False}


def _apart(config: RunnableConfig) -> RunnableConfig:
    """What a turn inside an agent's run keeps of it: its callbacks, but for those that stream the agent's tokens."""
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        for handler in [*callbacks.handlers]:
            if type(handler).__module__.startswith("langgraph."):
                callbacks.remove_handler(handler)
    return RunnableConfig(callbacks=callbacks)


def _thread_of(config: RunnableConfig) -> str:
    """The agent's thread; where it has none, or one that cannot name a thread here, a thread for this one call."""
    from uuid import uuid4

    from preflight_rag.graph.locks import validate_thread_id

    try:
        return validate_thread_id(config.get("configurable", {}).get("thread_id"))
    except UsageError:
        return f"tool-{uuid4()}"
