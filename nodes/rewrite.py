"""Stage `rewrite`: one standalone question out of the message and its history; the last turn's channels are cleared.

A message that asks nothing of the documents, or asks of the documents themselves, is recognised here, and a long
conversation is condensed. What
the turn before answered and cited is kept (`earlier`), since the message may point back to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from preflight_rag.conversation.follow_ups import continued_documents
from preflight_rag.conversation.history import condense_history, past_messages
from preflight_rag.conversation.instructions import instructions_of
from preflight_rag.conversation.intents import is_of_the_conversation, recognise_talk
from preflight_rag.conversation.lookups import lookup_after, pointed_lookup, recognise_lookup
from preflight_rag.conversation.questions import last_question, messages_before, normalised, options_of
from preflight_rag.conversation.rewriter import standalone_question
from preflight_rag.library.storage.cards import is_card
from preflight_rag.routing.decision import conversation_route, lookup_route
from preflight_rag.state.context import Context
from preflight_rag.state.progress import progress
from preflight_rag.state.reading import Draft, Lookup, Rewrite, Talk
from preflight_rag.state.schema import STATE_VERSION, EarlierState, State
from preflight_rag.state.views import Asked
from preflight_rag.text.headers import UNRESOLVED


async def rewrite(state: Asked, runtime: Runtime[Context]) -> State:
    """Turn the last message, given the conversation, into one standalone question with its parts and expressions."""
    context, settings = runtime.context, runtime.context.settings
    options = options_of(state.get("options"))
    question = last_question(state["messages"], settings.max_question_chars)
    history = past_messages(messages_before(state["messages"]), question)
    known = _earlier_turn(state)

    def report(count: int) -> None:
        """Report how many messages are condensed."""
        runtime.stream_writer(progress("rewrite", f"condensing {count} earlier messages"))

    short = await condense_history(context.reader, history, state.get("condensed"), settings, report)
    instructions, ignored = instructions_of(state["messages"], settings.instructions, context.reader)
    update: State = {
        "schema_version": STATE_VERSION,
        "question": question,
        "options": options,
        "instructions": instructions,
        "condensed": short.value,
        "condensed_messages": short.value["messages"],
        **cleared(),
    }
    if known:
        update["earlier"] = known
    chatting = settings.rewrite != "off" and not options
    talk = recognise_talk(question) if chatting else None
    free = chatting and settings.route == "auto"
    lookup = _lookup(question, known) if free and talk is None else None
    if talk is None and lookup is None:
        reply, within = await standalone_question(
            question, history, short.value, known, library=context.library, reader=context.reader, settings=settings
        )
        result, notes, usage = reply.value, [*short.notes, *reply.notes], short.usage + reply.usage
        update |= _searched(question, result)
        update["within"] = within
        if not within and known and known["citations"] and context.reader.by_rule:
            update["continued"] = continued_documents(question, result, known)
        if result.kind == "conversation" and chatting and is_of_the_conversation(question):
            talk = Talk("other")
        elif free and result.question != question:
            lookup = _lookup(result.question, known)
    else:
        notes, usage = list(short.notes), short.usage
        update |= _searched(question, Rewrite(question))
    if talk is not None:
        update["queries"] = []
        update["talk"] = talk.dump()
        update["decision"] = conversation_route(talk, settings).model_dump()
    elif lookup is not None:
        update["lookup"] = lookup.dump()
        update["decision"] = lookup_route(lookup, settings).model_dump()
    rows = [{"stage": "rewrite", "item": "reply", "error": note} for note in notes]
    rows += [{"stage": "rewrite", "item": "instructions", "error": note} for note in ignored]
    update["gaps"] = Overwrite(rows)  # type: ignore[typeddict-item]
    update["spent"] = Overwrite([{"stage": "rewrite", **usage.model_dump()}])  # type: ignore[typeddict-item]
    return update


def _lookup(question: str, known: EarlierState | None) -> Lookup | None:
    """Return the lookup that a message means, alone or as a continuation of the last answer; None for a question."""
    pointed = pointed_lookup(question) if known and known["citations"] else None
    lookup = pointed or recognise_lookup(question) or (lookup_after(question, known["question"]) if known else None)
    return None if lookup and known and _means_no_document(lookup, known) else lookup


def _means_no_document(lookup: Lookup, known: EarlierState) -> bool:
    """Return whether "it" of a question such as "Who wrote it?" is no document, but what was asked about before.

    A document is meant where the last answer came from the metadata of one, or where the question calls it one.
    """
    is_bare = lookup.kind == "metadata" and not (lookup.topic or lookup.named or lookup.pointed)
    return is_bare and not any(is_card(citation["passage_id"]) for citation in known["citations"])


def _searched(question: str, made: Rewrite) -> State:
    """Return the channels with the search question and its expressions."""
    standalone = normalised(made.question) or question
    return {
        "standalone_question": standalone,
        "queries": list(dict.fromkeys([standalone, *filter(None, map(normalised, made.subquestions))])),
        "rewrite": made.dump(),
    }


def _earlier_turn(state: Mapping[str, Any]) -> EarlierState | None:
    """Return the last turn that answered from the documents, before its channels are cleared.

    A turn that was not understood leaves the one before it the last.
    """
    answer = state.get("answer") or ""
    answered = answer and (state.get("decision") or {}).get("name") != "conversation"
    if not answered or answer.startswith(UNRESOLVED):
        return state.get("earlier")
    return EarlierState(
        question=state.get("standalone_question") or "",
        answer=state["answer"],
        citations=state.get("citations") or [],
        groups=state.get("groups") or [],
    )


def cleared() -> State:
    """Return the channels that belong to a single turn, at their initial values; every new channel belongs here."""
    return {
        "rungs": [],
        "passage_refs": [],
        "unread_refs": [],
        "pruned": [],
        "rankings": {"dense": [], "lexical": []},
        "talk": Talk("other").dump(),
        "within": [],
        "continued": [],
        "decision": {},
        "unchecked": False,
        "partitions": [],
        "extracts": Overwrite([]),  # type: ignore[typeddict-item]  # a reducer's channel is set, not added to
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
