"""Answers that lack a restriction of the question: how often, a figure for each month, the end and not the beginning.

"Monthly rent" is not answered by a year's, a puppy of five months not by what one of eight weeks eats, and "rejected,
three votes to two" has the votes of two sides. The reader takes the nearest figure or day of such a sentence. By rule,
in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import without_limit
from preflight_rag.text.asked_years import names_bound
from preflight_rag.text.values import QUANTITY, asked_kind, figures_of, last_question, with_digits, years

_ASKS_HOW_OFTEN = re.compile(r"\bhow (?:often|frequently|regularly)\b", re.IGNORECASE)
_WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_STATES_FREQUENCY = re.compile(
    r"\b(?:every|each|per|once|twice|times|hourly|daily|nightly|weekly|fortnightly|(?:bi-?)?monthly|quarterly|yearly"
    rf"|annual(?:ly)?|always|never|rarely|seldom|often|sometimes|usually|interval|frequency"
    r"|an? (?:day|night|week|month|year)"
    rf"|on {_WEEKDAYS})\b"
    r"|/ ?(?:day|week|month|year)|\bp\.?[am]\b",
    re.IGNORECASE,
)
_TIME_UNIT_OF_RATE = re.compile(
    r"(?:\b(?:an?|per|each|every) |/ ?)(?P<unit>hour|day|night|week|month|quarter|year|annum)\b"
    r"|\b(?:working|standard|normal|full) (?P<working>day|week|month|year)\b"
    r"|\b(?P<adverb>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b",
    re.IGNORECASE,
)
_UNIT_OF_WORD = {"annum": "year", "annual": "year", "annually": "year", "daily": "day"}
_BEGIN_VERBS = r"beg[iau]ns?|started|starts?|commence[sd]?|joins?|joined"
_END_VERBS = r"end(?:s|ed)?|finish(?:es|ed)?|expire[sd]?|terminate[sd]?"
_BEGIN_AND_END = tuple(re.compile(rf"\b(?:{verbs})\b", re.IGNORECASE) for verbs in (_BEGIN_VERBS, _END_VERBS))
"""Two patterns: verbs for the beginning of a period, and verbs for its end."""
_MAY_BEGIN_OR_END = re.compile(rf"\b(?:may|might|can|could)\b(?: \w+){{0,4}} (?:{_BEGIN_VERBS}|{_END_VERBS})\b")
"""Matches a day on which something may begin or end: it need not do so."""
_ASKS_WHAT_HAPPENS = re.compile(r"\b(?:did|does|do|will)\b", re.IGNORECASE)
_STATES_WHOLE_PERIOD = re.compile(r"\b(?:until|till|through|last(?:s|ed)|runs?|ran)\b", re.IGNORECASE)
"""Matches words of a sentence that gives both ends of a period."""
_TIME_UNIT = re.compile(r"\b(hour|day|night|week|month|quarter|year)s?\b", re.IGNORECASE)
_ASKS_WHAT_IS_POSSIBLE = re.compile(r"\b(?:may|might|can|could|earliest|soonest|latest)\b", re.IGNORECASE)
_AGE = re.compile(
    r"\b(?P<count>\d+)[- ](?:day|week|month|year)s?[- ]old\b|\baged? (?P<aged>\d+)\b"
    r"|\bof (?P<of>\d+) (?:days|weeks|months|years)\b(?! ago)",
    re.IGNORECASE,
)
_SECOND_FIGURE_BEHIND = re.compile(r"(?: [a-z]{1,20})? ?(?:to|[-–—]) ?[$€£]?\d")
_FIRST_FIGURE_BEFORE = re.compile(r"\d(?: [a-z]{1,20})? ?(?:to|[-–—]) ?[$€£]?\Z")
_LONE_FIGURE = re.compile(r"\W*(\d+)(?: \w+)?\W*")
_NAME = re.compile(r"\b[A-Z][\w’'-]+")


def is_too_wide(question: str, quote: str, answer: str, title: str = "") -> bool:
    """Return whether an answer ignores a restriction of the question, so that it must not be claimed.

    A date is refused if it is of the other end of a period, or of another year than the question; a number if it is one
    figure of a pair, or has the amounts of two names; any other answer, or number, if it is for another time unit or
    another age.

    Args:
        question: The question.
        quote: The sentence, as it is shown.
        answer: The part of it that would be claimed.
        title: The title of the sentence's document.
    """
    final_question = last_question(question)
    kind = asked_kind(final_question)
    if kind == "date":
        return _has_other_end_of_period(final_question, quote) or _title_has_other_year(final_question, title)
    if kind == "number" and (_is_one_of_a_pair(quote, answer) or _has_amounts_of_two_names(question, answer)):
        return True
    return is_of_other_rate(final_question, quote, answer) or _lacks_the_age(question, quote)


def is_of_other_rate(question: str, quote: str, answer: str, *, must_name: bool = False) -> bool:
    """Return whether an answer is not for the time unit of the question: a year's rent, asked for the monthly one.

    A question "How often …?" needs an answer with a frequency. For any other question than one for an amount per time
    unit, the result is False, as it is for a sentence that names no time unit, unless `must_name`.

    Args:
        question: The question.
        quote: The sentence, or the names of a cell's column and row.
        answer: The answer.
        must_name: Whether the quote or answer has to name the time unit, because the figure of a table may be the sum
        over any time.
    """
    quote_and_answer = f"{quote} {answer}"
    if _ASKS_HOW_OFTEN.search(question):
        return not _STATES_FREQUENCY.search(quote_and_answer if must_name else answer)
    question_units = _rate_units(question)
    stated_units = _rate_units(quote_and_answer if must_name else quote)
    if must_name:
        # "A day ticket" is a row's name; the column of a year has that year's figure.
        stated_units |= frozenset(map(str.casefold, _TIME_UNIT.findall(quote)))
        if years(quote):
            stated_units |= {"year"}
    kind = asked_kind(question)
    is_for_amount = must_name or kind == "number" or QUANTITY.search(question) is not None
    if not question_units or kind == "date" or not is_for_amount:
        return False
    return question_units.isdisjoint(stated_units) and (must_name or bool(stated_units))


def _rate_units(text: str) -> frozenset[str]:
    """Return the time units of the rates in a text: "month" for "£700 a month" and for "monthly rent"."""
    unit_words = [
        (match["unit"] or match["working"] or match["adverb"]).casefold() for match in _TIME_UNIT_OF_RATE.finditer(text)
    ]
    # "Monthly" without "ly" is its unit; "daily" and "annual" are irregular.
    return frozenset(_UNIT_OF_WORD.get(word) or word.removesuffix("ly") for word in unit_words)


def _has_other_end_of_period(question: str, quote: str) -> bool:
    """Return whether a sentence gives the end of a period where its beginning is asked for, or the other way round.

    True as well for an end that is only possible ("the lease may end on 1 May"). False for a question that does not ask
    when exactly one of the two happens.
    """
    asked_ends = [pattern.search(question) is not None for pattern in _BEGIN_AND_END]
    stated_ends = [pattern.search(quote) is not None for pattern in _BEGIN_AND_END]
    if sum(asked_ends) != 1 or not _ASKS_WHAT_HAPPENS.search(question):
        return False
    asked_index = asked_ends.index(True)
    other_index = 1 - asked_index
    if stated_ends[other_index] and not stated_ends[asked_index] and not _STATES_WHOLE_PERIOD.search(quote):
        return True
    # "When may the lease end?" asks for the day on which it may.
    return _MAY_BEGIN_OR_END.search(quote) is not None and not _ASKS_WHAT_IS_POSSIBLE.search(question)


def _title_has_other_year(question: str, title: str) -> bool:
    """Return whether a title names years, and none of the question's; False if the question has no year, or a bound.

    A bound is "since 2019" or "before 2020", which other years may fulfil.
    """
    question_years, title_years = years(question), years(title.replace("_", " "))
    if not question_years or not title_years or names_bound(question):
        return False
    return question_years.isdisjoint(title_years)


def _lacks_the_age(question: str, quote: str) -> bool:
    """Return whether a question names an age ("a puppy of 5 months") whose number a sentence lacks."""
    match = _AGE.search(with_digits(question))
    if match is None:
        return False
    count = match["count"] or match["aged"] or match["of"]
    return count not in re.findall(r"\d+", with_digits(quote))


def _is_one_of_a_pair(quote: str, answer: str) -> bool:
    """Return whether an answer is one figure of a pair: "three" of "three votes to two" or "three to five days"."""
    if not _LONE_FIGURE.fullmatch(with_digits(without_limit(answer))):
        return False
    before, _, behind = quote.partition(answer)
    return bool(_SECOND_FIGURE_BEHIND.match(with_digits(behind)) or _FIRST_FIGURE_BEFORE.search(with_digits(before)))


def _has_amounts_of_two_names(question: str, answer: str) -> bool:
    """Return whether an answer has amounts of two things, one of which the question does not name.

    "£23 and Medivue £26" is too much for "What does Optivue cost?".
    """
    # The first word has a capital without being a name.
    question_names = _NAME.findall(question[1:])
    other_names = [name for name in _NAME.findall(answer) if name.casefold() not in question.casefold()]
    if not question_names or not other_names:
        return False
    return " and " in answer and len(figures_of(answer).amounts) > 1
