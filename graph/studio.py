"""The graph for LangGraph Studio and the LangGraph server: `langgraph dev` in a clone.

It is compiled without a checkpointer, as the server asks; `langgraph.json` names the one that persists to SQLite. What
an assistant can be set to are the fields of `Settings`, with the library and the model by their names.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, Field

from preflight_rag.graph.build import build_graph
from preflight_rag.graph.checkpoints import studio_folder
from preflight_rag.graph.readers import extractive_for, open_reader
from preflight_rag.library import Library
from preflight_rag.library.pubmed import EntrezClient
from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import UsageError

FIRST = ("library", "model", "instructions", "route", "k", "clarify", "pubmed")
"""What is shown first, in this order; the rest follows stage by stage."""
HIDDEN = ("keep_turns", "lock_wait", "max_concurrency")
"""Settings of the turns' own keeper; the server has its own for these."""
ASKING = ("rewrite", "converse", "answer_plain", "map_context", "reduce_context", "relate_contexts", "answer_group")
WRITING = ("converse", "answer_plain", "reduce_context", "answer_group")
STAGES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("rewrite",): ("rewrite", "mesh", "max_question_chars"),
    ("rewrite", "converse"): ("history_tokens",),
    ("retrieve",): (
        *("library", "k", "candidates", "fusion", "rrf_k", "where", "since", "recency", "subtree"),
        *("pubmed", "pubmed_documents", "pubmed_sources", "enough_documents"),
        *("reranker", "rerank_candidates", "rerank_deadline", "prune"),
        *("diversity", "preset", "alpha", "window", "budget_tokens", "compression", "ordering"),
    ),
    ("preflight",): (
        *("route", "preflight", "top_n", "threshold"),
        *("partition_size", "map_prompt_tokens", "corg", "corg_threshold"),
    ),
    ASKING: ("model", "deadline", "temperature", "context_window", "extractive_reader"),
    ("relate_contexts",): ("corg_mode", "relation_prompt_tokens", "no_reformulation"),
    ("organize_contexts",): ("keep_duplicates", "keep_undescribed", "no_grouping", "random_duplicate"),
    WRITING: ("instructions",),
    ("clarify",): ("clarify", "clarify_above"),
    ("cite",): ("check_citations",),
}
"""The stages that each setting is about: Studio offers it there."""


def _for_studio(schema: dict[str, Any]) -> None:
    """Order the fields, say which stages they are about, and show as defaults what the environment sets."""
    plain, now = schema["properties"], StudioContext().model_dump()
    stages = {name: nodes for nodes, names in STAGES.items() for name in names}
    ordered = [*FIRST, *(name for names in STAGES.values() for name in names if name not in FIRST)]
    schema["properties"] = {
        name: {**_without_null(plain[name]), "default": now[name], "langgraph_nodes": list(stages[name])}
        for name in ordered
    }


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """A field that may be left out as one of its kind, so that it gets that kind's control."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind.get("type") != "null"]
    return {**{name: value for name, value in field.items() if name != "anyOf"}, **(kinds[0] if kinds else {})}


_FOLDER = str(studio_folder())


class StudioContext(Settings):
    """What an assistant can be set to; what is not given is as the PREFLIGHT_… variables say."""

    model_config = ConfigDict(json_schema_extra=_for_studio)

    library: str = Field(default="", title="Library", description="The library's folder.")
    model: str = Field(
        default="",
        title="Model",
        description="provider:name, offline, or empty for what the environment says.",
        examples=["offline", "openai:gpt-4.1-mini"],
    )

    def __init__(self, **given: Any) -> None:
        known = type(self).model_fields
        if unknown := sorted(given.keys() - known):
            raise UsageError(f"unknown settings {unknown!r}", help=f"Known are {sorted(known)!r}.")
        given = {name: value for name, value in given.items() if value != ""}
        library = given.pop("library", None) or os.environ.get("PREFLIGHT_LIBRARY") or _FOLDER
        model = given.pop("model", None) or os.environ.get("PREFLIGHT_MODEL") or ""
        for name, value in (("library", library), ("model", model)):
            if not isinstance(value, str):
                raise UsageError(f"setting {name} = {value!r} is not valid", help="Give a text.")
        super().__init__(**{**Settings.read(**given).model_dump(), "library": library, "model": model})


def resolve(given: Any) -> Context:
    """The context of a run out of an assistant's fields; libraries and readers stay open between runs.

    Raises:
        PreflightError: A setting is unknown or wrong, or the library or the model cannot be opened.
    """
    studio = given if isinstance(given, StudioContext) else StudioContext(**(given or {}))
    settings = Settings.model_validate(studio.model_dump(exclude={"library", "model"}))
    of_model = settings.deadline, settings.temperature, settings.context_window
    library, reader = _opened(studio.library, studio.model, settings.extractive_reader, *of_model)
    extractive = extractive_for(reader, settings.extractive_reader)
    return Context(reader, library, settings, _entrez() if settings.pubmed else None, extractive)


@lru_cache(maxsize=8)
def _opened(
    folder: str, model: str, extractive_reader: str, deadline: float, temperature: float, context_window: int | None
) -> tuple[Library, Reader]:
    library = Library.open(folder)
    return library, open_reader(
        model or None,
        library.embedder,
        deadline=deadline,
        temperature=temperature,
        context_window=context_window,
        extractive_reader=extractive_reader,
        library=library,
    )


@lru_cache(maxsize=1)
def _entrez() -> EntrezClient:
    return EntrezClient.of_environment(os.environ)


graph = build_graph(context_schema=StudioContext, resolve=resolve).compile(name="preflight")
