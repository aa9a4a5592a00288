"""Lists of documents that mention something, or are by an author, of a journal, or from a year, with counts and quotes.

No model or rule reads the documents for a list: it is exact about words, and says what was searched for.
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

MOST_DOCUMENTS_SHOWN = 10
"""Maximum number of documents that a list shows; the others are counted."""
LONGEST_QUOTE = 240
"""Maximum characters of a quote in a list; both are guesses at what a screen holds."""


@dataclass(frozen=True)
class Listing:
    """A list of documents as shown to the user, with one quote each.

    Attributes:
        text: The list; its mark `[n]` cites the n-th passage.
        passages: The quoted passages.
        quotes: `(n, quote)` for each passage.
    """

    text: str
    passages: tuple[Passage, ...]
    quotes: tuple[tuple[int, str], ...]


def list_matching(library: Collection, lookup: Lookup, where: Filter | None = None) -> Listing:
    """Return the list of documents that match a question, those that mention the topic most often first."""
    rows = {row["id"]: row for row in library.documents() if _matches_limits(row, lookup)}
    if where is not None:
        rows = {document_id: row for document_id, row in rows.items() if document_fits(library, document_id, where)}
    mentions: dict[str, Mention] = {}
    scope = verb_phrase = ""
    matching = list(rows.values())
    if lookup.topic:
        scope = _count_of_documents(len(rows))
        mentions, verb_phrase = _find_mentions(library, lookup.topic, rows)
        matching = [rows[document_id] for document_id in mentions]

    def most_mentions_first(row: Mapping[str, Any]) -> tuple[int, str]:
        """Return the sort key of a document: its negative number of passages with the topic, and its title."""
        return -mentions[row["id"]].passages if mentions else 0, row["title"].casefold()

    matching.sort(key=most_mentions_first)
    shown = matching[:MOST_DOCUMENTS_SHOWN]
    passages_and_quotes = [_passage_and_quote(library, row["id"], mentions.get(row["id"]), lookup) for row in shown]
    passages = tuple(passage for passage, _ in passages_and_quotes)
    quotes = tuple((n, quote) for n, (_, quote) in enumerate(passages_and_quotes, 1))
    lines = [_document_line(row, n, quote) for row, (n, quote) in zip(shown, quotes, strict=True)]
    text = _first_line(library, lookup, len(matching), scope, verb_phrase)
    text += "\n\n" + "\n".join(lines) if lines else ""
    if len(matching) > len(shown):
        text += f"\n\n… and {len(matching) - len(shown)} more."
    return Listing(text, passages, quotes)


def _matches_limits(row: Mapping[str, Any], lookup: Lookup) -> bool:
    """Return whether a document has the author, journal and year that a question asks for, if it asks for any."""
    if lookup.author:
        author_words = set(words(lookup.author))
        if not any(author_words <= set(words(name)) for name in row["authors"]):
            return False
    journal = str(row["metadata"].get("journal") or "")
    if lookup.journal and words(lookup.journal) != words(journal):
        return False
    if lookup.years:
        relation, year = lookup.years
        document_year = str(row["date"] or "")[:4]
        is_in_range = {"since": document_year >= year, "after": document_year > year, "before": document_year < year}
        return bool(document_year) and is_in_range.get(relation, document_year == year)
    return True


def document_fits(library: Collection, document_id: str, where: Filter) -> bool:
    """Return whether a document passes a filter, judged by its first passage."""
    passages = library.document_passages(document_id)
    return bool(passages and library.fitting([passages[0].id], where))


def _find_mentions(library: Collection, topic: str, rows: Mapping[str, Any]) -> tuple[dict[str, Mention], str]:
    """Return the mentions of a topic by the document's id, and a phrase for what they have: "mention “lead time”".

    These are the documents that contain the topic as a phrase or, where there are none, all its words.
    """
    mentions = {document_id: mention for document_id, mention in library.mentions(topic).items() if document_id in rows}
    topic_words = content_words(topic)
    if mentions or len(topic_words) < 2:
        return mentions, f"mention “{topic}”"
    by_word = [library.mentions(word) for word in topic_words]
    with_all_words = set(rows).intersection(*by_word)
    listed = ", ".join(f"“{word}”" for word in topic_words)
    # The first word's mention is quoted.
    mentions = {document_id: by_word[0][document_id] for document_id in with_all_words}
    return mentions, f"hold all of the words {listed} (none has them as one phrase)"


def _first_line(library: Collection, lookup: Lookup, count: int, searched_documents: str, verb_phrase: str) -> str:
    """Return the first line of a list: how many documents there are, and what was searched, such as "12 documents"."""
    limits = [
        f"by {lookup.author}" if lookup.author else "",
        f"of the journal {lookup.journal}" if lookup.journal else "",
        f"dated {' '.join(lookup.years)}" if lookup.years else "",
    ]
    limit = " ".join(part for part in limits if part)
    known_part = "" if library.is_complete else " that earlier searches have returned"
    documents = _count_of_documents(count)
    if lookup.topic:
        searched = (
            f"searched were the titles and texts of {searched_documents}{f' {limit}' if limit else ''}{known_part}"
        )
        line = f"**{documents} {_conjugate(verb_phrase, count)}**; {searched}."
    elif limit:
        line = f"**{documents} {limit}**; searched was what is known of each document{known_part}."
    else:
        line = f"**The library holds {documents}**{known_part}."
    if lookup.asked:
        line += f" This lists documents, not {lookup.asked}: ask about one of them to see what it says."
    return line


def _conjugate(verb_phrase: str, count: int) -> str:
    """Return "mentions “lead time”" for "mention “lead time”" and one document; unchanged for another count."""
    if count != 1:
        return verb_phrase
    verb, _, behind = verb_phrase.partition(" ")
    return f"{verb}s {behind}"


def _count_of_documents(count: int) -> str:
    """Return "1 document" or "12 documents"."""
    return f"{count} document{'' if count == 1 else 's'}"


def _document_line(row: Mapping[str, Any], n: int, quote: str) -> str:
    """Return the line of a document in a list: its title, its year and a quote with the mark `[n]`."""
    year = f" ({row['date'][:4]})" if row["date"] else ""
    marked_quote = quoted(n, without_marks(" ".join(quote.split())))
    return f"- **{plain(row['title'] or row['id'])}**{year}: {marked_quote}"


def _passage_and_quote(
    library: Collection, document_id: str, mention: Mention | None, lookup: Lookup
) -> tuple[Passage, str]:
    """Return the passage that shows why a document is listed, and the words to quote from it.

    These are the sentence that mentions the topic; else, from the document's card, the title if only that mentions the
    topic, and the line with the author, journal or date asked for if there is no topic.
    """
    if mention is not None and mention.passage_id:
        (passage,) = library.passages([mention.passage_id])
        return passage, _sentence_around(passage.text, mention.start, mention.end)
    (card,) = library.passages([card_id(document_id)])
    title, *lines = card.text.split("\n")
    if mention is not None:
        return card, title[:LONGEST_QUOTE].rstrip()
    asked = {"Authors": lookup.author, "Journal": lookup.journal, "Published": lookup.years}
    label = next((field for field, value in asked.items() if value), "")
    labels = (label, "Date") if lookup.years else (label,)
    fitting = [line for line in lines if label and line.startswith(labels)]
    return card, (fitting or lines or [title])[0][:LONGEST_QUOTE].rstrip()


def _sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence around a part of a text, or of a long one the nearest `LONGEST_QUOTE` characters."""
    spans = ((left, right) for left, right in sentence_spans(text) if left <= start < right)
    sentence_start, sentence_end = next(spans, (start, end))
    sentence_end = max(sentence_end, end)
    if sentence_end - sentence_start <= LONGEST_QUOTE:
        return text[sentence_start:sentence_end].strip()
    # The part stands in the middle of the quote, where the sentence is long enough on both sides.
    spare = LONGEST_QUOTE - (end - start)
    left = max(sentence_start, start - spare // 2)
    right = min(sentence_end, left + LONGEST_QUOTE)
    first_space, last_space = text.find(" ", left, start), text.rfind(" ", end, right)
    if left > sentence_start and first_space >= 0:
        left = first_space + 1
    if right < sentence_end and last_space >= 0:
        right = last_space
    return text[left:right].strip()
