"""Preflight RAG as LangChain's parts: a retriever and a tool."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from .library.retriever import LibraryRetriever
from .router import PreflightRouter
from .state.errors import PreflightError

if TYPE_CHECKING:
    from .app import Preflight

__all__ = ["PreflightRetriever", "PreflightRouter", "preflight_tool", "summarize_tool"]

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
        from .summarize import unknown_document

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

    return StructuredTool.from_function(
        run,
        arun,
        name=name,
        description=description,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _own_thread() -> str:
    """A thread for one call: an agent keeps its own history and asks standalone questions."""
    from uuid import uuid4

    return f"tool-{uuid4()}"
