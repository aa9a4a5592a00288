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
Span = tuple[int, int]
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
    r"capacity|cost|price|age) of\b"
    r"|^what(?:['’]s| is| was) (?:the|our|your|my|their|its) (?!(?:name|kind|type|meaning)\b)"
    r"(?:[\w'’.-]{1,40} ){0,3}?rate"
    r"(?= (?:of|for|on|in|at|per)\b|\W{0,5}$)"
    r"|^(?:at )?(?:what|which) (?:[a-z-]{1,20} )?rate (?:do|does|did|is|are|was|will|must)\b",
    re.I,
)
"""A question for a number. A rate is one wherever it is the subject: "What is the bank's interest rate for a loan?"."""
QUANTITY = re.compile(
    r"\b(?:sales|revenues?|income|profit|loss|earnings|margin|EPS|EBITD?A?|dividends?|costs?|expenses|price|fee|rent|debt"
    r"|cash flow|budget|turnover|number|amount|total|share|rate|size|weight|height|length|width|depth|speed|age"
    r"|capacity|temperature|dose)\b",
    re.I,
)
"""Words for what is measured or counted, for which a question asks without "how much": "what was net income"."""
_ASKS_VERDICT = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must)\b", re.I
)
_END_OF_ASIDE = re.compile(r"(?:\s?[:;,–—]|\s-)\s+")
_INTERROGATIVE = re.compile(r"\b(?:who|whom|whose|what|which|how)\b|^(?:\w+ )?(?:when|where|why)\b", re.I)
_CONJUNCTIONS = re.compile(r"(?:(?:and|but|so|or|then|also)\b[\s,]*)+", re.I)
_QUESTION_START = re.compile(
    r"(?:(?:in|of|for|at|on|with|after|during|among|from|under|to|by|about|since|until) )?"
    rf"(?:who|whom|whose|what|when|where|which|why|how)\b|{_ASKS_VERDICT.pattern}",
    re.I,
)
_LAST_FRAGMENT = re.compile(r"\w\? (?P<behind>(?!if\b)[^?\"“”'’]{1,80})\?$", re.I)
"""Words between the last two question marks; a title with one stands in quotation marks."""
_MAX_FRAGMENT_WORDS = 6
"""Most words of a fragment; a guess."""
FIRST_YEAR = 1700
"""The smallest number that counts as a year beside other numbers; a guess."""
IS_A = re.compile(
    r"\s(?:is|was|are|were)\s(?:(?:a|an|the|one of the)\s)(?P<what>[^.;:(\[]{3,90}?)"
    r"(?=\s(?:that|which|who|whose|and|by|from|with|for|to|on|at|based|located|directed|written|released|published|"
    r"produced|established|founded|born|known)\b|[.,;:(\[]|$)"
)
_MAX_NAME_CHARS = 80
"""Most characters of a name that is shown as an answer; a guess."""
_VALUE_WEIGHT = 1.5
"""Weight of the best value in an excerpt, relative to a term of the question; a guess."""
_MAX_SHOWN_WORDS = 10
"""Most words of a sentence that are shown if no value is found; a guess."""

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_VALUE_OF_WORD = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{word: value for value, word in enumerate(_ORDINALS, 1)},
}
_WORD_NUMBER = re.compile(
    rf"\b({'|'.join(_TENS)})(?:[\s-]({'|'.join(_ONES[1:10])}))?\b"
    rf"|\b({'|'.join(sorted(_VALUE_OF_WORD, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.I)
_ISO_DATE = re.compile(r"(?<![\d-])(?P<y>(?:1\d|20)\d\d)-(?P<m>0[1-9]|1[0-2])-(?P<d>[0-2]\d|3[01])(?![\d-])")
_NUMERIC_DATE = re.compile(r"(?<![\d.,/])\d{1,2}([./])\d{1,2}\1((?:1\d|20)\d\d)(?![\d/])")
"""A date in digits, of which only the year is certain, since day and month may be in either order."""
_RANGE = re.compile(r"(?<=\d)\s?[-–—]\s?(?=\d)")
_SHORT_SCALE = re.compile(r"(?<=\d)\s?(?P<scale>k|mn|bn|m)\b(?!\w)", re.I)
_CURRENCY = re.compile(r"[$€£]")
_SHORT_SCALES = {"k": "thousand", "mn": "million", "bn": "billion"}
_UNIT_OF_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound sterling"}

_UNITS_BY_SIZE: dict[str, dict[float, str]] = {
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
_SIZE_OF_UNIT = {
    name: (dimension, size)
    for dimension, sizes in _UNITS_BY_SIZE.items()
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
    """Return the last of several questions in a text, without "and" before it; a single question unchanged.

    A follow-up comes after the question that it depends on: "Does aspirin help? And which dose was given?" asks for a
    dose.
    """
    parts = [_CONJUNCTIONS.sub("", part.strip(), count=1) for part in re.findall(r"[^?]+\??", text)]
    if len(parts) == 1:
        return text
    return next((part for part in reversed(parts) if _QUESTION_START.match(part)), text)


def asked_kind(question: str) -> Kind:
    """Return the type of value that a question, or the last of several, asks for; "name" if no rule applies."""
    question = last_question(question.strip())
    if _asks_verdict(question):
        return "verdict"
    if _ASKS_DATE.search(question):
        return "date"
    return "number" if _ASKS_NUMBER.search(question) else "name"


def _asks_verdict(question: str) -> bool:
    """Return whether the question asks for yes or no, also after "In adults with asthma," or "Acupuncture:"."""
    if " or " in question:  # "Is it open or closed?" asks for one of two
        return False
    if _ASKS_VERDICT.match(question):
        return True
    if _INTERROGATIVE.search(question):
        return False
    return any(_ASKS_VERDICT.match(question, aside.end()) for aside in _END_OF_ASIDE.finditer(question))


def ends_in_fragment(text: str) -> bool:
    """Return whether few words that are no question follow a question in a text: "How many may sit? and standing?"."""
    match = _LAST_FRAGMENT.search(text)
    if match is None:
        return False
    behind = _CONJUNCTIONS.sub("", match["behind"].strip(), count=1)
    return _QUESTION_START.match(behind) is None and len(behind.split()) <= _MAX_FRAGMENT_WORDS


def years(text: str) -> set[int]:
    """Return the years in a text from `FIRST_YEAR` on; smaller numbers are more often no years."""
    numbers: set[int] = set()
    for match in DATE.finditer(text):
        numbers.update(int(year) for group, year in match.groupdict().items() if "year" in group and year)
    return {year for year in numbers if year >= FIRST_YEAR}


def values(sentence: str, kind: Kind, question: str) -> list[TextValue]:
    """Return the values of a type in a sentence, the nearest to the question's words first.

    For a verdict, this is one: "no" if only one of sentence and question denies something, else "yes".
    """
    if kind == "verdict":
        is_denied = bool(DENIAL.search(sentence)) != bool(DENIAL.search(question))
        return [TextValue("no" if is_denied else "yes", kind, (float(not is_denied),))]
    question_terms = _terms(question)
    find = {"date": _find_dates, "number": _find_numbers, "name": _find_names}[kind]
    found = list(find(sentence, question_terms))
    if len(found) < 2:
        return [value for _, value in found]
    words_of_question = [
        match.span() for match in _WORD.finditer(sentence) if not question_terms.isdisjoint(_terms(match.group()))
    ]
    starts = [start for start, _ in words_of_question]

    def distance(start: int, end: int) -> int:
        """Return the distance in characters between a span and the nearest word of the question; 0 without any."""
        index = bisect_left(starts, start)  # the words are sorted: the nearest are those around it
        nearest = words_of_question[max(0, index - 1) : index + 1]
        return min((max(0, word_start - end, start - word_end) for word_start, word_end in nearest), default=0)

    def sort_key(item: tuple[Span, TextValue]) -> tuple[int, int, Span]:
        """Return the sort key of a value with its span."""
        span, value = item
        return -len(value.key) if kind == "date" else 0, distance(*span), span

    return [value for _, value in sorted(found, key=sort_key)]


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a word, a name or a question; cached, because the same ones recur."""
    return frozenset(words(text))


def _find_dates(sentence: str, asked: frozenset[str]) -> Iterator[tuple[Span, TextValue]]:
    """Yield the span and value of each date in a sentence; the terms of the question do not matter."""
    for match in DATE.finditer(sentence):
        if (key := date_key(match)) is not None:
            yield match.span(), TextValue(match.group().strip(), "date", key)


def date_key(match: re.Match[str]) -> tuple[float, float, float] | None:
    """Return year, month and day of a match of `DATE`, 0 for each missing part; None if year and month are missing."""
    parts = {name[:-1]: part for name, part in match.groupdict().items() if part}
    if "year" not in parts and "month" not in parts:
        return None
    month = MONTHS.index(parts["month"][:3].lower()) + 1 if "month" in parts else 0
    return float(parts.get("year", 0)), float(month), float(parts.get("day", 0))


def _find_numbers(sentence: str, asked: frozenset[str]) -> Iterator[tuple[Span, TextValue]]:
    """Yield the span and value of the numbers in a sentence that are no part of a date and not in the question.

    Decimals with four or more places are left out, since they are mostly coordinates.
    """
    dates = [match.span() for match in DATE.finditer(sentence)]
    ends = [end for _, end in dates]
    for match in NUMBER.finditer(sentence):
        figure = match["digits"] or match["word"]
        if _COORDINATE.search(figure):
            continue
        index = bisect_right(ends, match.start())  # of the first date that ends after the number's beginning
        is_in_date = index < len(dates) and dates[index][0] < match.end()
        if is_in_date or asked & set(words(figure)):
            continue
        number = float(match["digits"].replace(",", "")) if match["digits"] else float(_NUMBER_WORDS[match["word"]])
        text = (
            match.group()
            if _is_unit_or_nothing(match["unit"])
            else match.group()[: match.start("unit") - match.start()]
        )
        yield match.span(), TextValue(text.strip(), "number", (number * SCALES.get(match["scale"] or "", 1.0),))


def _is_unit_or_nothing(unit: str | None) -> bool:
    """Return whether the text after a number may be its unit: no stop word, "%", or nothing (None)."""
    return unit is None or unit.strip() == "%" or bool(words(unit))


def _find_names(sentence: str, asked: frozenset[str]) -> Iterator[tuple[Span, TextValue]]:
    """Yield the span and value of the names in a sentence that are not in the question, and of a phrase after "is a".

    Without any, those of the sentence's first words. A single word at its beginning is no name.
    """
    found = False
    for match in NAME.finditer(sentence):
        text = match.group().rstrip(".'’-")
        terms = _terms(text)
        is_first_word = match.start() == 0 and len(text.split()) == 1
        if terms - asked and not is_first_word and not text.isdigit():
            found = True
            yield match.span(), TextValue(text[:_MAX_NAME_CHARS], "name", terms)
    phrase = IS_A.search(sentence)
    if phrase and (terms := frozenset(words(phrase["what"]))) - asked:
        found = True
        yield phrase.span("what"), TextValue(phrase["what"].strip(), "name", terms)
    if not found:
        text = " ".join(sentence.split()[:_MAX_SHOWN_WORDS])
        if not text:
            return
        yield (0, len(text)), TextValue(text, "name", frozenset(words(text)))


def same_value(a: TextValue, b: TextValue) -> bool:
    """Return whether two values mean the same: equal numbers, compatible dates, or a name that contains the other.

    Dates are compatible if they have the same year, and the same month and day where both have these.
    """
    if a.kind != b.kind:
        return False
    if isinstance(a.key, frozenset) and isinstance(b.key, frozenset):
        return bool(a.key & b.key) and (a.key <= b.key or b.key <= a.key)
    (first_a, *others_a), (first_b, *others_b) = a.key, b.key
    if first_a != first_b:
        return False
    return all(x == y or (a.kind == "date" and not (x and y)) for x, y in zip(others_a, others_b, strict=True))


def excerpt(sentence: str, kind: Kind, question: str, most: int) -> str:
    """Return the `most` consecutive words of a sentence that have most of the question's terms, and the best value.

    A sentence with no more words is returned whole.
    """
    tokens = list(re.finditer(r"\S+", sentence))
    if len(tokens) <= most:
        return sentence
    question_terms = frozenset(words(question))
    shared = [question_terms & frozenset(words(token.group())) for token in tokens]
    found = values(sentence, kind, question)
    best_value = found[0].text if found and kind != "verdict" else ""
    value_start = sentence.find(best_value) if best_value else -1

    def score(first: int) -> tuple[float, int]:
        """Return the score of the excerpt that begins with a word, and minus its index, to take the first of equals."""
        last = first + most - 1
        is_value_inside = tokens[first].start() <= value_start <= tokens[last].end() - len(best_value)
        terms = frozenset().union(*shared[first : last + 1])
        return len(terms) + _VALUE_WEIGHT * is_value_inside, -first

    first = max(range(len(tokens) - most + 1), key=score)
    return sentence[tokens[first].start() : tokens[first + most - 1].end()]


@dataclass(frozen=True)
class Amount:
    """A number multiplied by its scale, 3.5e6 for "3.5 million"; if its unit is known, with its dimension and size.

    The size is that of the unit in the dimension's base unit: 1000.0 for "km" of "length".
    """

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
        """Return whether the dates and amounts of the answer with fewer of a kind are all in the other.

        Dates are compared only with dates, amounts with amounts.
        """
        if bool(self.amounts) != bool(other.amounts) and self.dates and other.dates:
            return False
        dates = _longer_contains_shorter(self.dates, other.dates, dates_agree)
        amounts = _longer_contains_shorter(self.amounts, other.amounts, Amount.agrees)
        if dates is None and amounts is None:
            return bool(_longer_contains_shorter(self._with_years(), other._with_years(), Amount.agrees))
        return dates is not False and amounts is not False

    def _with_years(self) -> list[Amount]:
        """Return the amounts, and the years as numbers, for cases in which it is unclear whether a year is meant."""
        return [*self.amounts, *(Amount(date[0]) for date in self.dates if date[0])]


def _longer_contains_shorter(a: Sequence[T], b: Sequence[T], same: Callable[[T, T], bool]) -> bool | None:
    """Return whether each item of the shorter of two lists is the same as one of the longer; None if one is empty."""
    if not a or not b:
        return None
    shorter, longer = sorted((a, b), key=len)
    return all(any(same(item, other) for other in longer) for item in shorter)


def figures_of(text: str) -> Figures:
    """Return the dates in a short answer, and the amounts in the rest of it."""
    text = with_digits(text)
    dates = []
    without_dates = text
    for match in DATE.finditer(text):
        if match["year4"] and _has_unit_behind(text[match.end() :]):  # "1900 kg"
            continue
        key = date_key(match)
        if key is not None:
            dates.append(key)
            start, end = match.span()
            without_dates = without_dates[:start] + " " * (end - start) + without_dates[end:]
    return Figures(tuple(dates), tuple(_find_amounts(without_dates)))


def _has_unit_behind(text: str) -> bool:
    """Return whether the text behind a number begins with a known unit, so that the number is no year."""
    unit = re.match(r"\s?([°µ]?[A-Za-z]{1,14}|%)(?!\w)", text)
    return bool(unit and unit[1].casefold() in _SIZE_OF_UNIT)


def dates_agree(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two dates (year, month, day; 0 if missing) have parts in common and agree in all of these."""
    common = [(x, y) for x, y in zip(a, b, strict=True) if x and y]
    return bool(common) and all(x == y for x, y in common)


_WORD_BEFORE_TIME_UNIT = re.compile(
    r"(?<=\d)\s(?:business|working|calendar|banking|trading|school|consecutive|full|whole)\s(?=(?:hour|day|week|month|year)s?\b)"
)
"""A word between a number and its unit of time, such as "business" in "10 business days"."""


def with_digits(text: str) -> str:
    """Return a text in the form in which numbers are compared.

    Number words become digits, ISO dates get a month's name, dates in digits keep only the year, scales are spelled
    out ("5k" as "5 thousand"), ranges have "to", and a number is directly before its unit.
    """

    def as_digits(match: re.Match[str]) -> str:
        """Return a matched number word as digits: "21" for "twenty-one"."""
        if match[3]:
            return str(_VALUE_OF_WORD[match[3].casefold()])
        ones = _VALUE_OF_WORD[match[2].casefold()] if match[2] else 0
        return str(_VALUE_OF_WORD[match[1].casefold()] + ones)

    def with_month_name(match: re.Match[str]) -> str:
        """Return a matched ISO date with its month's name: "3 May 2021"."""
        return f"{int(match['d'])} {MONTHS[int(match['m']) - 1].capitalize()} {match['y']}"

    text = unicodedata.normalize("NFKC", without_note_marks(text))
    text = _NUMERIC_DATE.sub(r"\2", _ISO_DATE.sub(with_month_name, text))
    has_currency = bool(_CURRENCY.search(text))

    def spelled_out(match: re.Match[str]) -> str:
        """Return a matched abbreviation of a scale as a word; "m" is metres in a text without a currency."""
        scale = match["scale"].casefold()
        if scale == "m":
            return " million" if has_currency else match.group()
        return f" {_SHORT_SCALES[scale]}"

    text = _ORDINAL.sub("", _WORD_NUMBER.sub(as_digits, text))
    text = _RANGE.sub(" to ", _SHORT_SCALE.sub(spelled_out, text))
    text = re.sub(r"(?<=\d)-(?=[A-Za-z])", " ", text)
    return _WORD_BEFORE_TIME_UNIT.sub(" ", text)


_SIGN_REACH = 40
"""Characters before a number within which its sign may be; a guess."""


def _find_amounts(text: str) -> list[Amount]:
    """Return the amounts in a text with sign, scale and unit; numbers in words are left out."""
    amounts = []
    for match in NUMBER.finditer(text.replace("\u2212", "-")):
        if match["digits"] is None:
            continue
        scale = SCALES.get((match["scale"] or "").casefold(), 1.0)
        value = float(match["digits"].replace(",", "")) * scale
        start = match.start("digits")
        before = text[max(0, start - _SIGN_REACH) : start].rstrip("$€£ ")
        # Behind a letter or a number the sign is a hyphen.
        is_negative = before.endswith(("-", "\u2212")) and not before[:-1].strip()[-1:].isalnum()
        currency = _CURRENCY.search(text[max(0, start - 2) : start])
        unit = _UNIT_OF_CURRENCY[currency.group()] if currency else (match["unit"] or "").strip().casefold()
        dimension, size = _SIZE_OF_UNIT.get(unit, ("", 1.0))
        amounts.append(Amount(-value if is_negative else value, dimension, size))
    return amounts
