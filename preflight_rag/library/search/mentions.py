"""Which documents hold a phrase: counted exactly, over all passages and titles, whatever a search would rank first."""

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
    """A document that holds a phrase.

    Attributes:
        document_id: The document.
        passage_id: Its first passage with the phrase; empty where only the title has it.
        start: Where the phrase begins there.
        end: Where it ends.
        passages: How many of its passages hold it.
    """

    document_id: str
    passage_id: str = ""
    start: int = 0
    end: int = 0
    passages: int = 0


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern of a phrase as whole words, in any case, singular or plural, with any separators."""
    parts = _WORD.findall(phrase)
    body = r"[\W_]+".join(_either_number(part) for part in parts)
    return re.compile(body if _NO_SPACES.search(phrase) else rf"(?<![^\W_]){body}(?![^\W_])", re.IGNORECASE)


def _either_number(word: str) -> str:
    """Return a word in the singular and the plural; codes and short words as they are."""
    if len(word) < 4 or not word.isalpha() or _NO_SPACES.search(word):
        return re.escape(word)
    if word.lower().endswith("ies"):
        return rf"{re.escape(word[:-3])}(?:y|ies)"
    if word.lower().endswith("y") and word[-2].lower() not in "aeiou":
        return rf"{re.escape(word[:-1])}(?:y|ies)"
    stem = word[:-1] if word.lower().endswith("s") and not word.lower().endswith(("ss", "us", "is")) else word
    return rf"{re.escape(stem)}(?:s|es|['’]s)?"


def content_words(phrase: str) -> list[str]:
    """Return the distinct content words of a phrase."""
    return list(dict.fromkeys(word for word in _WORD.findall(phrase) if word.lower() not in STOP_WORDS))


def like_of(phrase: str) -> str:
    """Return a pattern for SQLite's LIKE that every passage with the phrase matches; "" where there is none."""
    # LIKE knows both cases of English letters only. What a plural changes is left out.
    longest = max((word for word in _WORD.findall(phrase) if word.isascii() and word.isalpha()), key=len, default="")
    certain = re.sub(r"(?:ies|y|s)$", "", longest, flags=re.IGNORECASE) if len(longest) > 3 else longest
    return f"%{certain}%" if len(certain) > 1 else ""


def find_mentions(
    phrase: str, rows: Callable[[str], Iterable[Row]], titles: Iterable[tuple[str, str]]
) -> dict[str, Mention]:
    """Return the documents that hold a phrase, by id.

    Args:
        phrase: The phrase, with at least one letter or digit.
        rows: Passages in the order of their documents' texts that may hold what `like_of` says.
        titles: `(document id, title)` of all documents.
    """
    pattern = phrase_pattern(phrase)
    found: dict[str, Mention] = {}
    for passage_id, document_id, text in rows(like_of(phrase)):
        if match := pattern.search(text):
            known = found.get(document_id)
            if known is None:
                found[document_id] = Mention(document_id, passage_id, match.start(), match.end(), 1)
            else:
                found[document_id] = replace(known, passages=known.passages + 1)
    for document_id, title in titles:
        if document_id not in found and pattern.search(title):
            found[document_id] = Mention(document_id)
    return found
