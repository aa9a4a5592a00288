"""The question of a turn: found among the messages, normalised, checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage


def last_question(messages: Sequence[AnyMessage], longest: int) -> str:
    """Return the last human message, normalised.

    Raises:
        UsageError: There is no such message, it is empty, or it is longer than `longest` characters.
    """
    at = _last_human(messages)
    question = normalised(str(messages[at].text)) if at is not None else ""
    check_question(question, longest)
    return question


def options_of(given: object) -> list[str]:
    """Return the choices of a multiple-choice question.

    In a graph that embeds ours, a channel of that name may hold something else; such a value counts as no choices.
    """
    texts = [option for option in given if isinstance(option, str)] if isinstance(given, list | tuple) else []
    return texts if len(texts) > 1 and len(texts) == len(given) else []  # type: ignore[arg-type]


def messages_before(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages before the last human one."""
    return messages[: _last_human(messages)]


def _last_human(messages: Sequence[AnyMessage]) -> int | None:
    """Return the index of the last human message; None if there is none."""
    from langchain_core.messages import HumanMessage  # not above: a search checks its question without LangChain

    return next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], HumanMessage)), None)


def check_question(question: str, longest: int) -> None:
    """Raise UsageError unless the question has words and a sensible length."""
    if not question.strip():
        raise UsageError("the question is empty", help='Ask something, as in: preflight ask "What is ...?"')
    if len(question) > longest:
        raise UsageError(
            f"the question has {len(question):,} characters; at most {longest:,} are read",
            help="Ingest the text as a document and ask about it, or raise PREFLIGHT_MAX_QUESTION_CHARS.",
        )


def check_options(options: Sequence[str]) -> None:
    """Raise UsageError unless the options are several, or none at all."""
    if isinstance(options, str) or len(options) == 1:
        raise UsageError(
            f"options={options!r} is not a choice between options",
            help="Give two or more options (--option, repeated).",
        )


def normalised(text: str) -> str:
    """Return a text in Unicode's composed form, without control characters, with single spaces."""
    composed = unicodedata.normalize("NFC", text)
    printable = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else " " for c in composed)
    return " ".join(printable.split())
