"""The conversation before a question, as a reader gets it: recent messages word for word, older ones condensed.

Nothing is cut in silence: older messages go into a summary, which a model writes or which is made by rule, and the turn
says how many messages that are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Earlier, Message, Reply
from preflight_rag.state.schema import CondensedState
from preflight_rag.state.values import Usage
from preflight_rag.text.condense import SHORT_CHARS, beginning, condense

NOTHING_CONDENSED = CondensedState(text="", messages=0, upto="")
UNANSWERED = "(not answered: the turn was stopped or failed)"
PART_TOKENS = 6_000
"""Tokens of messages that one summary takes in; a guess that leaves room in a window of 8,000."""


@dataclass(frozen=True)
class PastMessage:
    """A message of the thread, with its message id."""

    id: str
    message: Message


def past_messages(messages: Sequence[AnyMessage], question: str) -> list[PastMessage]:
    """Return the human and assistant messages, oldest first; a question without an answer is marked as such.

    An unanswered question that is repeated now is left out, because it adds nothing to the current question.
    """
    spoken = [
        PastMessage(message.id or f"#{i}", Message("user" if isinstance(message, HumanMessage) else "assistant", text))
        for i, message in enumerate(messages)
        if isinstance(message, HumanMessage | AIMessage) and (text := str(message.text)).strip()
    ]
    found: list[PastMessage] = []
    for i, each in enumerate(spoken):
        after = spoken[i + 1].message.role if i + 1 < len(spoken) else "user"
        unanswered = each.message.role == "user" and after == "user"
        if unanswered and " ".join(each.message.text.split()) == question:
            continue
        found.append(each)
        if unanswered:
            found.append(PastMessage(each.id, Message("assistant", UNANSWERED)))
    return found


def tokens_of(text: str) -> int:
    """Return the estimated tokens of a message."""
    return len(text) // 4 + 4


def summary_and_rest(history: Sequence[PastMessage], condensed: CondensedState | None) -> tuple[str, list[PastMessage]]:
    """Return the existing summary and the messages after it.

    Without its last message in the history, the summary is dropped.
    """
    if condensed:
        places = [i for i, past in enumerate(history) if past.id == condensed["upto"]]
        if places:
            return condensed["text"], list(history[places[-1] + 1 :])
    return "", list(history)


def overflow(summary: str, history: Sequence[PastMessage], budget: int) -> int:
    """Return how many of the oldest messages must go into the summary so that the rest fits half the budget.

    0 while all of them fit the whole of it.
    """
    sizes = [tokens_of(past.message.text) for past in history]
    if tokens_of(summary) + sum(sizes) <= budget:
        return 0
    keep, used = len(history), 0
    while keep and used + sizes[keep - 1] <= budget // 2:
        keep -= 1
        used += sizes[keep]
    while keep < len(history) and history[keep].message.role != "user":
        keep += 1
    return keep


async def condense_history(
    reader: Reader | None,
    history: Sequence[PastMessage],
    condensed: CondensedState | None,
    settings: Settings,
    report: Callable[[int], None] = lambda _: None,
) -> Reply[CondensedState]:
    """Return the summary of the messages beyond `history_tokens`; the existing summary while all others fit.

    Args:
        reader: The model that condenses; without one, if the settings ask for it, or if it fails, rules
        condense.
        history: The conversation, oldest first.
        condensed: The summary that an earlier turn made.
        settings: `history_tokens` and `rewrite` are used.
        report: Called with the number of messages before they are condensed.
    """
    summary, rest = summary_and_rest(history, condensed)
    known = condensed if condensed and summary else NOTHING_CONDENSED
    older = list(rest[: overflow(summary, rest, settings.history_tokens)])
    if not older:
        return Reply(known)
    count = known["messages"] + len({past.id for past in older})
    report(count)
    by_model = reader if reader and not reader.by_rule and settings.rewrite not in ("rules", "off") else None
    usage, notes = Usage(), []
    for part in summary_parts([past.message for past in older]):
        if by_model is None:
            summary = condense(summary, part)
            continue
        try:
            reply: Reply[str] = await by_model.condense(summary=summary, messages=part)
        except ModelError as error:
            usage += Usage.of_failed(error.spent)
            notes.append(f"earlier messages were condensed by rule: {error}")
            summary = condense(summary, part)
        else:
            summary, usage = reply.value, usage + reply.usage
            notes += reply.notes
    return Reply(CondensedState(text=summary, messages=count, upto=older[-1].id), usage, tuple(notes))


def summary_parts(messages: Sequence[Message]) -> list[list[Message]]:
    """Divide messages into runs that one summary call can read; a longer message is cut, in a run of its own."""
    parts: list[list[Message]] = [[]]
    used = 0
    for message in messages:
        size = tokens_of(message.text)
        if size > PART_TOKENS:
            message, size = Message(message.role, beginning(message.text, PART_TOKENS * 2)), PART_TOKENS // 2
        if used and used + size > PART_TOKENS:
            parts.append([])
            used = 0
        parts[-1].append(message)
        used += size
    return parts


def sources_note(earlier: Earlier) -> list[Message]:
    """Return a message that describes the last answer: its answers with their subjects, and its sources' titles."""
    lines = [
        f"answer {n}, for {label}: {beginning(answer, SHORT_CHARS)}"
        for n, (label, answer) in enumerate(earlier.groups, 1)
    ]
    lines += [f"source {source.n}: {source.title or source.source}" for source in earlier.sources]
    return [Message("sources", "\n".join(lines))] if lines else []
