"""Sentences that state an extreme: "The longest walk is the Ridge walk" goes before a table's sorted rows."""

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

_DEAREST = re.compile(r"\b(?:most expensive|dearest|priciest|costs? the most)\b", re.IGNORECASE)
_CHEAPEST = re.compile(r"\b(?:cheapest|least expensive|costs? the least)\b", re.IGNORECASE)
_LONGEST = re.compile(r"\blongest\b", re.IGNORECASE)
_SHORTEST = re.compile(r"\bshortest\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    r"\b(?:(?:high|low|larg|great|bigg|small|long|short|old|young|few)est|most|least|maximum|minimum)\b", re.IGNORECASE
)
_LATER_RANK = re.compile(r"\b(?:second|third|fourth|2nd|3rd|next|after|but)\b", re.IGNORECASE)
"""Matches words that ask for another rank than the first: "the second longest"."""
_ANY_PERSON = frozenset(words("name"))
"""Index terms of the group in a question "Who has …", which stands for anybody with a name."""


def sentences_with_extreme(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the passages with a line outside tables that states the question's extreme, without their table rows.

    [] if the question asks for no extreme, or for a later rank ("the second longest").
    """
    extreme = extreme_of(question)
    if extreme is None or _LATER_RANK.search(question):
        return []
    table_rows = {(line.source.n, line.text) for line in lines_of_tables(sources)}
    passages = []
    for source in sources:
        lines = [line for line in source.text.split("\n") if (source.n, line) not in table_rows]
        if any(_states_extreme(question, extreme, line) for line in lines):
            passages.append(replace(source, text="\n".join(lines)))
    return passages


def is_written(question: str, draft: Draft, ordered: Draft, sources: Sequence[Source]) -> bool:
    """Return whether a draft claims the question's extreme from a sentence that states it, and no table contradicts.

    A table contradicts if it is sorted by the extreme, and its first row is not the only one that the sentence names.

    Args:
        question: The question.
        draft: The draft that was made of passages without their tables.
        ordered: The draft with a table's rows, which are sorted if its first line says so.
        sources: The passages, with their tables.
    """
    extreme, texts = extreme_of(question), {source.n: source.text for source in sources}
    if extreme is None or not draft.found or not draft.claims or not draft.quotes:
        return False
    if any(quote not in texts.get(n, "") for n, quote in draft.quotes):
        return False
    quotes = [quote for _, quote in draft.quotes]
    if not any(_states_extreme(question, extreme, quote) for quote in quotes):
        return False
    rows = [row for _, quote in ordered.quotes if (row := parse_row(quote))]
    # The line above sorted rows, up to the column's name in quotation marks.
    lead_of_sorted_rows = rows_by("", most=extreme.most).split("“")[0]
    if not rows or not ordered.text.startswith(lead_of_sorted_rows):
        return True
    quote_terms = frozenset(words(" ".join(quotes)))
    named_rows = [row for row in rows if frozenset(words(row.cells[0].text)) <= quote_terms]
    return not named_rows or named_rows == rows[:1]


def _states_extreme(question: str, extreme: Extreme, line: str) -> bool:
    """Return whether a line has a question's superlative and its words for the things and the quantity compared.

    A price or a length needs no word for the quantity: "cheapest" and "longest" say it.
    """
    line_terms = frozenset(words(line))
    if extreme.group != _ANY_PERSON and not extreme.group <= line_terms:
        return False
    if extreme.what == PRICE:
        return bool((_DEAREST if extreme.most else _CHEAPEST).search(line))
    if extreme.what in (LENGTH, DURATION):
        return bool((_LONGEST if extreme.most else _SHORTEST).search(line))
    line_superlatives = {superlative.casefold() for superlative in _SUPERLATIVE.findall(line)}
    question_superlatives = map(str.casefold, _SUPERLATIVE.findall(question))
    return extreme.what <= line_terms and not line_superlatives.isdisjoint(question_superlatives)
