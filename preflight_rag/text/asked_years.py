"""Whether quotes are about the year that a question names, and the line above them if they are not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, SEVERAL, other_years
from preflight_rag.text.names import surface_names
from preflight_rag.text.tables import is_row, parse_row
from preflight_rag.text.values import asked_kind, last_question, years
from preflight_rag.text.words import words

_BOUND = re.compile(
    r"\b(?:since|after|before|until|till|by|from|than|between)\s+(?:[a-z]+\s+){0,2}(?:1[789]|20)\d\d", re.I
)
"""Matches "since 1995", "before early 1995", "between 1990 and 1995", which other years can answer; not "in 1995"."""


def of_another_year(question: str, title: str, sentence: str) -> bool:
    """Return whether a sentence is only about other years than the question, e.g. layoffs in 2024 instead of 2023.

    A sentence without a year has that of the title, as in "Results of fiscal 2022". A year does not count as another
    one if the sentence names years before and after it, or the title names it.
    """
    question = last_question(question)
    titled = _of_title(title)
    asked, named = years(question), years(sentence) or titled
    if not asked or not named or asked & (named | titled) or asked_kind(question) == "date":
        return False
    return not any(min(named) < year < max(named) for year in asked)


def is_titled_by_year(question: str, title: str) -> bool:
    """Return whether a document's title names the year that a question is about, as "Price list 2024" does."""
    return bool(_of_one_year(question) & _of_title(title))


def gives_year(question: str, source: Source, sentence: str) -> bool:
    """Return whether a sentence is about the question's year, and its passage contains the question's names.

    A sentence without a year may get it from elsewhere in its passage, such as the line above a table's columns. A row
    is about the years of its columns: "2019 plan | 2022: 37" is about 2022.
    """
    row = parse_row(sentence) if is_row(sentence) else None
    columns = years(" ".join(cell.column for cell in row.cells)) if row else set()
    named = columns or years(sentence)
    if not _of_one_year(question) & (named | _of_title(source.title) | (set() if named else years(source.text))):
        return False
    return _has_names(question, source)


def _has_names(question: str, source: Source) -> bool:
    """Return whether a passage, or its title, contains a word of each name of a question."""
    text = frozenset(words(f"{source.title} {source.text}"))
    names = [frozenset(words(" ".join(name))) for name in surface_names(question)]
    return all(name & text for name in names if name and not any(map(str.isdigit, "".join(name))))


def by_year(
    question: str, sources: Mapping[int, Source], quotes: Sequence[tuple[int, str]], lead: str
) -> tuple[list[tuple[int, str]], str]:
    """Return quotes, those about the question's year first, and the line above them.

    If none is about that year and some are about others, the line says so, unless it already says what is missing.

    Args:
        question: The standalone question.
        sources: The passages by number.
        quotes: The quotes as (passage, quote), best first.
        lead: The line above quotes of which none is about another year.
    """
    asked = _of_one_year(question)
    known = [(n, quote) for n, quote in quotes if n in sources]
    missing = [item for item in known if of_another_year(question, sources[item[0]].title, item[1])]
    if not asked or not missing:
        return list(quotes), lead
    if any(gives_year(question, sources[n], quote) for n, quote in known):
        return [item for item in quotes if item not in missing] + missing, lead
    # Another subject's years say nothing about the question's subject.
    is_said = lead in (CLOSEST, ABOUT_THIS, SEVERAL) and any(_has_names(question, sources[n]) for n, _ in missing)
    return list(quotes), other_years(sorted(asked)) if is_said else lead


def names_bound(question: str) -> bool:
    """Return whether a question names a year as a bound: "since 1995"."""
    return _BOUND.search(question) is not None


def _of_one_year(question: str) -> set[int]:
    """Return the years that a question is about; none if it asks for a date, or names a year as a bound."""
    question = last_question(question)
    return set() if names_bound(question) or asked_kind(question) == "date" else years(question)


def _of_title(title: str) -> set[int]:
    """Return the years in a title; underscores separate words."""
    return years(title.replace("_", " "))  # names of files: AMCOR_2023_10K
