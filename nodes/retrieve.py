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
    settings, retrieval, pruned = await asyncio.to_thread(_retrieve_and_prune, state, context)
    context.has_read(candidate.passage for candidate in retrieval.chosen)
    unread = await asyncio.to_thread(_unread_references, state, context, retrieval) if context.is_planned() else []
    left_out = _gap_for_time(retrieval, context) or _gap_for_window(retrieval, settings, context.settings)
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


def _retrieve_and_prune(state: Rewritten, context: Context) -> tuple[Settings, Retrieval, list[PrunedPassage]]:
    """Search and choose the passages to read; return the search's settings, its result, and the withheld passages."""
    settings = within_window(context.settings, context.reader, state.get("instructions") or "")
    if _may_choose_by_reading(settings, state["queries"], context):
        unlimited = settings.model_copy(update={"k": context.asked_k or context.settings.k, "budget_tokens": None})
        retrieval = _search(state, unlimited, context)
        pruned = _prune(retrieval, state["queries"], context)
        if fitting := likeliest(state["queries"][0], retrieval.chosen, settings, context.extractive):
            retrieval.chosen = fitting
            return settings, retrieval, pruned
        # None of these fits: the search with the budget itself looks further down for one that does.
    retrieval = _search(state, settings, context)
    return settings, retrieval, _prune(retrieval, state["queries"], context)


def _may_choose_by_reading(settings: Settings, queries: Sequence[str], context: Context) -> bool:
    """Return whether the extractive reader may choose which of the requested passages a language model reads.

    It may if the model cannot read all of them; a reader by rule reads them all.
    """
    has_both_readers = context.extractive is not None and context.reader is not None and not context.reader.by_rule
    is_limited = settings.budget_tokens is not None or settings.k < (context.asked_k or context.settings.k)
    return has_both_readers and is_limited and may_choose(settings, queries)


def _search(state: Rewritten, settings: Settings, context: Context) -> Retrieval:
    """Search with these settings; for a follow-up on one document, first within that document.

    All documents are searched instead if that document does not mention the follow-up's new names, another document has
    all words of the question, or another edition of it is asked for.
    """

    def search_in(documents: Sequence[str]) -> Retrieval:
        """Search within a single document; in all documents if several or none are given."""
        return retrieve_passages(
            context.library,
            state["queries"],
            _limit_to_document(settings, documents),
            expressions=state["rewrite"]["expressions"] if "rewrite" in state else (),
            pubmed=context.pubmed if context.settings.pubmed else None,
            extractive=context.extractive,
        )

    continued = state.get("continued") or []
    retrieval = search_in(continued or state.get("within") or [])
    names = new_names(state.get("question", "")) if continued else []
    if continued and not _mentions_names(retrieval, names):
        return search_in([])
    new_words = _new_words(state) if continued else frozenset()
    if new_words and not _has_passage_with(retrieval, new_words):
        everywhere = search_in([])
        # "Why did it crack?": another document than the one cited first speaks of what cracked.
        if _has_passage_with(everywhere, frozenset(words(state["queries"][0]))):
            return everywhere
    if years := _other_years(retrieval, names):
        everywhere = search_in([])
        if _has_edition(everywhere, retrieval, years):
            return everywhere
    if continued and _is_resolved(state) and len(retrieval.chosen) < settings.k and settings.budget_tokens is None:
        _add_other_documents(retrieval, search_in([]), settings.k)
    retrieval.continued = list(continued)
    return retrieval


def _is_resolved(state: Rewritten) -> bool:
    """Return whether a follow-up was rewritten as a single question, which can be asked of every document."""
    query = state["queries"][0]
    message = " ".join(state.get("question", "").split())
    is_single = "? " not in query
    return is_single and query != message


def _add_other_documents(retrieval: Retrieval, everywhere: Retrieval, k: int) -> None:
    """Append passages found in other documents to those of a short document in `retrieval`, up to `k` in all.

    A reader by rule reads them if that document has nothing new for the follow-up, and looks a second time at them,
    as it does if the same question is asked in full.
    """
    known = {candidate.passage.id for candidate in retrieval.chosen}
    others = [candidate for candidate in everywhere.chosen if candidate.passage.id not in known]
    retrieval.chosen = [*retrieval.chosen, *others[: k - len(retrieval.chosen)]]
    retrieval.relevance = {**everywhere.relevance, **retrieval.relevance}


