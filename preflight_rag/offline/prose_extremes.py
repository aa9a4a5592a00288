"""Sentences that say what has the most: "The longest walk is the Ridge walk" goes before a table's rows in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.offline.extremes import Extreme, extreme_of
from preflight_rag.offline.ordered_rows import DURATION, LENGTH, PRICE
from preflight_rag.offline.table_rows import lines_of_tables
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import rows_by
from preflight_rag.text.tables import parse_row
from preflight_rag.text.words import words

_COSTLY = re.compile(r"\b(?:most expensive|dearest|priciest|costs? the most)\b", re.IGNORECASE)
_CHEAP = re.compile(r"\b(?:cheapest|least expensive|costs? the least)\b", re.IGNORECASE)
_LONGEST = re.compile(r"\blongest\b", re.IGNORECASE)
_SHORTEST = re.compile(r"\bshortest\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    r"\b(?:(?:high|low|larg|great|bigg|small|long|short|old|young|few)est|most|least|maximum|minimum)\b", re.IGNORECASE
)
_RANK = re.compile(r"\b(?:second|third|fourth|2nd|3rd|next|after|but)\b", re.IGNORECASE)
"""Words that ask for another place than the first."""
_ANYONE = frozenset(words("name"))
"""The group of a question "Who has …"."""


def sentences_with_extreme(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return passages without their rows of tables; none if no line says what a question for the most asks."""
    asked = extreme_of(question)
    if asked is None or _RANK.search(question):
        return []
    rows = {(line.source.n, line.text) for line in lines_of_tables(sources)}
    prose = []
    for source in sources:
        lines = [line for line in source.text.split("\n") if (source.n, line) not in rows]
        if any(_says(question, asked, line) for line in lines):
            prose.append(replace(source, text="\n".join(lines)))
    return prose


def is_written(question: str, draft: Draft, ordered: Draft, sources: Sequence[Source]) -> bool:
    """Return whether a claim is made by a sentence with the question's superlative, and the rows in order agree.

    Args:
        question: The question.
        draft: The draft that was made of passages without their tables.
        ordered: The one with a table's rows, which are in an order if its first line says so.
        sources: The passages, whole.
    """
    asked, texts = extreme_of(question), {source.n: source.text for source in sources}
    if asked is None or not draft.found or not draft.claims or not draft.quotes:
        return False
    quotes = [quote for n, quote in draft.quotes if quote in texts.get(n, "")]
    if len(quotes) < len(draft.quotes) or not any(_says(question, asked, quote) for quote in quotes):
        return False
    rows = [row for _, quote in ordered.quotes if (row := parse_row(quote))]
    # Rows in no order cannot speak against the sentence.
    if not rows or not ordered.text.startswith(rows_by("", most=asked.most).split("“")[0]):
        return True
    stated = frozenset(words(" ".join(quotes)))
    named = [row for row in rows if frozenset(words(row.cells[0].text)) <= stated]
    return not named or named == rows[:1]


def _says(question: str, asked: Extreme, line: str) -> bool:
    """Return whether a line has the superlative of a question, what it measures, and the word for the things."""
    found = frozenset(words(line))
    if asked.group != _ANYONE and not asked.group <= found:
        return False
    if asked.what == PRICE:
        return bool((_COSTLY if asked.most else _CHEAP).search(line))
    if asked.what in (LENGTH, DURATION):
        return bool((_LONGEST if asked.most else _SHORTEST).search(line))
    written = {match.casefold() for match in _SUPERLATIVE.findall(line)}
    return asked.what <= found and not written.isdisjoint(map(str.casefold, _SUPERLATIVE.findall(question)))
