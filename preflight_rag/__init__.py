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
    from .app import Preflight
    from .graph.build import build_graph
    from .graph.outcome import answer_of
    from .graph.turns import ProgressEvent, StageEvent, TokenEvent
    from .library import Library
    from .models.open import open_reader
    from .state.context import Context, Settings
    from .state.errors import PreflightError
    from .state.values import Answer, Choice, Clarification, SearchResult

__version__ = "0.1.0"

_HOME = {
    "Answer": ".state.values",
    "Choice": ".state.values",
    "Clarification": ".state.values",
    "Context": ".state.context",
    "Library": ".library",
    "Preflight": ".app",
    "PreflightError": ".state.errors",
    "ProgressEvent": ".graph.turns",
    "SearchResult": ".state.values",
    "Settings": ".state.context",
    "StageEvent": ".graph.turns",
    "TokenEvent": ".graph.turns",
    "answer_of": ".graph.outcome",
    "build_graph": ".graph.build",
    "open_reader": ".models.open",
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
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
