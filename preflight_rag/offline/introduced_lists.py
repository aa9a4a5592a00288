"""Quotes that introduce a list, extended by its items: "The program responds to the following keys:".

A line without a full stop above a list introduces it, too: "Keys that change the date" above "- up: the next day". If
there is a blank line between them, the line must announce the list in words: "Three keys", "the keys below".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.sentences import ITEM_MARK, sentence_spans
from preflight_rag.text.words import words

MAX_QUOTE_CHARACTERS = 500
"""Maximum length of a quote with its items; a guess."""
MOST_ITEMS = 10
"""Number of items that are shown even if they have no word of the question that the quote lacks; a guess."""
_MAX_GAP_CHARACTERS = 12
"""Maximum number of characters, line ends and spaces, between a passage and the next one of its document; a guess."""
_ITEM_BEHIND_COLON = re.compile(r"\s*(?:[-*+•◦·–]|\(?\w{1,3}[.)])\s")
"""The mark of an item behind a colon; also "iv) " or "No. ", with which elsewhere a sentence may begin."""
_LINE_ENDS = re.compile(r"[ \t]{0,8}\n(?:[ \t]{0,8}\n)?")
_ANNOUNCES = re.compile(r"\b(?:as follows|following|listed|these|below)\b[^.!?]*[.!?]?$", re.IGNORECASE)
_NAMES_SEVERAL = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|some|these|following|listed|as follows"
    r"|(?<!from )below)\b",
    re.IGNORECASE,
)
"""Words of a caption that belongs to a list below a blank line: "Three keys of the calendar"."""
_COUNTS_PARTS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|[2-9]|10) (?:[\w-]+ ){0,2}[\w-]+s:$", re.IGNORECASE
)
"""The end of a quote whose items may be whole paragraphs: "The screen has three parts:"."""
_HEADING = re.compile(r"\s*#")


def extend_to_list_items(question: str, quote: str, source: Source) -> str:
    """Return a quote of a passage with the list items that it introduces; unchanged if it introduces none.

    Shown are `MOST_ITEMS` items, and more up to the last one that has a word of the question which the quote lacks.
    """
    start = source.text.find(quote)
    if start < 0 or not _introduces_list(quote, source.text, start):
        return quote
    end = start + len(quote)
    end_of_items = _find_end_of_items(question, quote, source.text, start, end)
    return source.text[start:end_of_items].strip() if end_of_items > end else quote


def find_items_in_next_passage(
    question: str, quote: str, source: Source, sources: Sequence[Source]
) -> tuple[int, str] | None:
    """Return `(passage, items)` of the list items at the beginning of the next passage that a quote introduces.

    None if the quote does not end its passage with a colon, if there are no items, or if the document's next passage is
    not among the passages that were found.
    """
    if not quote.rstrip().endswith(":") or not source.text.rstrip().endswith(quote.rstrip()):
        return None
    end = source.start + len(source.text)
    for other in sources:
        if (
            other.document_id == source.document_id
            and 0 <= other.start - end <= _MAX_GAP_CHARACTERS
            and other.n != source.n
        ):
            items = other.text[: _find_end_of_items(question, quote, other.text, 0, 0)].strip()
            return (other.n, items) if items else None
    return None


def ends_between_list_items(quote: str, text: str) -> bool:
    """Return whether a quote is a list's introduction with some of its items, and another item follows in the text."""
    start = text.find(quote)
    last_line = quote[quote.rfind("\n") + 1 :]
    if start < 0 or "\n" not in quote or not ITEM_MARK.match(last_line) or ITEM_MARK.match(quote):
        return False
    gap = _LINE_ENDS.match(text, start + len(quote))
    return gap is not None and ITEM_MARK.match(text, gap.end()) is not None


def _introduces_list(quote: str, text: str, start: int) -> bool:
    """Return whether a quote ends in a colon, or stands directly above a list without being an item of it."""
    line = quote.rstrip()
    if line.endswith(":"):
        return True
    gap = _LINE_ENDS.match(text, start + len(line))
    item = ITEM_MARK.match(text, gap.end()) if gap else None
    # "The calendar has several keys." is complete; "The keys are as follows." is not.
    if item is None or (line[-1:] in ".!?;," and not _ANNOUNCES.search(line)):
        return False
    has_blank_line = gap is not None and gap[0].count("\n") > 1
    if has_blank_line and not _NAMES_SEVERAL.search(line):
        return False
    # A label with its value introduces nothing, and "1. Summary" may be the next heading.
    if ": " in line or any(item.start() <= at < item.end() for at, _ in headings_of(text)):
        return False
    # An item introduces what is indented below it, not the next item of its own list.
    own_mark = ITEM_MARK.match(text, text.rfind("\n", 0, start) + 1)
    return own_mark is None or len(own_mark["indent"]) < len(item["indent"])


def _find_end_of_items(question: str, quote: str, text: str, start: int, end: int) -> int:
    """Return the offset at which the items end that are shown behind a quote; `end` if none is shown.

    The quote introduces the items, which begin at `end`; the length of what is shown is counted from `start`.
    """
    missing = subject_words(question).difference(words(quote))
    count, end_of_shown, line_end, is_below_blank_line = 0, end, end, False
    # Twice the length, so that a line that crosses the limit is seen as too long, and not as cut.
    for line in text[end : start + 2 * MAX_QUOTE_CHARACTERS].splitlines(keepends=True):
        line_end += len(line)
        if _HEADING.match(line):
            break
        if not line.strip():
            is_below_blank_line = True
            continue
        is_item = _ITEM_BEHIND_COLON.match(line) is not None
        # A line below a blank one that is not indented belongs to no item.
        if count and is_below_blank_line and not is_item and not line[0].isspace():
            break
        is_below_blank_line = False
        if not count and not is_item:
            return _find_end_of_text(quote, text, start, end)
        if line_end > start + MAX_QUOTE_CHARACTERS:
            break
        count += 1
        if count <= MOST_ITEMS or missing.intersection(words(line)):
            end_of_shown = line_end
    return end_of_shown


def _find_end_of_text(quote: str, text: str, start: int, end: int) -> int:
    """Return the offset at which the text ends that a quote introduces in place of a list, such as a formula.

    One line is shown; whole paragraphs up to the maximum length if the quote says how many they are ("has three
    parts:"). The end is that of a sentence; `end` if nothing fits. The arguments are those of `_find_end_of_items`.
    """
    first = end + len(text[end:]) - len(text[end:].lstrip())
    line_end = first + len(text[first : start + 2 * MAX_QUOTE_CHARACTERS].split("\n", 1)[0].rstrip())
    longest = start + MAX_QUOTE_CHARACTERS
    limit = longest if _COUNTS_PARTS.search(quote.rstrip()) else min(longest, line_end)
    end_of_shown = line_end if line_end <= longest else end
    for begin, stop in sentence_spans(text[: start + 2 * MAX_QUOTE_CHARACTERS]):
        if begin < end:
            continue
        if stop > limit or text.startswith("#", begin):
            break
        # Below the first line, text without a full stop is a heading or the words of a picture.
        if begin >= line_end and text[stop - 1] not in ".!?;":
            break
        end_of_shown = max(end_of_shown, stop)
    return end_of_shown
