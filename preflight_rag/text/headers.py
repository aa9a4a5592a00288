"""The lines that are shown above quotes from the documents, or instead of an answer: one list, in plain English.

Each says only what the program knows: quotes without a claimed answer are "not confirmed"; that no document mentions
something is said only about names and topics.
"""

from __future__ import annotations

from collections.abc import Sequence

CLOSEST = "Most relevant passages (not confirmed as an answer):"
"""Above quotes for which no answer is claimed."""
ABOUT_THIS = "What the documents say about this:"
"""Above quotes if the question asks for an explanation, which is never claimed."""
SEVERAL = "From several documents, each in its own words (not confirmed as an answer):"
"""Above compared quotes of several documents."""
VERSIONS = "Your documents give different answers (newest first):"
"""Above the statements of documents of different dates about one rule."""
_CHANGED = "Your documents give different answers (newest first): {newer} since {year}; {older} before."
OF_VERSIONS = "your documents give different answers (newest first):"
"""The same line, after the name of what the versions are about."""
CONTRADICTED = "the sources contradict each other:"
"""After a name, above short answers that certainly contradict each other."""
DIFFERENT = "the sources give different answers:"
"""After a name, above answers that differ in some other way."""
UNDESCRIBED = "the sources give different answers, and not all say which one of that name they mean:"
"""After a name that several things may have."""
UNREAD_LANGUAGE = "The reader without a language model reads English, so nothing is claimed; found for the question:"
"""Above quotes for a question in another language."""
NOT_ANSWERED = "No answer to this question was found in the documents."
"""Instead of an answer, if documents are near to the question."""
NOT_IN_DOCUMENTS = "This is not in the documents, as far as the search shows."
"""Instead of an answer, if nothing in the documents is near to the question."""
NOTHING_FOUND = "Nothing was found in the documents for this question."
"""Instead of an answer, if the search found no passage at all."""

UNRESOLVED = "I couldn't tell what this refers to. Please ask it in full."
"""Instead of an answer to a follow-up that nothing before it explains, or that leads to the last answer again."""

_NOT_MENTIONED = "No document mentions {words}. Most relevant passages (not confirmed as an answer):"
_OTHER_YEARS = "Nothing was found for {years}. The documents give other years (not confirmed as an answer):"


def only_says_near(lead: str) -> bool:
    """Return whether the line above quotes claims no more of them than that they are relevant or about the topic."""
    return lead == ABOUT_THIS or lead.endswith(CLOSEST.partition(" (")[2])


def not_mentioned(names: Sequence[str]) -> str:
    """Return the line above quotes if some names or topics of the question are in no document's title or text."""
    return _NOT_MENTIONED.format(words=" or ".join(f"“{name}”" for name in names))


def other_years(asked: Sequence[int]) -> str:
    """Return the line above quotes if none is about the years that the question names, and some are about others."""
    return _OTHER_YEARS.format(years=" or ".join(map(str, asked)))


def changed(newer: str, older: str, year: str) -> str:
    """Return the line above quotes from two versions of a document that differ in one number.

    Args:
        newer: The value in the newer version, with its unit.
        older: The value in the older version, with its unit.
        year: The year since which the newer one holds.
    """
    return _CHANGED.format(newer=newer, older=older, year=year)


def rows_where(first: str, second: str, *, above: bool, shown: int, found: int) -> str:
    """Return the line above rows of a table in which one column's number is above, or below, another's.

    Args:
        first: The first column.
        second: The second column.
        above: Whether the first is above the second.
        shown: How many rows are shown.
        found: How many were found.
    """
    return (
        f"Rows found in which “{first}” is {'above' if above else 'below'} “{second}”{_remark_on_number(shown, found)}:"
    )


def _remark_on_number(shown: int, found: int) -> str:
    """Return the remark that only some of the found rows are shown; "" if all are."""
    return f" (the first {shown} of {found})" if shown < found else ""


def no_rows_where(first: str, second: str, *, above: bool) -> str:
    """Return the line above a table if no row's number in one column is above, or below, that in another."""
    return f"In none of the rows found is “{first}” {'above' if above else 'below'} “{second}”:"


def rows_with_figure(column: str, bound: str, *, shown: int, found: int) -> str:
    """Return the line above rows whose number in a column is within a bound, given in the question's words."""
    return f"Rows found by “{column}”, {bound}{_remark_on_number(shown, found)}:"


def no_rows_with_figure(column: str, bound: str) -> str:
    """Return the line above a table if no row's number in a column is within a bound, in the question's words."""
    return f"None of the rows found has {bound} under “{column}”:"


def rows_by(column: str, *, most: bool) -> str:
    """Return the line above rows of a table that are ordered by a column, largest or smallest first."""
    return f"Rows found, the {'highest' if most else 'lowest'} “{column}” first:"


def rows_without(column: str, *, shown: int, found: int) -> str:
    """Return the line above rows of a table that have nothing in a column, of which some may not be shown."""
    return f"Rows found without “{column}”{_remark_on_number(shown, found)}:"


