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
"""Number of contexts of the greatest length that fit one relation prompt: a pivot and one that is compared with it."""
_REPEATED = re.compile(r"(\[\d+\])(?:\s*\1)+")


def contexts_of(sources: Sequence[Source], tokens: Mapping[int, int] | None = None, most: int = 0) -> list[Source]:
    """Return passages as contexts, by number: the passages of one document are one context, in the document's order.

    Args:
        sources: The passages.
        tokens: Length of each in a prompt, by number.
        most: Most tokens of a context; of a longer document, the best-ranked passages that fit are taken. 0: no limit.
    """
    spoken: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.n):
        # A source of no known document stands for itself; no id begins with a null character.
        spoken.setdefault(source.record or source.document_id or f"\0{source.n}", []).append(source)
    found = []
    for parts in spoken.values():
        # In order of rank, so that the best passages are kept if the document is too long for a prompt.
        first, left = parts[0], most
        kept: list[Source] = []
        for part in parts:
            left -= (tokens or {}).get(part.n, 0)
            if not kept or left >= 0 or not most:
                kept.append(part)
        found.append(_joined(first, sorted(kept, key=lambda part: (part.start, part.n))))
    return found


def _joined(first: Source, parts: Sequence[Source]) -> Source:
    """Join a document's passages into one source; a part's text is what it adds to the parts before it."""
    if len(parts) == 1:
        return replace(first, parts=(first,))
    text, end, own = "", 0, []
    for part in parts:
        # Neighbouring passages overlap; the words that both contain are taken once. Offsets alone do not decide: text
        # that was normalised differently is kept twice rather than cut.
        lap = part.text[: max(0, end - part.start)]
        shared = len(lap) if text.endswith(lap) else 0
        added = part.text[shared:]
        text += added if shared or not text else BETWEEN + added
        end = max(end, part.start + len(part.text))
        own.append(replace(part, text=added))
    return replace(first, text=text, start=parts[0].start, parts=tuple(own))


def in_passages(
    draft: Draft, entries: Sequence[EntryState], contexts: Mapping[int, Source]
) -> tuple[Draft, list[EntryState]]:
    """Return a draft over contexts as a draft over passages.

    Each quote and mark gets the passage that contains its words.
    """
    if all(len(context.parts) < 2 for context in contexts.values()):
        return draft, list(entries)
    quotes = tuple((_holder(n, quote, contexts), quote) for n, quote in draft.quotes)
    quoted: dict[int, list[tuple[int, str]]] = {}
    for (n, _), (part, quote) in zip(draft.quotes, quotes, strict=True):
        quoted.setdefault(n, []).append((part, quote))
    marked: dict[int, dict[int, None]] = {}
    lines = []
    for line in draft.text.split("\n"):
        out, at = "", 0
        for mark in MARK.finditer(line):
            n = int(mark[1])
            texts = quoted.get(n) or [(part.n, part.text) for part in contexts[n].parts] if n in contexts else [(n, "")]
            # A mark names a context; it is changed to the passage whose words are most similar to the line before the
            # mark.
            wanted = set(words(without_marks(line[: mark.start()])))
            part = max(texts, key=lambda item: len(wanted & set(words(item[1]))))[0]
            marked.setdefault(n, {})[part] = None
            out, at = f"{out}{line[at : mark.start()]}[{part}]", mark.end()
        lines.append(out + line[at:])
    moved: list[EntryState] = []
    for entry in entries:
        moved.append({**entry, "ranks": [part for n in entry["ranks"] for part in marked.get(n, {n: None})]})
    return replace(draft, text="\n".join(lines), quotes=quotes), moved


def _holder(n: int, quote: str, contexts: Mapping[int, Source]) -> int:
    """Return the passage of a context that contains a quote; if none does, the context's own number."""
    parts = contexts[n].parts if n in contexts else ()
    exact = next((part.n for part in parts if quote in part.text), None)
    return exact or next((part.n for part in parts if locate(quote, part.text)), n)


def by_context(draft: Draft, contexts: Sequence[Source]) -> Draft:
    """Return a draft over passages as a draft over their contexts."""
    of = {}
    for context in contexts:
        for part in context.parts:
            of[part.n] = context.n

    def renumbered(text: str) -> str:
        """Return a text with the numbers of contexts in its marks."""
        return _REPEATED.sub(r"\1", MARK.sub(lambda mark: f"[{of.get(int(mark[1]), int(mark[1]))}]", text))

    return replace(draft, text=renumbered(draft.text), quotes=tuple((of.get(n, n), quote) for n, quote in draft.quotes))


def passages_of(contexts: Sequence[Source]) -> list[Source]:
    """Return the passages of which contexts consist."""
    return list(chain.from_iterable(context.parts or (context,) for context in contexts))
