"""Contexts: all retrieved text of one document.

COrg relates contexts, not passages (section 2.1: a context has several sentences).

The retrieved passages of a document are joined in the document's order; text that two neighbours share is kept once.
So a document never contradicts itself because it has a table, several study arms or a history. In a list of records (a
table's rows) each is a context of its own, as if it were a document. Prompts, notes, relations and drafts refer to a
context by the rank of its best-ranked passage; `in_passages` maps the words of a finished draft back to the passages
that contain them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.citations import MARK, without_marks
from preflight_rag.text.quotes import locate
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.state.schema import EntryState

BETWEEN = "\n\n"
"""Text between passages that do not overlap."""
OF_PROMPT = 2
"""Number of longest contexts that fit one relation prompt: a pivot and one that is compared with it."""
_REPEATED_MARK = re.compile(r"(\[\d+\])(?:\s*\1)+")


def contexts_of(sources: Sequence[Source], tokens: Mapping[int, int] | None = None, most: int = 0) -> list[Source]:
    """Return the contexts of passages, by number: the passages of one document, in their order, are one context.

    Args:
        sources: The passages.
        tokens: Number of tokens of each in a prompt, by number.
        most: Largest number of tokens of a context, or 0 for no limit. Of a longer document, the best-ranked passages
        that fit are taken, at least one.
    """
    passages_of_document: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.n):
        # A source of no known document stands for itself; no id begins with a null character.
        key = source.record or source.document_id or f"\0{source.n}"
        passages_of_document.setdefault(key, []).append(source)
    contexts = []
    for passages in passages_of_document.values():
        budget = most
        kept: list[Source] = []
        # In order of rank, so that the best passages are kept.
        for passage in passages:
            budget -= (tokens or {}).get(passage.n, 0)
            if not kept or budget >= 0 or not most:
                kept.append(passage)
        kept.sort(key=lambda passage: (passage.start, passage.n))
        contexts.append(_joined_passages(passages[0], kept))
    return contexts


def _joined_passages(first: Source, passages: Sequence[Source]) -> Source:
    """Return one source with the text of a document's passages; each of its parts has the text that it adds.

    Its other fields are those of `first`, the best-ranked passage.
    """
    if len(passages) == 1:
        return replace(first, parts=(first,))
    text, end, parts = "", 0, []
    for passage in passages:
        # Neighbouring passages overlap; the words that both contain are taken once. Offsets alone do not decide: text
        # that was normalised differently is kept twice rather than cut.
        overlap = passage.text[: max(0, end - passage.start)]
        shared = len(overlap) if text.endswith(overlap) else 0
        added = passage.text[shared:]
        text += added if shared or not text else BETWEEN + added
        end = max(end, passage.start + len(passage.text))
        parts.append(replace(passage, text=added))
    return replace(first, text=text, start=passages[0].start, parts=tuple(parts))


def in_passages(
    draft: Draft, entries: Sequence[EntryState], contexts: Mapping[int, Source]
) -> tuple[Draft, list[EntryState]]:
    """Return a draft and its entries with the numbers of passages in place of those of contexts.

    A quote gets the passage that contains it; a citation mark gets the passage of its context's quotes, or of the whole
    context without quotes, that shares most words with the line before the mark. Unchanged if each context has one
    passage.
    """
    if all(len(context.parts) < 2 for context in contexts.values()):
        return draft, list(entries)
    quotes = tuple((_passage_of_quote(n, quote, contexts), quote) for n, quote in draft.quotes)
    quotes_of_context: dict[int, list[tuple[int, str]]] = {}
    for (n, _), passage_quote in zip(draft.quotes, quotes, strict=True):
        quotes_of_context.setdefault(n, []).append(passage_quote)
    passages_of_context: dict[int, dict[int, None]] = {}
    lines = []
    for line in draft.text.split("\n"):
        new_line, position = "", 0
        for mark in MARK.finditer(line):
            n = int(mark[1])
            if n in quotes_of_context:
                candidates = quotes_of_context[n]
            else:
                candidates = [(part.n, part.text) for part in contexts[n].parts] if n in contexts else [(n, "")]
            terms = set(words(without_marks(line[: mark.start()])))
            passage, _ = max(candidates, key=lambda candidate: len(terms & set(words(candidate[1]))))
            passages_of_context.setdefault(n, {})[passage] = None
            new_line, position = f"{new_line}{line[position : mark.start()]}[{passage}]", mark.end()
        lines.append(new_line + line[position:])
    new_entries: list[EntryState] = []
    for entry in entries:
        ranks = chain.from_iterable(passages_of_context.get(n, {n: None}) for n in entry["ranks"])
        new_entries.append({**entry, "ranks": list(ranks)})
    return replace(draft, text="\n".join(lines), quotes=quotes), new_entries


def _passage_of_quote(n: int, quote: str, contexts: Mapping[int, Source]) -> int:
    """Return the number of the passage of a context that contains a quote; the context's own number if none does."""
    parts = contexts[n].parts if n in contexts else ()
    exact = next((part.n for part in parts if quote in part.text), None)
    return exact or next((part.n for part in parts if locate(quote, part.text)), n)


def by_context(draft: Draft, contexts: Sequence[Source]) -> Draft:
    """Return a draft with the numbers of contexts in place of those of their passages, in quotes and marks."""
    number_of_context = {}
    for context in contexts:
        for part in context.parts:
            number_of_context[part.n] = context.n

    def renumbered(text: str) -> str:
        """Return a text with the numbers of contexts in its marks; a mark that is then repeated is kept once."""
        new_text = MARK.sub(lambda mark: f"[{number_of_context.get(int(mark[1]), int(mark[1]))}]", text)
        return _REPEATED_MARK.sub(r"\1", new_text)

    quotes = tuple((number_of_context.get(n, n), quote) for n, quote in draft.quotes)
    return replace(draft, text=renumbered(draft.text), quotes=quotes)


def passages_of(contexts: Sequence[Source]) -> list[Source]:
    """Return the passages of contexts; a context without parts counts as its own passage."""
    return list(chain.from_iterable(context.parts or (context,) for context in contexts))
