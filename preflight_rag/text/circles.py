"""Detection of repetition in a text that is being written: its end consists of copies of one block.

Small models may get stuck and repeat the same words to their limit. The criterion is exact: the text ends with at least
`MIN_COPIES` consecutive copies of one block, together at least `MIN_REPEATED_CHARS` characters long. Lists, tables and
relations of many contexts, whose lines differ in a number or a name, are not affected.
"""

from __future__ import annotations

MIN_REPEATED_CHARS = 600
"""Least characters of all copies together: 150 tokens. Set by hand: a refrain or a table's rule is shorter."""
MIN_COPIES = 3
"""Least number of copies; for a block of twenty characters `MIN_REPEATED_CHARS` requires thirty. Set by hand."""
MAX_BLOCK_CHARS = 3_000
"""Longest block that is looked for, in characters: a page. Set by hand."""
_CHARS_BETWEEN_CHECKS = 200
"""Characters between two checks; set by hand."""
_ENDING_CHARS = 32
"""Characters at the end that must have occurred before; otherwise the check ends early."""


class CircleDetector:
    """Receives a text in pieces, and reports when it repeats itself.

    It keeps the end of the text and checks that every few characters, so the time is linear in the text's length.
    """

    def __init__(self) -> None:
        self._window = ""
        self._unchecked_chars = 0

    def feed(self, piece: str) -> bool:
        """Add a piece, and return whether the text now ends with copies of one block.

        This is checked only every `_CHARS_BETWEEN_CHECKS` characters; in between, the result is False.
        """
        self._window += piece
        self._unchecked_chars += len(piece)
        if self._unchecked_chars < _CHARS_BETWEEN_CHECKS:
            return False
        self._unchecked_chars = 0
        self._window = self._window[-(MIN_COPIES + 1) * MAX_BLOCK_CHARS :]
        return repeated_block(self._window) > 0


def repeated_block(text: str) -> int:
    """Return the length of the shortest block of which copies end a text; 0 if it ends with no repetition."""
    if len(text) < MIN_REPEATED_CHARS:
        return 0
    ending, position = text[-_ENDING_CHARS:], len(text) - 1
    lowest = max(0, len(text) - MAX_BLOCK_CHARS - _ENDING_CHARS)
    # Each earlier occurrence of the text's last characters may be one block away.
    while (position := text.rfind(ending, lowest, position + len(ending) - 1)) >= 0:
        block = len(text) - len(ending) - position
        copies_start = len(text) - max(MIN_REPEATED_CHARS, MIN_COPIES * block)
        # The copies are equal if the text, moved by a block, is the same.
        if copies_start >= 0 and text[copies_start:-block] == text[copies_start + block :]:
            return block
    return 0


def before_circles(text: str) -> str:
    """Return the text up to the end of the first copy of the block that is repeated at its end; else the whole text.

    An incomplete copy at the end, where the text was stopped, counts as a copy.
    """
    block = repeated_block(text)
    if not block:
        return text
    begin = len(text) - block
    while begin > 0 and text[begin - 1] == text[begin - 1 + block]:
        begin -= 1
    return text[: begin + block]