def _unread_references(state: Rewritten, context: Context, read: Retrieval) -> list[PassageRef]:
    """Return the requested passages that a slow model has no time for, ranked after those that it reads (`read`).

    The preflight looks at them, too: the few that are read may be too few to contradict each other.
    """
    requested = context.settings.model_copy(update={"k": context.asked_k, "budget_tokens": None, "pubmed": False})
    requested_context = replace(context, settings=requested, pubmed=None, asked_k=None)
    _, retrieval, _ = _retrieve_and_prune(state, requested_context)
    read_ids = {candidate.passage.id for candidate in read.chosen}
    others = [ref for ref in retrieval.references() if ref["id"] not in read_ids]
    context.has_read(candidate.passage for candidate in retrieval.chosen)
    return [{**ref, "rank": rank} for rank, ref in enumerate(others, len(read.chosen) + 1)]


def _mentions_names(retrieval: Retrieval, names: Sequence[str]) -> bool:
    """Return whether passages were found, and together mention all names that a follow-up introduces."""
    text = " ".join(f"{candidate.passage.title} {candidate.passage.text}" for candidate in retrieval.chosen)
    present = frozenset(words(text))
    return bool(retrieval.chosen) and all(present.issuperset(words(name)) for name in names)


def _new_words(state: Rewritten) -> frozenset[str]:
    """Return the content words of a follow-up that the previous question does not have."""
    earlier = state.get("earlier")
    previous = frozenset(words(earlier["question"])) if earlier else frozenset()
    return frozenset(words(state.get("question", ""))) - previous


def _has_passage_with(retrieval: Retrieval, terms: frozenset[str]) -> bool:
    """Return whether one of the passages found has all these words in its title and text together."""
    texts = (f"{candidate.passage.title} {candidate.passage.text}" for candidate in retrieval.chosen)
    return any(terms.issubset(words(text)) for text in texts)


def _other_years(retrieval: Retrieval, names: Sequence[str]) -> frozenset[str]:
    """Return the years among a follow-up's new names that are not in the titles of the passages found.

    Empty if these titles have no year.
    """
    years_in_titles = frozenset(YEAR.findall(" ".join(candidate.passage.title for candidate in retrieval.chosen)))
    new_years = frozenset(name for name in names if YEAR.fullmatch(name))
    return new_years - years_in_titles if years_in_titles else frozenset()


def _has_edition(everywhere: Retrieval, before: Retrieval, years: frozenset[str]) -> bool:
    """Return whether another edition of a document of `before` was found: the title has one of the years instead.

    "Price list 2025" may mention 2024, and yet "and in 2024?" means "Price list 2024".
    """
    titles_without_year = {YEAR.sub("", candidate.passage.title) for candidate in before.chosen}
    for candidate in everywhere.chosen:
        title = candidate.passage.title
        if years.intersection(YEAR.findall(title)) and YEAR.sub("", title) in titles_without_year:
            return True
    return False


def _limit_to_document(settings: Settings, documents: Sequence[str]) -> Settings:
    """Return the settings with the search limited to a single document; unchanged for several documents or none."""
    if len(documents) != 1:
        return settings
    return settings.model_copy(update={"where": (*settings.where, f"id = {documents[0]}")})


def _gap_for_window(retrieval: Retrieval, settings: Settings, requested: Settings) -> list[tuple[str, str]]:
    """Return a gap (item and error) if fewer passages than requested fit into the model's context window; else []."""
    wanted, chosen = min(requested.k, len(retrieval.found.fused)), len(retrieval.chosen)
    if settings == requested or chosen >= wanted:
        return []
    return [("k", f"{chosen} of {wanted} passages go on: more do not fit into the model's context window")]


def _gap_for_time(retrieval: Retrieval, context: Context) -> list[tuple[str, str]]:
    """Return a gap (item and error) if a slow model has time for fewer passages than requested; else []."""
    wanted, chosen = min(context.asked_k or 0, len(retrieval.found.fused)), len(retrieval.chosen)
    if not context.is_planned() or chosen >= wanted:
        return []
    return [("time", plan_note(context.reader, chosen, wanted))]


def _prune(retrieval: Retrieval, questions: Sequence[str], context: Context) -> list[PrunedPassage]:
    """Remove the passages that hardly hold the answer from `retrieval`, and return them.

    Nothing is removed for a reader by rule, or if the setting `prune` is 0.
    """
    threshold = context.settings.prune
    if not threshold or not retrieval.chosen or context.reader.by_rule:
        return []
    from preflight_rag.library.search.pruning import prune

    pruning = prune(context.extractive, questions, retrieval.chosen, threshold)
    retrieval.chosen = pruning.kept
    return pruning.pruned
