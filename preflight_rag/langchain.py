"""Preflight RAG as LangChain's parts: a retriever and a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool

from .library.retriever import LibraryRetriever

if TYPE_CHECKING:
    from .app import Preflight

__all__ = ["PreflightRetriever", "preflight_tool"]

PreflightRetriever = LibraryRetriever


def preflight_tool(
    app: Preflight,
    *,
    name: str = "search_documents",
    description: str = "Answers a question from the document collection, with citations. Ask one full question.",
) -> BaseTool:
    """A tool for agents: its content is the cited answer with its sources, its artifact the `Answer` as a dict."""

    def content_of(answer: Any) -> tuple[str, dict[str, Any]]:
        sources = [f'[{c.n}] {c.title or c.source} ({c.source}): "{c.quote}"' for c in answer.citations]
        return "\n".join([answer.answer, *sources]), answer.model_dump()

    def run(question: str) -> tuple[str, dict[str, Any]]:
        return content_of(app.ask(question, thread_id=_own_thread()))

    async def arun(question: str) -> tuple[str, dict[str, Any]]:
        return content_of(await app.aask(question, thread_id=_own_thread()))

    return StructuredTool.from_function(
        run, arun, name=name, description=description, response_format="content_and_artifact"
    )


def _own_thread() -> str:
    """A thread for one call: an agent keeps its own history and asks standalone questions."""
    from uuid import uuid4

    return f"tool-{uuid4()}"
