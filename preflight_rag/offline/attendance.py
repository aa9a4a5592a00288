"""Lines of minutes on who attended a meeting and who did not.

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
_ABSENT_LINE = re.compile(
    rf"{_BEGINS}(?:apologies|absent|excused|regrets|not present|unable to attend){_NAMES}",
    re.IGNORECASE | re.MULTILINE,
)
_PRESENT_LINE = re.compile(
    rf"{_BEGINS}(?:present|in attendance|attendees|attending|participants){_NAMES}", re.IGNORECASE | re.MULTILINE
)
_MEETING_WORDS = frozenset(
    words("meeting minutes session assembly committee board council trustees agm conference call")
)
# Only with its capital: "Who may vote?" names no month.
_MONTH_MAY = re.compile(r"\bMay\b")
OPENING_CHARACTERS = 300
"""Number of characters at the beginning of minutes in which the day of the meeting is looked for; a guess."""
MAX_LINES = 3
"""Maximum number of lines that are shown; a guess."""


def find_attendance_lines(question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, line)` of the lines that name who attended a meeting, or who did not, as a question asks.

    Empty if the question asks for neither or for no meeting. If it names a month, a year or a day, only minutes of that
    time count.
    """
    if _ASKS_ABSENT.search(question):
        pattern = _ABSENT_LINE
    elif _ASKS_PRESENT.search(question):
        pattern = _PRESENT_LINE
    else:
        return []
    # "Who was absent from school?" asks for no minutes.
    if _MEETING_WORDS.isdisjoint(words(question)):
        return []
    asked_times, asked_days = _find_months_and_years(question), figures_of(question).dates
    lines = []
    for source in sorted(sources, key=lambda source: source.n):
        # The day of the meeting stands in its title or above its text; further down stands that of the next one.
        opening = f"{source.title}\n{source.text[:OPENING_CHARACTERS]}"
        days = figures_of(opening).dates
        is_of_day = not asked_days or any(dates_agree(asked_day, day) for asked_day in asked_days for day in days)
        if is_of_day and asked_times <= _find_months_and_years(opening):
            lines += [(source.n, match[0].strip()) for match in pattern.finditer(source.text)]
    return lines[:MAX_LINES]


def _find_months_and_years(text: str) -> frozenset[str]:
    """Return the months and years in a text, "march" also for "3 March" and "2024-03-01", years in four digits."""
    in_words = frozenset(re.findall(r"[a-z]+", text.casefold())) & frozenset(MONTH_NAMES) - {"may"}
    in_dates = [MONTH_NAMES[int(month) - 1] for _, month, _ in figures_of(text).dates if month]
    may = ["may"] if _MONTH_MAY.search(text) else []
    return in_words.union(in_dates, map(str, years(text)), may)
