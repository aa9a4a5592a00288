"""Check boxes as words: "[ticked] pets", "[not ticked] smoking", whatever sign or control a file has for them.

Without its box, an item beside an empty box would read as if it were ticked, and a reader of sentences cannot interpret
a sign. Two boxes on one line are separated by a semicolon, so that "not" negates only its own item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

TICKED, NOT_TICKED, CROSSED = "[ticked]", "[not ticked]", "[crossed, not ticked]"
_WORDS_OF_SIGN = {
    **dict.fromkeys("☐⬜🗆🞎", NOT_TICKED),
    **dict.fromkeys("☑✅🗹", TICKED),
    **dict.fromkeys("☒🗷🗵⮽", TICKED),
    **dict.fromkeys("❌✗✘", CROSSED),
}
_CROSSES = "☒🗷🗵⮽"
"""Crosses: Word's own sign of a ticked box, also used in filings; beside ticked boxes in the same text they mean
something else."""
_BOX_SIGN = re.compile(f"(?P<sign>[{''.join(_WORDS_OF_SIGN)}])\ufe0f?(?P<behind> *)(?P<goes_on>(?=[^\\s|]))?")
_TICK_SIGN = re.compile("[☑✅🗹]")
_TYPED_BOX = re.compile(
    r"(?P<before>^[ \t]*+(?:(?:[-*+•]|\d{1,9}[.)])[ \t]++)?|(?<=\S)[ \t]++)\[(?P<mark>[ xX✓✔])\](?=[ \t]+\w)"
)
"""A box typed as brackets before its item: "- [ ] smoking", "[x] yes [ ] no"; not in "a[x] is", "see [x]."."""
_BOX_IN_WORDS = re.compile(rf"(?:{'|'.join(map(re.escape, (NOT_TICKED, TICKED, CROSSED)))})")
Side = Literal["before", "behind"]
"""Where a box stands, seen from its item: before it, "☒ yes", or behind it, "yes ☒"."""
_CELL_SEPARATOR = re.compile(r"(\||\t)")
_PUNCTUATION = " .,;)"
_WINGDINGS = {
    "wingdings": {
        **dict.fromkeys((0x6F, 0x71, 0x72, 0xA8), NOT_TICKED),
        **dict.fromkeys((0x78, 0xFD, 0xFE), TICKED),
    },
    "wingdings 2": {**dict.fromkeys((0x30, 0xA3), NOT_TICKED), **dict.fromkeys((0x51, 0x52, 0x53, 0x54), TICKED)},
}
"""Codes of empty and ticked boxes in two symbol fonts."""


def words_for(is_ticked: bool) -> str:
    """Return the words that replace a check box: ticked or not."""
    return TICKED if is_ticked else NOT_TICKED


def has_box(text: str) -> bool:
    """Return whether a text has a box in words."""
    return _BOX_IN_WORDS.search(text) is not None


def font_box(font: str, code: str) -> str:
    """Return the words for a box given as a font and a character code in hexadecimal; "" for other characters."""
    number = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,6}", code) else 0
    return _WINGDINGS.get(font.lower(), {}).get(number & 0xFF, "")  # Word adds F000 to the codes of symbol fonts


def with_boxes(text: str) -> str:
    """Return a text with check-box signs replaced by words, and semicolons between the items of a line's boxes.

    A crossed box means ticked, unless the text has boxes with a tick as well.
    """
    if text.isascii() or not _BOX_SIGN.search(text):
        return text
    words_of_cross = CROSSED if _TICK_SIGN.search(text) else TICKED

    def words_of(match: re.Match[str]) -> str:
        """Return the words for a matched sign, with fewer spaces behind, so that columns stay aligned."""
        before = match.string[match.start() - 1 : match.start()]
        box = words_of_cross if match["sign"] in _CROSSES else _WORDS_OF_SIGN[match["sign"]]
        fewer_spaces = " " * max(1, len(match["behind"]) - len(box) + 1)
        spaces = fewer_spaces if match["goes_on"] is not None else match["behind"]
        return f"{' ' if before.isalnum() else ''}{box}{spaces}"

    lines = text.split("\n")
    usual_side = _common_side(lines)
    for number, line in enumerate(lines):
        if _BOX_SIGN.search(line):
            lines[number] = parted(_BOX_SIGN.sub(words_of, line), _common_side([line]) or usual_side)
    return "\n".join(lines)


def with_typed_boxes(text: str) -> str:
    """Return a text with boxes typed as brackets ("[ ] smoking") replaced by words.

    A single pair of brackets is a box only at the beginning of its line or directly after a label, "Pets: [x] yes".
    """
    if "[" not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        boxes = list(_TYPED_BOX.finditer(line)) if "]" in line else []
        if not boxes:
            continue
        start = boxes[0].start()
        if len(boxes) > 1 or not line[:start].strip() or line[start - 1] == ":":
            lines[number] = parted(_TYPED_BOX.sub(_typed_box_in_words, line))
    return "\n".join(lines)


def _typed_box_in_words(match: re.Match[str]) -> str:
    """Return a match of `_TYPED_BOX` with the box in words."""
    return f"{match['before']}{words_for(bool(match['mark'].strip()))}"


def parted(line: str, usual: Side | None = None) -> str:
    """Return a line of a form with a semicolon between the items of its check boxes, which are already in words.

    The cells of a table's row are separated one by one. Where neither a cell nor `usual`, the side in the lines around
    it, tells whether boxes stand before or behind their items, semicolons enclose each box, so that it has no item.
    """
    return "".join(_separate_items(cell, usual) for cell in _CELL_SEPARATOR.split(line))


def _separate_items(cell: str, usual: Side | None) -> str:
    """Return a cell with semicolons between the items of its boxes, or around each box if the side is unknown."""
    boxes = list(_BOX_IN_WORDS.finditer(cell))
    if len(boxes) < 2:
        return cell
    side = _side_of_boxes(cell, boxes) or usual
    if side == "behind":
        cuts = [box.end() for box in boxes[:-1]]
    elif side == "before":
        cuts = [box.start() for box in boxes[1:]]
    else:
        ends = [offset for box in boxes for offset in box.span()]
        cuts = [offset for offset in ends if cell[:offset].strip() and cell[offset:].strip()]
    pieces = [cell[start:end] for start, end in pairwise([0, *cuts, len(cell)])]
    first, *others = (piece.rstrip(" ,;") for piece in pieces)
    return "; ".join([first, *(piece.lstrip(" ,;") for piece in others)])


def _side_of_boxes(cell: str, boxes: Sequence[re.Match[str]]) -> Side | None:
    """Return whether a cell's check boxes stand before or behind their items; None if the cell does not tell.

    Text before the first box that ends with a question mark or a colon is no item: "Pets: ☒ yes ☐ no". If there is
    text on both sides of the boxes, the wider of the spaces around a text separates it from another item.
    """
    before = cell[: boxes[0].start()].strip(_PUNCTUATION)
    behind = _without_remark(cell[boxes[-1].end() :].strip(" .,;"))
    if not before and not behind:
        return None
    if not behind:
        return "behind"
    if not before or before.endswith((":", "?")):
        return "before"
    texts_between = [f"{_spaces_after(left)}{cell[left.end() : right.start()]}" for left, right in pairwise(boxes)]
    sides = {_side_of_wider_space(text) for text in texts_between}
    return sides.pop() if len(sides) == 1 else None


def _without_remark(text: str) -> str:
    """Return the text after the last check box without a remark in brackets at its end, such as "(tick one)"."""
    start = text.rfind("(")
    is_remark = text.endswith(")") and start >= 0 and ")" not in text[start:-1]
    return (text[:start] if is_remark else text).strip(_PUNCTUATION)


def _spaces_after(box: re.Match[str]) -> str:
    """Return the spaces that a match of `_BOX_SIGN` has after the box; "" for a match of `_BOX_IN_WORDS`."""
    return box.groupdict().get("behind") or ""


def _side_of_wider_space(text: str) -> Side | None:
    """Return the side of an item's box, which stands where the space is narrower; None if both spaces are equal.

    Args:
        text: The text between two boxes, with the spaces around it.
    """
    left, right = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    if left == right:
        return None
    return "before" if right > left else "behind"


def _common_side(lines: Iterable[str]) -> Side | None:
    """Return the side on which the signs of check boxes stand in all cells of some lines that tell it; None if unclear.

    None also if two cells differ.
    """
    sides: set[Side | None] = set()
    for line in lines:
        for cell in _CELL_SEPARATOR.split(line):
            boxes = list(_BOX_SIGN.finditer(cell))
            sides.add(_side_of_boxes(cell, boxes) if boxes else None)
    sides.discard(None)
    return sides.pop() if len(sides) == 1 else None
