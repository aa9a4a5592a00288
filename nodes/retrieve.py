"""Stage `retrieve`: what the library, and PubMed where it is asked, hold for the question; references go on.

Where a language model answers and `prune` is set, passages that hardly hold the answer stay behind (`library.pruning`).
That happens here, before a route is chosen, so that every route reads, and is chosen for, the same passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from preflight_rag.conversation.follow_ups import new_names
from preflight_rag.library.search.retrieval import Retrieval, retrieve_passages
from preflight_rag.models.planning import plan_note
from preflight_rag.models.protocol import within_window
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.schema import State
from preflight_rag.state.values import PrunedPassage
from preflight_rag.state.views import Rewritten
from preflight_rag.text.words import words


async def retrieve(state: Rewritten, runtime: Runtime[Context]) -> State:
    """Retrieve the passages for the turn, and keep the dense and the lexical ranking that were fused."""
    context = runtime.context
    settings, retrieval, pruned = await asyncio.to_thread(_retrieved, state, context)
    context.has_read(candidate.passage for candidate in retrieval.chosen)
    left_out = _for_time(retrieval, context) or _left_out(retrieval, settings, context.settings)
    problems = [*retrieval.problems, *left_out]
    k = context.settings.k
    return {
        "passage_refs": retrieval.references(),
        "pruned": [passage.model_dump() for passage in pruned],
        "rankings": {
            "dense": [hit.passage_id for hit in retrieval.found.dense[:k]],
            "lexical": [hit.passage_id for hit in retrieval.found.lexical[:k]],
        },
        "rungs": [rung.model_dump() for rung in retrieval.rungs],
        "gaps": [{"stage": "retrieve", "item": item, "error": error} for item, error in problems],
    }


def _retrieved(state: Rewritten, context: Context) -> tuple[Settings, Retrieval, list[PrunedPassage]]:
    """Return the settings used for the search, the retrieval, and the passages that are kept from the model."""
    settings = within_window(context.settings, context.reader, state.get("instructions") or "")

    def found_in(documents: Sequence[str]) -> Retrieval:
        return retrieve_passages(
            context.library,
            state["queries"],
            _within(settings, documents),
            expressions=state["rewrite"]["expressions"] if "rewrite" in state else (),
            pubmed=context.pubmed if context.settings.pubmed else None,
            extractive=context.extractive,
        )

    continued = state.get("continued") or []
    retrieval = found_in(continued or state.get("within") or [])
    if continued and not _speaks_of(retrieval, new_names(state.get("question", ""))):
        retrieval = found_in([])
    return settings, retrieval, _prune(retrieval, state["queries"], context)


def _speaks_of(retrieval: Retrieval, names: Sequence[str]) -> bool:
    """Return whether some passages were found, and hold the names that a follow-up brings in."""
    text = " ".join(f"{candidate.passage.title} {candidate.passage.text}" for candidate in retrieval.chosen)
    present = frozenset(words(text))
    return bool(retrieval.chosen) and all(present.issuperset(words(name)) for name in names)


def _within(settings: Settings, documents: Sequence[str]) -> Settings:
    """Return the settings for a question about the only document that it names, or goes on about."""
    if len(documents) != 1:
        return settings
    return settings.model_copy(update={"where": (*settings.where, f"id = {documents[0]}")})


def _left_out(retrieval: Retrieval, settings: Settings, asked: Settings) -> list[tuple[str, str]]:
    """Return the gap for passages that were requested but dropped because the model's window cannot hold them."""
    wanted, chosen = min(asked.k, len(retrieval.found.fused)), len(retrieval.chosen)
    if settings == asked or chosen >= wanted:
        return []
    return [("k", f"{chosen} of {wanted} passages go on: more do not fit into the model's context window")]


def _for_time(retrieval: Retrieval, context: Context) -> list[tuple[str, str]]:
    """Return the gap for passages that were requested but dropped because the model is slow."""
    wanted, chosen = min(context.asked_k or 0, len(retrieval.found.fused)), len(retrieval.chosen)
    if not context.is_planned() or chosen >= wanted:
        return []
    return [("time", plan_note(context.reader, chosen, wanted))]


def _prune(retrieval: Retrieval, questions: Sequence[str], context: Context) -> list[PrunedPassage]:
    """Remove the passages that a language model should not be given, and return them."""
    threshold = context.settings.prune
    if not threshold or not retrieval.chosen or context.reader.by_rule:
        return []
    from preflight_rag.library.search.pruning import prune

    done = prune(context.extractive, questions, retrieval.chosen, threshold)
    retrieval.chosen = done.kept
    return done.pruned
