"""The reading order of a PDF page's lines: by their positions, if that is not the order in which they were drawn.

PDFium returns lines in the order in which they were drawn. Browsers draw headings that a style sheet positions before
all other text of a page, and the page's header and footer after it. Such lines are moved to their positions. Lines
beside each other, as in columns and cells, stay in the order in which they were drawn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

BESIDE = 1.1
"""Maximum distance, in heights of a line, of lines beside each other that do not overlap horizontally: cells of one
line are half a line above or below those of two. This number and the next ones are guesses."""
CELL = 3.0
"""Maximum height, in heights of a line, of a line above the one drawn before it at its left: the next cell of a row may
begin so high if the first cell is centred beside it."""
OVER = 0.7
"""Maximum distance, in heights of a line, of lines that are printed over each other."""
UPWARDS = 0.5
"""Minimum height, in heights of a line, of a line above the one drawn before it, if a page was not drawn from the top.
"""
MOST_PARTED = 2
"""Maximum number of moved lines that may follow one at their left or right; with more, the page has columns."""
MOST_LINES = 2000
"""Maximum number of lines of a page that is reordered."""
LARGER = 1.1
"""Minimum ratio of a heading's font to that of the line beside it in the reading order."""
BLANK = -1
"""Stands for a blank line among the numbers of lines."""
_PIECE = re.compile(r"[^\ufffe\x02]+")
"""A printed line among several that PDFium joins at hyphens, for which it writes U+FFFE or U+0002."""


@dataclass(frozen=True)
class _Piece:
    """A printed line: its number in PDFium's text, its horizontal range, its height and its vertical middle."""

    number: int
    left: float
    right: float
    height: float
    middle: float

    def shares_width(self, other: _Piece) -> bool:
        """Return whether two pieces overlap horizontally."""
        return self.left < other.right and other.left < self.right

    def is_beside(self, other: _Piece) -> bool:
        """Return whether two pieces are beside each other or printed over each other."""
        distance = 2 * abs(self.middle - other.middle) / (self.height + other.height)
        return distance <= (OVER if self.shares_width(other) else BESIDE)


@dataclass
class _Block:
    """Lines that stay in the order in which they were drawn: their numbers, and their vertical range."""

    numbers: set[int]
    bottom: float
    top: float

    def add(self, other: _Block) -> None:
        """Add the lines of another block to this one."""
        self.numbers |= other.numbers
        self.bottom, self.top = min(self.bottom, other.bottom), max(self.top, other.top)


def reading_order(page: PdfTextPage, text: str) -> list[int]:
    """Return the numbers of a text's lines in the order in which they are read, and `BLANK` around moved headings.

    The order is that of the text if the page was drawn from top to bottom, or if reordering would break columns up.

    Args:
        page: The page, for the positions of its characters.
        text: PDFium's text of the page, one line for each printed one.
    """
    lines = text.split("\n")
    drawn = list(range(len(lines)))
    pieces = list(_read_pieces(page, lines)) if len(lines) <= MOST_LINES else []
    if not any(below.middle - above.middle > UPWARDS * above.height for above, below in pairwise(pieces)):
        return drawn
    order: list[int] = []
    for block in sorted(_blocks(pieces), key=lambda block: -block.top):
        order += sorted(block.numbers)
    first_piece = {piece.number: piece for piece in reversed(pieces)}
    moved = [(above, below) for above, below in pairwise(order) if below != above + 1]
    if sum(not first_piece[above].shares_width(first_piece[below]) for above, below in moved) > MOST_PARTED:
        return drawn
    # A line without words is moved with the last line with words that was drawn before it.
    lines_moved_with: dict[int, list[int]] = defaultdict(list)
    owner = order[0]
    for number in drawn:
        owner = number if number in first_piece else owner
        lines_moved_with[owner].append(number)
    result = lines_moved_with[order[0]]
    for above, below in pairwise(order):
        small, large = sorted((first_piece[above].height, first_piece[below].height))
        if below != above + 1 and large >= LARGER * small:
            result.append(BLANK)
        result += lines_moved_with[below]
    return result


def _read_pieces(page: PdfTextPage, lines: Sequence[str]) -> Iterator[_Piece]:
    """Yield the printed lines of a page in the order in which they were drawn; none if some of them are rotated.

    Args:
        page: The page, for the positions of its characters.
        lines: The lines of PDFium's text, each of which is several printed lines if hyphens divide words.
    """
    import ctypes

    from pypdfium2 import raw

    pieces: list[_Piece] = []
    box = raw.FS_RECTF()
    line_start = 0
    for number, line in enumerate(lines):
        for match in _PIECE.finditer(line):
            words = match[0].strip()
            begin = line_start + match.start() + len(match[0]) - len(match[0].lstrip())
            sides = []
            for text_index in (begin, begin + len(words) - 1) if words else ():
                if raw.FPDFText_GetCharAngle(page, text_index) > 0:
                    return
                if raw.FPDFText_GetLooseCharBox(page, text_index, ctypes.byref(box)):
                    sides.append((box.left, box.right, box.bottom, box.top))
            if sides:
                lefts, rights, bottoms, tops = zip(*sides, strict=True)
                bottom, top = bottoms[0], tops[0]
                pieces.append(_Piece(number, min(lefts), max(rights), max(top - bottom, 1.0), (top + bottom) / 2))
        line_start += len(line) + 1
    yield from pieces


def _blocks(pieces: Sequence[_Piece]) -> list[_Block]:
    """Return the lines of a page in blocks: lines beside each other, and all lines drawn or positioned between them."""
    block_of: dict[int, _Block] = {}
    for piece in pieces:
        block = _Block({piece.number}, piece.middle, piece.middle)
        block_of.setdefault(piece.number, block).add(block)
    downwards = sorted(pieces, key=lambda piece: -piece.middle)
    max_distance = BESIDE * max(piece.height for piece in pieces)
    for index, piece in enumerate(downwards):
        for other in downwards[index + 1 :]:
            if piece.middle - other.middle > max_distance:
                break
            if piece.is_beside(other):
                _join_blocks(block_of, piece.number, other.number)
    for piece, following in pairwise(pieces):
        if following.left >= piece.right and 0 < following.middle - piece.middle <= CELL * piece.height:
            _join_blocks(block_of, piece.number, following.number)
    blocks = list({id(block): block for block in block_of.values()}.values())
    count = 0
    while count != len(blocks):  # a merged block may overlap with further ones
        count = len(blocks)
        blocks = _merge_overlapping(sorted(blocks, key=lambda block: min(block.numbers)), by_position=False)
        blocks = _merge_overlapping(sorted(blocks, key=lambda block: -block.top), by_position=True)
    return blocks


def _join_blocks(block_of: dict[int, _Block], number: int, other_number: int) -> None:
    """Join the blocks of two lines: `block_of`, the block of each line, is changed."""
    block, other = block_of[number], block_of[other_number]
    if block is not other:
        block.add(other)
        block_of.update(dict.fromkeys(other.numbers, block))


def _merge_overlapping(blocks: Sequence[_Block], *, by_position: bool) -> list[_Block]:
    """Return sorted blocks with overlapping ones merged: by their vertical ranges, or else by their lines' numbers."""
    merged: list[_Block] = []
    for block in blocks:
        if not merged:
            merged.append(block)
            continue
        last = merged[-1]
        overlaps = block.top >= last.bottom if by_position else min(block.numbers) <= max(last.numbers)
        if overlaps:
            last.add(block)
        else:
            merged.append(block)
    return merged
