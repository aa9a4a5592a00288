"""Preflight RAG: answers over your documents that do not get lost in the middle.

    >>> from preflight_rag import Preflight
    >>> with Preflight.open("library/") as app:  # doctest: +SKIP
    ...     print(app.ask("What is the boiling point of water?").answer)

`Preflight` is the whole application over one library; `build_graph` gives the LangGraph graph to those who run it
themselves, with a `Context`; `Answer` is what a turn ends with; every error is a `PreflightError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.graph.build import build_graph
    from preflight_rag.graph.events import ProgressEvent, StageEvent, TokenEvent
    from preflight_rag.graph.outcome import answer_of
    from preflight_rag.graph.readers import open_reader
    from preflight_rag.library import Library
    from preflight_rag.state.context import Context, Settings
    from preflight_rag.state.errors import PreflightError
    from preflight_rag.state.values import Answer, Choice, Clarification, SearchResult

__version__ = "0.1.0"

_MODULE_OF_NAME = {
    "Answer": "preflight_rag.state.values",
    "Choice": "preflight_rag.state.values",
    "Clarification": "preflight_rag.state.values",
    "Context": "preflight_rag.state.context",
    "Library": "preflight_rag.library",
    "Preflight": "preflight_rag.app",
    "PreflightError": "preflight_rag.state.errors",
    "ProgressEvent": "preflight_rag.graph.events",
    "SearchResult": "preflight_rag.state.values",
    "Settings": "preflight_rag.state.context",
    "StageEvent": "preflight_rag.graph.events",
    "TokenEvent": "preflight_rag.graph.events",
    "answer_of": "preflight_rag.graph.outcome",
    "build_graph": "preflight_rag.graph.build",
    "open_reader": "preflight_rag.graph.readers",
}

__all__ = [
    "Answer",
    "Choice",
    "Clarification",
    "Context",
    "Library",
    "Preflight",
    "PreflightError",
    "ProgressEvent",
    "SearchResult",
    "Settings",
    "StageEvent",
    "TokenEvent",
    "answer_of",
    "build_graph",
    "open_reader",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `preflight --help` stays quick."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from preflight_rag.models.embedding.embedder import register_with_langchain

    register_with_langchain()
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted([*globals(), *__all__])
