"""Find all documents that contain a phrase: an exact count over all passages and titles, independent of any ranking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from preflight_rag.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W_]+")
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that write words without spaces between them."""

Row = tuple[str, str, str]
"""Id of a passage, id of its document, text."""


@dataclass(frozen=True)
class Mention:
    """A document that contains a phrase.

    Attributes:
        document_id: The document.
        passage_id: Its first passage with the phrase; empty if only the title has it.
        start: Where the phrase begins in that passage.
        end: Where it ends.
        passages: How many of its passages contain it.
    """

    document_id: str
    passage_id: str = ""
    start: int = 0
    end: int = 0
    passages: int = 0


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern that matches a phrase as whole words, in any case, singular or plural, with any separators."""
    parts = _WORD.findall(phrase)
    body = r"[\W_]+".join(_singular_or_plural(part) for part in parts)
    return re.compile(body if _NO_SPACES.search(phrase) else rf"(?<![^\W_]){body}(?![^\W_])", re.IGNORECASE)


def _singular_or_plural(word: str) -> str:
    """Return a pattern for the singular and the plural of a word; for codes and short words only the word itself."""
    if len(word) < 4 or not word.isalpha() or _NO_SPACES.search(word):
        return re.escape(word)
    if word.lower().endswith("ies"):
        return rf"{re.escape(word[:-3])}(?:y|ies)"
    if word.lower().endswith("y") and word[-2].lower() not in "aeiou":
        return rf"{re.escape(word[:-1])}(?:y|ies)"
    stem = word[:-1] if word.lower().endswith("s") and not word.lower().endswith(("ss", "us", "is")) else word
    return rf"{re.escape(stem)}(?:s|es|['’]s)?"


def content_words(phrase: str) -> list[str]:
    """Return the distinct words of a phrase that are no stop words, in order."""
    return list(dict.fromkeys(word for word in _WORD.findall(phrase) if word.lower() not in STOP_WORDS))


def like_of(phrase: str) -> str:
    """Return a pattern for SQLite's LIKE that every passage with the phrase matches; "" if there is none.

    It is the longest word without the ending that a plural changes: "%antibod%" for "many antibodies".
    """
    # LIKE ignores case only for English letters, so words with other letters are left out.
    english_words = [word for word in _WORD.findall(phrase) if word.isascii() and word.isalpha()]
    longest = max(english_words, key=len, default="")
    stem = re.sub(r"(?:ies|y|s)$", "", longest, flags=re.IGNORECASE) if len(longest) > 3 else longest
    return f"%{stem}%" if len(stem) > 1 else ""


def find_mentions(
    phrase: str, passages_like: Callable[[str], Iterable[Row]], titles: Iterable[tuple[str, str]]
) -> dict[str, Mention]:
    """Return the documents that contain a phrase in their text or title, by id.

    Args:
        phrase: The phrase, with at least one letter or digit.
        passages_like: Function that returns the passages whose text is LIKE a pattern, in the order of their documents'
            texts.
        titles: `(document id, title)` of all documents.
    """
    pattern = phrase_pattern(phrase)
    mentions: dict[str, Mention] = {}
    for passage_id, document_id, text in passages_like(like_of(phrase)):
        if match := pattern.search(text):
            mention = mentions.get(document_id)
            if mention is None:
                mentions[document_id] = Mention(document_id, passage_id, match.start(), match.end(), 1)
            else:
                mentions[document_id] = replace(mention, passages=mention.passages + 1)
    for document_id, title in titles:
        if document_id not in mentions and pattern.search(title):
            mentions[document_id] = Mention(document_id)
    return mentions
