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
_SIGNS = {
    **dict.fromkeys("☐⬜🗆🞎", NOT_TICKED),
    **dict.fromkeys("☑✅🗹", TICKED),
    **dict.fromkeys("☒🗷🗵⮽", TICKED),
    **dict.fromkeys("❌✗✘", CROSSED),
}
_CROSSES = "☒🗷🗵⮽"
"""Crosses: Word's own sign of a ticked box, also used in filings; beside ticked boxes in the same text they mean
something else."""
_SIGN = re.compile(f"(?P<sign>[{''.join(_SIGNS)}])\ufe0f?(?P<behind> *)(?P<goes_on>(?=[^\\s|]))?")
_TICK = re.compile("[☑✅🗹]")
_TYPED = re.compile(
    r"(?P<before>^[ \t]*+(?:(?:[-*+•]|\d{1,9}[.)])[ \t]++)?|(?<=\S)[ \t]++)\[(?P<mark>[ xX✓✔])\](?=[ \t]+\w)"
)
"""A box typed as brackets before its item: "- [ ] smoking", "[x] yes [ ] no"; not in "a[x] is", "see [x]."."""
_BOX = re.compile(rf"(?:{'|'.join(map(re.escape, (NOT_TICKED, TICKED, CROSSED)))})")
Side = Literal["before", "behind"]
"""Of its item, where a box stands: "☒ yes" or "yes ☒"."""
_CELL = re.compile(r"(\||\t)")
_BETWEEN = " .,;)"
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
    return _BOX.search(text) is not None


def font_box(font: str, code: str) -> str:
    """Return the words for a box given as a font and a character code in hexadecimal; "" for other characters."""
    place = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,6}", code) else 0
    return _WINGDINGS.get(font.lower(), {}).get(place & 0xFF, "")


def with_boxes(text: str) -> str:
    """Return a text with check-box signs replaced by words."""
    if text.isascii() or not _SIGN.search(text):
        return text
    crossed = CROSSED if _TICK.search(text) else TICKED

    def words_of(match: re.Match[str]) -> str:
        """Return the words for a matched sign, padded so that columns aligned by spaces stay aligned."""
        before = match.string[match.start() - 1 : match.start()]
        written = crossed if match["sign"] in _CROSSES else _SIGNS[match["sign"]]
        # As many of the following spaces are removed as the words are longer, so that columns aligned by spaces stay
        # aligned.
        spaces = " " * max(1, len(match["behind"]) - len(written) + 1)
        behind = spaces if match["goes_on"] is not None else match["behind"]
        return f"{' ' if before.isalnum() else ''}{written}{behind}"

    lines = text.split("\n")
    usual = _usual(lines)
    for number, line in enumerate(lines):
        if _SIGN.search(line):
            lines[number] = parted(_SIGN.sub(words_of, line), _usual([line]) or usual)
    return "\n".join(lines)


def with_typed_boxes(text: str) -> str:
    """Return a text with boxes typed as brackets ("[ ] smoking") replaced by words.

    Such boxes are at the beginning of a line or after a label, or there are several.
    """
    if "[" not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        found = list(_TYPED.finditer(line)) if "]" in line else []
        if found and (len(found) > 1 or not line[: found[0].start()].strip() or line[found[0].start() - 1] == ":"):
            lines[number] = parted(_TYPED.sub(_words_of, line))
    return "\n".join(lines)


def _words_of(match: re.Match[str]) -> str:
    """Return a matched box in words."""
    return f"{match['before']}{words_for(bool(match['mark'].strip()))}"


def parted(line: str, usual: Side | None = None) -> str:
    """Return a form's line with a semicolon between the check boxes' items, cell by cell if it is a table's row.

    A box stands before its item, or behind it. Where neither the line nor what is `usual` around it says which, the
    semicolon stands around each box, so that it says nothing of any item.
    """
    return "".join(_parted(cell, usual) for cell in _CELL.split(line))


def _parted(cell: str, usual: Side | None) -> str:
    """Return a cell with a semicolon between the items of its check boxes."""
    boxes = list(_BOX.finditer(cell))
    if len(boxes) < 2:
        return cell
    side = _side(cell, boxes) or usual
    cuts = [each.end() for each in boxes[:-1]] if side == "behind" else [each.start() for each in boxes[1:]]
    if side is None:
        cuts = [place for each in boxes for place in each.span() if cell[:place].strip() and cell[place:].strip()]
    pieces = [cell[start:end] for start, end in pairwise([0, *cuts, len(cell)])]
    first, *others = (piece.rstrip(" ,;") for piece in pieces)
    return "; ".join([first, *(piece.lstrip(" ,;") for piece in others)])


def _side(cell: str, boxes: Sequence[re.Match[str]]) -> Side | None:
    """Return whether a cell's check boxes stand before or behind their items; None if the cell does not tell.

    What a question or a colon ends is no item: "Pets: ☒ yes ☐ no". Between two boxes, the wider space parts items.
    """
    before = cell[: boxes[0].start()].strip(_BETWEEN)
    behind = _without_remark(cell[boxes[-1].end() :].strip(" .,;"))
    if not before and not behind:
        return None
    if not behind:
        return "behind"
    if not before or before.endswith((":", "?")):
        return "before"
    between = [f"{_behind(left)}{cell[left.end() : right.start()]}" for left, right in pairwise(boxes)]
    wider = {_wider(text) for text in between}
    return wider.pop() if len(wider) == 1 else None


def _without_remark(text: str) -> str:
    """Return the text after the last check box without a remark on how to fill in the form, such as "(tick one)"."""
    start = text.rfind("(")
    is_remark = text.endswith(")") and start >= 0 and ")" not in text[start:-1]
    return (text[:start] if is_remark else text).strip(_BETWEEN)


def _behind(box: re.Match[str]) -> str:
    """Return the spaces after a matched check box."""
    return box.groupdict().get("behind") or ""


def _wider(text: str) -> Side | None:
    """Return the side that an item's box is on, by the spaces around the item."""
    left, right = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
    return None if left == right else "before" if right > left else "behind"


def _usual(lines: Iterable[str]) -> Side | None:
    """Return the only side on which the check boxes of some lines are, seen from their items; None if unclear."""
    sides: set[Side | None] = set()
    for line in lines:
        for cell in _CELL.split(line):
            boxes = list(_SIGN.finditer(cell))
            sides.add(_side(cell, boxes) if boxes else None)
    sides.discard(None)
    return sides.pop() if len(sides) == 1 else None
