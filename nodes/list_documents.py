"""Stage `list_documents`: which documents fit what was asked, counted over the whole library, with a quote of each.

Nothing is read for an answer here: the list says what was searched for, and each quote stands in its document.
"""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.conversation.listing import list_matching
from preflight_rag.library.search.retrieval import passage_reference, read_filter
from preflight_rag.state.context import Context
from preflight_rag.state.reading import Lookup
from preflight_rag.state.schema import State
from preflight_rag.state.views import LookedUp
from preflight_rag.text.citations import find_citation


async def list_documents(state: LookedUp, runtime: Runtime[Context]) -> State:
    """Answer with a list of the documents that a question asks for, with a quote of each."""
    context = runtime.context
    where, _ = read_filter(context.settings)
    listing = await asyncio.to_thread(list_matching, context.library, Lookup.load(state["lookup"]), where)
    passages = dict(enumerate(listing.passages, 1))
    citations = [find_citation(n, n, listing.text, listing.quotes, passages) for n in passages]
    return {
        "passage_refs": [passage_reference(passage, n) for n, passage in passages.items()],
        "answer": listing.text,
        "abstained": False,
        "citations": [citation.model_dump() for citation in citations],
        "options": [],
        "messages": [AIMessage(listing.text)],
    }
