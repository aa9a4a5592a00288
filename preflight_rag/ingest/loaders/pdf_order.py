"""The reading order of a PDF page's lines: by their places, where that is not the order in which they were drawn.

PDFium gives lines as they were drawn. Browsers draw headings that a style sheet positions before all other text of a
page, and the head and foot that they print after it. Such lines are put where they stand. Lines that stand beside
others, as those of columns and of cells do, stay in the order in which they were drawn.
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
"""Heights of a line by which lines that share no part of the page's width are apart at most to stand beside each other:
cells of one line stand half a line above or below those of two. This number and the next ones are guesses."""
CELL = 3.0
"""Heights of a line by which a line to the right of the one drawn before it stands above that at most, as the next cell
of a row does whose first one stands in its middle."""
OVER = 0.7
"""Heights of a line by which lines are apart at most that are printed over each other, or partly so."""
UPWARDS = 0.5
"""Heights of a line by which one stands above the line drawn before it, on a page not drawn from top to bottom."""
MOST_PARTED = 2
"""Lines that may come to stand below one to their left or right, before the page is taken for one of columns."""
MOST_LINES = 2000
LARGER = 1.1
"""By how many times the font of a heading is larger than that of a line beside which it was not drawn."""
BLANK = -1
"""Stands for a blank line among the numbers of lines."""
_PIECE = re.compile(r"[^\ufffe\x02]+")


@dataclass(frozen=True)
class _Piece:
    """A printed line, or a part of one: its number, its range of the page's width, and its height and middle."""

    number: int
    left: float
    right: float
    height: float
    middle: float

    def shares_width(self, other: _Piece) -> bool:
        """Return whether a part of the page's width is taken by both."""
        return self.left < other.right and other.left < self.right

    def is_beside(self, other: _Piece) -> bool:
        """Return whether two pieces stand beside each other or are printed over each other."""
        apart = 2 * abs(self.middle - other.middle) / (self.height + other.height)
        return apart <= (OVER if self.shares_width(other) else BESIDE)


@dataclass
class _Block:
    """Lines that stay in the order in which they were drawn: their numbers, and their range of the page's height."""

    numbers: set[int]
    bottom: float
    top: float

    def take(self, other: _Block) -> None:
        """Add the lines of another block."""
        self.numbers |= other.numbers
        self.bottom, self.top = min(self.bottom, other.bottom), max(self.top, other.top)


def reading_order(page: PdfTextPage, text: str) -> list[int]:
    """Return the numbers of a text's lines in the order in which they are read, and `BLANK` around moved headings.

    Args:
        page: The page, for the positions of its characters.
        text: PDFium's text of the page, one line for each printed one.
    """
    lines = text.split("\n")
    drawn = list(range(len(lines)))
    pieces = list(_pieces(page, lines)) if len(lines) <= MOST_LINES else []
    if not any(below.middle - above.middle > UPWARDS * above.height for above, below in pairwise(pieces)):
        return drawn
    blocks = _blocks(pieces)
    order = [number for block in sorted(blocks, key=lambda block: -block.top) for number in sorted(block.numbers)]
    first = {piece.number: piece for piece in reversed(pieces)}
    parted = sum(not first[above].shares_width(first[below]) for above, below in pairwise(order) if below != above + 1)
    if parted > MOST_PARTED:
        return drawn
    # A line without words belongs to the one drawn before it.
    followed: dict[int, list[int]] = defaultdict(list)
    owner = order[0]
    for number in drawn:
        owner = number if number in first else owner
        followed[owner].append(number)
    read = followed[order[0]]
    for above, below in pairwise(order):
        small, large = sorted((first[above].height, first[below].height))
        if below != above + 1 and large >= LARGER * small:
            read.append(BLANK)
        read += followed[below]
    return read


def _pieces(page: PdfTextPage, lines: Sequence[str]) -> Iterator[_Piece]:
    """Yield the printed lines of a page as they were drawn; none of a page on which some are turned.

    PDFium gives two printed lines as one where a hyphen parts a word.
    """
    import ctypes

    from pypdfium2 import raw

    found: list[_Piece] = []
    box = raw.FS_RECTF()
    place = 0
    for number, line in enumerate(lines):
        for match in _PIECE.finditer(line):
            words = match[0].strip()
            begin = place + match.start() + len(match[0]) - len(match[0].lstrip())
            sides = []
            for at in (begin, begin + len(words) - 1) if words else ():
                if raw.FPDFText_GetCharAngle(page, at) > 0:
                    return
                if raw.FPDFText_GetLooseCharBox(page, at, ctypes.byref(box)):
                    sides.append((box.left, box.right, box.bottom, box.top))
            if sides:
                lefts, rights, bottoms, tops = zip(*sides, strict=True)
                foot, head = bottoms[0], tops[0]
                found.append(_Piece(number, min(lefts), max(rights), max(head - foot, 1.0), (head + foot) / 2))
        place += len(line) + 1
    yield from found


def _blocks(pieces: Sequence[_Piece]) -> list[_Block]:
    """Return the blocks of a page's lines: those beside each other, with all that is drawn or stands between them."""
    blocks: dict[int, _Block] = {}
    for piece in pieces:
        own = _Block({piece.number}, piece.middle, piece.middle)
        blocks.setdefault(piece.number, own).take(own)
    downwards = sorted(pieces, key=lambda piece: -piece.middle)
    most = BESIDE * max(piece.height for piece in pieces)
    for at, piece in enumerate(downwards):
        for other in downwards[at + 1 :]:
            if piece.middle - other.middle > most:
                break
            if piece.is_beside(other):
                _join(blocks, piece.number, other.number)
    for piece, other in pairwise(pieces):
        if other.left >= piece.right and 0 < other.middle - piece.middle <= CELL * piece.height:
            _join(blocks, piece.number, other.number)
    found = list({id(block): block for block in blocks.values()}.values())
    count = 0
    while count != len(found):
        count = len(found)
        found = _merged(sorted(found, key=lambda block: min(block.numbers)), by_height=False)
        found = _merged(sorted(found, key=lambda block: -block.top), by_height=True)
    return found


def _join(blocks: dict[int, _Block], number: int, other: int) -> None:
    """Put the lines of two blocks, each given by one of its lines, into one."""
    one, two = blocks[number], blocks[other]
    if one is not two:
        one.take(two)
        blocks.update(dict.fromkeys(two.numbers, one))


def _merged(blocks: Sequence[_Block], *, by_height: bool) -> list[_Block]:
    """Return blocks with those merged of which one begins, on the page or in drawing, before the last one ends."""
    found: list[_Block] = []
    for block in blocks:
        last = found[-1] if found else None
        if last is None:
            found.append(block)
        elif block.top >= last.bottom if by_height else min(block.numbers) <= max(last.numbers):
            last.take(block)
        else:
            found.append(block)
    return found
