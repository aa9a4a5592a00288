"""The graph for LangGraph Studio and the LangGraph server: `langgraph dev` in a clone.

It is compiled without a checkpointer, as the server requires; `langgraph.json` names the one that persists to SQLite.
An assistant's fields are the `Settings` that callers may choose, and the names of one of the libraries and models that
the operator offers.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from langgraph.config import get_config
from pydantic import ConfigDict, Field

from preflight_rag.graph.build import build_graph
from preflight_rag.graph.fallback_reader import FallbackReader, Loss
from preflight_rag.graph.model_use import LOST
from preflight_rag.graph.offered import Offered
from preflight_rag.graph.readers import extractive_for, open_reader
from preflight_rag.library import Library
from preflight_rag.library.opening import LibraryPlace, open_library
from preflight_rag.models.budget import Budget
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.planning import slow_seconds, within_time
from preflight_rag.models.protocol import Reader, limited
from preflight_rag.pubmed import EntrezClient
from preflight_rag.state.calls import RERANKERS, checked_choices, narrowed
from preflight_rag.state.context import ABOUT, ASKING, ENVIRONMENT_PREFIX, Context, Settings
from preflight_rag.state.errors import ModelError, UsageError

FIRST_FIELDS = ("library", "model", "instructions", "route", "k", "clarify", "pubmed")
"""Fields that Studio shows first, in this order; the others follow stage by stage."""
NUMBERS = tuple(name for name, about in ABOUT.items() if about.who == "studio")
"""Numbers that may be tried out in Studio, besides the settings open to every caller; none names a file or a model."""
OPERATORS = tuple(name for name, about in ABOUT.items() if about.who == "operator")
"""Settings that only the operator's PREFLIGHT_… variables set: files, models, and limits."""
READER_SETTINGS = ("deadline", "temperature", "context_window", "reply_form", "extractive_reader")
"""Settings with which a reader is opened; runs that differ in others share it."""
STAGES = {"library": ("retrieve",), "model": ASKING} | {
    name: about.stages for name, about in ABOUT.items() if about.who != "operator"
}
"""The stages that each field affects: Studio shows it there."""


def _adapt_schema(schema: dict[str, Any]) -> None:
    """Order the fields, name the stages that each affects, and show the environment's values as defaults.

    The operator's settings are included without their values: the server silently drops fields that a schema does not
    have, and a caller who sets them should get an error.
    """
    fields, defaults = schema["properties"], StudioContext().model_dump()
    ordered = [*FIRST_FIELDS, *(name for name in STAGES if name not in FIRST_FIELDS)]
    schema["properties"] = {
        name: {**_without_null_type(fields[name]), "default": defaults[name], "langgraph_nodes": list(STAGES[name])}
        for name in ordered
    }
    schema["properties"]["library"]["enum"] = list(OFFERED.libraries)
    schema["properties"]["model"]["enum"] = list(OFFERED.models)
    schema["properties"]["reranker"]["enum"] = list(dict.fromkeys([defaults["reranker"], *RERANKERS]))
    for name in OPERATORS:
        field = {key: value for key, value in _without_null_type(fields[name]).items() if key in ("title", "type")}
        description = f"Set where the server is started, by {ENVIRONMENT_PREFIX}{name.upper()}."
        schema["properties"][name] = {**field, "description": description, "readOnly": True, "langgraph_nodes": []}


