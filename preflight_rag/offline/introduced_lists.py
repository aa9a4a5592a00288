"""Quotes that introduce something, with the items that they introduce: "The program responds to the following keys:".

A line without a full stop above a list introduces it, too: "Keys that change the date" above "- up: the next day". If a
blank line parts them, it announces the list in words: "Three keys", "the keys below".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.sentences import ITEM_MARK, sentence_spans
from preflight_rag.text.words import words

LONGEST = 500
"""Characters of a quote with its items, at most; a guess."""
MOST_ITEMS = 10
"""Lines of the list that are shown where none has a word of the question that the quote lacks; a guess."""
_GAP = 12
"""Characters between two passages of which the second goes on where the first ends: line ends and spaces; a guess."""
_BEHIND_COLON = re.compile(r"\s*(?:[-*+•◦·–]|\(?\w{1,3}[.)])\s")
"""An item of a list that a colon introduces: "iv) ", "No. ", too, which elsewhere may begin a sentence."""
_LINE_ENDS = re.compile(r"[ \t]{0,8}\n(?:[ \t]{0,8}\n)?")
_ANNOUNCES = re.compile(r"\b(?:as follows|following|listed|these|below)\b[^.!?]*[.!?]?$", re.IGNORECASE)
_NAMES_SEVERAL = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|some|these|following|listed|as follows"
    r"|(?<!from )below)\b",
    re.IGNORECASE,
)
"""Words of a caption that belongs to a list below a blank line: "Three keys of the calendar"."""
_COUNTS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|several|[2-9]|10) (?:[\w-]+ ){0,2}[\w-]+s:$", re.IGNORECASE
)
"""The end of a quote whose items may be whole paragraphs: "The screen has three parts:"."""
_HEADING = re.compile(r"\s*#")


def extend_to_list_items(question: str, quote: str, source: Source) -> str:
    """Return a quote that introduces a list with the lines behind it, up to the last that has a word of the question."""
    start = source.text.find(quote)
    if start < 0 or not _introduces(quote, source.text, start):
        return quote
    end = start + len(quote)
    shown = _end_of_items(question, quote, source.text, start, end)
    return source.text[start:shown].strip() if shown > end else quote


def find_items_in_next_passage(
    question: str, quote: str, source: Source, sources: Sequence[Source]
) -> tuple[int, str] | None:
    """Return `(passage, items)` from the beginning of the next passage for a quote in a colon at its passage's end.

    None if there are none, or the next passage was not found.
    """
    if not quote.rstrip().endswith(":") or not source.text.rstrip().endswith(quote.rstrip()):
        return None
    end = source.start + len(source.text)
    for other in sources:
        if other.document_id == source.document_id and 0 <= other.start - end <= _GAP and other.n != source.n:
            shown = _end_of_items(question, quote, other.text, 0, 0)
            items = other.text[:shown].strip()
            return (other.n, items) if items else None
    return None


def ends_between_list_items(quote: str, text: str) -> bool:
    """Return whether a quote ends between two items of a list that it introduces."""
    at = text.find(quote)
    last = quote[quote.rfind("\n") + 1 :]
    if at < 0 or "\n" not in quote or not ITEM_MARK.match(last) or ITEM_MARK.match(quote):
        return False
    gap = _LINE_ENDS.match(text, at + len(quote))
    return gap is not None and ITEM_MARK.match(text, gap.end()) is not None


def _introduces(quote: str, text: str, start: int) -> bool:
    """Return whether a quote ends in a colon, or stands directly above a list without being an item of it."""
    written = quote.rstrip()
    if written.endswith(":"):
        return True
    gap = _LINE_ENDS.match(text, start + len(written))
    item = ITEM_MARK.match(text, gap.end()) if gap else None
    # "The calendar has several keys." is complete; "The keys are as follows." is not.
    if item is None or (written[-1:] in ".!?;," and not _ANNOUNCES.search(written)):
        return False
    if gap and gap[0].count("\n") > 1 and not _NAMES_SEVERAL.search(written):
        return False
    # A label with its value introduces nothing, and "1. Summary" may be the next heading.
    if ": " in written or any(item.start() <= at < item.end() for at, _ in headings_of(text)):
        return False
    # An item introduces what is indented below it, not the next item of its own list.
    own = ITEM_MARK.match(text, text.rfind("\n", 0, start) + 1)
    return own is None or len(own["indent"]) < len(item["indent"])


def _end_of_items(question: str, quote: str, text: str, start: int, end: int) -> int:
    """Return where the items end that are shown behind a quote.

    Args:
        question: The question.
        quote: What introduces the items.
        text: The text with the items.
        start: Where what is shown of this text begins, from which its length is counted.
        end: Where the items begin.
    """
    missing = subject_words(question).difference(words(quote))
    listed, shown, at, is_parted = 0, end, end, False
    # Of the last line as much is looked at as shows that it is too long.
    for line in text[end : start + 2 * LONGEST].splitlines(keepends=True):
        at += len(line)
        if _HEADING.match(line):
            break
        if not line.strip():
            is_parted = True
            continue
        is_item = _BEHIND_COLON.match(line) is not None
        # A line that is not indented, below a blank one, belongs to no item.
        if listed and is_parted and not is_item and not line[0].isspace():
            break
        is_parted = False
        if not listed and not is_item:
            return _end_of_text(quote, text, start, end)
        if at > start + LONGEST:
            break
        listed += 1
        if listed <= MOST_ITEMS or missing.intersection(words(line)):
            shown = at
    return shown


def _end_of_text(quote: str, text: str, start: int, end: int) -> int:
    """Return where what a quote introduces ends, if it is no list: a formula, a line of a program, or paragraphs.

    These are cut between sentences; without a number of them in the quote one line is shown.
    """
    first = end + len(text[end:]) - len(text[end:].lstrip())
    line_end = first + len(text[first : start + 2 * LONGEST].split("\n", 1)[0].rstrip())
    longest = start + LONGEST
    limit = longest if _COUNTS.search(quote.rstrip()) else min(longest, line_end)
    shown = line_end if line_end <= longest else end
    for begin, stop in sentence_spans(text[: start + 2 * LONGEST]):
        if begin >= end and (stop > limit or text.startswith("#", begin)):
            break
        if begin >= line_end and text[stop - 1] not in ".!?;":  # a heading, or the words of a picture
            break
        if begin >= end:
            shown = max(shown, stop)
    return shown
