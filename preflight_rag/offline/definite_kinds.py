"""What a question asks for so definitely that other numbers and dates are no answer: a deadline, an age limit."""

from __future__ import annotations

import re
from collections.abc import Callable

from preflight_rag.text.values import figures_of

_ASKS_DEADLINE = re.compile(
    r"^\W*(?:when|what)(?:['’]s| is| was) (?:the |our |your )?(?:[\w-]{1,30} ){0,2}"
    r"(?:deadline|closing date|due date|last (?:day|date) (?:to|for))\b|^\W*by (?:when|(?:what|which) (?:date|day))\b",
    re.IGNORECASE,
)
_LIMITS_TIME = re.compile(
    r"\b(?:(?:no|not) later than|at the latest|on or before|before|until|by|due|deadline|clos(?:es?|ed|ing)|expir\w+"
    r"|last (?:day|date)|ends?|within|received)\b",
    re.IGNORECASE,
)
_MONTH_OR_DAY = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
    r"|\d{1,3} (?:(?:working|business|calendar) )?(?:days?|weeks?|months?))\b"
)
_ASKS_AGE_LIMIT = re.compile(
    r"\b(?:how old (?:do|does|must|should|need|has|have)\b|(?:what|which) age (?:do|does|must|should|can|may)\b"
    r"|(?:minimum|maximum|lowest|youngest) age\b|from (?:what|which) age\b)",
    re.IGNORECASE,
)
_STATES_AGE = re.compile(
    r"\b(?:be|are) (?:(?:at least|over|under) )?(?:\d{1,2}|sixteen|eighteen|twenty-one)\b(?! ?%)|\b\d{1,2}\+"
    r"|\byears? (?:of age|old and|or (?:older|over|younger))|\b(?:aged?|ages)\b(?: of)?[^.]{0,20}\d"
    r"|\b\d{1,3}-year-olds\b|\b(?:at least|over|under|from|until) (?:the age of )?[\w-]{1,12} years old\b"
    r"|\b(?:over|under)[- ]\d{1,2}(?:s|['’]s)\b|\b(?:turn(?:s|ed)?|reach(?:es|ed)?|attain(?:s|ed)?) \d{1,2}\b"
    r"|\b(?:adults only|only adults|for adults)\b",
    re.IGNORECASE,
)


def states_definite_kind(question: str) -> Callable[[str], bool] | None:
    """Return the test whether a text states the deadline or the age limit that a question asks for.

    None where the question asks for neither.
    """
    if _ASKS_DEADLINE.search(question):
        return _states_deadline
    return _states_age_limit if _ASKS_AGE_LIMIT.search(question) else None


def _states_deadline(text: str) -> bool:
    """Return whether a text names a day, or a length of time, with a word that makes it the last one."""
    is_day = bool(figures_of(text).dates) or _MONTH_OR_DAY.search(text) is not None
    return is_day and _LIMITS_TIME.search(text) is not None


def _states_age_limit(text: str) -> bool:
    """Return whether a text states an age as a limit, or that something is for adults."""
    return _STATES_AGE.search(text) is not None
