"""Values that answer: the type of value that a question asks for, such values in a sentence, and their comparison.

A value is a date, a number, yes or no, else a name or noun phrase; the one nearest to the question's words in a
sentence is taken as the answer. For comparing answers, dates and amounts are read with their units: "3.5 million" and
"3,500,000", "14 March 1879" and "March 14, 1879", "5 km" and "5,000 m" are one answer each; "5 km" and "5 miles", "1
May 1879" and "March 1879" are not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from preflight_rag.text.dates import MONTHS
from preflight_rag.text.names import NAME
from preflight_rag.text.negation import DENIAL
from preflight_rag.text.words import without_note_marks, words

T = TypeVar("T")
Kind = Literal["date", "number", "verdict", "name"]

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
_WORD = re.compile(r"\w+")
_COORDINATE = re.compile(r"\.\d{4}")
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
QUANTITY = re.compile(
    r"\b(?:sales|revenues?|income|profit|loss|earnings|margin|EPS|EBITD?A?|dividends?|costs?|expenses|price|fee|rent|debt"
    r"|cash flow|budget|turnover|number|amount|total|share|rate|size|weight|height|length|width|depth|speed|age"
    r"|capacity|temperature|dose)\b",
    re.I,
)
"""Words for what is measured or counted, which a question asks for without "how much": "what was net income"."""
_ASKS_VERDICT = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must)\b", re.I
)
_ASIDE_ENDS = re.compile(r"(?:\s?[:;,–—]|\s-)\s+")
_ASKS_FOR = re.compile(r"\b(?:who|whom|whose|what|which|how)\b|^(?:\w+ )?(?:when|where|why)\b", re.I)
_LINK = re.compile(r"(?:(?:and|but|so|or|then|also)\b[\s,]*)+", re.I)
_BEGINS_QUESTION = re.compile(
    r"(?:(?:in|of|for|at|on|with|after|during|among|from|under|to|by|about|since|until) )?"
    rf"(?:who|whom|whose|what|when|where|which|why|how)\b|{_ASKS_VERDICT.pattern}",
    re.I,
)
_FRAGMENT_BEHIND = re.compile(r"\w\? (?P<behind>(?!if\b)[^?\"“”'’]{1,80})\?$", re.I)
"""Words between the last two question marks; a title with one stands in quotation marks."""
_LONGEST_FRAGMENT = 6
"""Words of a fragment; a guess."""
FIRST_YEAR = 1700
"""The smallest number that counts as a year beside other numbers; a guess."""
IS_A = re.compile(
    r"\s(?:is|was|are|were)\s(?:(?:a|an|the|one of the)\s)(?P<what>[^.;:(\[]{3,90}?)"
    r"(?=\s(?:that|which|who|whose|and|by|from|with|for|to|on|at|based|located|directed|written|released|published|"
    r"produced|established|founded|born|known)\b|[.,;:(\[]|$)"
)
_MAX_NAME = 80
"""Most characters of a name that is shown as an answer; a guess."""
_MAX_WORDS = 10
"""Most words of a sentence that are shown if no value is found; a guess."""

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_SPELLED = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{word: value for value, word in enumerate(_ORDINALS, 1)},
}
_WORD_NUMBER = re.compile(
    rf"\b({'|'.join(_TENS)})(?:[\s-]({'|'.join(_ONES[1:10])}))?\b"
    rf"|\b({'|'.join(sorted(_SPELLED, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.I)
_ISO_DATE = re.compile(r"(?<![\d-])(?P<y>(?:1\d|20)\d\d)-(?P<m>0[1-9]|1[0-2])-(?P<d>[0-2]\d|3[01])(?![\d-])")
_FIGURE_DATE = re.compile(r"(?<![\d.,/])\d{1,2}([./])\d{1,2}\1((?:1\d|20)\d\d)(?![\d/])")
"""A date in figures, of which only the year is certain, since day and month may be in either order."""
_RANGE = re.compile(r"(?<=\d)\s?[-–—]\s?(?=\d)")
_SHORT_SCALE = re.compile(r"(?<=\d)\s?(?P<scale>k|mn|bn|m)\b(?!\w)", re.I)
_CURRENCY = re.compile(r"[$€£]")
_SHORT_SCALES = {"k": "thousand", "mn": "million", "bn": "billion"}
_MONEY = {"$": "dollar", "€": "euro", "£": "pound sterling"}

_SIZES: dict[str, dict[float, str]] = {
    "length": {
        1e-3: "mm millimetre millimeter", 1e-2: "cm centimetre centimeter", 1.0: "m metre meter",
        1e3: "km kilometre kilometer", 0.0254: "inch inches", 0.3048: "ft foot feet", 0.9144: "yd yard",
        1609.344: "mi mile",
    },
    "mass": {
        1e-6: "µg mcg microgram", 1e-3: "mg milligram", 1.0: "g gram", 1e3: "kg kilogram kilo", 1e6: "tonne",
        28.3495: "oz ounce", 453.592: "lb lbs",
    },
    "volume": {1e-3: "ml millilitre milliliter", 1.0: "l litre liter"},
    "time": {
        1.0: "s sec second", 60.0: "min minute", 3600.0: "h hr hour", 86400.0: "day", 604800.0: "week",
        2629800.0: "month", 31557600.0: "year yr",
    },
    "share": {1.0: "% percent"},
    "dollar": {1.0: "dollar usd"},
    "euro": {1.0: "euro eur"},
    "celsius": {1.0: "°c celsius"},
    "fahrenheit": {1.0: "°f fahrenheit"},
}  # fmt: skip
_UNITS = {
    name: (dimension, size)
    for dimension, sizes in _SIZES.items()
    for size, names in sizes.items()
    for word in names.split()
    for name in {word, f"{word}s"}
}


@dataclass(frozen=True)
class TextValue:
    """An answer as written in the text, and its meaning for comparison: (year, month, day), a number, or terms."""

    text: str
    kind: Kind
    key: tuple[float, ...] | frozenset[str]


def last_question(text: str) -> str:
    """Return the last of several questions in a text; the others introduce its subject.

    A follow-up comes after the question that it depends on: "Does aspirin help? And which dose was given?" asks for a
    dose.
    """
    parts = [_LINK.sub("", part.strip(), count=1) for part in re.findall(r"[^?]+\??", text)]
    return next((part for part in reversed(parts) if _BEGINS_QUESTION.match(part)), text) if len(parts) > 1 else text


def asked_kind(question: str) -> Kind:
    """Return the type of value that a question asks for; of several, the last one."""
    asked = last_question(question.strip())
    if _asks_verdict(asked):
        return "verdict"
    if _ASKS_DATE.search(asked):
        return "date"
    return "number" if _ASKS_NUMBER.search(asked) else "name"


def _asks_verdict(question: str) -> bool:
    """Return whether the question asks for yes or no, also after "In adults with asthma," or "Acupuncture:"."""
    if " or " in question:
        return False
    if _ASKS_VERDICT.match(question):
        return True
    asides = () if _ASKS_FOR.search(question) else _ASIDE_ENDS.finditer(question)
    return any(_ASKS_VERDICT.match(question, aside.end()) for aside in asides)


def ends_in_fragment(text: str) -> bool:
    """Return whether a text has a question, and behind it words that are none: "How many may sit? and standing?"."""
    match = _FRAGMENT_BEHIND.search(text)
    if match is None:
        return False
    behind = _LINK.sub("", match["behind"].strip(), count=1)
    return _BEGINS_QUESTION.match(behind) is None and len(behind.split()) <= _LONGEST_FRAGMENT


def years(text: str) -> set[int]:
    """Return the years in a text, from 1700 on: smaller numbers are more often not years."""
    found = set()
    for match in DATE.finditer(text):
        for group, year in match.groupdict().items():
            if "year" in group and year and int(year) >= FIRST_YEAR:
                found.add(int(year))
    return found


def values(sentence: str, kind: Kind, question: str) -> list[TextValue]:
    """Return the values of a type in a sentence, the nearest to the question's words first."""
    if kind == "verdict":
        negative = bool(DENIAL.search(sentence)) != bool(DENIAL.search(question))
        return [TextValue("no" if negative else "yes", kind, (float(not negative),))]
    asked = _terms(question)
    found = list({"date": _dates, "number": _numbers, "name": _names}[kind](sentence, asked))
    if len(found) < 2:
        return [value for _, value in found]
    anchors = [match.span() for match in _WORD.finditer(sentence) if not asked.isdisjoint(_terms(match.group()))]
    starts = [start for start, _ in anchors]

    def distance(span: tuple[int, int]) -> int:
        """Return the distance in characters between a span and the nearest word of the question."""
        at = bisect_left(starts, span[0])  # the anchors are sorted: the nearest are those around it
        return min(
            (max(0, start - span[1], span[0] - end) for start, end in anchors[max(0, at - 1) : at + 1]), default=0
        )

    ordered = sorted(found, key=lambda item: (-len(item[1].key) if kind == "date" else 0, distance(item[0]), item[0]))
    return [value for _, value in ordered]


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a word, a name or a question; cached, because the same ones recur."""
    return frozenset(words(text))


def _dates(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], TextValue]]:
    """Yield the place and value of each date in a sentence."""
    for match in DATE.finditer(sentence):
        if (key := date_key(match)) is not None:
            yield match.span(), TextValue(match.group().strip(), "date", key)


def date_key(match: re.Match[str]) -> tuple[float, float, float] | None:
    """Return year, month and day of a match of `DATE`, 0 for missing parts; None without year and month."""
    parts = {name[:-1]: part for name, part in match.groupdict().items() if part}
    if "year" not in parts and "month" not in parts:
        return None
    month = MONTHS.index(parts["month"][:3].lower()) + 1 if "month" in parts else 0
    return float(parts.get("year", 0)), float(month), float(parts.get("day", 0))


def _numbers(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], TextValue]]:
    """Yield place and value of the numbers in a sentence that are no dates and not in the question."""
    dates = [match.span() for match in DATE.finditer(sentence)]
    ends = [end for _, end in dates]
    for match in NUMBER.finditer(sentence):
        figure = match["digits"] or match["word"]
        if _COORDINATE.search(figure):
            continue
        date = bisect_right(ends, match.start())  # the first one that ends after the number's beginning
        if (date < len(dates) and dates[date][0] < match.end()) or asked & set(words(figure)):
            continue
        number = float(match["digits"].replace(",", "")) if match["digits"] else float(_NUMBER_WORDS[match["word"]])
        text = match.group() if _is_unit(match["unit"]) else match.group()[: match.start("unit") - match.start()]
        yield match.span(), TextValue(text.strip(), "number", (number * SCALES.get(match["scale"] or "", 1.0),))


def _is_unit(unit: str | None) -> bool:
    """Return whether the text after a number is a unit, "%" or nothing."""
    return unit is None or unit.strip() == "%" or bool(words(unit))


def _names(sentence: str, asked: frozenset[str]) -> Iterator[tuple[tuple[int, int], TextValue]]:
    """Yield the names that are not in the question.

    Without any, the noun phrase after the first "is a"; without that, the first words.
    """
    found = False
    for match in NAME.finditer(sentence):
        text = match.group().rstrip(".'’-")
        terms = _terms(text)
        if terms - asked and not (match.start() == 0 and len(text.split()) == 1) and not text.isdigit():
            found = True
            yield match.span(), TextValue(text[:_MAX_NAME], "name", terms)
    phrase = IS_A.search(sentence)
    if phrase and (terms := frozenset(words(phrase["what"]))) - asked:
        found = True
        yield phrase.span("what"), TextValue(phrase["what"].strip(), "name", terms)
    if not found:
        text = " ".join(sentence.split()[:_MAX_WORDS])
        if not text:
            return
        yield (0, len(text)), TextValue(text, "name", frozenset(words(text)))


def same_value(a: TextValue, b: TextValue) -> bool:
    """Return whether two values mean the same: equal numbers, compatible dates, or a name that contains the other."""
    if a.kind != b.kind:
        return False
    if isinstance(a.key, frozenset) and isinstance(b.key, frozenset):
        return bool(a.key & b.key) and (a.key <= b.key or b.key <= a.key)
    pairs = list(zip(a.key, b.key, strict=True))
    return all(x == y or (a.kind == "date" and not (x and y)) for x, y in pairs) and pairs[0][0] == pairs[0][1]


def excerpt(sentence: str, kind: Kind, question: str, most: int) -> str:
    """Return at most `most` consecutive words of a sentence: those with most of the question's terms and values."""
    tokens = list(re.finditer(r"\S+", sentence))
    if len(tokens) <= most:
        return sentence
    asked = frozenset(words(question))
    shared = [asked & frozenset(words(token.group())) for token in tokens]
    found = values(sentence, kind, question)
    at = sentence.find(found[0].text) if found and kind in {"date", "number", "name"} else -1

    def worth(first: int) -> tuple[float, int]:
        """Return the score of the excerpt that begins with a word, and its place to decide ties."""
        last = first + most - 1
        inside = at >= tokens[first].start() and at + len(found[0].text) <= tokens[last].end() if at >= 0 else False
        return len(frozenset().union(*shared[first : last + 1])) + 1.5 * inside, -first

    first = max(range(len(tokens) - most + 1), key=worth)
    return sentence[tokens[first].start() : tokens[first + most - 1].end()]


