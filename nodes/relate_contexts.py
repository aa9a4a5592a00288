"""Stage `relate_contexts`: how what the documents say relates to each other for the question (COrg, Algorithm 1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain

from langgraph.runtime import Runtime

from preflight_rag.corg.contexts import OF_PROMPT, contexts_of
from preflight_rag.corg.relations import CONTEXT_OVERHEAD, relate_all
from preflight_rag.models.protocol import within_window
from preflight_rag.state.context import Context
from preflight_rag.state.progress import progress
from preflight_rag.state.schema import State
from preflight_rag.state.views import Related

NOT_COMPARED = "not compared: the passages of its document that rank before it fill a prompt (relation_prompt_tokens)"


async def relate_contexts(state: Related, runtime: Runtime[Context]) -> State:
    """Have the reader say how each two contexts relate: as duplicates, by contradicting each other, and so on.

    Each call compares one context, the pivot, with those to which it has no relation yet (COrg, Algorithm 1; the kinds
    of relations are those of section 2.1). Failed calls become gaps.
    """
    context, refs = runtime.context, state["passage_refs"]
    settings = await asyncio.to_thread(within_window, context.settings, context.reader)
    passage_tokens = {ref["rank"]: ref["tokens"] for ref in refs}
    max_tokens = settings.relation_prompt_tokens // OF_PROMPT
    contexts = contexts_of(await context.sources(refs), passage_tokens, max_tokens)
    sources = {source.n: source for source in contexts}
    ranks: dict[int, tuple[int, ...]] = {}
    tokens: dict[int, int] = {}
    for number, source in sources.items():
        ranks[number] = tuple(part.n for part in source.parts)
        tokens[number] = sum(passage_tokens[rank] for rank in ranks[number]) + CONTEXT_OVERHEAD
    unread = sorted(passage_tokens.keys() - set(chain.from_iterable(ranks.values())))

    def report(done: int) -> None:
        """Report the number of contexts that are compared, as progress of the stage."""
        note = f"comparing documents: {done} of {len(sources)}"
        runtime.stream_writer(progress("relate_contexts", note, done, len(sources)))

    related = await relate_all(context.reader, state["standalone_question"], sources, tokens, settings, settled=report)
    gaps = []
    for n, error in [*related.gaps, *((rank, NOT_COMPARED) for rank in unread)]:
        gaps.append({"stage": "relate_contexts", "item": str(n), "error": error})
    return {
        "contexts": [replace(note, ranks=ranks[note.rank]).dump() for note in related.contexts],
        "relations": [relation.model_dump(exclude={"documents", "announced"}) for relation in related.relations],
        "gaps": gaps,
        "spent": [{"stage": "relate_contexts", **usage.model_dump()} for usage in related.spent],
    }