def rows_not_listing(what: str, column: str, *, shown: int, found: int) -> str:
    """Return the line above rows of a table whose cell in a column does not list something; some may not be shown."""
    return f"Rows found that do not list “{what}” under “{column}”{_remark_on_number(shown, found)}:"


def rows_marked(columns: Sequence[tuple[str, bool]], *, shown: int, found: int) -> str:
    """Return the line above rows of a table with yes, or no, in some columns.

    Args:
        columns: The name of each column, and whether it is yes.
        shown: How many rows are shown.
        found: How many were found.
    """
    return f"Rows found in which {_yes_or_no(columns)}{_remark_on_number(shown, found)}:"


def no_rows_marked(columns: Sequence[tuple[str, bool]]) -> str:
    """Return the line above a table if no row has the given values, as (name of a column, whether it is yes)."""
    return f"In none of the rows found is it so that {_yes_or_no(columns)}:"


def _yes_or_no(columns: Sequence[tuple[str, bool]]) -> str:
    """Return in words whether each column is yes: `“A” is yes and “B” is no`."""
    return " and ".join(f"“{name}” is {'yes' if yes else 'no'}" for name, yes in columns)


UNCLAIMED = {
    "explanation": "The question asks for an explanation; without a language model the passages are shown as they are.",
    "verdict": "A yes or no is claimed of few sentences only, which surely deny all that is asked.",
    "language": "The question is not in English, which is all that the reader without a language model reads.",
    "passages": "The passage that fits best is not in English, which is all that the reader without a model reads.",
    "uncited": "The language model cites nothing, and no passage that it read says the same.",
    "nothing": "No passage holds a short answer to the question.",
    "unlikely": "The likeliest answer, “{answer}”, is {probability} sure; one is claimed from {least} on.",
    "subject": "The likeliest answer, “{answer}”, stands in a sentence about something else.",
    "fragment": "The message is no whole question, and what it changes in the one before it is not clear.",
    "changed": "The likeliest answer, “{answer}”, stands in a sentence that a later document changes.",
    "replaced": "The likeliest answer, “{answer}”, stands in an edition that a later one replaces.",
    "counted": "The likeliest answer, “{answer}”, counts something else than what is asked for, or a part of it.",
    "other_words": "The sentences share few words with the question; they may say it in other words.",
    "beside": "The likeliest answer, “{answer}”, stands beside the sentence that says more of what is asked.",
    "proposed": "The likeliest answer, “{answer}”, stands in a sentence that proposes it, without what was decided.",
    "wide": "The likeliest answer, “{answer}”, is not for the time, side or case that is asked for.",
    "opposite": "The likeliest answer, “{answer}”, stands in a sentence that does not deny what the question denies.",
    "several_meanings": "Passages spell out “{answer}” differently.",
    "compared": "Documents answer differently, or not surely enough for a claim.",
    "comparison": "What is to be compared was not read as one figure of each.",
    "extreme": "No single row of a table has the figures of all groups, with one that is surely the most or the least.",
    "rows": "Other rows of the table may stand in passages that were not found, so the found ones are shown.",
    "unlisted": "That a row does not list something is no proof that it is not there.",
    "no_value": "The cell that is asked for shows an error in the place of a value.",
    "wrong_type": "The likeliest answer, “{answer}”, is not of the kind that is asked for.",
    "name_unseen": "A name or number of the question stands in no document.",
    "figure_unasked": "The likeliest answer, “{answer}”, is a figure, which the question does not clearly ask for.",
    "not_offered": "The likeliest answer, “{answer}”, is none of those that the question offers.",
    "asked_already": "The likeliest answer, “{answer}”, only repeats the question.",
    "denied": "The likeliest answer, “{answer}”, stands in a sentence that denies something.",
    "another_year": "The likeliest answer, “{answer}”, stands in a sentence about another year.",
    "another_name": "The likeliest answer, “{answer}”, is of another row than the one that the question names.",
}
"""Reasons for not claiming an answer, for `--explain` and the page; the last eight are the `VETOES` of
`offline/confidence.py`."""


_ROUNDING_ERROR = 1e-9
_SHOWN_CHARS = 80
"""Characters that are shown of an answer; a guess."""
NOTHING_SAYS_IT = "this is the language model's own answer; no passage that it read says it."
"""Below an answer that cites nothing and is in no passage."""


def why_unclaimed(reason: str, *, answer: str = "", probability: float = 0.0, least: float = 0.0) -> str:
    """Return the sentence that explains why nothing was claimed.

    Args:
        reason: A key of `UNCLAIMED`.
        answer: The likeliest answer, if the sentence names it.
        probability: Probability that it is right, in [0, 1].
        least: Least probability at which an answer is claimed.
    """
    # The percentage is cut, not rounded: an answer below the limit must not seem to reach it.
    percentage = f"{int(100 * probability + _ROUNDING_ERROR)}%"
    return UNCLAIMED[reason].format(answer=answer[:_SHOWN_CHARS], probability=percentage, least=f"{least:.0%}")
