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
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import Amount, Figures, figures_of
from preflight_rag.text.words import STOP_WORDS

SHORT_ANSWER = 12
"""Most words of a short answer, which can contradict another one; a guess: a name, a figure with its unit."""
SURE = 0.9
"""Least probability of a context's answer at which a contradiction with it is announced. Chosen on pairs of the
validation part of RAMDocs and half of ConflictQA: 82 of 83 announced at it do contradict, at 0.6 87 of 90."""

# "1900 people", "$1900" and "1900.5" have the four digits of a year and are amounts.
_YEAR = re.compile(r"(?<![\d.,/$€£])(?:1[5-9]|20)\d\d(?![\d/]|[.,]\d|\s?(?:%|mg|ml|g|kg|km|people|patients)\b)")
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_PERIOD = re.compile(
    r"\b(?:at|after|over|within|during|for|by|through|to)\s(?:the\s|about\s|a\s)?(?P<number>\d+|[a-z]+)[\s-]"
    r"(?P<unit>day|week|month|year)s?\b|\b(?P<before>\d+|[a-z]+)-(?P<length>day|week|month|year)\b"
    r"|\b(?P<name>day|week|month|year)\s(?P<place>\d+)\b|\b(?P<figure>\d+)\s(?P<short>day|week|month|year)s\b",
    re.I,
)
"""A time since a start, or a duration: "at 6 months", "the 12-week trial", "week 24"."""
_QUARTER = re.compile(
    r"\b(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)[\s-](?P<part>quarter|half)\b"
    r"|\b(?P<letter>[QH])(?P<number>[1-4])\b",
    re.I,
)
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_POPULATIONS = (
    {"men": "men", "man": "men", "male": "men", "males": "men", "boys": "men",
     "women": "women", "woman": "women", "female": "women", "females": "women", "girls": "women"},
    {"children": "young", "child": "young", "infants": "young", "infant": "young", "neonates": "young",
     "newborns": "young", "adolescents": "young", "pediatric": "young", "paediatric": "young",
     "adult": "adult", "adults": "adult", "elderly": "old", "older": "old", "seniors": "old"},
    {"placebo": "control", "control": "control", "controls": "control", "sham": "control", "untreated": "control",
     "usual": "control", "intervention": "treated", "treated": "treated", "treatment": "treated", "active": "treated"},
)  # fmt: skip
"""Words that name a part of a population, by the division: sex, age, arm of a study."""
# In "treatment group B" the letter is the name, so the word before "group" is none.
_ARM = re.compile(
    r"(?<![\w+-])[+-]*+(?P<after>\w[\w+-]{0,39}(?:\s(?:mg|µg|g|ml|%))?)"
    r"[\s-](?:arm|group|cohort|subgroup)s?\b(?!\s(?:(?-i:[A-Z])|\d+)\b)"
    r"|\b(?:arm|group|cohort|subgroup|phase|study|trial|table)\s(?P<before>(?-i:[A-Z]|[IVX]+)\b|\d+\b)",
    re.I,
)
_NO_ARM = STOP_WORDS | {"study", "age", "patient", "whole"}
_UP = re.compile(
    r"\b(?:increas\w*|rais\w+|ris(?:e|es|ing|en)|rose|higher|greater|more|longer|elevat\w*|improv\w*|gain\w*"
    r"|grew|grow\w*|better|superior|promot\w*|up)\b",
    re.I,
)
_DOWN = re.compile(
    r"\b(?:decreas\w*|reduc\w*|lower\w*|fewer|less|shorter|declin\w*|fell|falls?|fallen|drop\w*|diminish\w*|worse\w*"
    r"|inferior|inhibit\w*|suppress\w*|down)\b",
    re.I,
)
_LEVEL = re.compile(
    r"\b(?:no|not|without|lack(?:s|ed)? of)\s(?:\w+\s){0,3}?(?:difference|effect|change|benefit|increase|decrease"
    r"|reduction|improvement|association|impact|influence)s?\b|\b(?:unchanged|similar|comparable|same|equal)\b"
    r"|\b(?:did|does|do|was|were|is|are)(?:\snot|n['’]t)\s(?:\w+\s){0,2}?(?:differ|chang|affect|increas|reduc|decreas"
    r"|improv|lower|rais|benefit)\w*",
    re.I,
)
_GOOD = re.compile(r"\b(?:benefi\w+|effective|efficacious|helps?|works?|protect\w*)\b", re.I)
_BAD = re.compile(r"\b(?:harm\w*|ineffective|useless|damag\w*)\b", re.I)


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
    """Return whether two answers say the same: in words, or because both report no change."""
    if same_answer(a.answer, b.answer):
        return not _opposite(direction(a.answer), direction(b.answer))
    # "No difference" and "no effect" agree with hardly a word in common; of figures, the values decide.
    return direction(a.answer) == direction(b.answer) == 0 and not (figures_of(a.answer) or figures_of(b.answer))


