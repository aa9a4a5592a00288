"""What the last answer cited, read again for a follow-up that would else be denied: "How long was their lead time?".

The quote may say it in other words: "fitted, one-year warranty, 14 weeks". It is shown, and nothing is claimed, where
it has a figure of the asked kind besides the one that was asked for before. A document that names what the follow-up
asks for, as "lead time" does, must give the same figure: the quote would else speak of another thing.
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
"""Quotes that are shown again; a guess."""
_UNIT = r"(?:minutes?|hours?|days?|nights?|weeks?|months?|years?)"
_NUMBER = r"(?:\d[\d.,]{0,12}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|several|an?)"
_DURATION = re.compile(rf"\b{_NUMBER}(?: (?:more|whole|full|working))?[ -]{_UNIT}\b", re.I)
_AMOUNT = re.compile(
    r"[$€£] ?\d[\d.,]{0,12}(?<=\d)|(?<![\d.,])\d[\d.,]{0,12} ?(?:€|pounds?\b|euros?\b|dollars?\b)", re.I
)
_HOW_LONG = re.compile(r"\bhow long\b(?! ago\b)", re.I)
_ASKED_FIGURE = re.compile(r"\b(?:how|what|which|when|long|much|many|high|big|large)\b", re.I)
_OWN_NOUN = re.compile(r"\b(?:their|its|his|her|the)(?P<noun>(?: [a-z]{3,20}){1,3})$", re.I)


def quotes_with_the_figure(message: str, asked: str, earlier: EarlierState) -> list[dict[str, Any]]:
    """Return the last answer's citations whose quote has a figure of the kind that a follow-up asks for.

    Args:
        message: The follow-up as it was typed.
        asked: The standalone question made from it; only one that was put behind the question before leans on it.
        earlier: The last answer.
    """
    if not earlier["question"] or not asked.startswith(earlier["question"]) or asked == earlier["question"]:
        return []
    figures = figures_asked_for(message)
    if figures is None:
        return []
    # A second sum is what was asked for besides the first one; a sum alone has been shown already.
    before = figures_asked_for(earlier["question"])
    least = 2 if before is figures else 1
    return [each for each in earlier["citations"] if len(figures(each["quote"])) >= least][:MOST_SHOWN]


def gives_the_same(message: str, quote: str, naming: Sequence[str]) -> bool:
    """Return whether one of the texts that name what a follow-up asks for has a figure of a quote; True without texts.

    Args:
        message: The follow-up.
        quote: What the last answer cited.
        naming: The texts with the noun that the follow-up asks for.
    """
    figures = figures_asked_for(message)
    own = frozenset(figures(quote)) if figures else frozenset()
    return not naming or any(own.intersection(figures(text)) for text in naming if figures)


def noun_asked_for(message: str) -> str:
    """Return what belongs to whoever was spoken of, "lead time" of "How long was their lead time?"; "" for nothing."""
    match = _OWN_NOUN.search(message.strip(" ?.!"))
    found = [word for word in match["noun"].split() if word.lower() not in STOP_WORDS] if match else []
    return " ".join(found)


def names_more(message: str) -> bool:
    """Return whether a follow-up has content words besides the noun that it asks for and its question words."""
    rest = _ASKED_FIGURE.sub(" ", message.replace(noun_asked_for(message) or "\0", " "))
    return bool(frozenset(words(rest)) - STOP_WORDS)


def figures_asked_for(question: str) -> Callable[[str], Sequence[object]] | None:
    """Return the function that finds the figures which a question asks for in a text; None for other questions."""
    if _HOW_LONG.search(question):
        return _durations
    if asks_sum(question):
        return _sums
    return _dates if asked_kind(question) == "date" else None


def _durations(text: str) -> list[str]:
    """Return the times that something takes."""
    return list(dict.fromkeys(match[0].casefold() for match in _DURATION.finditer(with_digits(text))))


def _sums(text: str) -> list[str]:
    """Return the different amounts of money in a text."""
    return list(dict.fromkeys(match[0].casefold() for match in _AMOUNT.finditer(text)))


def _dates(text: str) -> list[tuple[float, ...]]:
    """Return the different dates in a text."""
    return list(dict.fromkeys(figures_of(text).dates))
