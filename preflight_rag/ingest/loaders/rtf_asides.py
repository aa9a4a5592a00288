"""Extract the asides of a rich text file, which striprtf drops: notes, headers, footers, comments, text boxes.

A file consists of groups in braces. A group that begins with the name of a destination is an aside (Rich Text Format
Specification 1.9.1, "Destinations"); the description of a picture is one of its properties. Paragraphs inside a table's
cell are put on one line, since striprtf would end the row's line at each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from preflight_rag.text.legends import raised_behind

_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[^\\{}]+")
_DESTINATIONS = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footer"),
    "footnote": "footnote",
    "annotation": "comment",
    "shptxt": "text box",
}
"""Kinds of asides by the control word with which their group begins."""
_VERTICAL_POSITIONS = ("super", "nosupersub", "sub")
_BREAKS = ("par", "cell", "row", "tab", "line", "sect", "page")
"""Control words that end a word before them."""
_FONTS = re.compile(r"\{\\fonttbl")
_DEEPEST = 500
"""Maximum depth of nested groups; a guess."""
_RAISED_CONTEXT = 4
"""Number of characters before a superscript by which `raised_behind` decides whether it is a mark."""
_ASCII_END = 127


@dataclass
class Asides:
    """The source of a file without its asides, and the asides themselves.

    Attributes:
        body: The source of the file without its asides.
        found: `(kind, source)` of each aside in the file's order; the kinds are footnote, header, footer, comment, text
            box and picture (a description).
        pictures: The number of pictures, without copies for older programs.
    """

    body: str = ""
    found: list[tuple[str, str]] = field(default_factory=list)
    pictures: int = 0


@dataclass
class _Group:
    r"""An open group of the file.

    Attributes:
        kind: The kind of the aside that it is, or is inside of; "" for a group of the text.
        in_table: Whether its text is in a table.
        for_older: Whether it is a copy for older programs that do not know the group before it.
        is_superscript: Whether its characters are above the line.
        is_at_start: Whether it has had no control word except `\*`.
        start: The index of its brace among the pieces of the source.
    """

    kind: str = ""
    in_table: bool = False
    for_older: bool = False
    is_superscript: bool = False
    is_at_start: bool = True
    start: int = 0


def divide(source: str) -> Asides:
    """Separate the asides from a file; each becomes a file of its own with the same code page and fonts."""
    return _Divider(source).run()


class _Divider:
    """One pass over the source of a file, with a stack of the open groups."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._header = _header(source)
        self._asides: list[tuple[str, str]] = []
        self._pieces: list[str] = []
        """The source without asides so far; an aside is removed when its group ends."""
        self._groups: list[_Group] = []
        self._pictures = 0
        self._text_before = ""
        """The last characters of the text before the current piece, on the same line."""
        self._property = ""
        """The name of the property that was read last, such as "wzDescription" of a picture."""

    def run(self) -> Asides:
        """Return the divided file; undivided if its groups are nested too deeply."""
        offset = 0
        while offset < len(self._source) and (match := _TOKEN.match(self._source, offset)):
            offset = match.end()
            if match[1] == "bin":  # the number of bytes of a picture, which may include braces
                offset += max(0, int(match[2] or 0))
            elif match[0] == "{":
                self._open_group()
            elif match[0] == "}":
                self._close_group()
            else:
                self._add_piece(match[0], match[1])
            if len(self._groups) > _DEEPEST:
                return Asides(self._source)
        return Asides("".join(self._pieces) + self._source[offset:], self._asides, self._pictures)

    def _open_group(self) -> None:
        """Begin a group, which inherits the state of the group around it."""
        outer = self._groups[-1] if self._groups else _Group()
        group = _Group(outer.kind, outer.in_table, outer.for_older, outer.is_superscript, start=len(self._pieces))
        self._groups.append(group)
        self._pieces.append("{")

    def _close_group(self) -> None:
        """End a group; if it is an aside, move it from the pieces to the asides.

        A footnote in a table leaves its mark "[^1]", which shows to which row it belongs.
        """
        group = self._groups.pop() if self._groups else _Group()
        is_inside_aside = self._groups and self._groups[-1].kind
        if group.kind and not is_inside_aside:
            inner = "".join(self._pieces[group.start + 1 :])
            self._asides.append((group.kind, f"{self._header} {inner}}}"))
            del self._pieces[group.start :]
            if group.kind == "footnote" and group.in_table:
                self._pieces.append(f"[^{sum(kind == 'footnote' for kind, _ in self._asides)}]")
        else:
            self._pieces.append("}")

    def _add_piece(self, piece: str, name: str | None) -> None:
        """Append a piece of the open group, and update the group's state; a destination makes the group an aside.

        Args:
            piece: A control word, a control character or text.
            name: The name of the control word; None for anything else.
        """
        group = self._groups[-1] if self._groups else _Group()
        if name and group.is_at_start and not group.kind and name in _DESTINATIONS:
            group.kind, group.is_at_start = _DESTINATIONS[name], False
            del self._pieces[group.start + 1 :]
            return
        if name == "sv" and not group.kind and self._property == "wzDescription":  # the value of the property
            group.kind, self._property = "picture", ""
            del self._pieces[group.start + 1 :]
            return
        if not name and self._pieces[-1].startswith("\\sn"):
            self._property = piece.strip()
        group.for_older |= name == "nonshppict"
        self._pictures += name == "pict" and not group.for_older
        group.is_at_start = group.is_at_start and (piece == "\\*" or piece.isspace())
        if name in _VERTICAL_POSITIONS:
            group.is_superscript = name == "super"
        elif name in ("plain", "pard"):
            group.is_superscript = False
        if name:
            group.in_table = name == "intbl" or (group.in_table and name != "pard")
        elif group.is_superscript and (raised := raised_behind(self._text_before, piece.strip("\r\n"))) != piece:
            encoded = [f"{{\\uc1\\u{ord(char)} ?}}" if ord(char) > _ASCII_END else char for char in raised]
            self._pieces.append("".join(encoded))
            return
        if not name:
            self._text_before = piece[-_RAISED_CONTEXT:]
        elif name in _BREAKS:
            self._text_before = ""
        self._pieces.append("\\~" if name == "par" and group.in_table else piece)


def _header(source: str) -> str:
    """Return a header for a rich text file with the code page and the fonts that a source declares at its beginning."""
    page = re.search(r"\\ansicpg\d{1,5}", source[:2000])
    fonts = _FONTS.search(source, 0, 20_000)
    table = source[fonts.start() : _group_end(source, fonts.start())] if fonts else ""
    return f"{{\\rtf1\\ansi{page[0] if page else ''}{table}\\pard"


def _group_end(source: str, start: int) -> int:
    """Return the offset after the brace that closes the group at `start`; `start` itself if none does."""
    depth = 0
    for match in _TOKEN.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return start
