"""Statements that a later letter or notice changes: "the trip has to move to Thursday 3 December".

People write that something has changed, not that one document replaces another. If a later sentence has a verb of
change and the question's subject, the earlier statement is not claimed, and shown below the later sentence. By rule, in
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

LEAST_SHARED = 0.5
"""Minimum share of the question's words in the later sentence and its document's title, if the two documents are not in
one thread of mails; a guess."""
MAX_LETTER_CHARACTERS = 8000
"""Maximum length of letters and notices; longer articles and filings use verbs of change for other things. A guess."""
LEAST_TITLE_WORDS = 2
"""Minimum number of words of a title by which a later document can name it; a guess: one word is not specific."""
_SAYS_CHANGE = re.compile(
    r"\b(?:(?:has|have|had|is|are|was|were|will|must|been|be|to)\s(?:be\s)?mov(?:e|ed)\s(?:\w+\s)?(?:from|to|until|forward|back)"
    r"|postpon(?:e|ed|es)|reschedul(?:e|ed|es)|brought\sforward|put\s(?:back|off)|call(?:ed|ing)?\soff"
    r"|cancel(?:l?ed|s|ling)?|instead\sof|no\slonger|after\sall"
    r"|new\s(?:date|day|time|place|venue|room|price|address|number|deadline)"
    r"|(?:has|have|is|are|was|were|been)\schanged|chang(?:e|es|ed|ing)\sfrom|correction|corrected"
    r"|(?:minutes?|hours?|days?|weeks?|months?)\s(?:earlier|later)"
    r"|(?:is|are|will)\snow\s(?:be\s)?(?:on|at|in|from|due|open|closed|held|costs?|starts?|begins?|ends?|takes?|meets?)|rather\sthan|with\simmediate\seffect)\b",
    re.I,
)
_ASKED_KINDS = (
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
"""Pairs: what a question of a kind matches, and what a sentence that changes its answer must match."""
_ASKS_DATE = re.compile(r"\b(?:when|(?:which|what) (?:day|date|month|week|weekday))\b", re.I)
_HAS_DATE = re.compile(
    r"\b\d{1,2}(?::\d\d|/\d{1,2}\b|\.\d{1,2}\.|(?:st|nd|rd|th)\b)|\b(?:19|20)\d\d\b|\d ?[ap]\.?m\b"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:{'|'.join(MONTH_NAMES)})\b",
    re.IGNORECASE,
)
"""A day, a year or a time: "3/5", "3.5.", "10:15", "8 am"; a price is none."""
_MAIL_HEAD = re.compile(r"^(?:from|to|cc|date|sent|subject|reply-to): ", re.I)
_REPLY_PREFIXES = re.compile(r"^(?:(?:re|fwd?|aw|wg|sv|antw)\s?:\s{0,4}){1,6}", re.I)


def find_later_change(question: str, source: Source, quote: str, sources: Sequence[Source]) -> tuple[int, str] | None:
    """Return `(passage, sentence)` of the sentence of a later document that changes a statement; None without one.

    Args:
        question: The question that the statement answers.
        source: The passage of the statement.
        quote: The statement.
        sources: The passages in which the sentence is looked for.
    """
    asked = frozenset(words(question)) - STOP_WORDS
    values = [value for asks, value in (*_ASKED_KINDS, (_ASKS_DATE, _HAS_DATE)) if asks.search(question)]
    for later in sources:
        if not asked or not _is_later(later, source, quote):
            continue
        is_same_mail = later.document_id == source.document_id
        in_thread = _are_in_one_thread(later, source)
        for start, end in sentence_spans(later.text):
            sentence = later.text[start:end]
            if sentence in quote or QUOTED_PART.match(sentence) or sentence.endswith("?"):
                continue
            terms = frozenset(words_by_token(sentence))
            has_asked_word = not asked.isdisjoint(terms)
            # What a mail says itself is newer than what it quotes, whether or not it says that something has changed.
            is_own_text = is_same_mail and bool(values) and has_asked_word and not _MAIL_HEAD.match(sentence)
            if not is_own_text and not _SAYS_CHANGE.search(sentence):
                continue
            if not is_same_mail and not in_thread and not _names_title(sentence, later, source):
                continue
            # In one thread a change of what is asked for, such as the day, says more than shared words.
            # Within one mail, if no day or price is asked for, a change of something else shares a word, too.
            is_on_subject = in_thread and (bool(values) or not is_same_mail)
            if not is_on_subject:
                placed = terms if is_same_mail else terms.union(words_by_token(later.title))
                is_on_subject = len(asked & placed) >= LEAST_SHARED * len(asked)
            may_lack_words = in_thread and _ASKS_DATE.search(question) is not None
            if is_on_subject and (has_asked_word or may_lack_words) and all(value.search(sentence) for value in values):
                return later.n, " ".join(sentence.split())
    return None


def shares_word_with_question(question: str, sentence: str) -> bool:
    """Return whether a sentence has a word of the question that is no stop word."""
    return not (frozenset(words(question)) - STOP_WORDS).isdisjoint(words_by_token(sentence))


def _is_later(other: Source, source: Source, quote: str) -> bool:
    """Return whether a passage was written after a statement of another one.

    It was if both are letters and its date is later, or if it is of the same mail and the statement is quoted there.
    """
    if other.document_id == source.document_id:
        return bool(QUOTED_PART.match(quote))
    has_later_date = bool(other.date and source.date and other.date > source.date)
    ends = [passage.start + len(passage.text) for passage in (other, source)]
    return has_later_date and max(ends) <= MAX_LETTER_CHARACTERS


def _are_in_one_thread(other: Source, source: Source) -> bool:
    """Return whether two documents have the same title, or the later one is a reply that adds words to the title."""
    earlier_title, later_title = _thread_title(source), _thread_title(other)
    # Documents that are called "18" and "187" are no thread.
    if not any(word.isalpha() for word in words(earlier_title)):
        return False
    # "Choir of the prison" begins like "Choir" and replies to nothing.
    is_reply = _REPLY_PREFIXES.match(other.title) is not None
    return later_title == earlier_title or (is_reply and later_title.startswith(f"{earlier_title} "))


def _thread_title(source: Source) -> str:
    """Return a mail's subject in lower case without "Re:" and the like; of another document, its title."""
    return _REPLY_PREFIXES.sub("", source.title).casefold().strip()


def _names_title(sentence: str, later: Source, earlier: Source) -> bool:
    """Return whether a sentence and its document's title contain the title of an earlier document word for word."""
    title = _thread_title(earlier)
    stated = f"{later.title}\n{sentence}".casefold()
    return len(words(title)) >= LEAST_TITLE_WORDS and title in " ".join(stated.split())
