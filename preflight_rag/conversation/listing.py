"""Lists of documents: which ones mention something, or are by an author, of a journal, from a year; counted, quoted.

A list is not read by anybody: it is exact about words, and says what was searched for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.library.search.mentions import Mention, content_words
from preflight_rag.library.storage.cards import card_id
from preflight_rag.state.reading import Lookup
from preflight_rag.state.values import Passage
from preflight_rag.text.citations import plain, quoted, without_marks
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.search.filters import Filter

MOST_SHOWN = 10
"""Documents that a list shows; the others are counted."""
LONGEST_QUOTE = 240
"""Characters of a quote in a list; both are guesses at what a screen holds."""


@dataclass(frozen=True)
class Listing:
    """A list of documents as shown to the user, with one quote each; the marks count the places of `passages`."""

    text: str
    passages: tuple[Passage, ...]
    quotes: tuple[tuple[int, str], ...]


def list_matching(library: Collection, lookup: Lookup, where: Filter | None = None) -> Listing:
    """Return the documents that match the question, those that mention the topic most often first.

    Args:
        library: The collection.
        lookup: The question, parsed as a lookup of documents.
        where: A metadata filter that the documents have to fit as well.
    """
    rows = {row["id"]: row for row in library.documents() if _fits(row, lookup)}
    if where is not None:
        rows = {name: row for name, row in rows.items() if document_fits(library, name, where)}
    scope = _counted(len(rows)) if lookup.topic else ""
    mentions, how = _mentions(library, lookup.topic, rows) if lookup.topic else ({}, "")
    chosen = [rows[name] for name in mentions] if lookup.topic else list(rows.values())
    order = sorted(chosen, key=lambda row: (-mentions[row["id"]].passages if mentions else 0, row["title"].casefold()))
    shown = order[:MOST_SHOWN]
    quoted = [_quoted(library, row["id"], mentions.get(row["id"]), lookup) for row in shown]
    lines = [_line(row, n, quote) for n, (row, (_, quote)) in enumerate(zip(shown, quoted, strict=True), 1)]
    more = f"\n\n… and {len(order) - len(shown)} more." if len(order) > len(shown) else ""
    head = _head(library, lookup, len(order), scope, how)
    text = head + ("\n\n" + "\n".join(lines) if lines else "") + more
    return Listing(
        text, tuple(passage for passage, _ in quoted), tuple((n, quote) for n, (_, quote) in enumerate(quoted, 1))
    )


def _fits(row: Mapping[str, Any], lookup: Lookup) -> bool:
    """Return whether a document has the requested author, journal and years."""
    if lookup.author:
        asked = set(words(lookup.author))
        if not any(asked <= set(words(name)) for name in row["authors"]):
            return False
    journal = str(row["metadata"].get("journal") or "")
    if lookup.journal and words(lookup.journal) != words(journal):
        return False
    if lookup.years:
        how, year = lookup.years
        own = str(row["date"] or "")[:4]
        fits = {"since": own >= year, "after": own > year, "before": own < year}
        return bool(own) and fits.get(how, own == year)
    return True


def document_fits(library: Collection, document_id: str, where: Filter) -> bool:
    """Return whether a document passes a filter, judged by its first passage."""
    passages = library.document_passages(document_id)
    return bool(passages and library.fitting([passages[0].id], where))


def _mentions(library: Collection, topic: str, rows: Mapping[str, Any]) -> tuple[dict[str, Mention], str]:
    """Return the documents that contain the topic as a phrase.

    Where there are none, those that contain all its words.
    """
    found = {name: mention for name, mention in library.mentions(topic).items() if name in rows}
    parts = content_words(topic)
    if found or len(parts) < 2:
        return found, f"mention “{topic}”"
    each = [library.mentions(part) for part in parts]
    both = set(rows).intersection(*each)
    listed = ", ".join(f"“{part}”" for part in parts)
    return {name: each[0][name] for name in both}, f"hold all of the words {listed} (none has them as one phrase)"


def _head(library: Collection, lookup: Lookup, count: int, scope: str, how: str) -> str:
    """Return the first line of the list: how many documents there are, and what was searched."""
    limits = [
        f"by {lookup.author}" if lookup.author else "",
        f"of the journal {lookup.journal}" if lookup.journal else "",
        f"dated {' '.join(lookup.years)}" if lookup.years else "",
    ]
    limit = " ".join(part for part in limits if part)
    known = "" if library.is_complete else " that earlier searches have returned"
    if lookup.topic:
        searched = f"searched were the titles and texts of {scope}{f' {limit}' if limit else ''}{known}"
        head = f"**{_counted(count)} {_verb(how, count)}**; {searched}."
    elif limit:
        head = f"**{_counted(count)} {limit}**; searched was what is known of each document{known}."
    else:
        head = f"**The library holds {_counted(count)}**{known}."
    if lookup.asked:
        head += f" This lists documents, not {lookup.asked}: ask about one of them to see what it says."
    return head


def _verb(how: str, count: int) -> str:
    """Return the verb for a number of documents: "mention" or "mentions"."""
    if count != 1:
        return how
    return how.replace("mention ", "mentions ", 1) if how.startswith("mention ") else how.replace("hold ", "holds ", 1)


def _counted(count: int) -> str:
    """Return a number with "document" or "documents"."""
    return f"{count} document{'' if count == 1 else 's'}"


def _line(row: Mapping[str, Any], n: int, quote: str) -> str:
    """Return the line of one document: its title, year and quote."""
    date = f" ({row['date'][:4]})" if row["date"] else ""
    shown = quoted(n, without_marks(" ".join(quote.split())))
    return f"- **{plain(row['title'] or row['id'])}**{date}: {shown}"


def _quoted(library: Collection, document_id: str, mention: Mention | None, lookup: Lookup) -> tuple[Passage, str]:
    """Return the passage that shows why a document is listed, and the words to quote.

    It is the document's card where the text shows nothing.
    """
    if mention is None or not mention.passage_id:
        (card,) = library.passages([card_id(document_id)])
        title, *lines = card.text.split("\n")
        asked = "Authors" if lookup.author else "Journal" if lookup.journal else "Published" if lookup.years else ""
        fitting = [line for line in lines if asked and line.startswith((asked, "Date" if lookup.years else asked))]
        line = (fitting or lines or [title])[0] if mention is None else title
        return card, line[:LONGEST_QUOTE].rstrip()
    (passage,) = library.passages([mention.passage_id])
    return passage, _around(passage.text, mention.start, mention.end)


def _around(text: str, start: int, end: int) -> str:
    """Return the sentence around a part of a text; a long one is cut between words."""
    first, last = next(((left, right) for left, right in sentence_spans(text) if left <= start < right), (start, end))
    last = max(last, end)
    if last - first > LONGEST_QUOTE:
        spare = LONGEST_QUOTE - (end - start)
        left = max(first, start - spare // 2)
        right = min(last, left + LONGEST_QUOTE)
        space = text.find(" ", left, start)
        first = left if left == first or space < 0 else space + 1
        cut = text.rfind(" ", end, right)
        last = right if right == last or cut < 0 else cut
    return text[first:last].strip()
