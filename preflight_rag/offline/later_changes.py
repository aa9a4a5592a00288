"""Statements that a later letter or notice changes: "the trip has to move to Thursday 3 December".

People write that something has changed, not that a document replaces another. So what an earlier document states is
not claimed, and stands below the later sentence, where that has a verb of change and the question's subject. Rules for
English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH_NAMES
from preflight_rag.text.letter_lines import QUOTED_PART
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

LEAST_COVERED = 0.5
"""Least share of the question's words in the later sentence and its document's title, for another subject than the
earlier mail's; a guess."""
LONGEST_LETTER = 8000
"""Characters of letters and notices; articles and filings are longer, and speak of change without one. A guess."""
LEAST_TITLE = 2
"""Words of a title by which a later document can name it; a guess: one word is not specific."""
_CHANGE = re.compile(
    r"\b(?:(?:has|have|had|is|are|was|were|will|must|been|be|to)\s(?:be\s)?mov(?:e|ed)\s(?:\w+\s)?(?:from|to|until|forward|back)"
    r"|postpon(?:e|ed|es)|reschedul(?:e|ed|es)|brought\sforward|put\s(?:back|off)|call(?:ed|ing)?\soff"
    r"|cancel(?:l?ed|s|ling)?|instead\sof|no\slonger|after\sall"
    r"|new\s(?:date|day|time|place|venue|room|price|address|number|deadline)"
    r"|(?:has|have|is|are|was|were|been)\schanged|chang(?:e|es|ed|ing)\sfrom|correction|corrected"
    r"|(?:minutes?|hours?|days?|weeks?|months?)\s(?:earlier|later)"
    r"|(?:is|are|will)\snow\s(?:be\s)?(?:on|at|in|from|due|open|closed|held|costs?|starts?|begins?|ends?|takes?|meets?)|rather\sthan|with\simmediate\seffect)\b",
    re.I,
)
_KINDS = (
    (
        re.compile(r"\b(?:how much|costs?|price|pay|paid|fee|rent|charge)\b", re.I),
        re.compile(r"[£$€]\s?\d|\d\s?(?:[£€]|euros?|pounds?|dollars?|pence|cents?)\b", re.I),
    ),
    (
        re.compile(r"\b(?:what time|how (?:early|late)|o['’]clock)\b", re.I),
        re.compile(r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?[ap]\.?m\b|\b(?:noon|midnight)\b", re.I),
    ),
    (re.compile(r"\bhow (?:many|long|old|far|often)\b", re.I), re.compile(r"\d")),
)
"""For a kind of question, what a sentence that changes its answer has."""
_DATED = re.compile(r"\b(?:when|(?:which|what) (?:day|date|month|week|weekday))\b", re.I)
_HAS_DATE = re.compile(
    r"\b\d{1,2}(?::\d\d|/\d{1,2}\b|\.\d{1,2}\.|(?:st|nd|rd|th)\b)|\b(?:19|20)\d\d\b|\d ?[ap]\.?m\b"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:{'|'.join(MONTH_NAMES)})\b",
    re.IGNORECASE,
)
"""A day, a year or a time: "3/5", "3.5.", "10:15", "8 am"; a price is none."""
_MAIL_HEAD = re.compile(r"^(?:from|to|cc|date|sent|subject|reply-to): ", re.I)
_REPLY = re.compile(r"^(?:(?:re|fwd?|aw|wg|sv|antw)\s?:\s{0,4}){1,6}", re.I)


def find_later_change(question: str, source: Source, quote: str, sources: Sequence[Source]) -> tuple[int, str] | None:
    """Return the sentence of a later document by which a statement no longer holds, with its passage's number.

    Args:
        question: The question that the statement answers.
        source: The passage of the statement.
        quote: The statement.
        sources: All passages.

    Returns:
        The sentence; None if none is found.
    """
    asked = frozenset(words(question)) - STOP_WORDS
    needed = [shown for asks, shown in (*_KINDS, (_DATED, _HAS_DATE)) if asks.search(question)]
    for other in sources:
        if not asked or not _is_later(other, source, quote):
            continue
        title, in_thread = frozenset(words_by_token(other.title)), _is_in_thread(other, source)
        for start, end in sentence_spans(other.text):
            text = other.text[start:end]
            # What a mail says itself is newer than what it quotes, whether or not it says that something has changed.
            is_same = other.document_id == source.document_id
            newer = bool(needed) and is_same
            own = frozenset(words_by_token(text))
            newer = newer and not asked.isdisjoint(own) and not _MAIL_HEAD.match(text)
            if text in quote or QUOTED_PART.match(text) or text.endswith("?") or not (newer or _CHANGE.search(text)):
                continue
            # In one thread a change of what is asked for, such as the day, says more than shared words.
            # Within one mail, where no day or price is asked for, a change of something else shares a word, too.
            covered = len(asked & (own if is_same else own | title)) >= LEAST_COVERED * len(asked)
            covered = covered or (in_thread and (bool(needed) or not is_same))
            covered = covered and (in_thread or is_same or _names(text, other, source))
            named = (in_thread and _DATED.search(question)) or not asked.isdisjoint(own)
            if covered and named and all(shown.search(text) for shown in needed):
                return other.n, " ".join(text.split())
    return None


def shares_word_with_question(question: str, change: str) -> bool:
    """Return whether a sentence of change has a word of the question besides those that ask."""
    return not (frozenset(words(question)) - STOP_WORDS).isdisjoint(words_by_token(change))


def _is_later(other: Source, source: Source, quote: str) -> bool:
    """Return whether a passage was written after a statement of another one.

    That is so of a mail's own words against what it quotes, and of a document that is dated later.
    """
    if other.document_id == source.document_id:
        return bool(QUOTED_PART.match(quote))
    dated = bool(other.date and source.date and other.date > source.date)
    return dated and all(each.start + len(each.text) <= LONGEST_LETTER for each in (other, source))


def _is_in_thread(other: Source, source: Source) -> bool:
    """Return whether two mails have one subject, of words, to which a reply may add some."""
    first, later = _thread(source), _thread(other)
    # Documents that are called "18" and "187" are no thread.
    if not any(word.isalpha() for word in words(first)):
        return False
    # "Choir of the prison" begins like "Choir" and replies to nothing.
    return later == first or (later.startswith(f"{first} ") and _REPLY.match(other.title) is not None)


def _thread(source: Source) -> str:
    """Return a mail's subject without what replies put before it; of another document, its title."""
    return _REPLY.sub("", source.title).casefold().strip()


def _names(sentence: str, later: Source, earlier: Source) -> bool:
    """Return whether a sentence, or the title of its document, has the title of an earlier one word for word."""
    title = _thread(earlier)
    both = f"{later.title}\n{sentence}".casefold()
    return len(words(title)) >= LEAST_TITLE and title in " ".join(both.split())
