"""Lines of minutes on who was there and who was not, which minutes say in words of their own.

"Who was absent from the meeting in March?" is answered by "Apologies: Ann Bell, Tom Ray", which has none of its words.
By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH_NAMES
from preflight_rag.text.values import dates_agree, figures_of, years
from preflight_rag.text.words import words

_ASKS_ABSENT = re.compile(
    r"\bwho\b[^?]{0,40}\b(?:absent|missing|excused|away|(?:not|n['’]t) (?:there|present|able to come|attend|come))\b"
    r"|\bwho\b[^?]{0,40}\b(?:missed|sent (?:their |his |her )?apologies)\b"
    r"|\bwho (?:could|did)(?:n['’]t| not) (?:attend|come)\b",
    re.IGNORECASE,
)
_ASKS_PRESENT = re.compile(
    r"\bwho\b[^?]{0,20}\b(?:(?:was|were|is) (?:there|present|at)|attended|came to|took part in)\b", re.IGNORECASE
)
# The names end at a full stop: minutes often have "Present: …. Apologies: …." in one line.
_NAMES = r"(?: for absence| were received)?\s?:[^\n]{3,300}?(?=\.(?:\s|\Z)|\n|\Z)"
_BEGINS = r"(?:^\W{0,9}|(?<=[.;] ))"
_ABSENT = re.compile(
    rf"{_BEGINS}(?:apologies|absent|excused|regrets|not present|unable to attend){_NAMES}",
    re.IGNORECASE | re.MULTILINE,
)
_PRESENT = re.compile(
    rf"{_BEGINS}(?:present|in attendance|attendees|attending|participants){_NAMES}", re.IGNORECASE | re.MULTILINE
)
_MEETING = frozenset(words("meeting minutes session assembly committee board council trustees agm conference call"))
# Only with its capital: "Who may vote?" names no month.
_MAY = re.compile(r"\bMay\b")
OPENING_CHARACTERS = 300
"""Characters of minutes in which their own day stands; a guess."""
MAX_LINES = 3
"""Lines that are shown; a guess, as of other quotes."""


def find_attendance_lines(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the lines on who was at a meeting, or was not, as a question asks; [] without one.

    Args:
        question: The standalone question.
        sources: The passages. If the question names a month or year, only those of that time count.
    """
    pattern = _ABSENT if _ASKS_ABSENT.search(question) else _PRESENT if _ASKS_PRESENT.search(question) else None
    # "Who was absent from school?" asks for no minutes.
    if pattern is None or _MEETING.isdisjoint(words(question)):
        return []
    asked, days, found = _find_months_and_years(question), figures_of(question).dates, []
    for source in sorted(sources, key=lambda source: source.n):
        # The day of the meeting stands in its title or above its text; further down stands that of the next one.
        opening = f"{source.title}\n{source.text[:OPENING_CHARACTERS]}"
        own = figures_of(opening).dates
        is_of_day = not days or any(dates_agree(day, each) for day in days for each in own)
        if asked <= _find_months_and_years(opening) and is_of_day:
            found += [(source.n, match[0].strip()) for match in pattern.finditer(source.text)]
    return found[:MAX_LINES]


def _find_months_and_years(text: str) -> frozenset[str]:
    """Return the months and years that a text names, also in figures."""
    months = frozenset(re.findall(r"[a-z]+", text.casefold())) & frozenset(MONTH_NAMES) - {"may"}
    stated = [MONTH_NAMES[int(month) - 1] for _, month, _ in figures_of(text).dates if month]
    return (
        months | frozenset(stated) | frozenset(map(str, years(text))) | frozenset(["may"] if _MAY.search(text) else [])
    )
