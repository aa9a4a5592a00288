"""Stage `rewrite`: one standalone question out of the message and its history; the last turn's channels are cleared.

A message that asks nothing of the documents, or asks of the documents themselves, is recognised here, and a long
conversation is condensed. What the turn before answered and cited is kept (`earlier`), since the message may point back
to it.
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
    """Turn the last message into one standalone question with its parts and search expressions.

    For small talk, and questions about the documents themselves, choose their route as well.
    """
    context, settings = runtime.context, runtime.context.settings
    options = options_of(state.get("options"))
    question = last_question(state["messages"], settings.max_question_chars)
    history = past_messages(messages_before(state["messages"]), question)
    earlier = _earlier_turn(state)

    def report(count: int) -> None:
        """Report the number of messages that are being condensed, as progress of the stage."""
        runtime.stream_writer(progress("rewrite", f"condensing {count} earlier messages"))

    condensed = await condense_history(context.reader, history, state.get("condensed"), settings, report)
    instructions, ignored = instructions_of(state["messages"], settings.instructions, context.reader)
    update: State = {
        "schema_version": STATE_VERSION,
        "question": question,
        "options": options,
        "instructions": instructions,
        "condensed": condensed.value,
        "condensed_messages": condensed.value["messages"],
        **cleared(),
    }
    if earlier:
        update["earlier"] = earlier
    recognises_talk = settings.rewrite != "off" and not options
    recognises_lookups = recognises_talk and settings.route == "auto"
    talk = recognise_talk(question) if recognises_talk else None
    lookup = _lookup(question, earlier) if recognises_lookups and talk is None else None
    if talk is None and lookup is None:
        reply, within = await standalone_question(
            question,
            history,
            condensed.value,
            earlier,
            library=context.library,
            reader=context.reader,
            settings=settings,
        )
        result = reply.value
        notes, usage = [*condensed.notes, *reply.notes], condensed.usage + reply.usage
        update |= _search_update(question, result)
        update["within"] = within
        if not within and earlier and earlier["citations"] and context.reader.by_rule:
            update["continued"] = continued_documents(question, result, earlier)
        if result.kind == "conversation" and recognises_talk and is_of_the_conversation(question):
            talk = Talk("other")
        elif recognises_lookups and result.question != question:
            lookup = _lookup(result.question, earlier)
    else:
        notes, usage = list(condensed.notes), condensed.usage
        update |= _search_update(question, Rewrite(question))
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


def _lookup(question: str, earlier: EarlierState | None) -> Lookup | None:
    """Return the lookup of documents or their metadata that a message asks for; None for any other question.

    The message may ask for it alone, or as a continuation of the last answer, as in "Who wrote it?".
    """
    lookup = pointed_lookup(question) if earlier and earlier["citations"] else None
    lookup = lookup or recognise_lookup(question)
    if earlier:
        lookup = lookup or lookup_after(question, earlier["question"])
        if lookup and _means_no_document(lookup, earlier):
            return None
    return lookup


def _means_no_document(lookup: Lookup, earlier: EarlierState) -> bool:
    """Return whether "it" of a question such as "Who wrote it?" is no document, but what was asked about before.

    A document is meant if the last answer came from the metadata of one, or if the question calls it one.
    """
    is_bare = lookup.kind == "metadata" and not (lookup.topic or lookup.named or lookup.pointed)
    return is_bare and not any(is_card(citation["passage_id"]) for citation in earlier["citations"])


def _search_update(question: str, rewritten: Rewrite) -> State:
    """Return the channels with the standalone question, or the message itself if it is empty, and its search."""
    standalone = normalised(rewritten.question) or question
    parts = [part for part in map(normalised, rewritten.subquestions) if part]
    return {
        "standalone_question": standalone,
        "queries": list(dict.fromkeys([standalone, *parts])),
        "rewrite": rewritten.dump(),
    }


def _earlier_turn(state: Mapping[str, Any]) -> EarlierState | None:
    """Return the last turn that answered from the documents, read from its channels before they are cleared.

    If the turn before was about the conversation, or its message was not understood, it is the one before that; None if
    there is none.
    """
    answer = state.get("answer") or ""
    is_answered = answer and (state.get("decision") or {}).get("name") != "conversation"
    if not is_answered or answer.startswith(UNRESOLVED):
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
