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
_BEHIND = (
    r"(?:\s?(?P<plus>\+)|\s(?P<behind>(?:and|or) (?:over|above|more|older|up|under|below|less|younger)))?(?![-\w])"
)
_CLASS = re.compile(rf"{_SIZE}(?:\s?(?P<unit>[^\W\d_]{{1,12}}))?{_BEHIND}", re.IGNORECASE)
_ASKED = re.compile(rf"(?<![-\w]){_SIZE}[\s-]?(?P<unit>[^\W\d_]{{1,12}}){_BEHIND}", re.IGNORECASE)
_BELOW = frozenset({"up to", "under", "below", "less than", "at most", "<", "≤"})
_OPEN = frozenset({"under", "below", "less than", "<", "over", "above", "more than", ">"})
"""Words for sizes that do not include the size itself."""
_UNITS = {
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
"""Units, as they are written; another word behind a figure is none."""


@dataclass(frozen=True)
class SizeClass:
    """A class of sizes: an interval and the unit, "" without one.

    Attributes:
        low: The least size, or minus infinity.
        high: The greatest, or infinity.
        has_low: Whether `low` itself is of the class.
        has_high: Whether `high` is.
        unit: The unit.
    """

    low: float
    high: float
    has_low: bool
    has_high: bool
    unit: str

    def overlaps(self, other: SizeClass) -> bool:
        """Return whether some size is in both classes."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low != high:
            return low < high
        at = [
            each.has_low if low == each.low else each.has_high if low == each.high else True for each in (self, other)
        ]
        # A single size is both ends of its interval.
        return all(at)


def size_class(name: str) -> SizeClass | None:
    """Return the class that a column's name is; None for any other name, also for a single size such as "10 kg"."""
    match = _CLASS.fullmatch(name.strip())
    found = _parsed(match) if match else None
    return None if found is None or found.low == found.high else found


def asked_sizes(question: str) -> list[tuple[SizeClass, str]]:
    """Return `(size or class, as it is written)` of those with a unit that a question names."""
    found = []
    for match in _ASKED.finditer(question):
        size = _parsed(match)
        if size is not None and size.unit:
            found.append((size, match[0]))
    return found


def _parsed(match: re.Match[str]) -> SizeClass | None:
    """Return the interval that a match states; None if the word behind the figure is no unit."""
    unit = _UNITS.get((match["unit"] or "").casefold(), "")
    if match["unit"] and not unit:
        return None
    low = float(match["low"].replace(",", "."))
    if match["high"]:
        high = float(match["high"].replace(",", "."))
        return SizeClass(low, high, has_low=True, has_high=True, unit=unit) if low < high else None
    sign, behind = (match["sign"] or "").casefold(), (match["behind"] or "").casefold()
    if sign in _BELOW or behind.endswith(("under", "below", "less", "younger")):
        return SizeClass(-math.inf, low, has_low=False, has_high=sign not in _OPEN, unit=unit)
    if sign or behind or match["plus"]:
        return SizeClass(low, math.inf, has_low=sign not in _OPEN, has_high=False, unit=unit)
    return SizeClass(low, low, has_low=True, has_high=True, unit=unit)
