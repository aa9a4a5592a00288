"""Whether two answers can contradict each other at all: only if both answer the same thing about the same subject.

An answer is compared within its sentence, which may bind it to a time (a year, "at 6 months") or to a population (an
arm, a sex, an age); if both are bound and differ, the answers are both valid and do not disagree. The same holds for
figures of different dimensions, and for a figure and a name. Opposite directions of an effect disagree whatever other
words they share. English; by rule, no reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from preflight_rag.corg.agreement import same_answer
from preflight_rag.text.negation import DENIAL
from preflight_rag.text.populations import POPULATIONS
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import Amount, Figures, figures_of
from preflight_rag.text.words import STOP_WORDS

MAX_ANSWER_WORDS = 12
"""Largest number of words of a short answer, which can contradict another one; a guess: a figure with its unit."""
MIN_SURE_PROBABILITY = 0.9
"""Least probability of a context's answer at which a contradiction with it is announced. Chosen on pairs of the
validation part of RAMDocs and half of ConflictQA: 82 of 83 announced at it do contradict, at 0.6 87 of 90."""

# "1900 people", "$1900" and "1900.5" have the four digits of a year and are amounts.
_YEAR = re.compile(r"(?<![\d.,/$€£])(?:1[5-9]|20)\d\d(?![\d/]|[.,]\d|\s?(?:%|mg|ml|g|kg|km|people|patients)\b)")
_DAYS_OF_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}
_PERIOD = re.compile(
    r"\b(?:at|after|over|within|during|for|by|through|to)\s(?:the\s|about\s|a\s)?(?P<number>\d+|[a-z]+)[\s-]"
    r"(?P<unit>day|week|month|year)s?\b|\b(?P<before>\d+|[a-z]+)-(?P<length>day|week|month|year)\b"
    r"|\b(?P<name>day|week|month|year)\s(?P<place>\d+)\b|\b(?P<figure>\d+)\s(?P<short>day|week|month|year)s\b",
    re.I,
)
"""Matches a time since a start, or a duration: "at 6 months", "the 12-week trial", "week 24"."""
_QUARTER = re.compile(
    r"\b(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)[\s-](?P<part>quarter|half)\b"
    r"|\b(?P<letter>[QH])(?P<number>[1-4])\b",
    re.I,
)
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
# In "treatment group B" the letter is the name, so the word before "group" is none.
_ARM = re.compile(
    r"(?<![\w+-])[+-]*+(?P<after>\w[\w+-]{0,39}(?:\s(?:mg|µg|g|ml|%))?)"
    r"[\s-](?:arm|group|cohort|subgroup)s?\b(?!\s(?:(?-i:[A-Z])|\d+)\b)"
    r"|\b(?:arm|group|cohort|subgroup|phase|study|trial|table)\s(?P<before>(?-i:[A-Z]|[IVX]+)\b|\d+\b)",
    re.I,
)
_NO_ARM_NAMES = STOP_WORDS | {"study", "age", "patient", "whole"}
_INCREASE = re.compile(
    r"\b(?:increas\w*|rais\w+|ris(?:e|es|ing|en)|rose|higher|greater|more|longer|elevat\w*|improv\w*|gain\w*"
    r"|grew|grow\w*|better|superior|promot\w*|up)\b",
    re.I,
)
_DECREASE = re.compile(
    r"\b(?:decreas\w*|reduc\w*|lower\w*|fewer|less|shorter|declin\w*|fell|falls?|fallen|drop\w*|diminish\w*|worse\w*"
    r"|inferior|inhibit\w*|suppress\w*|down)\b",
    re.I,
)
_NO_EFFECT = re.compile(
    r"\b(?:no|not|without|lack(?:s|ed)? of)\s(?:\w+\s){0,3}?(?:difference|effect|change|benefit|increase|decrease"
    r"|reduction|improvement|association|impact|influence)s?\b|\b(?:unchanged|similar|comparable|same|equal)\b"
    r"|\b(?:did|does|do|was|were|is|are)(?:\snot|n['’]t)\s(?:\w+\s){0,2}?(?:differ|chang|affect|increas|reduc|decreas"
    r"|improv|lower|rais|benefit)\w*",
    re.I,
)
_BENEFIT = re.compile(r"\b(?:benefi\w+|effective|efficacious|helps?|works?|protect\w*)\b", re.I)
_HARM = re.compile(r"\b(?:harm\w*|ineffective|useless|damag\w*)\b", re.I)


@dataclass(frozen=True)
class Statement:
    """A short answer and the sentence that contains it."""

    answer: str
    sentence: str = ""

    @property
    def around(self) -> str:
        """The sentence without the answer."""
        return self.sentence.replace(self.answer, " … ", 1) if self.answer else self.sentence


def agree(a: Statement, b: Statement) -> bool:
    """Return whether two answers are the same and have no opposite directions, or both report no effect."""
    if same_answer(a.answer, b.answer):
        return not _are_known_and_different(direction(a.answer), direction(b.answer))
    # "No difference" and "no effect" agree with hardly a word in common; of figures, the values decide.
    return direction(a.answer) == direction(b.answer) == 0 and not (figures_of(a.answer) or figures_of(b.answer))


def disagree(a: Statement, b: Statement) -> bool:
    """Return whether two answers contradict each other: they differ, and may be about the same thing."""
    return not agree(a, b) and not about_different_things(a, b)


def about_different_things(a: Statement, b: Statement) -> bool:
    """Return whether two answers are for different dimensions, times, arms of a study or groups of a population."""
    # The answers themselves first: a share and a dose differ whatever surrounds them.
    if _have_different_dimensions(figures_of(a.answer), figures_of(b.answer)):
        return True
    first, second = a.around, b.around
    if any(_are_disjoint(names_in(first), names_in(second)) for names_in in (_years, _periods, _arms)):
        return True
    # Within one division (sex, age, arm) only: "women" and "children" may be the same people.
    for group_of_word in POPULATIONS:
        groups = []
        for text in (first, second):
            words = re.findall(r"\w+", text.casefold())
            groups.append({group_of_word[word] for word in words if word in group_of_word})
        if _are_disjoint(*groups):
            return True
    return False


def direction(text: str) -> int | None:
    """Return the direction of a reported effect: 1 up or good, -1 down or bad, 0 no effect.

    None if the text reports no effect, or effects in both directions.
    """
    # First, since "no reduction" has a word of a direction, too.
    if _NO_EFFECT.search(text):
        return 0
    for up, down in ((_INCREASE, _DECREASE), (_BENEFIT, _HARM)):
        goes_up, goes_down = up.search(text) is not None, down.search(text) is not None
        # "Fewer deaths but more strokes" has both directions and none as a whole.
        if goes_up != goes_down:
            # "It does not help" reports no effect, and no harm.
            if DENIAL.search(text):
                return 0
            return 1 if goes_up else -1
    return None


def is_short(answer: str) -> bool:
    """Return whether an answer is short enough to be compared with another one."""
    return len(answer.split()) <= MAX_ANSWER_WORDS


def sure(*, told: bool, confidence: float | None) -> bool:
    """Return whether a context's answer is certain enough to announce that another one contradicts it.

    Args:
        told: Whether a reader gave the answer; one found by rule is never certain enough.
        confidence: Its probability; None if the reader gives none, as a language model, whose quotes are checked.
    """
    return told and (confidence is None or confidence >= MIN_SURE_PROBABILITY)


def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence that contains a part of a text; all of them if the part spans several; else the part."""
    spans = [(first, last) for first, last in sentence_spans(text) if first < end and start < last]
    if not spans:
        return text[start:end]
    (first, _), (_, last) = spans[0], spans[-1]
    return text[first:last]


