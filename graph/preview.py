"""A search without a turn: the rankings, the passages that a turn would read, and the preflight's decision on them."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.routing.decision import decide
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import profile_of_reader
from preflight_rag.state.context import Context
from preflight_rag.state.values import Gap, Hit, Preview, SearchResult


def preview(query: str, context: Context, *, compare_answers: bool) -> SearchResult:
    """Return what a turn with this question would retrieve and decide; the question is not rewritten.

    Args:
        query: The question, normalised and checked.
        context: Library, reader, settings, and the client of PubMed if it is to be searched.
        compare_answers: Whether the extractive reader reads the passages, so that the route takes into account whether
            they answer differently.
    """
    settings, library = context.settings, context.library
    expressions: Sequence[str] = ()
    if context.pubmed:
        from preflight_rag.conversation.rewriter import QueryRewriter

        rewriter = QueryRewriter(library, mode="rules", mesh=settings.mesh, pubmed=True)
        expressions = rewriter.invoke(query).expressions
    retrieval = retrieve_passages(
        library, [query], settings, expressions=expressions, pubmed=context.pubmed, extractive=context.extractive
    )
    refs = retrieval.references()
    extractive = context.extractive if compare_answers else None
    profile = profile_of_reader(context.reader)
    decision = decide(query, refs, retrieval.sources(), settings, risk_model_of(library), extractive, profile=profile)
    rankings, k = retrieval.found, settings.k
    selected = []
    for ref in refs:
        relevance = ref.get("relevance")
        score = ref["score"] if relevance is None else relevance
        selected.append(Hit(passage_id=ref["id"], document_id=ref["document_id"], rank=ref["rank"], score=score))
    return SearchResult(
        query=query,
        dense=tuple(rankings.dense[:k]),
        lexical=tuple(rankings.lexical[:k]),
        fused=tuple(rankings.fused[:k]),
        selected=tuple(selected),
        gaps=tuple(Gap(stage="retrieve", item=item, error=error) for item, error in retrieval.problems),
        preflight=Preview(route=decision.name, **decision.model_dump(exclude={"name", "forced"})),
    )
