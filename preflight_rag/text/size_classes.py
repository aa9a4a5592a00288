"""Classes of sizes, which name columns of price lists: "10-25 kg", "up to 10 kg", "65+"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_FIGURE = r"\d{1,7}(?:[.,]\d{1,3})?"
_SIZE = (
    r"(?:(?P<sign>up to|under|over|above|below|from|more than|less than|at least|at most|[<>≤≥])\s?)?"
    rf"(?<![\d.,])(?P<low>{_FIGURE})(?:\s?(?:[-–—]|to)\s?(?P<high>{_FIGURE}))?"
)
_WORDS_BEHIND = (
    r"(?:\s?(?P<plus>\+)|\s(?P<behind>(?:and|or) (?:over|above|more|older|up|under|below|less|younger)))?(?![-\w])"
)
_CLASS = re.compile(rf"{_SIZE}(?:\s?(?P<unit>[^\W\d_]{{1,12}}))?{_WORDS_BEHIND}", re.IGNORECASE)
_SIZE_IN_QUESTION = re.compile(rf"(?<![-\w]){_SIZE}[\s-]?(?P<unit>[^\W\d_]{{1,12}}){_WORDS_BEHIND}", re.IGNORECASE)
_SIGNS_BELOW = frozenset({"up to", "under", "below", "less than", "at most", "<", "≤"})
_EXCLUSIVE_SIGNS = frozenset({"under", "below", "less than", "<", "over", "above", "more than", ">"})
"""Words for sizes that do not include the size itself."""
_UNIT_OF_WORD = {
    **dict.fromkeys(("kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogramme", "kilogrammes"), "kg"),
    **dict.fromkeys(("lb", "lbs", "pound", "pounds"), "lb"),
    **dict.fromkeys(("g", "gram", "grams"), "g"),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), "m"),
    **dict.fromkeys(("cm", "centimetre", "centimetres", "centimeter", "centimeters"), "cm"),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), "km"),
    **dict.fromkeys(("year", "years", "yr", "yrs", "yo"), "year"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("week", "weeks"), "week"),
    **dict.fromkeys(("day", "days"), "day"),
    **dict.fromkeys(("hour", "hours", "h", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), "minute"),
    **dict.fromkeys(("ton", "tons", "tonne", "tonnes", "t"), "ton"),
    **dict.fromkeys(("litre", "litres", "liter", "liters", "l"), "litre"),
    **dict.fromkeys(("person", "persons", "people"), "person"),
    **dict.fromkeys(("page", "pages"), "page"),
    **dict.fromkeys(("mile", "miles"), "mile"),
}
"""Units by the words for them; any other word behind a number is no unit."""


@dataclass(frozen=True)
class SizeClass:
    """A class of sizes: an interval and the unit, "" without one.

    Attributes:
        low: The least size, or minus infinity.
        high: The greatest size, or infinity.
        has_low: Whether `low` itself is in the class.
        has_high: Whether `high` itself is in the class.
        unit: The unit.
    """

    low: float
    high: float
    has_low: bool
    has_high: bool
    unit: str

    def overlaps(self, other: SizeClass) -> bool:
        """Return whether some size is in both classes; their units are not compared."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low != high:
            return low < high
        return self._has_end(low) and other._has_end(low)

    def _has_end(self, size: float) -> bool:
        """Return whether a size within the interval, which may be one of its ends, is in the class."""
        if size == self.low:
            return self.has_low
        return self.has_high if size == self.high else True


def size_class(name: str) -> SizeClass | None:
    """Return the class that a column's name states; None for any other name, also for a single size such as "10 kg"."""
    match = _CLASS.fullmatch(name.strip())
    size = _parse_size(match) if match else None
    return None if size is None or size.low == size.high else size


def asked_sizes(question: str) -> list[tuple[SizeClass, str]]:
    """Return the measures with a unit that a question names, each with the words that state it.

    They are single ones, "12 kg", or classes of them, "over 50 kW".
    """
    sizes = []
    for match in _SIZE_IN_QUESTION.finditer(question):
        size = _parse_size(match)
        if size is not None and size.unit:
            sizes.append((size, match[0]))
    return sizes


def _parse_size(match: re.Match[str]) -> SizeClass | None:
    """Return the interval that a match of `_CLASS` or `_SIZE_IN_QUESTION` states; a single size is both of its ends.

    None if the word behind the number is no unit, or if the interval runs backwards.
    """
    unit = _UNIT_OF_WORD.get((match["unit"] or "").casefold(), "")
    if match["unit"] and not unit:
        return None
    low = float(match["low"].replace(",", "."))
    if match["high"]:
        high = float(match["high"].replace(",", "."))
        return SizeClass(low, high, has_low=True, has_high=True, unit=unit) if low < high else None
    sign, behind = (match["sign"] or "").casefold(), (match["behind"] or "").casefold()
    if sign in _SIGNS_BELOW or behind.endswith(("under", "below", "less", "younger")):
        return SizeClass(-math.inf, low, has_low=False, has_high=sign not in _EXCLUSIVE_SIGNS, unit=unit)
    if sign or behind or match["plus"]:
        return SizeClass(low, math.inf, has_low=sign not in _EXCLUSIVE_SIGNS, has_high=False, unit=unit)
    return SizeClass(low, low, has_low=True, has_high=True, unit=unit)
