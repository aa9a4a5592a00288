"""Stage `relate_contexts`: how the passages relate to each other for the question (COrg, Algorithm 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from langgraph.runtime import Runtime

from preflight_rag.corg.agreement import note_by_rule
from preflight_rag.corg.relations import RelationGraph
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ModelError
from preflight_rag.state.progress import progress
from preflight_rag.state.reading import Comparison, ContextNote, Reply, Source
from preflight_rag.state.schema import ContextState, RelationState, State
from preflight_rag.state.values import RelationKind, Usage
from preflight_rag.state.views import Related

CONTEXT_OVERHEAD = 32
"""Tokens assumed for a context's number, title and date in a prompt."""


async def relate_contexts(state: Related, runtime: Runtime[Context]) -> State:
    """Compare pivots with the contexts still open until every two are related; failed calls are gaps."""
    context, chosen = runtime.context, state["to_relate"]
    refs = [ref for ref in state["passages"] if not chosen or ref["rank"] in chosen]
    sources = {source.n: source for source in await context.sources(refs)}
    question, settings = state["standalone_question"], context.settings
    graph = RelationGraph(list(sources), mode=settings.corg_mode)
    tokens = {ref["rank"]: ref["tokens"] + CONTEXT_OVERHEAD for ref in refs}
    at_once = asyncio.Semaphore(settings.max_concurrency)
    gaps: list[dict[str, str]] = []
    spent = [Usage()]
    while step := graph.next():
        pivot, others = step

        async def compare(part: Sequence[int], pivot: int = pivot) -> Reply[Comparison]:
            async with at_once:
                return await _compare(context, question, sources[pivot], [sources[n] for n in part])

        replies = await asyncio.gather(*map(compare, cut(pivot, others, tokens, settings.relation_prompt_tokens)))
        told = merged([reply.value for reply in replies])
        spent += [reply.usage for reply in replies]
        gaps += [_gap(pivot, note) for reply in replies for note in reply.notes]
        gaps += [
            _gap(n, f"how it relates to context {pivot} could not be read: none") for n in others if n not in told.kinds
        ]
        graph.absorb(pivot, others, told)
        done, total = graph.settled(), len(sources)
        runtime.stream_writer(progress("relate_contexts", f"relating contexts: {done} of {total}", done, total))
        if not told.kinds and not told.notes:
            break
    by_rule = await asyncio.to_thread(_notes_by_rule, question, sources)
    relations = [RelationState(a=e.a, b=e.b, kind=e.kind, inferred=e.inferred) for e in graph.edges(by_rule)]
    return {
        "contexts": [_context(graph, n, by_rule) for n in sources],
        "relations": relations,
        "gaps": gaps,
        "spent": [{"stage": "relate_contexts", **usage.model_dump()} for usage in spent],
    }


async def _compare(context: Context, question: str, pivot: Source, others: Sequence[Source]) -> Reply[Comparison]:
    """What the reader says; a call that fails says nothing, and its cost and error are kept."""
    try:
        reply: Reply[Comparison] = await context.reader.relate(question=question, pivot=pivot, others=others)
    except ModelError as error:
        return Reply(Comparison({}, {}), Usage.model_validate(error.spent or {"calls": 1}), (str(error),))
    return reply


def cut(pivot: int, others: Sequence[int], tokens: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """The others in runs that fit one prompt beside the pivot; one context at least is in each."""
    run: list[int] = []
    left = most - tokens[pivot]
    for n in others:
        if run and left < tokens[n]:
            yield run
            run, left = [], most - tokens[pivot]
        run.append(n)
        left -= tokens[n]
    if run:
        yield run


def merged(parts: Sequence[Comparison]) -> Comparison:
    """The replies about one pivot as one; the first note of a context counts, one with an answer before one without."""
    kinds: dict[int, RelationKind] = {}
    notes: dict[int, ContextNote] = {}
    for part in parts:
        kinds.update(part.kinds)
        for n, note in part.notes.items():
            if n not in notes or (notes[n].answer is None and note.answer is not None):
                notes[n] = note
    return Comparison(kinds, notes)


def _notes_by_rule(question: str, sources: Mapping[int, Source]) -> dict[int, ContextNote]:
    return {n: note_by_rule(question, source) for n, source in sources.items()}


def _context(graph: RelationGraph, n: int, by_rule: Mapping[int, ContextNote]) -> ContextState:
    """What is known of a context: as the reader told, its name by rule where the reader left it out."""
    note = graph.notes.get(n, by_rule[n])
    described = graph.described(n, by_rule)
    return {
        "rank": n,
        "entity": note.entity or by_rule[n].entity,
        "descriptor": (note.descriptor or by_rule[n].descriptor) if described else None,
        "answer": note.answer,
        "told": n in graph.notes,
        "relevant": n in graph.relevant,
    }


def _gap(n: int, error: str) -> dict[str, str]:
    return {"stage": "relate_contexts", "item": str(n), "error": error}
