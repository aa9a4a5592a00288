"""The graph for LangGraph Studio and the LangGraph server: `langgraph dev` in a clone.

It is compiled without a checkpointer, as the server asks; `langgraph.json` names the one that persists to SQLite. Its
context is made of plain fields, so that Studio shows them as an assistant's settings.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from ..library import Library
from ..library.pubmed import EntrezClient
from ..models.open import extractive_for, open_reader
from ..state.context import Context, Diversity, Ordering, PreflightRule, Settings
from ..state.errors import UsageError
from .build import build_graph


@dataclass(frozen=True)
class StudioContext:
    """What an assistant can be set to."""

    library: Annotated[str, Field(description="The library's folder; empty for PREFLIGHT_LIBRARY or `library`.")] = ""
    model: Annotated[str, Field(description="provider:name, offline, or empty for what the environment says.")] = ""
    route: Annotated[
        Literal["auto", "plain", "map-reduce", "corg"], Field(description="Let the preflight decide, or force.")
    ] = "auto"
    k: Annotated[int, Field(ge=1, le=200, description="Passages that go on to the model.")] = 16
    top_n: Annotated[int, Field(ge=1, description="How many of each ranking the preflight compares.")] = 3
    threshold: Annotated[float, Field(ge=0, le=1, description="Plain when the IoU is above this.")] = 0.2
    partition_size: Annotated[int, Field(ge=1, description="Passages in one map prompt.")] = 4
    preflight: Annotated[PreflightRule, Field(description="The rule that predicts a lost key passage.")] = "calibrated"
    reranker: Annotated[str, Field(description="Second stage: features, none, or a cross-encoder.")] = "features"
    extractive_reader: Annotated[
        str, Field(description="What reads passages without a language model: default, none, or a model of the Hub.")
    ] = "default"
    diversity: Annotated[Diversity, Field(description="How passages are chosen among the candidates.")] = "none"
    ordering: Annotated[Ordering, Field(description="Order of the passages in a prompt.")] = "score"
    pubmed: Annotated[bool, Field(description="Also search PubMed and PMC live.")] = False


def resolve(given: Any) -> Context:
    """The context of a run out of an assistant's fields; libraries and readers stay open between runs."""
    if isinstance(given, dict):
        known = {field.name for field in fields(StudioContext)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise UsageError(f"unknown settings {unknown!r}", help=f"Known are {sorted(known)!r}.")
        given = StudioContext(**given)
    studio = given or StudioContext()
    names = {field.name for field in fields(studio)} - {"library", "model"}
    own = {name: getattr(studio, name) for name in names}
    settings = Settings.read(**own)
    folder = studio.library or os.environ.get("PREFLIGHT_LIBRARY") or "library"
    library, reader = _opened(folder, studio.model, settings.extractive_reader)
    extractive = extractive_for(reader, settings.extractive_reader)
    return Context(reader, library, settings, _entrez() if settings.pubmed else None, extractive)


@lru_cache(maxsize=8)
def _opened(folder: str, model: str, extractive_reader: str) -> tuple[Library, Any]:
    library = Library.open(folder)
    return library, open_reader(model or None, library.embedder, extractive_reader=extractive_reader)


@lru_cache(maxsize=1)
def _entrez() -> EntrezClient:
    return EntrezClient.of_environment(os.environ)


graph = build_graph(context_schema=StudioContext, resolve=resolve).compile(name="preflight")
