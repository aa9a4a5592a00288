"""Quotes of several editions of one document: the newest edition's stand first, and the line above says so.

Rows of a table and sentences in other words differ in more than the sentence fit compares ("every ten minutes", "every
five minutes, with the pressure"), and the older edition's dose would stand first without a word.
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
"""Share of the words of two quotes that both have, from which on they are of one rule; a guess."""


def put_newest_edition_first(question: str, draft: Draft, sources: Mapping[int, Source]) -> Draft:
    """Return unclaimed quotes with those of a replaced edition behind the same rule's of the edition that replaces it.

    Two such quotes that answer the question with different figures stand alone under the line that documents give
    different answers. Nothing changes for a question that names the older edition.
    """
    shown = [(sources[n], quote) for n, quote in draft.quotes if n in sources]
    if draft.claims or not draft.found or is_of_other_years(question, shown):
        return draft
    lead = draft.text.split("\n\n")[0]
    if not only_says_near(lead):
        return draft
    quotes = list(draft.quotes)
    for (i, first), (j, second) in combinations(enumerate(quotes), 2):
        older, newer = sources.get(first[0]), sources.get(second[0])
        if older is None or newer is None or not _state_same_rule(first[1], second[1]):
            continue
        # Nothing says that "Price list 2025" replaces "Price table 2024": its row goes first, under the same line.
        if _is_row_of_later_list(older, newer, first[1]) and not years(question):
            quotes[i], quotes[j] = second, first
            continue
        # So far both are called after the order in which they are shown.
        if supersedes(older, newer):
            older, newer, first, second = newer, older, second, first
        if not supersedes(newer, older) or names_version(question, older) or first[1] == second[1]:
            continue
        if i == 0 and _have_different_figures(second[1], first[1]) and answers_to(question, newer, second[1]):
            return evidence([second, first], versions_lead(newer, second[1], first[1]), draft.unclaimed)
        quotes[i], quotes[j] = second, first
    return draft if quotes == list(draft.quotes) else evidence(quotes, lead, draft.unclaimed)


def _have_different_figures(one: str, other: str) -> bool:
    """Return whether two quotes give different figures; the same rule may be worded anew."""
    # "Every ten minutes" and "every 10 minutes" are no difference.
    a, b = (re.findall(r"\d+(?:[.,:]\d+)*", with_digits(text)) for text in (one, other))
    return sorted(a) != sorted(b)


def _state_same_rule(one: str, other: str) -> bool:
    """Return whether two quotes are rows of one name, or sentences that share most words."""
    if is_row(one) and is_row(other):
        return _row_label(one) == _row_label(other)
    a, b = (frozenset(words(text)) - STOP_WORDS for text in (one, other))
    return bool(a and b) and len(a & b) >= LEAST_SHARED_WORDS * len(a | b)


def _row_label(row: str) -> str:
    """Return what a row is of, without the name of its column."""
    first = row.partition(" | ")[0]
    return (first.rpartition(": ")[2] or first).casefold().strip()


def _is_row_of_later_list(older: Source, newer: Source, row: str) -> bool:
    """Return whether a row is of a dated list, and the other document is dated later, though not by the same title."""
    was, now = dated(older)[:4], dated(newer)[:4]
    return is_row(row) and not are_versions(older, newer) and bool(was) and was < now