def disagree(a: Statement, b: Statement) -> bool:
    """Return whether two answers contradict each other about the same thing."""
    return not agree(a, b) and not about_different_things(a, b)


def about_different_things(a: Statement, b: Statement) -> bool:
    """Return whether two different answers concern different things: another attribute, unit, time or population."""
    # The answers themselves first: a share and a dose differ whatever surrounds them.
    if _unlike(figures_of(a.answer), figures_of(b.answer)):
        return True
    first, second = a.around, b.around
    if _disjoint(_years(first), _years(second)) or _disjoint(_periods(first), _periods(second)):
        return True
    if _disjoint(_arms(first), _arms(second)):
        return True
    # Within one division (sex, age, arm) only: "women" and "children" may be the same people.
    for names in _POPULATIONS:
        populations = []
        for text in (first, second):
            words = re.findall(r"\w+", text.casefold())
            populations.append({names[word] for word in words if word in names})
        if _disjoint(*populations):
            return True
    return False


def direction(text: str) -> int | None:
    """Return the direction of a reported effect: 1 up or good, -1 down or bad, 0 no effect.

    None if the text reports no effect.
    """
    # First, since "no reduction" has a word of a direction, too.
    if _LEVEL.search(text):
        return 0
    for up, down in ((_UP, _DOWN), (_GOOD, _BAD)):
        found = up.search(text), down.search(text)
        # "Fewer deaths but more strokes" has both directions and none as a whole.
        if any(found) and not all(found):
            sign = 1 if found[0] else -1
            # "It does not help" reports no effect; that it harms is not said.
            return 0 if DENIAL.search(text) else sign
    return None


def is_short(answer: str) -> bool:
    """Return whether an answer is short enough to be compared with another one."""
    return len(answer.split()) <= SHORT_ANSWER


def sure(*, told: bool, confidence: float | None) -> bool:
    """Return whether a context's answer is certain enough to announce that another one contradicts it.

    Args:
        told: Whether a reader gave the answer; one found by rule is never certain.
        confidence: Its probability, if the reader gives one; a language model's quotes are checked instead.
    """
    return told and (confidence is None or confidence >= SURE)


def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence that contains a part of a text; if the part spans several, all of them."""
    spans = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    return text[spans[0][0] : spans[-1][1]] if spans else text[start:end]


def _opposite(a: int | None, b: int | None) -> bool:
    """Return whether both directions are known and different."""
    return a is not None and b is not None and a != b


def _unlike(a: Figures, b: Figures) -> bool:
    """Return whether figures have different dimensions, or one is a date and the other an amount."""
    if a.amounts and b.amounts:
        return not any(_one_dimension(x, y) for x in a.amounts for y in b.amounts)
    return bool(a and b) and not (a.dates and b.dates)


def _one_dimension(a: Amount, b: Amount) -> bool:
    """Return whether amounts have the same dimension; a percentage and a bare number do not."""
    if a.dimension and b.dimension:
        return a.dimension == b.dimension
    return "share" not in (a.dimension, b.dimension) or a.dimension == b.dimension


def _disjoint(a: set[str] | frozenset[str], b: set[str] | frozenset[str]) -> bool:
    """Return whether both sets have elements and none in common."""
    return bool(a and b) and not a & b


def _years(text: str) -> set[str]:
    """Return the years and quarters that a text names."""
    found = set(_YEAR.findall(text))
    for match in _QUARTER.finditer(text):
        number = _ORDINALS.get((match["ordinal"] or "").casefold()) or (match["ordinal"] or match["number"])[0]
        # "Q1" and "first quarter" are one time.
        part = match["part"] or {"Q": "quarter", "H": "half"}[match["letter"].upper()]
        found.add(f"{part.casefold()} {number}")
    return found


def _periods(text: str) -> set[str]:
    """Return the lengths of time since a start that a text names, in days."""
    found = set()
    for match in _PERIOD.finditer(text):
        pairs = (("number", "unit"), ("before", "length"), ("place", "name"), ("figure", "short"))
        number, unit = next(((match[n], match[u]) for n, u in pairs if match[u]), ("", ""))
        amounts = figures_of(number).amounts
        if amounts:
            found.add(f"{amounts[0].value * _DAYS[unit.casefold()]:g}")
    return found


def _arms(text: str) -> set[str]:
    """Return the names of the arms, groups or phases in a text."""
    found = {(match["before"], (match["after"] or "").casefold()) for match in _ARM.finditer(text)}
    return {named or before for named, before in found if named or before not in _NO_ARM}
