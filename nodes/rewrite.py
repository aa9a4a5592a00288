"""Stage `rewrite`: one standalone question out of the message and its history; the last turn's channels are cleared."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ..library.rewriter import QueryRewriter
from ..state.context import Context
from ..state.errors import UsageError
from ..state.reading import Message
from ..state.schema import STATE_VERSION, Asked, DraftState, State

HISTORY_MESSAGES = 8


async def rewrite(state: Asked, runtime: Runtime[Context]) -> State:
    """Turn the last message and the conversation before it into one standalone question, its parts and expressions."""
    context, settings = runtime.context, runtime.context.settings
    question, history = last_question(state["messages"], settings.max_question_chars)
    rewriter = QueryRewriter(
        context.library, reader=context.reader, mode=settings.rewrite, mesh=settings.mesh, pubmed=settings.pubmed
    )
    reply = await rewriter.rewritten(question, history)
    made = reply.value
    standalone = normalised(made.question) or question
    notes = [{"stage": "rewrite", "item": "reply", "error": note} for note in reply.notes]
    return {
        "schema_version": STATE_VERSION,
        "question": question,
        "standalone_question": standalone,
        "queries": list(dict.fromkeys([standalone, *filter(None, map(normalised, made.subquestions))])),
        "rewrite": {
            "by": made.by,
            "corrections": list(made.corrections),
            "concepts": list(made.concepts),
            "expressions": list(made.expressions),
        },
        **_cleared(),
        "gaps": Overwrite(notes),  # type: ignore[typeddict-item]
        "spent": Overwrite([{"stage": "rewrite", **reply.usage.model_dump()}]),  # type: ignore[typeddict-item]
    }


def _cleared() -> State:
    """The channels of the turn before, as they are at the beginning of one."""
    return {
        "rungs": [],
        "passages": [],
        "pruned": [],
        "rankings": {"dense": [], "lexical": []},
        "decision": {},
        "partitions": [],
        "extracts": Overwrite([]),  # type: ignore[typeddict-item]  # a reducer's channel is set, not added to
        "to_relate": [],
        "contexts": [],
        "relations": [],
        "organisation": {},
        "group_drafts": Overwrite([]),  # type: ignore[typeddict-item]
        "entries": [],
        "escalations": [],
        "onward": "abstain",
        "draft": DraftState(text="", quotes=[], found=False, choice=None),
        "answer": "",
        "abstained": False,
        "choice": None,
        "citations": [],
        "statements": [],
        "groups": [],
    }


def last_question(messages: Sequence[AnyMessage], longest: int) -> tuple[str, list[Message]]:
    """The last human message, normalised, and the messages before it that count as history (oldest first).

    Raises:
        UsageError: There is no such message, it is empty, or it is longer than `longest` characters.
    """
    at = next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], HumanMessage)), None)
    question = normalised(str(messages[at].text)) if at is not None else ""
    check_question(question, longest)
    history = [
        Message("user" if isinstance(message, HumanMessage) else "assistant", str(message.text))
        for message in messages[:at]
        if isinstance(message, HumanMessage | AIMessage) and str(message.text).strip()
    ]
    return question, history[-HISTORY_MESSAGES:]


def check_question(question: str, longest: int) -> None:
    """Raise UsageError unless the question has words and a sensible length."""
    if not question.strip():
        raise UsageError("the question is empty", help='Ask something, as in: preflight ask "What is ...?"')
    if len(question) > longest:
        raise UsageError(
            f"the question has {len(question):,} characters; at most {longest:,} are read",
            help="Ingest the text as a document and ask about it, or raise PREFLIGHT_MAX_QUESTION_CHARS.",
        )


def normalised(text: str) -> str:
    """Text in Unicode's composed form, without control characters, with single spaces."""
    composed = unicodedata.normalize("NFC", text)
    printable = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else " " for c in composed)
    return " ".join(printable.split())