def _without_null_type(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional field with its type but null, so that Studio shows that type's control.

    For example {"anyOf": [{"type": "integer"}, {"type": "null"}]} becomes {"type": "integer"}.
    """
    types = [schema for schema in field.get("anyOf", ()) if schema.get("type") != "null"]
    others = {name: value for name, value in field.items() if name != "anyOf"}
    return {**others, **(types[0] if types else {})}


OFFERED = Offered.read()
"""The offered libraries and models, read once: reading folders would block the server's event loop."""


class StudioContext(Settings):
    """The settings of an assistant; missing ones come from the PREFLIGHT_… variables."""

    model_config = ConfigDict(json_schema_extra=_adapt_schema)

    library: str = Field(default="", title="Library", description="One of the libraries that are offered, by name.")
    model: str = Field(
        default="", title="Model", description="One of the models that are offered; empty: what the environment says."
    )

    def __init__(self, **given: Any) -> None:
        known = type(self).model_fields
        if unknown := sorted(given.keys() - known):
            raise UsageError(f"unknown settings {unknown!r}", help=f"Known are {sorted(known)!r}.")
        given = {name: value for name, value in given.items() if value not in ("", None)}
        own = Settings.read()
        library = given.pop("library", None) or next(iter(OFFERED.libraries))
        model = given.pop("model", None) or OFFERED.models[0]
        for name, value in (("library", library), ("model", model)):
            if not isinstance(value, str):
                raise UsageError(f"setting {name} = {value!r} is not valid", help="Give a text.")
        OFFERED.library(library)
        OFFERED.check_model(model)
        changed = {name: value for name, value in given.items() if name not in OPERATORS or value != getattr(own, name)}
        numbers = {name: changed.pop(name) for name in NUMBERS if name in changed}
        settings = narrowed(own, {**checked_choices(changed, own), **numbers})
        super().__init__(**{**settings.model_dump(), "library": library, "model": model})


def resolve(given: Any) -> Context:
    """Return the context of a run from an assistant's fields; libraries and readers stay open between runs.

    Raises:
        PreflightError: A setting is unknown, wrong or the operator's, or the library or the model is not offered or
            cannot be opened.
    """
    studio = given if isinstance(given, StudioContext) else StudioContext(**(given or {}))
    settings = Settings.model_validate(studio.model_dump(exclude={"library", "model"}))
    of_reader = Settings(**{name: getattr(settings, name) for name in READER_SETTINGS})
    library, run = _open_library_once(OFFERED.library(studio.library)), _current_run_id()
    model, loss = None, _loss_of_run(run)
    try:
        model = _open_reader_once(library, studio.model, of_reader)
    except LOST as error:
        if not isinstance(error, ModelError):
            raise
        loss.error = loss.error or error
    if model is not None and model.by_rule:
        reader: Reader = model
    else:
        offline = _open_reader_once(library, OFFLINE, of_reader)
        asked = limited(model, _budget_of_run(run, settings)) if model is not None else None
        # A protocol's fields must be settable; these say which of the two readers replies now.
        reader = cast(Reader, FallbackReader(asked, offline, loss))
    extractive = extractive_for(reader, settings.extractive_reader)
    planned = within_time(settings, reader)
    pubmed = _open_entrez() if settings.pubmed else None
    return Context(reader, library, planned, pubmed, extractive, asked_k=settings.k)


def _current_run_id() -> str:
    """Return the id of the run that the server has begun; outside of one, a new id."""
    try:
        config = get_config()
    except RuntimeError:
        return uuid4().hex
    for values in (config, config.get("configurable") or {}, config.get("metadata") or {}):
        if run_id := values.get("run_id"):
            return str(run_id)
    return uuid4().hex


@lru_cache(maxsize=256)
def _loss_of_run(run_id: str) -> Loss:
    """Return the record of a run's loss of its model; all stages of the run get the same object."""
    return Loss()


@lru_cache(maxsize=256)
def _budget_of_run(run_id: str, settings: Settings) -> Budget:
    """Return the budget of a run; all stages of the run get the same object."""
    return Budget(
        calls=settings.turn_calls,
        tokens=settings.turn_tokens,
        seconds=settings.turn_seconds,
        reply_tokens=settings.reply_tokens,
        slow_seconds=slow_seconds(settings),
    )


@cache
def _open_library_once(place: Path | LibraryPlace) -> Library:
    """Open one of the offered libraries; it stays open, since a run may still use it."""
    # A library in a database has all methods that a reader needs.
    return cast(Library, open_library(place))


@lru_cache(maxsize=8)
def _open_reader_once(library: Library, model: str, settings: Settings) -> Reader:
    """Open the reader of a model; a later call with the same arguments gets the same reader."""
    return open_reader(model or None, library.embedder, settings, library=library)


@lru_cache(maxsize=1)
def _open_entrez() -> EntrezClient:
    """Open the connection to NCBI as the environment sets it up; later calls get the same one."""
    return EntrezClient.of_environment(os.environ)


graph = build_graph(context_schema=StudioContext, resolve=resolve).compile(name="preflight")
