"""Detection of repetition in a text that is being written: its end consists of copies of one block.

Small models may get stuck and repeat the same words to their limit. The criterion is exact: the text ends with at least
`TIMES` consecutive copies of one block, together at least `SPAN` characters long. Lists, tables and relations of many
contexts, whose lines differ in a number or a name, are not affected.
"""

from __future__ import annotations

SPAN = 600
"""Least length of all copies together in characters: 150 tokens. Set by hand: a refrain or a table's rule is shorter.
"""
TIMES = 3
"""Least number of copies; for a block of twenty characters `SPAN` requires thirty. Set by hand."""
LONGEST_BLOCK = 3_000
"""Longest block that is looked for, in characters: a page. Set by hand."""
_LOOK_EVERY = 200
"""Characters between two checks; set by hand."""
_SIGN = 32
"""Characters at the end that must have occurred before; otherwise the check ends early."""


class CircleDetector:
    """Receives a text in pieces, and reports when it repeats itself.

    It keeps a window of the text and checks that every few characters, so the time is linear in the text's length.
    """

    def __init__(self) -> None:
        self._window = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Return whether the text, with this piece, ends with repetitions; checked only every few characters."""
        self._window += piece
        self._new += len(piece)
        if self._new < _LOOK_EVERY:
            return False
        self._new = 0
        self._window = self._window[-(TIMES + 1) * LONGEST_BLOCK :]
        return repeated_block(self._window) > 0


def repeated_block(text: str) -> int:
    """Return the length of the shortest block that is repeated at the end of a text.

    0 if there is none.
    """
    if len(text) < SPAN:
        return 0
    sign, at = text[-_SIGN:], len(text) - 1
    lowest = max(0, len(text) - LONGEST_BLOCK - _SIGN)
    # Each earlier occurrence of the text's last characters may be one block away.
    while (at := text.rfind(sign, lowest, at + len(sign) - 1)) >= 0:
        block = len(text) - len(sign) - at
        length = max(SPAN, TIMES * block)
        if length <= len(text) and text[len(text) - length : -block] == text[len(text) - length + block :]:
            return block
    return 0


def before_circles(text: str) -> str:
    """Return the text up to the end of the first copy of the block that is repeated at its end.

    The whole text if there is none. An incomplete copy at the end, where the text was stopped, counts as a copy.
    """
    block = repeated_block(text)
    if not block:
        return text
    begin = len(text) - block
    while begin > 0 and text[begin - 1] == text[begin - 1 + block]:
        begin -= 1
    return text[: begin + block]
