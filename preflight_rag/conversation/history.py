"""The conversation before a question as a reader gets it: recent messages word for word, older ones condensed.

Nothing is cut in silence: older messages go into a summary, written by a model or by rule, and the turn says how many
messages were condensed.
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
MOST_TOKENS_PER_PART = 6_000
"""Tokens of messages that one summary call reads; a guess that leaves room in a window of 8,000."""


@dataclass(frozen=True)
class PastMessage:
    """A message of the thread, with its message id."""

    id: str
    message: Message


def past_messages(messages: Sequence[AnyMessage], question: str) -> list[PastMessage]:
    """Return the human and assistant messages, oldest first; behind a question without an answer stands `UNANSWERED`.

    An unanswered question that is repeated now is left out, because it adds nothing to the current question.
    """
    with_text = [
        PastMessage(message.id or f"#{i}", Message("user" if isinstance(message, HumanMessage) else "assistant", text))
        for i, message in enumerate(messages)
        if isinstance(message, HumanMessage | AIMessage) and (text := str(message.text)).strip()
    ]
    past: list[PastMessage] = []
    for i, current in enumerate(with_text):
        next_role = with_text[i + 1].message.role if i + 1 < len(with_text) else "user"
        is_unanswered = current.message.role == "user" and next_role == "user"
        if is_unanswered and " ".join(current.message.text.split()) == question:
            continue
        past.append(current)
        if is_unanswered:
            past.append(PastMessage(current.id, Message("assistant", UNANSWERED)))
    return past


def tokens_of(text: str) -> int:
    """Return the estimated number of tokens of a message: one for every four characters, and four for its role."""
    return len(text) // 4 + 4


def summary_and_rest(history: Sequence[PastMessage], condensed: CondensedState | None) -> tuple[str, list[PastMessage]]:
    """Return the existing summary and the messages after those that it covers.

    The result is "" and the whole history if there is no summary, or if its last message is not in the history.
    """
    if condensed:
        covered = [i for i, past in enumerate(history) if past.id == condensed["upto"]]
        if covered:
            return condensed["text"], list(history[covered[-1] + 1 :])
    return "", list(history)


def messages_to_condense(summary: str, history: Sequence[PastMessage], budget: int) -> int:
    """Return how many of the oldest messages must go into the summary so that the others fit half the token budget.

    The result is 0 while the summary and all messages fit the whole budget.
    """
    sizes = [tokens_of(past.message.text) for past in history]
    if tokens_of(summary) + sum(sizes) <= budget:
        return 0
    first_kept, used = len(history), 0
    while first_kept and used + sizes[first_kept - 1] <= budget // 2:
        first_kept -= 1
        used += sizes[first_kept]
    # The messages kept begin with a question, since an answer alone cannot be understood.
    while first_kept < len(history) and history[first_kept].message.role != "user":
        first_kept += 1
    return first_kept


async def condense_history(
    reader: Reader | None,
    history: Sequence[PastMessage],
    condensed: CondensedState | None,
    settings: Settings,
    report: Callable[[int], None] = lambda _: None,
) -> Reply[CondensedState]:
    """Return the summary of the messages beyond `history_tokens`; the existing summary while all others fit.

    Args:
        reader: The model that condenses; rules do without one, if the settings ask for rules, or if the model fails.
        history: The conversation, oldest first.
        condensed: The summary that an earlier turn made.
        settings: `history_tokens` and `rewrite` are used.
        report: Called with the number of messages before they are condensed.
    """
    summary, rest = summary_and_rest(history, condensed)
    known = condensed if condensed and summary else NOTHING_CONDENSED
    older = list(rest[: messages_to_condense(summary, rest, settings.history_tokens)])
    if not older:
        return Reply(known)
    count = known["messages"] + len({past.id for past in older})
    report(count)
    by_model = reader if reader and not reader.by_rule and settings.rewrite not in ("rules", "off") else None
    usage, notes = Usage(), []
    for part in split_for_summary([past.message for past in older]):
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


def split_for_summary(messages: Sequence[Message]) -> list[list[Message]]:
    """Divide messages into parts that one summary call can read; a message longer than a part is cut."""
    parts: list[list[Message]] = [[]]
    used = 0
    for message in messages:
        size = tokens_of(message.text)
        if size > MOST_TOKENS_PER_PART:
            # The beginning that is kept takes half a part: two characters for each token of a whole one.
            message = Message(message.role, beginning(message.text, MOST_TOKENS_PER_PART * 2))
            size = MOST_TOKENS_PER_PART // 2
        if used and used + size > MOST_TOKENS_PER_PART:
            parts.append([])
            used = 0
        parts[-1].append(message)
        used += size
    return parts


def sources_note(earlier: Earlier) -> list[Message]:
    """Return one message that lists the last answer's entities and sources, [] if it has none.

    A model needs it to understand "the second source" or "the first answer".
    """
    lines = [
        f"answer {n}, for {entity}: {beginning(answer, SHORT_CHARS)}"
        for n, (entity, answer) in enumerate(earlier.groups, 1)
    ]
    lines += [f"source {source.n}: {source.title or source.source}" for source in earlier.sources]
    return [Message("sources", "\n".join(lines))] if lines else []
