"""References to a source or an answer by its place in the last answer: "the second source", "the latter"."""

from __future__ import annotations

import re

from preflight_rag.conversation.intents import ORDINALS
from preflight_rag.state.reading import Earlier

_PLACE = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|[1-9]\\d?(?:st|nd|rd|th)"
_COUNT = r"(?:(?:no\.?|number|#)\s*)?\[?([1-9]\d?|one|two|three|four|five|six|seven|eight|nine|ten)\]?(?!\w)"
_SOURCE = re.compile(
    rf"\b(?:the\s+|your\s+)?({_PLACE})\s+(?:source|citation|reference|footnote)\b"
    rf"|\b(?:the\s+)?({_PLACE})\s+(?:document|paper|study|article|passage|file)\b"
    r"(?!\s+(?:on|of|to|that|which|about|in|by|ever|for|with|from|was|were|is|are)\b)"
    rf"|\b(?:source|citation|reference|footnote)\s+{_COUNT}|\[([1-9]\d?)\]",
    re.I,
)
_ANSWER = re.compile(
    rf"\bthe\s+({_PLACE})\s+(?:one|answer|group|of (?:them|these|those))\b|\bthe\s+(former|latter)\b", re.I
)


def resolve_places(message: str, earlier: Earlier) -> tuple[str, tuple[int, ...]]:
    """Replace references by place ("the second source") with the source's title or the answer's name.

    Returns:
        The message, and the numbers of the sources that were named.
    """
    by_number = {source.n: source.title or source.source for source in earlier.sources}
    named: list[int] = []

    def titled(match: re.Match[str]) -> str:
        """Return the title of the source that a matched reference means."""
        place = next(filter(None, match.groups()))
        number = _number({"former": "first", "latter": "last"}.get(place.lower(), place), len(by_number))
        if not by_number.get(number):
            return match[0]
        named.append(number)
        return f'"{by_number[number]}"'

    def labelled(match: re.Match[str]) -> str:
        """Return the name of the answer that a matched reference means."""
        number = 1 if (match[2] or "").lower() == "former" else _number(match[1] or "last", len(earlier.groups))
        return earlier.groups[number - 1][0] if 0 < number <= len(earlier.groups) else match[0]

    text = _SOURCE.sub(titled, message) if by_number else message
    if len(earlier.groups) > 1:
        text = _ANSWER.sub(labelled, text)
    elif len(by_number) > 1:
        text = _ANSWER.sub(titled, text)
    return text, tuple(dict.fromkeys(named))


def names_by_place(message: str) -> bool:
    """Return whether a message refers to a source or an answer by its place in the last answer."""
    return bool(_SOURCE.search(message) or _ANSWER.search(message))


def _number(text: str, last: int) -> int:
    """Return the number that an ordinal ("second") states; `last` for the word "last"."""
    number = ORDINALS.get(text.lower()) or int(re.sub(r"\D", "", text))
    return last if number == -1 else number
