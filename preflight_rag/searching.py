"""Retrieval alone: what a question would find, and what preflight would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.conversation.rewriter import QueryRewriter
from preflight_rag.graph.readers import extractive_for
from preflight_rag.library.search.gather import gather
from preflight_rag.nodes.preflight import decide, risk_model_of
from preflight_rag.nodes.retrieve import score_of
from preflight_rag.nodes.rewrite import check_question, normalised
from preflight_rag.state.context import Settings
from preflight_rag.state.values import Gap, Hit, Preview, SearchResult

if TYPE_CHECKING:
    from preflight_rag.app import Preflight


def search(app: Preflight, query: str, settings: Settings) -> SearchResult:
    """The rankings for a query, which is not rewritten, the passages that would go on, and the route for them."""
    query = normalised(query)
    check_question(query, settings.max_question_chars)
    pubmed = app.pubmed() if settings.pubmed else None
    ladder = QueryRewriter(app.library, mode="rules", mesh=settings.mesh, pubmed=True).invoke(query).expressions
    extractive = extractive_for(app.reader, settings.extractive_reader)
    expressions = ladder if pubmed else ()
    gathered = gather(app.library, [query], settings, expressions=expressions, pubmed=pubmed, extractive=extractive)
    refs = gathered.references()
    decision = decide(query, refs, gathered.sources(), settings, risk_model_of(app.library), extractive)
    found, top = gathered.found, slice(settings.k)
    return SearchResult(
        query=query,
        dense=found.dense[top],
        lexical=found.lexical[top],
        fused=found.fused[top],
        selected=tuple(
            Hit(passage_id=ref["id"], document_id=ref["document_id"], rank=ref["rank"], score=score_of(ref))
            for ref in refs
        ),
        gaps=tuple(Gap(stage="retrieve", item=item, error=error) for item, error in gathered.problems),
        preflight=Preview(route=decision.name, **decision.model_dump(exclude={"name", "forced"})),
    )
