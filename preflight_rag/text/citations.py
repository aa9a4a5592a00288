"""Citation marks, `[1][2]`: finding them, taking them out, numbering them anew.

Models write them in other ways too, `[1, 4]` or `[2-4]`; `separate_marks` brings these to the one way that the rest
reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MARK = re.compile(r"\[(\d+)\]")
MARKS = re.compile(r"(?:\s*\[\d+\])+")
"""Marks in a row, with the space before each."""
JOINT_MARK = re.compile(r"\[(\s*\d+(?:\s*[,;]\s*\d+|\s*[-–]\s*\d+)*\s*)\]")
"""A mark of one or several numbers, as models write them."""
MOST_IN_RANGE = 100
"""Numbers that `[2-4]` may stand for; in a longer range, as `[1990-2020]`, only the ends are marks."""


def cited_numbers(text: str) -> list[int]:
    """The numbers that a text cites, each once, in order of first use."""
    return list(dict.fromkeys(int(n) for n in MARK.findall(text)))


def without_marks(text: str) -> str:
    """A text without its marks and the space before them."""
    return MARKS.sub("", text)


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """A text in which each mark has its new number.

    Raises:
        KeyError: A mark has none.
    """
    return MARK.sub(lambda mark: f"[{numbers[int(mark[1])]}]", text)


def separate_marks(text: str) -> str:
    """Write `[1, 4]` and `[2-4]` as `[1][4]` and `[2][3][4]`."""

    def spread(match: re.Match[str]) -> str:
        numbers: list[int] = []
        for part in re.split(r"[,;]", match[1]):
            ends = [int(number) for number in re.findall(r"\d+", part)]
            numbers += range(ends[0], ends[-1] + 1) if 0 <= ends[-1] - ends[0] < MOST_IN_RANGE else ends
        return "".join(f"[{number}]" for number in numbers)

    return JOINT_MARK.sub(spread, text)
