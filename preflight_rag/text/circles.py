"""Whether a text that is being written goes round in circles: its end is one block, again and again.

Small models fall into that and write the same words to their limit. What counts is exact: the text ends with at least
`TIMES` copies of one block, one directly behind the other, that are at least `SPAN` characters long together. Lists,
tables and relations of many contexts, whose lines differ in a number or a name, are no such text.
"""

from __future__ import annotations

SPAN = 600
"""Characters that the copies take at least: 150 tokens. Set by hand: a refrain or a table's rule is shorter."""
TIMES = 3
"""Copies that there are at least; of a block of twenty characters `SPAN` asks for thirty. Set by hand."""
LONGEST_BLOCK = 3_000
"""Characters of the longest block that is looked for: a page. Set by hand."""
_LOOK_EVERY = 200
"""Characters after which it is looked at again; set by hand."""
_SIGN = 32
"""Characters at the end that have to occur before, or nothing else is looked at."""


class CircleDetector:
    """Feed it the pieces of a text; it says when this goes round in circles.

    It keeps a window of the text and looks at that every few characters, so the time is linear in the text's length.
    """

    def __init__(self) -> None:
        self._window = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Return whether the text, with this piece, ends in circles; it is looked at every few characters."""
        self._window += piece
        self._new += len(piece)
        if self._new < _LOOK_EVERY:
            return False
        self._new = 0
        self._window = self._window[-(TIMES + 1) * LONGEST_BLOCK :]
        return repeated_block(self._window) > 0


def repeated_block(text: str) -> int:
    """Return the length of the shortest block that the end of a text repeats.

    0 where it does not go round in circles.
    """
    if len(text) < SPAN:
        return 0
    sign, at = text[-_SIGN:], len(text) - 1
    lowest = max(0, len(text) - LONGEST_BLOCK - _SIGN)
    # Each earlier place of the text's last characters may be one block away from them.
    while (at := text.rfind(sign, lowest, at + len(sign) - 1)) >= 0:
        block = len(text) - len(sign) - at
        length = max(SPAN, TIMES * block)
        if length <= len(text) and text[len(text) - length : -block] == text[len(text) - length + block :]:
            return block
    return 0


def before_circles(text: str) -> str:
    """Return the text up to the end of the first copy of the block that it repeats at its end.

    All of it where there is none.

    An end that is no whole block, as far as the text was written when it was stopped, belongs to the copies.
    """
    block = repeated_block(text)
    if not block:
        return text
    begin = len(text) - block
    while begin > 0 and text[begin - 1] == text[begin - 1 + block]:
        begin -= 1
    return text[: begin + block]
