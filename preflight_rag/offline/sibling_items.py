"""Items of a list below one line: a question for the list as a whole is answered by all items, not by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.quotes import plain
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words

MAX_ITEMS = 20
"""Largest number of items that an answer lists; a guess. In a longer list only the item that was read is claimed."""
_BULLETS = "-*+• \t"


def with_siblings(claim: Draft, question: str, sources: Sequence[Source]) -> Draft:
    """Return a claimed list item with the other items of its list, if the question asks for the list as a whole.

    "theft of bicycles", from "The plan does not cover: theft of bicycles", is one of three answers to "What does the
    plan not cover?", and the only one to "Which theft is not covered?". Any other claim is returned unchanged.

    Args:
        claim: The answer that one sentence gives.
        question: The standalone question.
        sources: The passages that were read.
    """
    if len(claim.quotes) != 1:
        return claim
    ((n, quote),) = claim.quotes
    introduction, _, item = quote.rpartition(": ")
    quotes = siblings(claim.quotes[0], question, sources)
    if claim.short.strip(" .") != item.strip(" .") or len(quotes) < 2:
        return claim
    items = [text.removeprefix(f"{introduction}: ") for _, text in quotes]
    item_list = "\n".join(f"- {plain(text)} [{n}]" for text in items)
    return replace(claim, text=f"{plain(introduction)}:\n\n{item_list}", quotes=tuple(quotes), short="; ".join(items))


def siblings(quote: tuple[int, str], question: str, sources: Sequence[Source]) -> list[tuple[int, str]]:
    """Return `(passage, item)` of all items of a quote's list, if the question asks for the list as a whole; else [].

    [] as well for a row of a table, and for a list that is too long. Each item has its introduction in front.

    Args:
        quote: The passage's number, and the item with its introduction: "The plan does not cover: theft of bicycles".
        question: The standalone question.
        sources: The passages that were read.
    """
    n, text_of_quote = quote
    introduction, colon, _ = text_of_quote.rpartition(": ")
    source = {source.n: source for source in sources}[n]
    if not colon or is_row(text_of_quote):
        return []
    # A word of the question that is in neither narrows it to some items.
    narrowing_terms = set(words(question)) - STOP_WORDS - set(words(f"{introduction} {source.title}"))
    if narrowing_terms:
        return []
    lines = dict.fromkeys(line.strip(_BULLETS) for line in source.text.split("\n"))
    items = [(n, line) for line in lines if line.startswith(f"{introduction}: ")]
    return items if quote in items and len(items) <= MAX_ITEMS else []