@dataclass(frozen=True)
class Amount:
    """A number multiplied by its scale; if its unit is known, with its dimension and the unit's size."""

    value: float
    dimension: str = ""
    size: float = 1.0

    def agrees(self, other: Amount) -> bool:
        """Return whether two amounts are equal; if one of them lacks a unit, their numbers are compared."""
        if self.dimension and other.dimension:
            same = math.isclose(self.value * self.size, other.value * other.size, rel_tol=1e-6)
            return self.dimension == other.dimension and same
        return math.isclose(self.value, other.value, rel_tol=1e-9)


@dataclass(frozen=True)
class Figures:
    """The dates (year, month, day; 0 if missing) and amounts of an answer."""

    dates: tuple[tuple[float, ...], ...]
    amounts: tuple[Amount, ...]

    def __bool__(self) -> bool:
        return bool(self.dates or self.amounts)

    def agree(self, other: Figures) -> bool:
        """Return whether all figures of the answer with fewer of a kind are also in the other.

        Dates are compared only with dates, amounts with amounts.
        """
        if bool(self.amounts) != bool(other.amounts) and self.dates and other.dates:
            return False
        dates = _contained(self.dates, other.dates, dates_agree)
        amounts = _contained(self.amounts, other.amounts, Amount.agrees)
        if dates is None and amounts is None:
            return bool(_contained(self._with_years(), other._with_years(), Amount.agrees))
        return dates is not False and amounts is not False

    def _with_years(self) -> list[Amount]:
        """Return the amounts, and the years as numbers, for cases in which it is unclear whether a year is meant."""
        return [*self.amounts, *(Amount(date[0]) for date in self.dates if date[0])]


