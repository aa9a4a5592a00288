"""Which option a free reply names: strictly, and as the scorer of MIRAGE would have it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from preflight_rag.prompts.replies import (
    NO_INFORMATION,
    NOT_FOUND,
    clean,
    match_option,
    says,
    split_choice,
    split_quotes,
)

_LABELLED = re.compile(
    r"\b(?:[Aa]nswer(?:_choice)?|ANSWER|[Cc]hoice|CHOICE|[Oo]ption)\b"
    r"[\s\"'*_`]*(?:is\b|:|=|would be\b)?[\s\"'*_`:(\[{]*"
    r"([A-Z])\b(?![\"'’]\w)(?!\s+(?!because|since|as\b|according|based|given|and\b|or\b)[a-z])"
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*\(?([A-Z])\b")
_LEADING = re.compile(r"[(\[*_\"']*([A-Z])[)\]*_\"']*\s*(?:$|[.,:)\n–—/-]|and\b|or\b)")
_ALSO = re.compile(r"[)\]*_\"'.\s]*(?:and|or|/|,|&)[\s(\[*_\"']*([A-Z])\b")
_DECLINED = re.compile(
    r"\bI(?:['’]m| am) (?:sorry|unable|not able)|\bI (?:cannot|can['’]t|can not|won['’]t|will not)\b"
    r"|\bI (?:do not|don['’]t) (?:know|have)\b|\bas an AI\b|\bcannot be (?:determined|answered)\b",
    re.IGNORECASE,
)
"""How a reply declines; of a letter that is followed by a word, only A could be an article."""


@dataclass(frozen=True)
class Choice:
    """What a reply chose.

    Attributes:
        option: The option named; None where there is none.
        refused: Whether it declines to answer, or says that the passages hold no answer.
        fallback: The option, where none can be read the first one: how MIRAGE's published scorer counts.
    """

    option: str | None
    refused: bool
    fallback: str

    @property
    def unreadable(self) -> bool:
        """Whether it names no option, or several, without declining."""
        return self.option is None and not self.refused


def read_choice(reply: str, options: Sequence[str]) -> Choice:
    """The option that a reply names.

    In turn: its last line `CHOICE: B` or `Answer: B`; letters after "answer", "choice" or "option" (JSON's
    "answer_choice" too), in a box, or at its beginning; the option's own words, when no other option's stand there.
    Anything else, several different letters too, is unreadable.
    """
    text = split_quotes(clean(reply))[0].strip()
    option = split_choice(text, options)[1]
    refused = False
    if option is None:
        letters = _letters(text, len(options))
        refused = not letters and declines(text)
        if len(letters) == 1:
            option = options[ord(letters.pop()) - ord("A")]
        elif not letters and not refused:
            option = _in_words(text, options)
    return Choice(option, refused, option or options[0])


def declines(text: str) -> bool:
    """Whether a reply says that it does not answer."""
    return says(NOT_FOUND, text) or says(NO_INFORMATION, text) or bool(_DECLINED.search(text[:200]))


def _letters(text: str, options: int) -> set[str]:
    """The letters of options that a reply names, each with those that it adds by "and" or "or"."""
    matches = [match for pattern in (_LABELLED, _BOXED) for match in pattern.finditer(text)]
    if not matches and (leading := _LEADING.match(text)):
        matches = [leading]
    named = {match[1] for match in matches}
    named |= {also[1] for match in matches if (also := _ALSO.match(text, match.end(1)))}
    return {letter for letter in named if ord(letter) - ord("A") < options}


def _in_words(text: str, options: Sequence[str]) -> str | None:
    lead = re.match(r"[\s*_\"'(]*(\w+)", text)
    whole = [option for option in options if lead and option.casefold() == lead[1].casefold()]
    return whole[0] if len(whole) == 1 else match_option(text, options)
