"""Answers that lack what a question narrows: how often, a figure for each month, the end and not the beginning.

"Monthly rent" is not answered by a year's, a puppy of five months not by what one of eight weeks eats, and "rejected,
three votes to two" has the votes of two sides. The reader takes the nearest figure or day of such a sentence. By rule,
in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.text.asked_years import names_bound
from preflight_rag.text.values import QUANTITY, asked_kind, figures_of, last_question, with_digits, years

_HOW_OFTEN = re.compile(r"\bhow (?:often|frequently|regularly)\b", re.IGNORECASE)
_WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_FREQUENCY = re.compile(
    r"\b(?:every|each|per|once|twice|times|hourly|daily|nightly|weekly|fortnightly|(?:bi-?)?monthly|quarterly|yearly"
    rf"|annual(?:ly)?|always|never|rarely|seldom|often|sometimes|usually|an? (?:day|night|week|month|year)"
    rf"|on {_WEEKDAYS})\b"
    r"|/ ?(?:day|week|month|year)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:\b(?:an?|per|each|every) |/ ?)(?P<unit>hour|day|night|week|month|quarter|year|annum)\b"
    r"|\b(?:working|standard|normal|full) (?P<working>day|week|month|year)\b"
    r"|\b(?P<adverb>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b",
    re.IGNORECASE,
)
_UNITS = {"annum": "year", "annual": "year", "annually": "year", "daily": "day"}
_BEGINS = r"beg[iau]ns?|started|starts?|commence[sd]?|opens?|opened|joins?|joined"
_ENDS = r"end(?:s|ed)?|finish(?:es|ed)?|expire[sd]?|terminate[sd]?|closes?|closed|stops?|stopped"
_TURNS = tuple(re.compile(rf"\b(?:{each})\b", re.IGNORECASE) for each in (_BEGINS, _ENDS))
_MAY = re.compile(rf"\b(?:may|might|can|could)\b(?: \w+){{0,4}} (?:{_BEGINS}|{_ENDS})\b")
"""A day on which something may end, which it need not."""
_MODAL = re.compile(r"\b(?:may|might|can|could|earliest|soonest|latest)\b", re.IGNORECASE)
_AGE = re.compile(
    r"\b(?P<count>\d+)[- ](?:day|week|month|year)s?[- ]old\b|\baged? (?P<aged>\d+)\b"
    r"|\bof (?P<of>\d+) (?:days|weeks|months|years)\b(?! ago)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\b(\d+)(?: [a-z]{1,20})? ?(?:to|[-–—]) ?(\d+)\b")
_LONE_FIGURE = re.compile(r"\W*(\d+)(?: \w+)?\W*")
_NAME = re.compile(r"\b[A-Z][\w’'-]+")


def is_too_wide(question: str, quote: str, answer: str) -> bool:
    """Return whether a sentence's answer leaves out what the question narrows.

    Args:
        question: The question.
        quote: The sentence, as it is shown.
        answer: The part of it that would be claimed.
    """
    asked = last_question(question)
    kind = asked_kind(asked)
    if kind == "date":
        return _is_of_other_turn(asked, quote) or _is_of_other_year(asked, quote)
    counted = kind == "number" and (_is_one_of_a_pair(quote, answer) or _is_for_two(question, answer))
    return counted or is_of_other_rate(asked, quote, answer) or _is_of_other_age(question, quote)


def is_of_other_rate(question: str, quote: str, answer: str, *, must_name: bool = False) -> bool:
    """Return whether a question asks how often or how much in each month, and an answer says neither.

    Args:
        question: The question.
        quote: The sentence, or the names of a cell's column and row.
        answer: The answer.
        must_name: Whether an amount is to name the time it is for, as a table's figure is a sum of any.
    """
    stated = f"{quote} {answer}" if must_name else quote
    if _HOW_OFTEN.search(question):
        return not _FREQUENCY.search(stated if must_name else answer)
    asked, named = _rates(question), _rates(stated)
    kind = asked_kind(question)
    if not asked or kind == "date" or not (must_name or kind == "number" or QUANTITY.search(question)):
        return False
    return asked.isdisjoint(named) and (must_name or bool(named))


def _rates(text: str) -> frozenset[str]:
    """Return the units of time that a text counts by: of "£700 a month" it is "month"."""
    found = [(match["unit"] or match["working"] or match["adverb"]).casefold() for match in _RATE.finditer(text)]
    return frozenset(_UNITS.get(each) or each.removesuffix("ly") for each in found)


def _is_of_other_turn(question: str, quote: str) -> bool:
    """Return whether a sentence says when something began where its end is asked for, or may end where it did."""
    asked, stated = ([bool(each.search(text)) for each in _TURNS] for text in (question, quote))
    if sum(asked) != 1:
        return False
    place = asked.index(True)
    is_other = stated[1 - place] and not stated[place]
    return is_other or (_MAY.search(quote) is not None and not _MODAL.search(question))


def _is_of_other_year(question: str, quote: str) -> bool:
    """Return whether a sentence with a day is about other years than the question names."""
    asked, stated = years(question), years(quote)
    return bool(asked and stated) and asked.isdisjoint(stated) and not names_bound(question)


def _is_of_other_age(question: str, quote: str) -> bool:
    """Return whether a question names an age that a sentence does not."""
    match = _AGE.search(with_digits(question))
    if match is None:
        return False
    count = match["count"] or match["aged"] or match["of"]
    return count not in re.findall(r"\d+", with_digits(quote))


def _is_one_of_a_pair(quote: str, answer: str) -> bool:
    """Return whether an answer is a single figure of two: "three" of "three votes to two" or "three to five days"."""
    figure = _LONE_FIGURE.fullmatch(with_digits(answer))
    return figure is not None and any(figure[1] in pair for pair in _PAIR.findall(with_digits(quote)))


def _is_for_two(question: str, answer: str) -> bool:
    """Return whether an answer has two amounts, and a name that the question does not: "£23 and Medivue £26"."""
    named = [name for name in _NAME.findall(answer) if name.casefold() not in question.casefold()]
    return bool(named) and " and " in answer and len(figures_of(answer).amounts) > 1
