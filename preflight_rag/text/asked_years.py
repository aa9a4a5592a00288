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
    names = []
    for name in surface_names(question):
        letters = [word for word in name if not any(map(str.isdigit, word))]  # of "Acme in 1995" the name
        names.append(frozenset(words(" ".join(letters))))
    return all(name & text for name in names if name)


def is_of_other_years(question: str, quotes: Sequence[tuple[Source, str]]) -> bool:
    """Return whether a question names years, and no quote or its document's title or date has one of these."""
    asked = years(last_question(question))
    return bool(asked) and not any(
        asked & years(f"{quote} {_spaced(source.title)} {dated(source)}") for source, quote in quotes
    )


def by_year(
    question: str, sources: Mapping[int, Source], quotes: Sequence[tuple[int, str]], lead: str
) -> tuple[list[tuple[int, str]], str]:
    """Return quotes, those about the question's day or year first, else the newest list's rows, and the line above.

    If none is about that year and some are about others, a sentence of that year in the passages comes first. If there
    is none, the line says so, unless it already says what is missing, or the year stands somewhere in the passages.

    Args:
        question: The standalone question.
        sources: The passages by number.
        quotes: The quotes as (passage, quote), best first.
        lead: The line above quotes of which none is about another year.
    """
    if days := _days(last_question(question)):
        quotes = sorted(quotes, key=lambda item: not _is_of_day(item[1], days))
    asked = _of_one_year(question)
    known = [(n, quote) for n, quote in quotes if n in sources]
    if not asked and len(known) == len(quotes) and all(is_row(quote) for _, quote in quotes):
        quotes = _latest_first(quotes, sources)
    missing = [item for item in known if of_another_year(question, sources[item[0]].title, item[1])]
    if not asked or not missing:
        return list(quotes), lead
    if any(gives_year(question, sources[n], quote) for n, quote in known):
        return [item for item in quotes if item not in missing] + missing, lead
    if first := _sentence_of_year(question, asked, sources):
        return [first, *(item for item in quotes if item[1] not in first[1])], lead
    for source in sources.values():
        if asked & years(f"{_spaced(source.title)} {source.text}") and _has_names(question, source):
            return list(quotes), lead
    # Another subject's years say nothing about the question's subject.
    is_said = lead in (CLOSEST, ABOUT_THIS, SEVERAL) and any(_has_names(question, sources[n]) for n, _ in missing)
    return list(quotes), other_years(sorted(asked)) if is_said else lead


def _latest_first(quotes: Sequence[tuple[int, str]], sources: Mapping[int, Source]) -> list[tuple[int, str]]:
    """Return rows, those of a list's newest version before those of the lists that it replaces."""
    order = newest_first([sources[n] for n in dict.fromkeys(n for n, _ in quotes)])
    places = {source.n: place for place, source in enumerate(order)}
    return sorted(quotes, key=lambda item: places[item[0]])


def _sentence_of_year(question: str, asked: set[int], sources: Mapping[int, Source]) -> tuple[int, str] | None:
    """Return the sentence of a year with most of a question's words, as (passage, sentence); None without one."""
    wanted = frozenset(words(question)) - STOP_WORDS - frozenset(map(str, asked))
    best: tuple[int, int, str] | None = None
    for n, source in sorted(sources.items()):
        if not asked & years(source.text) or not _has_names(question, source):
            continue
        for start, end in sentence_spans(source.text):
            sentence = source.text[start:end].strip()
            shared = len(wanted & frozenset(words(f"{source.heading} {sentence}")))
            if shared and asked & years(sentence) and (best is None or shared > best[0]):
                best = shared, n, sentence
    return best and best[1:]


def _days(text: str) -> list[tuple[float, ...]]:
    """Return the days of a month in a text, as (year or 0, month, day)."""
    return [day for day in figures_of(text).dates if all(day[1:])]


def _is_of_day(quote: str, days: Sequence[tuple[float, ...]]) -> bool:
    """Return whether a quote contains one of some days, however it is written: 2025-05-17 is 17 May."""
    return any(dates_agree(day, stated) for stated in _days(quote) for day in days)


def names_bound(question: str) -> bool:
    """Return whether a question names a year as a bound: "since 1995"."""
    return _BOUND.search(question) is not None


def _of_one_year(question: str) -> set[int]:
    """Return the years that a question is about; none if it asks for a date, or names a year as a bound."""
    question = last_question(question)
    return set() if names_bound(question) or asked_kind(question) == "date" else years(question)


def _of_title(title: str) -> set[int]:
    """Return the years in a title; underscores separate words."""
    return years(_spaced(title))


def _spaced(title: str) -> str:
    """Return a title with spaces for underscores, as names of files have them: AMCOR_2023_10K."""
    return title.replace("_", " ")
