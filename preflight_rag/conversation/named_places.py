"""References to a source or an answer by its position in the last answer: "the second source", "the latter"."""

from __future__ import annotations

import re

from preflight_rag.conversation.intents import ORDINALS
from preflight_rag.state.reading import Earlier

_ORDINAL_WORDS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|[1-9]\\d?(?:st|nd|rd|th)"
_NUMBER = r"(?:(?:no\.?|number|#)\s*)?\[?([1-9]\d?|one|two|three|four|five|six|seven|eight|nine|ten)\]?(?!\w)"
_SOURCE_REFERENCE = re.compile(
    rf"\b(?:the\s+|your\s+)?({_ORDINAL_WORDS})\s+(?:source|citation|reference|footnote)\b"
    rf"|\b(?:the\s+)?({_ORDINAL_WORDS})\s+(?:document|paper|study|article|passage|file)\b"
    r"(?!\s+(?:on|of|to|that|which|about|in|by|ever|for|with|from|was|were|is|are)\b)"
    rf"|\b(?:source|citation|reference|footnote)\s+{_NUMBER}|\[([1-9]\d?)\]",
    re.I,
)
_ANSWER_REFERENCE = re.compile(
    rf"\bthe\s+({_ORDINAL_WORDS})\s+(?:one|answer|group|of (?:them|these|those))\b|\bthe\s+(former|latter)\b", re.I
)


def replace_places(message: str, earlier: Earlier) -> tuple[str, tuple[int, ...]]:
    """Replace references by position ("the second source") with the source's title or the answer's entity.

    References to a source or an answer that does not exist stay as they are.

    Args:
        message: The message.
        earlier: The last answer; of several answers, "the second one" is one of these, else a source.

    Returns:
        The message, and the numbers of the sources to which it referred.
    """
    titles = {source.n: source.title or source.source for source in earlier.sources}
    source_numbers: list[int] = []

    def title_of_source(match: re.Match[str]) -> str:
        """Return the quoted title of the source that a matched reference means."""
        position = next(filter(None, match.groups()))
        ordinal = {"former": "first", "latter": "last"}.get(position.lower(), position)
        number = _number_for(ordinal, len(titles))
        if not titles.get(number):
            return match[0]
        source_numbers.append(number)
        return f'"{titles[number]}"'

    def entity_of_answer(match: re.Match[str]) -> str:
        """Return the entity of the answer that a matched reference means."""
        ordinal, former_or_latter = match[1] or "last", (match[2] or "").lower()
        number = 1 if former_or_latter == "former" else _number_for(ordinal, len(earlier.groups))
        return earlier.groups[number - 1][0] if 0 < number <= len(earlier.groups) else match[0]

    text = _SOURCE_REFERENCE.sub(title_of_source, message) if titles else message
    if len(earlier.groups) > 1:
        text = _ANSWER_REFERENCE.sub(entity_of_answer, text)
    elif len(titles) > 1:
        text = _ANSWER_REFERENCE.sub(title_of_source, text)
    return text, tuple(dict.fromkeys(source_numbers))


def names_by_place(message: str) -> bool:
    """Return whether a message refers to a source or an answer by its position in the last answer."""
    return bool(_SOURCE_REFERENCE.search(message) or _ANSWER_REFERENCE.search(message))


def _number_for(text: str, last: int) -> int:
    """Return the number for an ordinal or a numeral, 2 for "second" or "2nd"; `last` for the word "last"."""
    number = ORDINALS.get(text.lower()) or int(re.sub(r"\D", "", text))
    return last if number == ORDINALS["last"] else number
