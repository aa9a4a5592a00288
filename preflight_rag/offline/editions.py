"""Quotes of several editions of one document: those of the newest edition go first, and the line above says so.

Rows of tables and reworded sentences differ too much for the sentence fit to compare them ("every ten minutes", "every
five minutes, with the pressure"), so the older edition's rule could stand first without a warning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

from preflight_rag.offline.evidence import evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.asked_years import is_of_other_years
from preflight_rag.text.headers import only_says_near
from preflight_rag.text.other_things import answers_to
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import with_digits, years
from preflight_rag.text.versions import are_versions, dated, names_version, supersedes, versions_lead
from preflight_rag.text.words import STOP_WORDS, words

LEAST_SHARED_WORDS = 0.5
"""Minimum share of the words of two quotes that both have for the quotes to state the same rule; a guess."""


def put_newest_edition_first(question: str, draft: Draft, sources: Mapping[int, Source]) -> Draft:
    """Return an unclaimed draft, its quotes of replaced editions behind those of the same rule in newer editions.

    If the first quote and its newer version answer the question with different figures, these two alone are shown,
    under the line that documents give different answers. Two quotes keep their order if the question names the older
    edition. The draft is returned unchanged if it claims an answer, if no quote has the year in the question, or if the
    line above the quotes says more than that they are near.
    """
    shown = [(sources[n], quote) for n, quote in draft.quotes if n in sources]
    if draft.claims or not draft.found or is_of_other_years(question, shown):
        return draft
    lead = draft.text.split("\n\n")[0]
    if not only_says_near(lead):
        return draft
    quotes = list(draft.quotes)
    for (i, first), (j, second) in combinations(enumerate(quotes), 2):
        source, other_source = sources.get(first[0]), sources.get(second[0])
        if source is None or other_source is None or not _state_same_rule(first[1], second[1]):
            continue
        # Nothing says that "Price list 2025" replaces "Price table 2024": its row goes first, under the same line.
        if _has_later_list(source, other_source, first[1]) and not years(question):
            quotes[i], quotes[j] = second, first
            continue
        if supersedes(source, other_source):
            newer, new, older, old = source, first, other_source, second
        else:
            newer, new, older, old = other_source, second, source, first
        (_, new_text), (_, old_text) = new, old
        if not supersedes(newer, older) or names_version(question, older) or new_text == old_text:
            continue
        if i == 0 and _have_different_figures(new_text, old_text) and answers_to(question, newer, new_text):
            return evidence([new, old], versions_lead(newer, new_text, old_text), draft.unclaimed)
        quotes[i], quotes[j] = new, old
    return draft if quotes == list(draft.quotes) else evidence(quotes, lead, draft.unclaimed)


def _have_different_figures(one: str, other: str) -> bool:
    """Return whether two quotes have different figures; "ten" and "10" are the same figure."""
    a, b = (re.findall(r"\d+(?:[.,:]\d+)*", with_digits(text)) for text in (one, other))
    return sorted(a) != sorted(b)


def _state_same_rule(one: str, other: str) -> bool:
    """Return whether two quotes are rows with the same label, or texts that share at least half of their words."""
    if is_row(one) and is_row(other):
        return _row_label(one) == _row_label(other)
    a, b = (frozenset(words(text)) - STOP_WORDS for text in (one, other))
    return bool(a and b) and len(a & b) >= LEAST_SHARED_WORDS * len(a | b)


def _row_label(row: str) -> str:
    """Return the text of a row's first cell in lower case, without the name of its column."""
    first_cell, _, _ = row.partition(" | ")
    return (first_cell.rpartition(": ")[2] or first_cell).casefold().strip()


def _has_later_list(source: Source, other: Source, row: str) -> bool:
    """Return whether a row's document has a year, and the other document a later one but not the same title."""
    year, other_year = dated(source)[:4], dated(other)[:4]
    return is_row(row) and not are_versions(source, other) and bool(year) and year < other_year
