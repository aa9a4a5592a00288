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
        summary, rest = summary_and_rest(history, state.get("condensed"))
        read = [*([Message("summary", summary)] if summary else []), *(past.message for past in rest)]
        read += sources_note(earlier)
        reader = instructed(context.reader, state.get("instructions") or "")
        reply = await reader.converse(message=state["question"], talk=talk, history=read, earlier=earlier)
    text, citations, gaps = await _cited(reply.value.text, known["citations"] if known else [], context)
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


async def _cited(
    text: str, known: Sequence[Mapping[str, Any]], context: Context
) -> tuple[str, list[Citation], list[dict[str, str]]]:
    """Return the reply with its marks renumbered, their citations, and the gaps of marks that cannot be checked."""
    by_number = {citation["n"]: Citation.model_validate(citation) for citation in known}
    answer, numbers = renumbered(text)
    citations, gaps = [], []
    for mark, n in numbers.items():
        found = by_number.get(mark)
        if found is None:
            error = f"the reply cites [{mark}], but the last answer has {len(by_number)} citations"
            gaps.append({"stage": "converse", "item": str(mark), "error": error})
            citations.append(unknown_citation(n))
            continue
        stands = found.verified and await _stands(found, context)
        if found.verified and not stands:
            error = "its passage is no longer in the library"
            gaps.append({"stage": "converse", "item": str(mark), "error": error})
        citations.append(found.model_copy(update={"n": n, "verified": stands}))
    return answer, citations, gaps


async def _stands(citation: Citation, context: Context) -> bool:
    """Return whether a citation's quote is still in the stored passage."""
    try:
        passages = await asyncio.to_thread(context.library.passages, [citation.passage_id])
    except LibraryCorrupt:
        return False
    return bool(passages[0].text[citation.start : citation.end] == citation.quote)
