"""Stage `relate_contexts`: how the passages relate to each other for the question (COrg, Algorithm 1)."""

from __future__ import annotations

from langgraph.runtime import Runtime

from preflight_rag.corg.relations import CONTEXT_OVERHEAD, relate_all
from preflight_rag.state.context import Context
from preflight_rag.state.progress import progress
from preflight_rag.state.schema import State
from preflight_rag.state.views import Related


async def relate_contexts(state: Related, runtime: Runtime[Context]) -> State:
    """Compare pivots with the contexts still open until every two are related; failed calls are gaps."""
    context, refs = runtime.context, state["passages"]
    sources = {source.n: source for source in await context.sources(refs)}
    tokens = {ref["rank"]: ref["tokens"] + CONTEXT_OVERHEAD for ref in refs}

    def report(done: int) -> None:
        note = f"comparing passages: {done} of {len(sources)}"
        runtime.stream_writer(progress("relate_contexts", note, done, len(sources)))

    related = await relate_all(
        context.reader, state["standalone_question"], sources, tokens, context.settings, settled=report
    )
    return {
        "contexts": [note.dump() for note in related.contexts],
        "relations": [relation.model_dump() for relation in related.relations],
        "gaps": [{"stage": "relate_contexts", "item": str(n), "error": error} for n, error in related.gaps],
        "spent": [{"stage": "relate_contexts", **usage.model_dump()} for usage in related.spent],
    }
