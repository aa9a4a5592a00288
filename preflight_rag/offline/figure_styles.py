"""Numbers of a table's cells, written with a decimal point or a decimal comma.

"1,250" alone may be either; the other cells of a table say which, since people write one style in one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BARE_FIGURE = re.compile(r"(?P<before>[$€£¥]?) ?(?P<number>[-−–]?\d[\d.,]*) ?(?P<behind>%|[^\W\d]{0,12})")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
# "1,25", "1.250,5" and "1.250.000" can only have a decimal comma; `_DECIMAL_POINT` is the reverse.
_DECIMAL_COMMA = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+),(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3}){2,}|0,\d+")
_DECIMAL_POINT = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3}){2,}|0\.\d+")


def has_decimal_comma(texts: Iterable[str]) -> bool | None:
    """Return whether numbers are surely written with a decimal comma; None if some are, and others with a point.

    False if no number shows it: "1,250" may be either.

    Args:
        texts: Cells of one table.
    """
    numbers = [number for text in texts for number in _NUMBER.findall(text)]
    comma = any(_DECIMAL_COMMA.fullmatch(number) for number in numbers)
    point = any(_DECIMAL_POINT.fullmatch(number) for number in numbers)
    return None if comma and point else comma


def number_of(written: str, *, decimal_comma: bool) -> float | None:
    """Return the value of a written number, also with a dash as its minus sign; None for other text."""
    text = re.sub("[−–]", "-", written)
    text = text.replace(".", "").replace(",", ".") if decimal_comma else text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return None


def bare_figure(cell: str, *, decimal_comma: bool = False) -> tuple[float, str] | None:
    """Return the number and unit of a cell that contains nothing else, (5.0, "kg") for "5 kg"; None for other cells.

    The unit is "" if there is none; a currency sign before the number is a part of it.
    """
    match = _BARE_FIGURE.fullmatch(cell.strip())
    number = number_of(match["number"], decimal_comma=decimal_comma) if match else None
    if match is None or number is None:
        return None
    return number, f"{match['before']}{match['behind'].casefold()}"
