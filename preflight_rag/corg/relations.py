"""The relations of a question's contexts: the reader calls that `relation_graph` plans, and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from preflight_rag.corg.entities import note_by_rule
from preflight_rag.corg.relation_graph import PrintedGraph, RelationGraph
from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import CorgMode, Settings
from preflight_rag.state.errors import ModelError, ReadsTooSlowly
from preflight_rag.state.reading import ContextNote, RelationReply, Reply, Source
from preflight_rag.state.values import Relation, RelationKind, Usage

CONTEXT_OVERHEAD = 32
"""Tokens assumed for a context's number, title and date in a prompt (a guess)."""


@dataclass(frozen=True)
class RelatedContexts:
    """The contexts of a question with their relations.

    Attributes:
        contexts: The note of each context, in the order given.
        relations: The relation of each pair of relevant contexts, by their numbers.
        gaps: Pairs of a context's number and what could not be read about it.
        spent: The cost of each call.
    """

    contexts: list[ContextNote]
    relations: list[Relation[int]]
    gaps: list[tuple[int, str]]
    spent: list[Usage]


async def relate_all(
    reader: Reader,
    question: str,
    sources: Mapping[int, Source],
    tokens: Mapping[int, int],
    settings: Settings,
    settled: Callable[[int], None] = lambda _: None,
) -> RelatedContexts:
    """Have the reader compare pivots with the contexts of open relations until every pair has a relation.

    A failed call becomes a gap. Return the notes and relations of all contexts, completed by rule.

    Args:
        reader: The reader; a step's prompts are sent at once, up to `max_concurrency` of them.
        question: The standalone question.
        sources: The contexts by number, best-ranked first.
        tokens: Length of each in a prompt, by number.
        settings: `corg_mode` and `relation_prompt_tokens` are used. For a reader by rule, which relates by more than
            its notes, the mode `notes` becomes `careful`.
        settled: Called after each step with the number of contexts without an open relation.
    """
    graph = _empty_graph(list(sources), settings.corg_mode, by_rule=reader.by_rule)
    at_once = asyncio.Semaphore(settings.max_concurrency)
    result = RelatedContexts([], [], [], [Usage()])

    async def compare(pivot: int, others: Sequence[int]) -> Reply[RelationReply]:
        """Return the reader's reply about a pivot and the other contexts of one prompt, when a call is free."""
        async with at_once:
            other_sources = [sources[n] for n in others]
            printed = settings.corg_mode == "faithful"
            return await _compare_or_empty(reader, question, sources[pivot], other_sources, printed=printed)

    while step := graph.next():
        pivot, others = step
        parts = list(cut(pivot, others, tokens, settings.relation_prompt_tokens))
        replies = await asyncio.gather(*(compare(pivot, part) for part in parts))
        merged_reply = merged([reply.value for reply in replies])
        for reply in replies:
            result.spent.append(reply.usage)
            result.gaps.extend((pivot, note) for note in reply.notes)
        for n in others:
            if n not in merged_reply.kinds:
                result.gaps.append((n, f"how it relates to context {pivot} could not be read: none"))
        graph.absorb(pivot, others, merged_reply, parts)
        settled(graph.settled())
        if not merged_reply.kinds and not merged_reply.notes and settings.corg_mode != "faithful":
            # A reader whose replies are all empty would be called once for each class, each time in vain.
            break
    by_rule = await asyncio.to_thread(_notes_by_rule, question, sources)
    result.relations.extend(graph.relations(by_rule))
    result.contexts.extend(graph.context(n, by_rule) for n in sources)
    return result


def _empty_graph(contexts: Sequence[int], mode: CorgMode, *, by_rule: bool) -> RelationGraph:
    """Return an empty graph of relations for a mode; a reader by rule always gets `careful` instead of `notes`."""
    if mode == "faithful":
        return PrintedGraph(contexts)
    return RelationGraph(contexts, mode="careful" if by_rule else mode)


async def _compare_or_empty(
    reader: Reader, question: str, pivot: Source, others: Sequence[Source], *, printed: bool
) -> Reply[RelationReply]:
    """Return the reader's reply about a pivot; a failed call gives an empty reply with its cost and error.

    Raises:
        ReadsTooSlowly: The model has no time for the contexts. It would answer from some of them, as if no other
            contradicted these; so the turn continues without the model, over all of them.
    """
    try:
        return await reader.relate(question=question, pivot=pivot, others=others, printed=printed)
    except ReadsTooSlowly:
        raise
    except ModelError as error:
        return Reply(RelationReply({}, {}), Usage.of_failed(error.spent), (str(error),))


def _notes_by_rule(question: str, sources: Mapping[int, Source]) -> dict[int, ContextNote]:
    """Return the note by rule of each context, by its number."""
    return {n: note_by_rule(question, source) for n, source in sources.items()}


def cut(pivot: int, others: Sequence[int], tokens: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Yield the other contexts in groups that fit, with the pivot, into one prompt of `most` tokens.

    Each group has at least one context.
    """
    group: list[int] = []
    budget = most - tokens[pivot]
    for n in others:
        if group and budget < tokens[n]:
            yield group
            group, budget = [], most - tokens[pivot]
        group.append(n)
        budget -= tokens[n]
    if group:
        yield group


def merged(parts: Sequence[RelationReply]) -> RelationReply:
    """Return the merged replies about one pivot.

    The first note of a context counts, one with an answer before one without.
    """
    kinds: dict[int, RelationKind] = {}
    notes: dict[int, ContextNote] = {}
    for part in parts:
        kinds.update(part.kinds)
        for n, note in part.notes.items():
            if n not in notes or (notes[n].answer is None and note.answer is not None):
                notes[n] = note
    return RelationReply(kinds, notes)
