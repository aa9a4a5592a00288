"""Quotes of the last answer, read again for a follow-up that would else be denied: "How long was their lead time?".

A quote may say it in other words: "fitted, one-year warranty, 14 weeks". It is shown, and nothing is claimed, where it
has a figure of the kind asked for besides the one that was asked for before. A text that contains the noun asked for,
"lead time", must give the same figure: the quote would else speak of another thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from preflight_rag.state.schema import EarlierState
from preflight_rag.text.money import asks_sum
from preflight_rag.text.values import asked_kind, figures_of, with_digits
from preflight_rag.text.words import STOP_WORDS, words

MOST_SHOWN = 2
"""Maximum number of quotes that are shown again; a guess."""
_TIME_UNIT = r"(?:minutes?|hours?|days?|nights?|weeks?|months?|years?)"
_NUMBER = r"(?:\d[\d.,]{0,12}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|several|an?)"
_DURATION = re.compile(rf"\b{_NUMBER}(?: (?:more|whole|full|working))?[ -]{_TIME_UNIT}\b", re.I)
_AMOUNT = re.compile(
    r"[$€£] ?\d[\d.,]{0,12}(?<=\d)|(?<![\d.,])\d[\d.,]{0,12} ?(?:€|pounds?\b|euros?\b|dollars?\b)", re.I
)
_HOW_LONG = re.compile(r"\bhow long\b(?! ago\b)", re.I)
_QUESTION_WORD = re.compile(r"\b(?:how|what|which|when|long|much|many|high|big|large)\b", re.I)
_OWNED_NOUN_AT_END = re.compile(r"\b(?:their|its|his|her|the)(?P<noun>(?: [a-z]{3,20}){1,3})$", re.I)


def quotes_with_the_figure(message: str, standalone_question: str, last_answer: EarlierState) -> list[dict[str, Any]]:
    """Return the last answer's citations whose quote has a figure of the kind that a follow-up asks for.

    There are none unless the standalone question consists of the last question with the follow-up behind it.
    """
    if (
        not last_answer["question"]
        or not standalone_question.startswith(last_answer["question"])
        or standalone_question == last_answer["question"]
    ):
        return []
    find_figures = figures_asked_for(message)
    if find_figures is None:
        return []
    # A second sum is what was asked for besides the first one; a sum alone has been shown already.
    is_same_kind = figures_asked_for(last_answer["question"]) is find_figures
    least_figures = 2 if is_same_kind else 1
    quotes = [
        citation for citation in last_answer["citations"] if len(find_figures(citation["quote"])) >= least_figures
    ]
    return quotes[:MOST_SHOWN]


def gives_the_same(message: str, quote: str, texts_with_noun: Sequence[str]) -> bool:
    """Return whether one of the texts with the noun asked for contains a figure of the quote; True without such texts.

    Only figures of the kind that the message asks for count.
    """
    if not texts_with_noun:
        return True
    find_figures = figures_asked_for(message)
    if find_figures is None:
        return False
    quoted_figures = frozenset(find_figures(quote))
    return any(quoted_figures.intersection(find_figures(text)) for text in texts_with_noun)


def noun_asked_for(message: str) -> str:
    """Return the noun behind "their" or "the" at the end of a message: "lead time" of "their lead time?"; or ""."""
    match = _OWNED_NOUN_AT_END.search(message.strip(" ?.!"))
    if match is None:
        return ""
    return " ".join(word for word in match["noun"].split() if word.lower() not in STOP_WORDS)


def names_more(message: str) -> bool:
    """Return whether a follow-up has content words besides the noun that it asks for and its question words."""
    noun = noun_asked_for(message)
    without_noun = message.replace(noun, " ") if noun else message
    return bool(frozenset(words(_QUESTION_WORD.sub(" ", without_noun))) - STOP_WORDS)


def figures_asked_for(question: str) -> Callable[[str], Sequence[object]] | None:
    """Return the function that finds the durations, sums or dates a question asks for; None for other questions."""
    if _HOW_LONG.search(question):
        return _durations
    if asks_sum(question):
        return _sums
    return _dates if asked_kind(question) == "date" else None


def _durations(text: str) -> list[str]:
    """Return the different durations in a text, such as "14 weeks", in lower case."""
    return list(dict.fromkeys(match[0].casefold() for match in _DURATION.finditer(with_digits(text))))


def _sums(text: str) -> list[str]:
    """Return the different amounts of money in a text, such as "£640"."""
    return list(dict.fromkeys(match[0].casefold() for match in _AMOUNT.finditer(text)))


def _dates(text: str) -> list[tuple[float, ...]]:
    """Return the different dates in a text."""
    return list(dict.fromkeys(figures_of(text).dates))
