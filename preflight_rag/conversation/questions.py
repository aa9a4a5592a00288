"""The question of a turn: it is found among the messages, normalised and checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage


def last_question(messages: Sequence[AnyMessage], longest: int) -> str:
    """Return the text of the last human message in normal form.

    Raises:
        UsageError: There is no such message, it is empty, or it is longer than `longest` characters.
    """
    index = _index_of_last_human_message(messages)
    question = normalised(str(messages[index].text)) if index is not None else ""
    check_question(question, longest)
    return question


def options_of(given: object) -> list[str]:
    """Return the choices of a multiple-choice question; [] unless `given` is a list of several texts.

    In a graph that embeds ours, the channel of that name may contain something else.
    """
    texts = [option for option in given if isinstance(option, str)] if isinstance(given, list | tuple) else []
    return texts if len(texts) > 1 and len(texts) == len(given) else []  # type: ignore[arg-type]


def messages_before(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages before the last human one; all of them if there is none."""
    return messages[: _index_of_last_human_message(messages)]


def _index_of_last_human_message(messages: Sequence[AnyMessage]) -> int | None:
    """Return the index of the last human message; None if there is none."""
    from langchain_core.messages import HumanMessage  # not above: a search checks its question without LangChain

    last_first = reversed(range(len(messages)))
    return next((index for index in last_first if isinstance(messages[index], HumanMessage)), None)


def check_question(question: str, longest: int) -> None:
    """Raise UsageError if a question is empty or has more than `longest` characters."""
    if not question.strip():
        raise UsageError("the question is empty", help='Ask something, as in: preflight ask "What is ...?"')
    if len(question) > longest:
        raise UsageError(
            f"the question has {len(question):,} characters; at most {longest:,} are read",
            help="Ingest the text as a document and ask about it, or raise PREFLIGHT_MAX_QUESTION_CHARS.",
        )


def check_options(options: Sequence[str]) -> None:
    """Raise UsageError if the options are a single text or a list of one; several, or none, are right."""
    if isinstance(options, str) or len(options) == 1:
        raise UsageError(
            f"options={options!r} is not a choice between options",
            help="Give two or more options (--option, repeated).",
        )


def normalised(text: str) -> str:
    """Return a text in Unicode's composed form (NFC), with single spaces for white space and control characters."""
    composed = unicodedata.normalize("NFC", text)
    printable = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else " " for c in composed)
    return " ".join(printable.split())
