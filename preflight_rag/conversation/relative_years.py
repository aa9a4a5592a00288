"""Years that a follow-up counts from the question before it: "and the year before that?" after one about 2021."""

from __future__ import annotations

import re
from collections.abc import Sequence

_YEAR = re.compile(
    r"(?<![\d£$€])(?:19|20)\d\d(?!\d|\s?(?:[£$€%]|(?:euros?|pounds?|dollars?|people|members|miles?|k?m|k?g|units?)\b))",
    re.I,
)
"""A year, no amount: "2000 euros"."""
_NUMBER = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_COUNT = r"(?P<count>one|two|three|four|five|a) years? "
_THEN = r"(?: (?:that|this|it|then|which))?"
_EARLIER = re.compile(
    rf"(?:in |for |during )?(?:(?:{_COUNT}|the year )(?:before{_THEN}|earlier|previously|prior(?: to (?:that|it))?)"
    r"|the (?:previous|preceding|prior) (?:fiscal |financial )?year|(?:the )?year before last)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    rf"(?:in |for |during )?(?:(?:{_COUNT}|the year )(?:after{_THEN}|later|afterwards|on)"
    r"|the (?:next|following|subsequent) (?:fiscal |financial )?year)\b",
    re.IGNORECASE,
)


def with_years(turns: Sequence[str]) -> list[str]:
    """Return questions, each counted year of which is written out by the years before it.

    A question with a year of its own, or behind none with one, stays as it is.

    Args:
        turns: The questions of a conversation, oldest first.
    """
    found: list[str] = []
    year: int | None = None
    for turn in turns:
        named = _YEAR.findall(turn)
        counted = turn if named or year is None else _counted(turn, year)
        named = named or _YEAR.findall(counted)
        year = int(named[-1]) if named else year
        found.append(counted)
    return found


def _counted(turn: str, year: int) -> str:
    """Return a question with a year in the place of what counts from another one."""
    for pattern, sign in ((_EARLIER, -1), (_LATER, 1)):
        if match := pattern.search(turn):
            years = _NUMBER[(match["count"] or "one").casefold()]
            behind = turn[match.end() :]
            if not behind.strip(" ?.!,"):
                return f"{turn[: match.start()]}in {year + sign * years}{behind}"
    return turn
