"""Check boxes as words: "[ticked] pets", "[not ticked] smoking", whatever sign or control a file has for them.

Without its box, an item beside an empty box would read as if it were ticked, and a reader of sentences cannot interpret
a sign. Two boxes on one line are separated by a semicolon, so that "not" negates only its own item.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
_WINGDINGS = {
    "wingdings": {
        **dict.fromkeys((0x6F, 0x71, 0x72, 0xA8), NOT_TICKED),
        **dict.fromkeys((0x78, 0xFD, 0xFE), TICKED),
    },
    "wingdings 2": {**dict.fromkeys((0x30, 0xA3), NOT_TICKED), **dict.fromkeys((0x51, 0x52, 0x53, 0x54), TICKED)},
}
"""Codes of empty and ticked boxes in two symbol fonts."""


def words_for(is_ticked: bool) -> str:
    """Return the words for a box."""
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
        before = match.string[match.start() - 1 : match.start()]
        written = crossed if match["sign"] in _CROSSES else _SIGNS[match["sign"]]
        # As many of the following spaces are removed as the words are longer, so that columns aligned by spaces stay
        # aligned.
        spaces = " " * max(1, len(match["behind"]) - len(written) + 1)
        behind = spaces if match["goes_on"] is not None else match["behind"]
        return f"{' ' if before.isalnum() else ''}{written}{behind}"

    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _SIGN.search(line):
            lines[number] = parted(_SIGN.sub(words_of, line))
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


def parted(line: str) -> str:
    """Return a line with a semicolon between the items of its boxes; in a row of a table, within each cell.

    Boxes may come before or after their items.
    """
    return "".join(map(_parted, re.split(r"(\||\t)", line)))


def _parted(cell: str) -> str:
    """Return a cell with several boxes as parts separated by semicolons, each with its label."""
    boxes = list(_BOX.finditer(cell))
    if len(boxes) < 2:
        return cell
    is_behind = not cell[boxes[-1].end() :].strip(" .;,)")
    cuts = [each.end() for each in boxes[:-1]] if is_behind else [each.start() for each in boxes[1:]]
    pieces = [cell[start:end] for start, end in pairwise([0, *cuts, len(cell)])]
    first, *others = (piece.rstrip(" ,;") for piece in pieces)
    return "; ".join([first, *(piece.lstrip(" ,;") for piece in others)])