def _contained(a: Sequence[T], b: Sequence[T], same: Callable[[T, T], bool]) -> bool | None:
    """Return whether the longer of two lists contains all of the shorter one; None if one is empty."""
    if not a or not b:
        return None
    fewer, more = sorted((a, b), key=len)
    return all(any(same(x, y) for y in more) for x in fewer)


def figures_of(text: str) -> Figures:
    """Return the dates and amounts in a short answer."""
    plain = with_digits(text)
    matches = [
        match
        for match in DATE.finditer(plain)
        if not (match["year4"] and _counted(plain[match.end() : match.end() + 20]))
    ]
    found = [(match.span(), key) for match in matches if (key := date_key(match)) is not None]
    pieces, at = [], 0
    for (start, end), _ in found:
        pieces += [plain[at:start], " " * (end - start)]
        at = end
    return Figures(tuple(key for _, key in found), tuple(_amounts("".join([*pieces, plain[at:]]))))


def _counted(rest: str) -> bool:
    """Return whether a number is followed by a unit, so that it is not a year."""
    unit = re.match(r"\s?([°µ]?[A-Za-z]{1,14}|%)(?!\w)", rest)
    return bool(unit and unit[1].casefold() in _UNITS)


def dates_agree(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two dates (year, month, day) agree in all parts that both have.

    They must have at least one part in common.
    """
    return all(x == y for x, y in zip(a, b, strict=True) if x and y) and any(x and y for x, y in zip(a, b, strict=True))


_KIND_OF_DAY = re.compile(
    r"(?<=\d)\s(?:business|working|calendar|banking|trading|school|consecutive|full|whole)\s(?=(?:hour|day|week|month|year)s?\b)"
)
"""What stands between a number and its unit: "10 business days" is no bare 10, and no ten weeks."""


def with_digits(text: str) -> str:
    """Return the text with number words as digits, ISO dates written out, scales spelled, ranges separated."""

    def digits(match: re.Match[str]) -> str:
        """Return a matched number word as digits."""
        if match[3]:
            return str(_SPELLED[match[3].casefold()])
        return str(_SPELLED[match[1].casefold()] + (_SPELLED[match[2].casefold()] if match[2] else 0))

    def written(match: re.Match[str]) -> str:
        """Return a matched ISO date with its month's name."""
        return f"{int(match['d'])} {MONTHS[int(match['m']) - 1].capitalize()} {match['y']}"

    text = _FIGURE_DATE.sub(r"\2", _ISO_DATE.sub(written, unicodedata.normalize("NFKC", without_note_marks(text))))
    money = bool(_CURRENCY.search(text))

    def spelled(match: re.Match[str]) -> str:
        """Return a matched abbreviation of a scale as a word: "million"."""
        short = match["scale"].casefold()
        if short == "m":
            return " million" if money else match.group()
        return f" {_SHORT_SCALES[short]}"

    text = _SHORT_SCALE.sub(spelled, _ORDINAL.sub("", _WORD_NUMBER.sub(digits, text)))
    return _KIND_OF_DAY.sub(" ", re.sub(r"(?<=\d)-(?=[A-Za-z])", " ", _RANGE.sub(" to ", text)))


_SIGN = 40
"""Characters before a number within which its sign may be; a guess."""


def _amounts(text: str) -> list[Amount]:
    """Return the amounts in a text with sign, scale and unit."""
    found = []
    for match in NUMBER.finditer(text.replace("\u2212", "-")):
        if match["digits"] is None:
            continue
        scale = SCALES.get((match["scale"] or "").casefold(), 1.0)
        value = float(match["digits"].replace(",", "")) * scale
        before = text[max(0, match.start("digits") - _SIGN) : match.start("digits")].rstrip("$€£ ")
        negative = before.endswith(("-", "\u2212")) and not before[:-1].strip()[-1:].isalnum()
        sign = _CURRENCY.search(text[max(0, match.start("digits") - 2) : match.start("digits")])
        unit = _MONEY[sign.group()] if sign else (match["unit"] or "").strip().casefold()
        dimension, size = _UNITS.get(unit, ("", 1.0))
        found.append(Amount(-value if negative else value, dimension, size))
    return found
