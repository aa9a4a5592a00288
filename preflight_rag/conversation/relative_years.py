"""Years that a follow-up counts from the question before it: "and the year before that?" after one about 2021.

"Who was the leader then?" means the year of the answer before, where the question before has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Earlier
from preflight_rag.text.citations import without_marks
from preflight_rag.text.names import NAME
from preflight_rag.text.words import STOP_WORDS, words

_YEAR = re.compile(
    r"(?<![\d£$€])(?:19|20)\d\d(?!\d|\s?(?:[£$€%]|(?:euros?|pounds?|dollars?|people|members|miles?|k?m|k?g|units?)\b))",
    re.I,
)
"""A year, no amount: "2000 euros"."""
_NUMBER_WORDS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_YEARS_COUNTED = r"(?P<count>one|two|three|four|five|a) years? "
_REFERENCE_YEAR = r"(?: (?:that|this|it|then|which))?"
_COUNTED_BACKWARDS = re.compile(
    rf"(?:in |for |during )?(?:(?:{_YEARS_COUNTED}|the year )(?:before{_REFERENCE_YEAR}|earlier|previously"
    r"|prior(?: to (?:that|it))?)"
    r"|the (?:previous|preceding|prior) (?:fiscal |financial )?year|(?:the )?year before last)\b",
    re.IGNORECASE,
)
_COUNTED_FORWARDS = re.compile(
    rf"(?:in |for |during )?(?:(?:{_YEARS_COUNTED}|the year )(?:after{_REFERENCE_YEAR}|later|afterwards|on)"
    r"|the (?:next|following|subsequent) (?:fiscal |financial )?year)\b",
    re.IGNORECASE,
)

_ENDS_WITH_THEN = re.compile(
    r"(?P<stem>(?:(?:and|but|so) )?(?:who|what|which|how (?:many|much|old|large|big|high)|where|was|were)\b"
    r"(?! (?:is|are|does|do|will)\b|['’]s)(?!.*\b(?:did|happen\w*)\b).*\w)"
    r" (?:back )?(?:then|at (?:the|that) time|(?:in )?that year|in those days)",
    re.I,
)
"""A question for how something was in the year just spoken of: "Who was the leader then"."""

_HOW_MANY_OF_GROUP = re.compile(r"(?:(?:and|but|so) )?how many (?P<who>[a-z-]+)\b", re.I)
_HOW_MANY_WERE_THERE = re.compile(rf"{_HOW_MANY_OF_GROUP.pattern} (?:were|was) there", re.I)


def write_out_years(turns: Sequence[str]) -> list[str]:
    """Return questions, each counted year of which is written out by the years before it.

    A question with a year of its own, or behind none with one, stays as it is.

    Args:
        turns: The questions of a conversation, oldest first.
    """
    found: list[str] = []
    year: int | None = None
    for turn in turns:
        named = _YEAR.findall(turn)
        counted = turn if named or year is None else _write_out_year(turn, year)
        named = named or _YEAR.findall(counted)
        year = int(named[-1]) if named else year
        found.append(counted)
    return found


def _write_out_year(turn: str, year: int) -> str:
    """Return a question with a year in the place of what counts from another one."""
    for pattern, sign in ((_COUNTED_BACKWARDS, -1), (_COUNTED_FORWARDS, 1)):
        if match := pattern.search(turn):
            years = _NUMBER_WORDS[(match["count"] or "one").casefold()]
            behind = turn[match.end() :]
            if not behind.strip(" ?.!,"):
                return f"{turn[: match.start()]}in {year + sign * years}{behind}"
    return turn


def question_without_then(message: str) -> str:
    """Return a question without the "then" by which it means a year just spoken of; "" for any other message.

    "Then" of what somebody did means what comes next: "What did they do then?".
    """
    match = _ENDS_WITH_THEN.fullmatch(message.strip(" ?.!"))
    return match["stem"] if match else ""


def counts_another_group_then(stem: str, question: str, year: str) -> bool:
    """Return whether a question without its "then" counts others than the question before did in the year it names.

    "How many volunteers were there then?" after "How many visitors came in 2024?" is about no visitors.
    """
    counted, before = _HOW_MANY_WERE_THERE.fullmatch(stem), _HOW_MANY_OF_GROUP.match(question)
    is_other = counted is not None and before is not None and counted["who"].casefold() != before["who"].casefold()
    return is_other and year in _YEAR.findall(question)


def group_counted_then(message: str) -> str:
    """Return who or what is counted in "How many volunteers were there then?"; "" for other messages."""
    counted = _HOW_MANY_WERE_THERE.fullmatch(question_without_then(message))
    return counted["who"] if counted else ""


def year_of_last_answer(earlier: Earlier) -> str:
    """Return the only year of the last answer, or else that of its first quote; "" if there is none or several.

    The year of the question itself comes first. A quote must name what the question is about.
    """
    asked = dict.fromkeys(_YEAR.findall(earlier.question))
    if asked:
        return next(iter(asked)) if len(asked) == 1 else ""
    headline = without_marks(next(iter(earlier.answer.splitlines()), ""))
    found = dict.fromkeys(_YEAR.findall(headline))
    quote = earlier.sources[0].text if earlier.sources else ""
    if not found and _names_topic_of(quote, earlier.question):
        found = dict.fromkeys(_YEAR.findall(quote))
    return next(iter(found)) if len(found) == 1 else ""


def _names_topic_of(quote: str, question: str) -> bool:
    """Return whether a quote has the last name of a question, or all its words where it has no name."""
    named = [match[0].rstrip(".,") for match in NAME.finditer(question, question.find(" ") + 1)]
    terms = frozenset(words(named[-1] if named else question)) - STOP_WORDS
    return bool(terms) and terms.issubset(words(quote))
