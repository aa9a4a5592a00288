"""Answers that lack what a question narrows: how often, a figure for each month, the end and not the beginning.

"Monthly rent" is not answered by a year's, a puppy of five months not by what one of eight weeks eats, and "rejected,
three votes to two" has the votes of two sides. The reader takes the nearest figure or day of such a sentence. By rule,
in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import without_limit
from preflight_rag.text.asked_years import names_bound
from preflight_rag.text.values import QUANTITY, asked_kind, figures_of, last_question, with_digits, years

_HOW_OFTEN = re.compile(r"\bhow (?:often|frequently|regularly)\b", re.IGNORECASE)
_WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_FREQUENCY = re.compile(
    r"\b(?:every|each|per|once|twice|times|hourly|daily|nightly|weekly|fortnightly|(?:bi-?)?monthly|quarterly|yearly"
    rf"|annual(?:ly)?|always|never|rarely|seldom|often|sometimes|usually|interval|frequency"
    r"|an? (?:day|night|week|month|year)"
    rf"|on {_WEEKDAYS})\b"
    r"|/ ?(?:day|week|month|year)|\bp\.?[am]\b",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:\b(?:an?|per|each|every) |/ ?)(?P<unit>hour|day|night|week|month|quarter|year|annum)\b"
    r"|\b(?:working|standard|normal|full) (?P<working>day|week|month|year)\b"
    r"|\b(?P<adverb>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b",
    re.IGNORECASE,
)
_UNITS = {"annum": "year", "annual": "year", "annually": "year", "daily": "day"}
_BEGINS = r"beg[iau]ns?|started|starts?|commence[sd]?|joins?|joined"
_ENDS = r"end(?:s|ed)?|finish(?:es|ed)?|expire[sd]?|terminate[sd]?"
_TURNS = tuple(re.compile(rf"\b(?:{each})\b", re.IGNORECASE) for each in (_BEGINS, _ENDS))
_MAY = re.compile(rf"\b(?:may|might|can|could)\b(?: \w+){{0,4}} (?:{_BEGINS}|{_ENDS})\b")
"""A day on which something may end, which it need not."""
_DOES = re.compile(r"\b(?:did|does|do|will)\b", re.IGNORECASE)
_LASTS = re.compile(r"\b(?:until|till|through|last(?:s|ed)|runs?|ran)\b", re.IGNORECASE)
"""Words of a sentence that has both ends of a period."""
_UNIT = re.compile(r"\b(hour|day|night|week|month|quarter|year)s?\b", re.IGNORECASE)
_MODAL = re.compile(r"\b(?:may|might|can|could|earliest|soonest|latest)\b", re.IGNORECASE)
_AGE = re.compile(
    r"\b(?P<count>\d+)[- ](?:day|week|month|year)s?[- ]old\b|\baged? (?P<aged>\d+)\b"
    r"|\bof (?P<of>\d+) (?:days|weeks|months|years)\b(?! ago)",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?: [a-z]{1,20})? ?(?:to|[-–—]) ?[$€£]?\d")
_BEFORE = re.compile(r"\d(?: [a-z]{1,20})? ?(?:to|[-–—]) ?[$€£]?\Z")
_LONE_FIGURE = re.compile(r"\W*(\d+)(?: \w+)?\W*")
_NAME = re.compile(r"\b[A-Z][\w’'-]+")


def is_too_wide(question: str, quote: str, answer: str, title: str = "") -> bool:
    """Return whether a sentence's answer leaves out what the question narrows.

    Args:
        question: The question.
        quote: The sentence, as it is shown.
        answer: The part of it that would be claimed.
        title: The title of the sentence's document.
    """
    asked = last_question(question)
    kind = asked_kind(asked)
    if kind == "date":
        return _is_of_other_turn(asked, quote) or _is_of_other_year(asked, title)
    counted = kind == "number" and (_is_one_of_a_pair(quote, answer) or _is_for_two(question, answer))
    return counted or is_of_other_rate(asked, quote, answer) or _is_of_other_age(question, quote)


def is_of_other_rate(question: str, quote: str, answer: str, *, must_name: bool = False) -> bool:
    """Return whether a question asks how often, or how much in each month, and an answer is for another time.

    A sentence without any such time is let through, unless it must name one.

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
    if must_name:
        # "A day ticket" is a row's name; the column of a year has that year's figure.
        named |= frozenset(map(str.casefold, _UNIT.findall(quote))) | frozenset(["year"] * bool(years(quote)))
    kind = asked_kind(question)
    if not asked or kind == "date" or not (must_name or kind == "number" or QUANTITY.search(question)):
        return False
    return asked.isdisjoint(named) and (must_name or bool(named))


def _rates(text: str) -> frozenset[str]:
    """Return the units of time that a text counts by: of "£700 a month" it is "month"."""
    found = [(match["unit"] or match["working"] or match["adverb"]).casefold() for match in _RATE.finditer(text)]
    # "Monthly" without its ending is the unit; "daily" and "annual" are not built so.
    return frozenset(_UNITS.get(each) or each.removesuffix("ly") for each in found)


def _is_of_other_turn(question: str, quote: str) -> bool:
    """Return whether a sentence has the other end of a period than the question, or an end that need not come."""
    asked, stated = ([bool(each.search(text)) for each in _TURNS] for text in (question, quote))
    # "When may the lease end?" asks for the day on which it may.
    if sum(asked) != 1 or not _DOES.search(question):
        return False
    place = asked.index(True)
    is_other = stated[1 - place] and not stated[place] and not _LASTS.search(quote)
    return is_other or (_MAY.search(quote) is not None and not _MODAL.search(question))


def _is_of_other_year(question: str, title: str) -> bool:
    """Return whether a document is titled by other years than the question names."""
    asked, titled = years(question), years(title.replace("_", " "))
    return bool(asked and titled) and asked.isdisjoint(titled) and not names_bound(question)


def _is_of_other_age(question: str, quote: str) -> bool:
    """Return whether a question names an age that a sentence does not."""
    match = _AGE.search(with_digits(question))
    if match is None:
        return False
    count = match["count"] or match["aged"] or match["of"]
    return count not in re.findall(r"\d+", with_digits(quote))


def _is_one_of_a_pair(quote: str, answer: str) -> bool:
    """Return whether an answer is a single figure of two: "three" of "three votes to two" or "three to five days"."""
    if not _LONE_FIGURE.fullmatch(with_digits(without_limit(answer))):
        return False
    before, _, behind = quote.partition(answer)
    return bool(_BEHIND.match(with_digits(behind)) or _BEFORE.search(with_digits(before)))


def _is_for_two(question: str, answer: str) -> bool:
    """Return whether an answer has two amounts, and a name beside the question's own: "£23 and Medivue £26"."""
    # The first word has a capital without being a name.
    asked = _NAME.findall(question[1:])
    named = [name for name in _NAME.findall(answer) if name.casefold() not in question.casefold()]
    return bool(asked and named) and " and " in answer and len(figures_of(answer).amounts) > 1
