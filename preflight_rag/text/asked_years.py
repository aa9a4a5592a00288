"""Whether quotes are about the year that a question names, and the line above them if they are not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, SEVERAL, other_years
from preflight_rag.text.names import surface_names
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row, parse_row
from preflight_rag.text.values import asked_kind, dates_agree, figures_of, last_question, years
from preflight_rag.text.versions import dated, newest_first
from preflight_rag.text.words import STOP_WORDS, words

_YEAR_AS_BOUND = re.compile(
    r"\b(?:since|after|before|until|till|by|from|than|between)\s+(?:[a-z]+\s+){0,2}(?:1[789]|20)\d\d", re.I
)
"""Matches "since 1995", "before early 1995", "between 1990 and 1995", which other years can answer; not "in 1995"."""


def of_another_year(question: str, title: str, sentence: str) -> bool:
    """Return whether a sentence is only about other years than the question, e.g. layoffs in 2024 instead of 2023.

    A sentence without a year has that of the title, as in "Results of fiscal 2022". A year does not count as another
    one if the sentence names years before and after it, or the title names it.
    """
    question = last_question(question)
    title_years = _years_in_title(title)
    asked, stated = years(question), years(sentence) or title_years
    if not asked or not stated or asked & (stated | title_years) or asked_kind(question) == "date":
        return False
    return not any(min(stated) < year < max(stated) for year in asked)


def is_titled_by_year(question: str, title: str) -> bool:
    """Return whether a document's title names the year that a question is about, as "Price list 2024" does."""
    return bool(_asked_years(question) & _years_in_title(title))


def gives_year(question: str, source: Source, sentence: str) -> bool:
    """Return whether a sentence is about the question's year, and its passage contains the question's names.

    A sentence without a year may get it from elsewhere in its passage, such as the line above a table's columns. A row
    is about the years of its columns: "2019 plan | 2022: 37" is about 2022.
    """
    row = parse_row(sentence) if is_row(sentence) else None
    column_years = years(" ".join(cell.column for cell in row.cells)) if row else set()
    stated = column_years or years(sentence)
    if not _asked_years(question) & ((stated or years(source.text)) | _years_in_title(source.title)):
        return False
    return _has_names(question, source)


def _has_names(question: str, source: Source) -> bool:
    """Return whether a passage, or its title, contains a word of each name of a question; True if it has no name."""
    terms = frozenset(words(f"{source.title} {source.text}"))
    for name in surface_names(question):
        without_numbers = " ".join(word for word in name if not any(map(str.isdigit, word)))  # "Acme" of "Acme 1995"
        name_terms = frozenset(words(without_numbers))
        if name_terms and not name_terms & terms:
            return False
    return True


def is_of_other_years(question: str, quotes: Sequence[tuple[Source, str]]) -> bool:
    """Return whether a question names years, and no quote, nor its document's title or date, has one of these."""
    asked = years(last_question(question))
    if not asked:
        return False
    return all(not asked & years(f"{quote} {_with_spaces(source.title)} {dated(source)}") for source, quote in quotes)


def by_year(
    question: str, sources: Mapping[int, Source], quotes: Sequence[tuple[int, str]], lead: str
) -> tuple[list[tuple[int, str]], str]:
    """Return quotes sorted by whether they are about the question's day and year, and the line to show above them.

    Without a year in the question, rows of a list's newest version come first. If no quote is about the year and some
    are about others, a sentence of the passages that is about it becomes the first quote. If there is none, the line
    says that nothing was found for the year, unless it already says what is missing, or the passages have the year.

    Args:
        question: The standalone question.
        sources: The passages by number.
        quotes: The quotes as (number of the passage, quote), best first.
        lead: The line for quotes that are not about another year.
    """
    if days := _days_in(last_question(question)):
        quotes = sorted(quotes, key=lambda item: not _states_day(item[1], days))
    asked = _asked_years(question)
    known = [(n, quote) for n, quote in quotes if n in sources]
    if not asked and len(known) == len(quotes) and all(is_row(quote) for _, quote in quotes):
        quotes = _latest_first(quotes, sources)
    of_other_year = [(n, quote) for n, quote in known if of_another_year(question, sources[n].title, quote)]
    if not asked or not of_other_year:
        return list(quotes), lead
    if any(gives_year(question, sources[n], quote) for n, quote in known):
        return [item for item in quotes if item not in of_other_year] + of_other_year, lead
    if best := _sentence_of_year(question, asked, sources):
        _, sentence = best
        return [best, *((n, quote) for n, quote in quotes if quote not in sentence)], lead
    for source in sources.values():
        if asked & years(f"{_with_spaces(source.title)} {source.text}") and _has_names(question, source):
            return list(quotes), lead
    # The years of another subject would say nothing about the question's subject.
    is_about_subject = any(_has_names(question, sources[n]) for n, _ in of_other_year)
    says_year_missing = is_about_subject and lead in (CLOSEST, ABOUT_THIS, SEVERAL)
    return list(quotes), other_years(sorted(asked)) if says_year_missing else lead


def _latest_first(quotes: Sequence[tuple[int, str]], sources: Mapping[int, Source]) -> list[tuple[int, str]]:
    """Return rows, as (number of the passage, row), those of a newer version of a list before those of an older one."""
    passages = newest_first([sources[n] for n in dict.fromkeys(n for n, _ in quotes)])
    rank = {source.n: index for index, source in enumerate(passages)}
    return sorted(quotes, key=lambda item: rank[item[0]])


def _sentence_of_year(question: str, asked: set[int], sources: Mapping[int, Source]) -> tuple[int, str] | None:
    """Return the sentence with an asked year and most of a question's words, as (number of the passage, sentence).

    None if no sentence has both; only passages with the question's names are searched.
    """
    terms = frozenset(words(question)) - STOP_WORDS - frozenset(map(str, asked))
    best: tuple[int, str] | None = None
    most_shared = 0
    for n, source in sorted(sources.items()):
        if not asked & years(source.text) or not _has_names(question, source):
            continue
        for start, end in sentence_spans(source.text):
            sentence = source.text[start:end].strip()
            shared = len(terms & frozenset(words(f"{source.heading} {sentence}")))
            if shared > most_shared and asked & years(sentence):
                most_shared, best = shared, (n, sentence)
    return best


def _days_in(text: str) -> list[tuple[float, ...]]:
    """Return the dates in a text that name a day, as (year or 0, month, day)."""
    return [(year, month, day) for year, month, day in figures_of(text).dates if month and day]


def _states_day(quote: str, days: Sequence[tuple[float, ...]]) -> bool:
    """Return whether a quote states one of some days, however it is written: "2025-05-17" is 17 May."""
    return any(dates_agree(day, stated) for stated in _days_in(quote) for day in days)


def names_bound(question: str) -> bool:
    """Return whether a question names a year as a bound: "since 1995"."""
    return _YEAR_AS_BOUND.search(question) is not None


def _asked_years(question: str) -> set[int]:
    """Return the years that a question is about; none if it asks for a date, or names a year as a bound ("since")."""
    question = last_question(question)
    return set() if names_bound(question) or asked_kind(question) == "date" else years(question)


def _years_in_title(title: str) -> set[int]:
    """Return the years in a title; underscores separate words."""
    return years(_with_spaces(title))


def _with_spaces(title: str) -> str:
    """Return a title with spaces in place of the underscores of file names: "AMCOR_2023_10K"."""
    return title.replace("_", " ")
