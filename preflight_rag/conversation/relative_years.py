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
"""A year, and not an amount such as "2000 euros"."""
_NUMBER_WORDS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_YEARS_COUNTED = r"(?P<count>one|two|three|four|five|a) years? "
_REFERENCE_YEAR = r"(?: (?:that|this|it|then|which))?"
"""The word for the year from which another is counted: "that" of "the year before that"."""
_COUNTED_BACKWARDS = re.compile(
    rf"(?:in |for |during )?(?:(?:{_YEARS_COUNTED}|the year )(?:before{_REFERENCE_YEAR}|earlier|previously"
    r"|prior(?: to (?:that|it))?)"
    r"|the (?:previous|preceding|prior) (?:fiscal |financial )?year)\b",
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
"""A question how something was in the year just spoken of: "Who was the leader then"."""
_HOW_MANY_OF_GROUP = re.compile(r"(?:(?:and|but|so) )?how many (?P<who>[a-z-]+)\b", re.I)
_HOW_MANY_WERE_THERE = re.compile(rf"{_HOW_MANY_OF_GROUP.pattern} (?:were|was) there", re.I)


def write_out_years(turns: Sequence[str]) -> list[str]:
    """Return the questions with years written out that are counted from an earlier question's year.

    After "Who won in 2021?", "And the year before that?" becomes "And in 2020?". A question with a year of its own
    stays as it is, and so does one without an earlier year to count from.
    """
    written_out: list[str] = []
    last_year: int | None = None
    for turn in turns:
        years = _YEAR.findall(turn)
        if not years and last_year is not None:
            turn = _write_out_year(turn, last_year)
            years = _YEAR.findall(turn)
        last_year = int(years[-1]) if years else last_year
        written_out.append(turn)
    return written_out


def _write_out_year(turn: str, reference_year: int) -> str:
    """Return "And in 2020?" for "And the year before that?" and the reference year 2021; other questions unchanged."""
    for pattern, direction in ((_COUNTED_BACKWARDS, -1), (_COUNTED_FORWARDS, 1)):
        if match := pattern.search(turn):
            distance = _NUMBER_WORDS[(match["count"] or "one").casefold()]
            behind = turn[match.end() :]
            # Only at the end of a question is it the question's time.
            if not behind.strip(" ?.!,"):
                return f"{turn[: match.start()]}in {reference_year + direction * distance}{behind}"
    return turn


def question_without_then(message: str) -> str:
    """Return "Who was the leader" for "Who was the leader then?"; "" for messages without a "then" that means a year.

    "Then" of what somebody did means what comes next: "What did they do then?".
    """
    match = _ENDS_WITH_THEN.fullmatch(message.strip(" ?.!"))
    return match["stem"] if match else ""


def counts_another_group_then(stem: str, last_question: str, year: str) -> bool:
    """Return whether a message counts another group than the last question, which names the year that "then" means.

    "How many volunteers were there then?" (as `stem`, without "then") after "How many visitors came in 2024?" does not
    count visitors.
    """
    counted, counted_before = _HOW_MANY_WERE_THERE.fullmatch(stem), _HOW_MANY_OF_GROUP.match(last_question)
    if counted is None or counted_before is None:
        return False
    return counted["who"].casefold() != counted_before["who"].casefold() and year in _YEAR.findall(last_question)


def group_counted_then(message: str) -> str:
    """Return "volunteers" for "How many volunteers were there then?"; "" for other messages."""
    counted = _HOW_MANY_WERE_THERE.fullmatch(question_without_then(message))
    return counted["who"] if counted else ""


def year_of_last_answer(earlier: Earlier) -> str:
    """Return the only year of the last question, or else of its answer's first line, or else of the first quote.

    The result is "" if there is none, or if the first of these with a year has several. The quote counts only if it
    names what the question is about.
    """
    years = set(_YEAR.findall(earlier.question))
    if not years:
        first_line = without_marks(next(iter(earlier.answer.splitlines()), ""))
        years = set(_YEAR.findall(first_line))
    quote = earlier.sources[0].text if earlier.sources else ""
    if not years and _names_topic_of(quote, earlier.question):
        years = set(_YEAR.findall(quote))
    return years.pop() if len(years) == 1 else ""


def _names_topic_of(quote: str, question: str) -> bool:
    """Return whether a quote has all content words of a question's last name, or of the question if it has no name."""
    names = [match[0].rstrip(".,") for match in NAME.finditer(question, question.find(" ") + 1)]
    topic_words = frozenset(words(names[-1] if names else question)) - STOP_WORDS
    return bool(topic_words) and topic_words.issubset(words(quote))
