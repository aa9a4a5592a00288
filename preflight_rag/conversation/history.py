"""The conversation before a question as a reader gets it: word for word as far as it fits, what is older in short.

Nothing is cut in silence: older messages go into a summary, which a model writes or which is made by rule, and the turn
says how many messages that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from preflight_rag.state.reading import Earlier, Message
from preflight_rag.state.schema import CondensedState
from preflight_rag.text.condense import SHORT_CHARS, beginning

UNANSWERED = "(not answered: the turn was stopped or failed)"
PART_TOKENS = 6_000
"""Tokens of messages that one summary takes in."""


@dataclass(frozen=True)
class Said:
    """A message of the thread, under the id by which it is found again."""

    id: str
    message: Message


def said_before(messages: Sequence[AnyMessage], question: str) -> list[Said]:
    """What people and assistants said, oldest first; a question without an answer is marked as such.

    One that is asked again now is left out: it says nothing that the question itself does not.
    """
    heard = [
        Said(message.id or f"#{i}", Message("user" if isinstance(message, HumanMessage) else "assistant", text))
        for i, message in enumerate(messages)
        if isinstance(message, HumanMessage | AIMessage) and (text := str(message.text)).strip()
    ]
    found: list[Said] = []
    for i, each in enumerate(heard):
        after = heard[i + 1].message.role if i + 1 < len(heard) else "user"
        unanswered = each.message.role == "user" and after == "user"
        if unanswered and " ".join(each.message.text.split()) == question:
            continue
        found.append(each)
        if unanswered:
            found.append(Said(each.id, Message("assistant", UNANSWERED)))
    return found


def tokens_of(text: str) -> int:
    """Tokens of a message, estimated."""
    return len(text) // 4 + 4


def known_of(history: Sequence[Said], condensed: CondensedState | None) -> tuple[str, list[Said]]:
    """The summary that stands, and the messages after it; none where its last message is no longer there."""
    if condensed:
        places = [i for i, said in enumerate(history) if said.id == condensed["upto"]]
        if places:
            return condensed["text"], list(history[places[-1] + 1 :])
    return "", list(history)


def overflow(summary: str, history: Sequence[Said], budget: int) -> int:
    """How many of the messages, from the oldest on, have to go into the summary for the rest to fit half the budget.

    0 while all of them fit the whole of it.
    """
    sizes = [tokens_of(said.message.text) for said in history]
    if tokens_of(summary) + sum(sizes) <= budget:
        return 0
    keep, used = len(history), 0
    while keep and used + sizes[keep - 1] <= budget // 2:
        keep -= 1
        used += sizes[keep]
    while keep < len(history) and history[keep].message.role != "user":
        keep += 1
    return keep


def in_parts(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages in runs that one summary can take in; a longer message is a run of its own, in short."""
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


def notes_on(earlier: Earlier) -> list[Message]:
    """What the last answer was made of, as one message: its answers by what they are for, and its sources' titles."""
    lines = [
        f"answer {n}, for {label}: {beginning(answer, SHORT_CHARS)}"
        for n, (label, answer) in enumerate(earlier.groups, 1)
    ]
    lines += [f"source {source.n}: {source.title or source.source}" for source in earlier.sources]
    return [Message("sources", "\n".join(lines))] if lines else []
