"""Quotes that end in a colon, with the items that they introduce: "The program responds to the following keys:"."""

from __future__ import annotations

import re

from preflight_rag.state.reading import Source
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.words import words

LONGEST = 500
"""Characters of a quote with its items, at most; a guess."""
MOST_ITEMS = 10
"""Lines of the list that are shown where none has a word of the question that the quote lacks; a guess."""
_ITEM = re.compile(r"\s*(?:[-*+•◦·–]|\(?\w{1,3}[.)])\s")
_HEADING = re.compile(r"\s*#")


def with_items(question: str, quote: str, source: Source) -> str:
    """Return a quote that ends in a colon with the lines behind it, up to the last that has a word of the question.

    Args:
        question: The question.
        quote: A part of the passage, verbatim.
        source: The passage.
    """
    start = source.text.find(quote)
    if start < 0 or not quote.rstrip().endswith(":"):
        return quote
    end = start + len(quote)
    missing = subject_words(question).difference(words(quote))
    listed, shown, at = 0, end, end
    # Of the last line as much is looked at as shows that it is too long.
    for line in source.text[end : start + 2 * LONGEST].splitlines(keepends=True):
        at += len(line)
        if at > start + LONGEST or _HEADING.match(line):
            break
        if not line.strip():
            continue
        if not listed and not _ITEM.match(line):
            return source.text[start:at].strip()  # a formula, or a line of a program
        listed += 1
        if listed <= MOST_ITEMS or missing.intersection(words(line)):
            shown = at
    return source.text[start:shown].strip() if shown > end else quote
