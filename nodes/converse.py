"""Stage `converse`: reply to small talk, thanks, or a question about the conversation itself. Nothing is retrieved."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from preflight_rag.conversation.history import past_messages, sources_note, summary_and_rest
from preflight_rag.conversation.questions import messages_before
from preflight_rag.conversation.small_talk import QUOTED, earlier_answer, talk_reply
from preflight_rag.models.protocol import instructed
from preflight_rag.state.context import Context
from preflight_rag.state.errors import LibraryCorrupt
from preflight_rag.state.reading import Message, Reply, Talk
from preflight_rag.state.schema import State
from preflight_rag.state.values import Citation
from preflight_rag.state.views import Talked
from preflight_rag.text.citations import renumbered, unknown_citation


async def converse(state: Talked, runtime: Runtime[Context]) -> State:
    """Have the reader reply from the last answer's sources and earlier messages, with verified citations."""
    context, known = runtime.context, state.get("earlier")
    earlier, talk = earlier_answer(known), Talk.load(state["talk"])
    history = past_messages(messages_before(state["messages"]), state["question"])
    messages = [past.message for past in history]
    if talk.kind in QUOTED or context.reader.by_rule:
        reply = Reply(talk_reply(talk, messages, earlier))
    else:
        summary, uncondensed = summary_and_rest(history, state.get("condensed"))
        context_messages = [Message("summary", summary)] if summary else []
        context_messages += [past.message for past in uncondensed]
        context_messages += sources_note(earlier)
        reader = instructed(context.reader, state.get("instructions") or "")
        reply = await reader.converse(message=state["question"], talk=talk, history=context_messages, earlier=earlier)
    text, citations, gaps = await _verify_citations(reply.value.text, known["citations"] if known else [], context)
    notes = [{"stage": "converse", "item": "reply", "error": note} for note in reply.notes]
    return {
        "answer": text,
        "abstained": False,
        "citations": [citation.model_dump() for citation in citations],
        "gaps": notes + gaps,
        "spent": [{"stage": "converse", **reply.usage.model_dump()}],
        "options": [],
        "messages": [AIMessage(text)],
    }


async def _verify_citations(
    text: str, last_citations: Sequence[Mapping[str, Any]], context: Context
) -> tuple[str, list[Citation], list[dict[str, str]]]:
    """Verify the citations in a reply against the last answer's.

    Returns:
        The reply with its marks renumbered, their citations, and the gaps of marks that cannot be verified.
    """
    by_number = {citation["n"]: Citation.model_validate(citation) for citation in last_citations}
    answer, numbers = renumbered(text)
    citations, gaps = [], []
    for mark, n in numbers.items():
        citation = by_number.get(mark)
        if citation is None:
            error = f"the reply cites [{mark}], but the last answer has {len(by_number)} citations"
            gaps.append({"stage": "converse", "item": str(mark), "error": error})
            citations.append(unknown_citation(n))
            continue
        is_verified = citation.verified and await _is_in_library(citation, context)
        if citation.verified and not is_verified:
            error = "its passage is no longer in the library"
            gaps.append({"stage": "converse", "item": str(mark), "error": error})
        citations.append(citation.model_copy(update={"n": n, "verified": is_verified}))
    return answer, citations, gaps


async def _is_in_library(citation: Citation, context: Context) -> bool:
    """Return whether a citation's quote is still at its place in the stored passage; False if that was deleted."""
    try:
        passages = await asyncio.to_thread(context.library.passages, [citation.passage_id])
    except LibraryCorrupt:
        return False
    return bool(passages[0].text[citation.start : citation.end] == citation.quote)
