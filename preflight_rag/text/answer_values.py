"""Values that answer: the type a question asks for, the values of it in a sentence, and when two mean the same.

A value is a date, a number, yes or no, else a name or noun phrase; the one that stands nearest to the question's words
in a sentence is taken for the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from preflight_rag.text.words import words

Kind = Literal["date", "number", "verdict", "name"]

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_YEAR = r"(?:1[0-9]|20)\d\d"
DATE = re.compile(
    rf"(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month1>{_MONTH})(?:,?\s(?P<year1>{_YEAR}))?\b"
    rf"|\b(?P<month2>{_MONTH})\s(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s?\d)(?:\s?,?\s(?P<year2>{_YEAR})\b)?"
    rf"|\b(?P<month3>{_MONTH})\s(?:of\s)?(?P<year3>{_YEAR})\b"
    rf"|(?<![\d.,/-])(?P<year4>{_YEAR})(?:s\b|\b)(?![\d/]|[.,]\d)"
)
_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
NUMBER = re.compile(
    rf"[$£€]?(?<![\w.])(?:(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)"
    rf"|(?P<word>\b(?:{'|'.join(_NUMBER_WORDS)})\b))"
    rf"(?:\s(?P<scale>{'|'.join(SCALES)})\b)?(?P<unit>\s?%|\s?[°µ]?[A-Za-z²³/]{{1,14}}\b)?"
)
_COORDINATE = re.compile(r"\.\d{4}")
CAPITAL = r"[A-Z0-9À-Ý][\w.'’&-]*"
NAME = re.compile(rf"(?<![\w@]){CAPITAL}(?:\s(?:(?:of|the|and|de|la|von|van|du|for|&)\s){{0,2}}{CAPITAL})*")
_ASKS_DATE = re.compile(
    r"^(?:in |on |since |until )?(?:when\b|(?:what|which) (?:year|date|day|month|decade|century))"
    r"|\bin (?:what|which) year\b|\b(?:birth|death) ?dates?\b|\bdate of\b|\bfeast day\b",
    re.I,
)
_ASKS_NUMBER = re.compile(
    r"^(?:about |in )?how (?:many|much|old|tall|long|far|fast|large|big|high|deep|heavy|often)\b"
    r"|\b(?:population|number|percentage|proportion|rate|incidence|prevalence|height|elevation|area|length|weight|dose|"
    r"capacity|cost|price|age) of\b",
    re.I,
)
_ASKS_VERDICT = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must)\b", re.I
)
_NEGATION = re.compile(r"\b(?:not?|never|none|neither|nor|without|cannot|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.I)
IS_A = re.compile(
    r"\s(?:is|was|are|were)\s(?:(?:a|an|the|one of the)\s)(?P<what>[^.;:(\[]{3,90}?)"
    r"(?=\s(?:that|which|who|whose|and|by|from|with|for|to|on|at|based|located|directed|written|released|published|"
    r"produced|established|founded|born|known)\b|[.,;:(\[]|$)"
)
_MAX_NAME = 80
_MAX_WORDS = 10


@dataclass(frozen=True)
class Value:
    """An answer as it stands in the text, and its meaning for comparison: (year, month, day), a number, terms."""

    text: str
    kind: Kind
    key: tuple[float, ...] | frozenset[str]


def asked_kind(question: str) -> Kind:
    """The type of value that a question asks for."""
    if _ASKS_DATE.search(question.strip()):
        return "date"
    if _ASKS_NUMBER.search(question.strip()):
        return "number"
    return "verdict" if _ASKS_VERDICT.match(question.strip()) and " or " not in question else "name"


def values(sentence: str, kind: Kind, question: str) -> list[Value]:
    """Values of a type in a sentence, the one nearest to the question's words first."""
    if kind == "verdict":
        negative = bool(_NEGATION.search(sentence)) != bool(_NEGATION.search(question))
        return [Value("no" if negative else "yes", kind, (float(not negative),))]
    asked = frozenset(words(question))
    anchors = [match.span() for match in re.finditer(r"\w+", sentence) if asked & set(words(match.group()))]
    found = list({"date": _dates, "number": _numbers, "name": _names}[kind](sentence, asked))

    def distance(span: tuple[int, int]) -> int:
        gaps = (max(0, start - span[1], span[0] - end) for start, end in anchors)
        return min(gaps, default=0)

    ordered = sorted(found, key=lambda item: (-len(item[1].key) if kind == "date" else 0, distance(item[0]), item[0]))
    return [value for _, value in ordered]


