"""Short answers in a form that can be compared: dates, amounts with their units, names without titles.

"3.5 million" and "3,500,000", "14 March 1879" and "March 14, 1879", "5 km" and "5,000 m", "Dr. J. Smith" and "John
Smith" are one answer each; "5 km" and "5 miles", "1 May 1879" and "March 1879" are not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from preflight_rag.text.answer_values import DATE, MONTHS, NUMBER, SCALES, date_key
from preflight_rag.text.surface_names import RANKS
from preflight_rag.text.words import STOP_WORDS

T = TypeVar("T")

LONGEST_INITIALS = 8

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
"""Of such a date the year is sure; which number is the month is not."""
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
class Amount:
    """A number, its scale multiplied in; with a unit that is known, its dimension and the unit's size."""

    value: float
    dimension: str = ""
    size: float = 1.0

    def agrees(self, other: Amount) -> bool:
        """Whether two amounts are equal; where one of them lacks a unit, by their numbers."""
        if self.dimension and other.dimension:
            same = math.isclose(self.value * self.size, other.value * other.size, rel_tol=1e-6)
            return self.dimension == other.dimension and same
        return math.isclose(self.value, other.value, rel_tol=1e-9)


@dataclass(frozen=True)
class Figures:
    """The dates (year, month, day; 0 where not said) and amounts of an answer."""

    dates: tuple[tuple[float, ...], ...]
    amounts: tuple[Amount, ...]

    def __bool__(self) -> bool:
        return bool(self.dates or self.amounts)

    def agree(self, other: Figures) -> bool:
        """Whether those of the answer with fewer of a kind all stand in the other; a date is not what an amount is."""
        if bool(self.amounts) != bool(other.amounts) and self.dates and other.dates:
            return False
        dates = _held(self.dates, other.dates, dates_agree)
        amounts = _held(self.amounts, other.amounts, Amount.agrees)
        if dates is None and amounts is None:
            return bool(_held(self._with_years(), other._with_years(), Amount.agrees))
        return dates is not False and amounts is not False

    def _with_years(self) -> list[Amount]:
        """The amounts, and the years as numbers: where it is not clear whether a year is meant."""
        return [*self.amounts, *(Amount(date[0]) for date in self.dates if date[0])]


def _held(a: Sequence[T], b: Sequence[T], same: Callable[[T, T], bool]) -> bool | None:
    """Whether the longer of two lists holds all of the shorter one; None where one is empty."""
    if not a or not b:
        return None
    fewer, more = sorted((a, b), key=len)
    return all(any(same(x, y) for y in more) for x in fewer)


def figures_of(text: str) -> Figures:
    """The dates and amounts that a short answer holds."""
    plain = _with_digits(text)
    matches = [match for match in DATE.finditer(plain) if not (match["year4"] and _counted(plain[match.end() :]))]
    found = [(match.span(), key) for match in matches if (key := date_key(match)) is not None]
    rest = plain
    for (start, end), _ in found:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    return Figures(tuple(key for _, key in found), tuple(_amounts(rest)))


def _counted(rest: str) -> bool:
    """Whether what follows a number is a unit, so that it is no year."""
    unit = re.match(r"\s?([°µ]?[A-Za-z]{1,14}|%)(?!\w)", rest)
    return bool(unit and unit[1].casefold() in _UNITS)


def dates_agree(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two dates (year, month, day) contradict each other in nothing that both say; one thing both must say."""
    return all(x == y for x, y in zip(a, b, strict=True) if x and y) and any(x and y for x, y in zip(a, b, strict=True))


def _with_digits(text: str) -> str:
    """Number words as digits, ISO dates written out, scales spelled, ranges apart."""

    def digits(match: re.Match[str]) -> str:
        if match[3]:
            return str(_SPELLED[match[3].casefold()])
        return str(_SPELLED[match[1].casefold()] + (_SPELLED[match[2].casefold()] if match[2] else 0))

    def written(match: re.Match[str]) -> str:
        return f"{int(match['d'])} {MONTHS[int(match['m']) - 1].capitalize()} {match['y']}"

    text = _FIGURE_DATE.sub(r"\2", _ISO_DATE.sub(written, unicodedata.normalize("NFKC", text)))
    money = bool(_CURRENCY.search(text))

    def spelled(match: re.Match[str]) -> str:
        short = match["scale"].casefold()
        if short == "m":
            return " million" if money else match.group()
        return f" {_SHORT_SCALES[short]}"

    text = _SHORT_SCALE.sub(spelled, _ORDINAL.sub("", _WORD_NUMBER.sub(digits, text)))
    return re.sub(r"(?<=\d)-(?=[A-Za-z])", " ", _RANGE.sub(" to ", text))


def _amounts(text: str) -> list[Amount]:
    found = []
    for match in NUMBER.finditer(text.replace("\u2212", "-")):
        if match["digits"] is None:
            continue
        scale = SCALES.get((match["scale"] or "").casefold(), 1.0)
        value = float(match["digits"].replace(",", "")) * scale
        before = text[: match.start("digits")].rstrip("$€£ ")
        negative = before.endswith(("-", "\u2212")) and not before[:-1].strip()[-1:].isalnum()
        sign = _CURRENCY.search(text[max(0, match.start("digits") - 2) : match.start("digits")])
        unit = _MONEY[sign.group()] if sign else (match["unit"] or "").strip().casefold()
        dimension, size = _UNITS.get(unit, ("", 1.0))
        found.append(Amount(-value if negative else value, dimension, size))
    return found


def abbreviates(short: str, name: str) -> bool:
    """Whether a text is the initials of a name: "WHO" of "World Health Organization"."""
    letters = short.strip(" .").replace(".", "")
    if not (2 <= len(letters) <= LONGEST_INITIALS and letters.isalpha() and letters.isupper()):
        return False
    parts = [part for part in re.findall(r"[^\W\d_]+", name) if part.casefold() not in STOP_WORDS]
    return letters.casefold() == "".join(part[0] for part in parts).casefold()


def folded(text: str) -> str:
    """Casefolded text without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return plain.replace("&", " and ")


def same_name(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether one list of a name's words holds the other, titles aside and initials counted as the names they open."""
    first, second = (_untitled(tokens) for tokens in (a, b))
    fewer, more = sorted((first, second), key=len)
    left = list(more)
    whole = False
    for token in sorted(fewer, key=len, reverse=True):
        held = next((other for other in left if other == token), None) or next(
            (other for other in left if _initial(token, other)), None
        )
        if held is None:
            return False
        left.remove(held)
        whole = whole or (held == token and len(token) > 1)
    return whole


def _initial(a: str, b: str) -> bool:
    """Whether one of two words is the other's first letter."""
    return 1 in (len(a), len(b)) and a[0] == b[0] and a.isalpha() and b.isalpha()


def _untitled(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token not in RANKS] or list(tokens)
