"""Stage `read_metadata`: who wrote a document, where and when it was published, by what the library knows of it.

A question that the metadata do not answer goes on to a search, as any other.
"""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.conversation.metadata import read_cards
from preflight_rag.library.search.retrieval import passage_reference, read_filter
from preflight_rag.state.context import Context
from preflight_rag.state.reading import Draft, Lookup
from preflight_rag.state.schema import State
from preflight_rag.state.views import LookedUp
from preflight_rag.text.citations import find_citation


async def read_metadata(state: LookedUp, runtime: Runtime[Context]) -> State:
    """Answer from the metadata card of the document that the question means, or leave the question to retrieval."""
    context = runtime.context
    lookup = Lookup.load(state["lookup"])
    where, _ = read_filter(context.settings)
    card_answer = await asyncio.to_thread(read_cards, context.library, lookup, state.get("earlier"), where)
    if card_answer is None:
        return {"onward": "retrieve"}
    text, quotes, value = card_answer.text, card_answer.quotes, card_answer.value
    cards = dict(enumerate(card_answer.cards, 1))
    citations = [find_citation(n, n, text, quotes, cards) for n in cards]
    draft = Draft(text, quotes, short=value, claims=bool(value))
    return {
        "onward": "cite",
        "passage_refs": [passage_reference(card, n) for n, card in cards.items()],
        "draft": draft.dump(),
        "answer": text,
        "abstained": False,
        "citations": [citation.model_dump() for citation in citations],
        "options": [],
        "messages": [AIMessage(text)],
    }
