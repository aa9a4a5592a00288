"""Stage `rewrite`: one standalone question out of the message and its history; the last turn's channels are cleared.

A message that asks nothing of the documents is seen here, and so is what a long conversation comes to in short. What
the turn before answered and cited is kept (`earlier`), since the message may point back to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from preflight_rag.conversation.follow_ups import counts_out, pointed_at
from preflight_rag.conversation.history import Said, in_parts, known_of, notes_on, overflow, said_before
from preflight_rag.conversation.intents import is_of_the_conversation, talk_of, without_courtesy
from preflight_rag.conversation.questions import last_question, messages_before, normalised
from preflight_rag.conversation.rewriter import QueryRewriter
from preflight_rag.conversation.small_talk import earlier_of
from preflight_rag.models.chat.chat_reader import add
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.progress import progress
from preflight_rag.state.reading import Draft, Message, Reply, Rewrite, Talk
from preflight_rag.state.schema import STATE_VERSION, CondensedState, EarlierState, State
from preflight_rag.state.values import RouteDecision, Usage
from preflight_rag.state.views import Asked
from preflight_rag.text.condense import condense

NOTHING_CONDENSED = CondensedState(text="", messages=0, upto="")
REASONS = {
    "source": "the message asks to see a source of the last answer",
    "sources": "the message asks for the sources of the last answer",
    "asked": "the message asks what was asked before",
    "questions": "the message asks what was asked before",
    "repeat": "the message asks for the last answer again",
    "summary": "the message asks what was said so far",
    "shorter": "the message asks for the last answer in short",
    "restyle": "the message asks for the last answer in other words",
    "other": "the message asks nothing of the documents",
}


async def rewrite(state: Asked, runtime: Runtime[Context]) -> State:
    """Turn the last message and the conversation before it into one standalone question, its parts and expressions."""
    context, settings = runtime.context, runtime.context.settings
    question = last_question(state["messages"], settings.max_question_chars)
    history = said_before(messages_before(state["messages"]), question)
    known = earlier_turn(state)
    short = await _shortened(history, state.get("condensed"), runtime)
    update: State = {
        "schema_version": STATE_VERSION,
        "question": question,
        "options": state.get("options") or [],
        "condensed": short.value,
        "condensed_messages": short.value["messages"],
        **_cleared(),
    }
    if known:
        update["earlier"] = known
    chatting = settings.rewrite != "off" and not state.get("options")
    talk = talk_of(question) if chatting else None
    if talk is None:
        reply, within = await _question(question, history, short.value, known, context)
        made, notes, usage = reply.value, [*short.notes, *reply.notes], add(short.usage, reply.usage)
        update |= _searched(question, made)
        update["within"] = within
        if made.kind == "conversation" and chatting and is_of_the_conversation(question):
            talk = Talk("other")
    else:
        notes, usage = list(short.notes), short.usage
        update |= _searched(question, Rewrite(question))
    if talk is not None:
        update["queries"] = []
        update["talk"] = talk.dump()
        update["decision"] = _decision(talk, settings).model_dump()
    rows = [{"stage": "rewrite", "item": "reply", "error": note} for note in notes]
    update["gaps"] = Overwrite(rows)  # type: ignore[typeddict-item]
    update["spent"] = Overwrite([{"stage": "rewrite", **usage.model_dump()}])  # type: ignore[typeddict-item]
    return update


async def _question(
    question: str, history: Sequence[Said], short: CondensedState, known: EarlierState | None, context: Context
) -> tuple[Reply[Rewrite], list[str]]:
    """The message as a question of its own, and the documents that it names as sources of the last answer."""
    settings, earlier = context.settings, earlier_of(known)
    summary, rest = known_of(history, short)
    message, named = pointed_at(without_courtesy(question), earlier) if settings.rewrite != "off" else (question, ())
    read = [*([Message("summary", summary)] if summary else []), *(said.message for said in rest)]
    rewriter = QueryRewriter(
        context.library, reader=context.reader, mode=settings.rewrite, mesh=settings.mesh, pubmed=settings.pubmed
    )
    asked = [m.text for m in (said.message for said in history) if m.role == "user" and talk_of(m.text) is None]
    if known and asked and counts_out(asked[-1]):
        asked[-1] = known["question"]
    asked = [text for text in asked if not counts_out(text)]
    reply = await rewriter.rewritten(message, [*read, *(notes_on(earlier) if read else [])], asked)
    documents = {citation["n"]: citation["document_id"] for citation in known["citations"]} if known else {}
    return reply, [documents[n] for n in named if documents.get(n)]


async def _shortened(
    history: Sequence[Said], condensed: CondensedState | None, runtime: Runtime[Context]
) -> Reply[CondensedState]:
    """What the part of the conversation that does not fit `history_tokens` comes to; a model that fails is a gap."""
    context, settings = runtime.context, runtime.context.settings
    summary, rest = known_of(history, condensed)
    known = condensed if condensed and summary else NOTHING_CONDENSED
    older = list(rest[: overflow(summary, rest, settings.history_tokens)])
    if not older:
        return Reply(known)
    count = known["messages"] + len({said.id for said in older})
    runtime.stream_writer(progress("rewrite", f"putting {count} earlier messages in short"))
    by_rule = settings.rewrite in ("rules", "off") or context.reader is None or context.reader.by_rule
    usage, notes = Usage(), []
    for part in in_parts([said.message for said in older]):
        if by_rule:
            summary = condense(summary, part)
            continue
        try:
            reply: Reply[str] = await context.reader.condense(summary=summary, messages=part)
        except ModelError as error:
            usage = add(usage, Usage.model_validate(error.spent or {"calls": 1}))
            notes.append(f"earlier messages were put in short by rule: {error}")
            summary = condense(summary, part)
        else:
            summary, usage = reply.value, add(usage, reply.usage)
            notes += reply.notes
    return Reply(CondensedState(text=summary, messages=count, upto=older[-1].id), usage, tuple(notes))


def _searched(question: str, made: Rewrite) -> State:
    """What is searched for."""
    standalone = normalised(made.question) or question
    return {
        "standalone_question": standalone,
        "queries": list(dict.fromkeys([standalone, *filter(None, map(normalised, made.subquestions))])),
        "rewrite": made.dump(),
    }


def _decision(talk: Talk, settings: Settings) -> RouteDecision:
    """The route without retrieval, and why."""
    reason = REASONS.get(talk.kind, f"the message is small talk ({talk.kind})")
    reason = f"{reason}: nothing is searched for"
    return RouteDecision(name="conversation", reason=reason, top_n=settings.top_n, threshold=settings.threshold)


def earlier_turn(state: Mapping[str, Any]) -> EarlierState | None:
    """The last turn that answered from the documents, before its channels are cleared."""
    answered = state.get("answer") and (state.get("decision") or {}).get("name") != "conversation"
    if not answered:
        return state.get("earlier")
    return EarlierState(
        question=state.get("standalone_question") or "",
        answer=state["answer"],
        citations=state.get("citations") or [],
        groups=state.get("groups") or [],
    )


def _cleared() -> State:
    """The channels of the turn before, as they are at the beginning of one."""
    return {
        "rungs": [],
        "passages": [],
        "pruned": [],
        "rankings": {"dense": [], "lexical": []},
        "talk": Talk("other").dump(),
        "within": [],
        "decision": {},
        "partitions": [],
        "extracts": Overwrite([]),  # type: ignore[typeddict-item]  # a reducer's channel is set, not added to
        "to_relate": [],
        "contexts": [],
        "relations": [],
        "organisation": {},
        "choices": [],
        "left_out": [],
        "group_drafts": Overwrite([]),  # type: ignore[typeddict-item]
        "entries": [],
        "escalations": [],
        "onward": "abstain",
        "draft": Draft("", found=False).dump(),
        "answer": "",
        "abstained": False,
        "choice": None,
        "citations": [],
        "statements": [],
        "groups": [],
    }