def _dates(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    for match in DATE.finditer(sentence):
        if (key := date_key(match)) is not None:
            yield match.span(), Value(match.group().strip(), "date", key)


def date_key(match: re.Match[str]) -> tuple[float, float, float] | None:
    """Year, month and day of a match of `DATE`, 0 for what is not said; None without year and month."""
    parts = {name[:-1]: part for name, part in match.groupdict().items() if part}
    if "year" not in parts and "month" not in parts:
        return None
    month = MONTHS.index(parts["month"][:3].lower()) + 1 if "month" in parts else 0
    return float(parts.get("year", 0)), float(month), float(parts.get("day", 0))


def _numbers(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    dates = [match.span() for match in DATE.finditer(sentence)]
    for match in NUMBER.finditer(sentence):
        figure = match["digits"] or match["word"]
        if _COORDINATE.search(figure):
            continue
        if any(start < match.end() and match.start() < end for start, end in dates) or asked & set(words(figure)):
            continue
        number = float(match["digits"].replace(",", "")) if match["digits"] else float(_NUMBER_WORDS[match["word"]])
        text = match.group() if _is_unit(match["unit"]) else match.group()[: match.start("unit") - match.start()]
        yield match.span(), Value(text.strip(), "number", (number * SCALES.get(match["scale"] or "", 1.0),))


def _is_unit(unit: str | None) -> bool:
    return unit is None or unit.strip() == "%" or bool(words(unit))


def _names(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], Value]]:
    """Names that the question does not hold; the noun phrase behind the first "is a"; failing both, the first words."""
    found = False
    for match in NAME.finditer(sentence):
        text = match.group().rstrip(".'’-")
        terms = frozenset(words(text))
        if terms - asked and not (match.start() == 0 and len(text.split()) == 1) and not text.isdigit():
            found = True
            yield match.span(), Value(text[:_MAX_NAME], "name", terms)
    phrase = IS_A.search(sentence)
    if phrase and (terms := frozenset(words(phrase["what"]))) - asked:
        found = True
        yield phrase.span("what"), Value(phrase["what"].strip(), "name", terms)
    if not found:
        text = " ".join(sentence.split()[:_MAX_WORDS])
        if not text:
            return
        yield (0, len(text)), Value(text, "name", frozenset(words(text)))


def same_value(a: Value, b: Value) -> bool:
    """Whether two values mean the same: equal numbers, dates that do not contradict each other, names that include."""
    if a.kind != b.kind:
        return False
    if isinstance(a.key, frozenset) and isinstance(b.key, frozenset):
        return bool(a.key & b.key) and (a.key <= b.key or b.key <= a.key)
    pairs = list(zip(a.key, b.key, strict=True))
    return all(x == y or (a.kind == "date" and not (x and y)) for x, y in pairs) and pairs[0][0] == pairs[0][1]


def excerpt(sentence: str, kind: Kind, question: str, most: int) -> str:
    """At most so many words of a sentence, verbatim: those with the most of the question's terms and its values."""
    tokens = list(re.finditer(r"\S+", sentence))
    if len(tokens) <= most:
        return sentence
    asked = frozenset(words(question))
    held = [asked & frozenset(words(token.group())) for token in tokens]
    found = values(sentence, kind, question)
    at = sentence.find(found[0].text) if found and kind in {"date", "number", "name"} else -1

    def worth(first: int) -> tuple[float, int]:
        last = first + most - 1
        inside = at >= tokens[first].start() and at + len(found[0].text) <= tokens[last].end() if at >= 0 else False
        return len(frozenset().union(*held[first : last + 1])) + 1.5 * inside, -first

    first = max(range(len(tokens) - most + 1), key=worth)
    return sentence[tokens[first].start() : tokens[first + most - 1].end()]