def _are_known_and_different(a: int | None, b: int | None) -> bool:
    """Return whether both directions are known and different."""
    return a is not None and b is not None and a != b


def _have_different_dimensions(a: Figures, b: Figures) -> bool:
    """Return whether no two amounts of two answers have one dimension, or one has a date and the other an amount."""
    if a.amounts and b.amounts:
        return not any(_have_same_dimension(x, y) for x in a.amounts for y in b.amounts)
    return bool(a and b) and not (a.dates and b.dates)


def _have_same_dimension(a: Amount, b: Amount) -> bool:
    """Return whether two amounts may have the same dimension: a bare number may have any but that of a percentage."""
    is_bare_number = not a.dimension or not b.dimension
    return a.dimension == b.dimension or (is_bare_number and "share" not in (a.dimension, b.dimension))


def _are_disjoint(a: set[str] | frozenset[str], b: set[str] | frozenset[str]) -> bool:
    """Return whether both sets have elements and none in common."""
    return bool(a and b) and not a & b


def _years(text: str) -> set[str]:
    """Return the years, quarters and halves that a text names, the latter as "quarter 1"."""
    found = set(_YEAR.findall(text))
    for match in _QUARTER.finditer(text):
        number = _ORDINALS.get((match["ordinal"] or "").casefold()) or (match["ordinal"] or match["number"])[0]
        # "Q1" and "first quarter" are one time.
        part = match["part"] or {"Q": "quarter", "H": "half"}[match["letter"].upper()]
        found.add(f"{part.casefold()} {number}")
    return found


def _periods(text: str) -> set[str]:
    """Return the lengths of time since a start that a text names, in days."""
    groups = (("number", "unit"), ("before", "length"), ("place", "name"), ("figure", "short"))
    periods = set()
    for match in _PERIOD.finditer(text):
        number, unit = next(((match[a], match[b]) for a, b in groups if match[b]), ("", ""))
        amounts = figures_of(number).amounts
        if amounts:
            periods.add(f"{amounts[0].value * _DAYS_OF_UNIT[unit.casefold()]:g}")
    return periods


def _arms(text: str) -> set[str]:
    """Return the names of the arms, groups or phases in a text: "B" of "group B", "placebo" of "placebo group"."""
    names = set()
    for match in _ARM.finditer(text):
        word_before = (match["after"] or "").casefold()
        if match["before"]:
            names.add(match["before"])
        elif word_before not in _NO_ARM_NAMES:
            names.add(word_before)
    return names
