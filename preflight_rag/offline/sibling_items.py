"""Items that stand below one line: a question for that line is answered by all of them, not by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.quotes import plain
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words

MOST_ITEMS = 20
"""Items that an answer lists; a guess. Of a longer list the one that was read stays."""
_MARKS = "-*+• \t"


def with_siblings(claim: Draft, question: str, sources: Sequence[Source]) -> Draft:
    """Return a claimed list item with the other items of its list, if the question asks for the list as a whole.

    "theft of bicycles", from "The plan does not cover: theft of bicycles", is one of three answers to "What does the
    plan not cover?", and the only one to "Which theft is not covered?".

    Args:
        claim: The answer that one sentence gives.
        question: The standalone question.
        sources: The passages that were read.
    """
    if len(claim.quotes) != 1:
        return claim
    ((n, quote),) = claim.quotes
    line, _, item = quote.rpartition(": ")
    quotes = siblings(claim.quotes[0], question, sources)
    if claim.short.strip(" .") != item.strip(" .") or len(quotes) < 2:
        return claim
    items = [text.removeprefix(f"{line}: ") for _, text in quotes]
    listed = "\n".join(f"- {plain(each)} [{n}]" for each in items)
    return replace(claim, text=f"{plain(line)}:\n\n{listed}", quotes=tuple(quotes), short="; ".join(items))


def siblings(quote: tuple[int, str], question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, item)` of all items of a quote's list, if the question asks for that list alone; else [].

    Args:
        quote: The passage's number, and the item with its line.
        question: The standalone question.
        sources: The passages that were read.
    """
    n, written = quote
    line, colon, _ = written.rpartition(": ")
    source = {each.n: each for each in sources}[n]
    if not colon or is_row(written) or set(words(question)) - STOP_WORDS - set(words(f"{line} {source.title}")):
        return []
    texts = dict.fromkeys(text.strip(_MARKS) for text in source.text.split("\n"))
    items = [(n, text) for text in texts if text.startswith(f"{line}: ")]
    return items if quote in items and len(items) <= MOST_ITEMS else []
