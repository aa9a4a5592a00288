"""Stage `retrieve`: what the library, and PubMed where it is asked, hold for the question; references go on.

Where a language model answers and `prune` is set, passages that hardly hold the answer stay behind (`library.pruning`).
Where it has no room or no time for all of them, those that answer likeliest go on (`library.search.reading_order`).
Both happen here, before a route is chosen, so that every route reads, and is chosen for, the same passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from preflight_rag.conversation.follow_ups import YEAR, new_names
from preflight_rag.library.search.reading_order import likeliest, may_choose
from preflight_rag.library.search.retrieval import Retrieval, retrieve_passages
from preflight_rag.models.planning import plan_note
from preflight_rag.models.protocol import within_window
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.schema import PassageRef, State
from preflight_rag.state.values import PrunedPassage
from preflight_rag.state.views import Rewritten
from preflight_rag.text.words import words


async def retrieve(state: Rewritten, runtime: Runtime[Context]) -> State:
    """Retrieve the passages for the turn, and store the dense and the lexical ranking."""
    context = runtime.context
    settings, retrieval, pruned = await asyncio.to_thread(_retrieved, state, context)
    context.has_read(candidate.passage for candidate in retrieval.chosen)
    unread = await asyncio.to_thread(_unread, state, context, retrieval) if context.is_planned() else []
    left_out = _for_time(retrieval, context) or _left_out(retrieval, settings, context.settings)
    problems = [*retrieval.problems, *left_out]
    k = context.settings.k
    return {
        "passage_refs": retrieval.references(),
        "continued": retrieval.continued,
        "unread_refs": unread,
        "pruned": [passage.model_dump() for passage in pruned],
        "rankings": {
            "dense": [hit.passage_id for hit in retrieval.found.dense[:k]],
            "lexical": [hit.passage_id for hit in retrieval.found.lexical[:k]],
        },
        "rungs": [rung.model_dump() for rung in retrieval.rungs],
        "gaps": [{"stage": "retrieve", "item": item, "error": error} for item, error in problems],
    }


def _retrieved(state: Rewritten, context: Context) -> tuple[Settings, Retrieval, list[PrunedPassage]]:
    """Return the settings used for the search, the retrieval, and the passages withheld from the model."""
    settings = within_window(context.settings, context.reader, state.get("instructions") or "")
    if _may_choose(settings, state["queries"], context):
        whole = settings.model_copy(update={"k": context.asked_k or context.settings.k, "budget_tokens": None})
        retrieval = _found(state, whole, context)
        pruned = _prune(retrieval, state["queries"], context)
        if kept := likeliest(state["queries"][0], retrieval.chosen, settings, context.extractive):
            retrieval.chosen = kept
            return settings, retrieval, pruned
        # None of these fits: the search with the budget itself looks further down for one that does.
    retrieval = _found(state, settings, context)
    return settings, retrieval, _prune(retrieval, state["queries"], context)


def _may_choose(settings: Settings, queries: Sequence[str], context: Context) -> bool:
    """Return whether a reading may choose among the passages; a reader by rule reads them all."""
    chooses = context.extractive is not None and context.reader is not None and not context.reader.by_rule
    limited = settings.budget_tokens is not None or settings.k < (context.asked_k or context.settings.k)
    return chooses and limited and may_choose(settings, queries)


def _found(state: Rewritten, settings: Settings, context: Context) -> Retrieval:
    """Return the passages found with these settings; for a follow-up on one document, first within that one."""

    def found_in(documents: Sequence[str]) -> Retrieval:
        """Return the passages found in some documents; in all if none are given."""
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
    names = new_names(state.get("question", "")) if continued else []
    if continued and not _speaks_of(retrieval, names):
        return found_in([])
    own = _own_words(state) if continued else frozenset()
    if own and not _says(retrieval, own):
        everywhere = found_in([])
        # "Why did it crack?": another document than the one cited first speaks of what cracked.
        if _says(everywhere, frozenset(words(state["queries"][0]))):
            return everywhere
    if years := _other_years(retrieval, names):
        everywhere = found_in([])
        if _has_edition(everywhere, retrieval, years):
            return everywhere
    if continued and _is_resolved(state) and len(retrieval.chosen) < settings.k and settings.budget_tokens is None:
        _add_others(retrieval, found_in([]), settings.k)
    retrieval.continued = list(continued)
    return retrieval


def _is_resolved(state: Rewritten) -> bool:
    """Return whether a follow-up became a single question, of which every document can be asked."""
    asked = state["queries"][0]
    return "? " not in asked and asked != " ".join(state.get("question", "").split())


def _add_others(retrieval: Retrieval, everywhere: Retrieval, k: int) -> None:
    """Add what was found in other documents behind the passages of a short document, up to `k` in all.

    A reader by rule reads them where that document has nothing new for the follow-up, and looks a second time at them,
    as it does where the same question is asked in full.
    """
    known = {candidate.passage.id for candidate in retrieval.chosen}
    others = [candidate for candidate in everywhere.chosen if candidate.passage.id not in known]
    retrieval.chosen = [*retrieval.chosen, *others[: k - len(retrieval.chosen)]]
    retrieval.relevance = {**everywhere.relevance, **retrieval.relevance}


def _unread(state: Rewritten, context: Context, read: Retrieval) -> list[PassageRef]:
    """Return the requested passages that a slow model has no time for, numbered after those that it reads.

    The preflight looks at them, too: the few that are read may be too few to contradict each other.
    """
    asked = context.settings.model_copy(update={"k": context.asked_k, "budget_tokens": None, "pubmed": False})
    _, retrieval, _ = _retrieved(state, replace(context, settings=asked, pubmed=None, asked_k=None))
    has = {candidate.passage.id for candidate in read.chosen}
    others = [ref for ref in retrieval.references() if ref["id"] not in has]
    context.has_read(candidate.passage for candidate in retrieval.chosen)
    return [{**ref, "rank": rank} for rank, ref in enumerate(others, len(read.chosen) + 1)]


def _speaks_of(retrieval: Retrieval, names: Sequence[str]) -> bool:
    """Return whether any passage was found and contains the names that a follow-up introduces."""
    text = " ".join(f"{candidate.passage.title} {candidate.passage.text}" for candidate in retrieval.chosen)
    present = frozenset(words(text))
    return bool(retrieval.chosen) and all(present.issuperset(words(name)) for name in names)


def _own_words(state: Rewritten) -> frozenset[str]:
    """Return the content words that a follow-up adds to the question before it."""
    earlier = state.get("earlier")
    before = frozenset(words(earlier["question"])) if earlier else frozenset()
    return frozenset(words(state.get("question", ""))) - before


def _says(retrieval: Retrieval, terms: frozenset[str]) -> bool:
    """Return whether one of the passages found has all these words, its title's among them."""
    found = (f"{candidate.passage.title} {candidate.passage.text}" for candidate in retrieval.chosen)
    return any(terms.issubset(words(text)) for text in found)


def _other_years(retrieval: Retrieval, names: Sequence[str]) -> frozenset[str]:
    """Return the years among a follow-up's new names if the document before has other years in its title."""
    titled = frozenset(YEAR.findall(" ".join(candidate.passage.title for candidate in retrieval.chosen)))
    asked = frozenset(name for name in names if YEAR.fullmatch(name))
    return asked - titled if titled else frozenset()


def _has_edition(everywhere: Retrieval, before: Retrieval, years: frozenset[str]) -> bool:
    """Return whether a document was found whose title is that of the document before, but for one of these years.

    "Price list 2025" may mention 2024, and yet "and in 2024?" means "Price list 2024".
    """
    titles = {YEAR.sub("", candidate.passage.title) for candidate in before.chosen}
    found = (candidate.passage.title for candidate in everywhere.chosen)
    return any(years.intersection(YEAR.findall(title)) and YEAR.sub("", title) in titles for title in found)


def _within(settings: Settings, documents: Sequence[str]) -> Settings:
    """Return the settings for a question about one document, limited to that document."""
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
