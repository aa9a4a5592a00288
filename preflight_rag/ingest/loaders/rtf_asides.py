"""What stands beside the text of a rich text file, which striprtf drops.

Notes, headers, footers, comments, text boxes, and what is said of pictures. A file is groups in braces; a group that
begins with the name of a destination holds an aside (Rich Text Format Specification 1.9.1, "Destinations"); a picture's
description is one of its properties. Paragraphs inside a table's cell are put on one line, since striprtf ends a row's
line at each.
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
_LEVELS = ("super", "nosupersub", "sub")
_ENDS = ("par", "cell", "row", "tab", "line", "sect", "page")
_FONTS = re.compile(r"\{\\fonttbl")
_DEEPEST = 500
"""Groups within each other that are followed; a guess."""


@dataclass
class Asides:
    """The source of a file without its asides, and the asides themselves.

    Attributes:
        body: The file's source, which striprtf reads.
        found: `(kind, source)` in the file's order; kinds are footnote, header, footer, comment, text box and
        picture.
        pictures: The number of pictures, without copies for older programs.
    """

    body: str = ""
    found: list[tuple[str, str]] = field(default_factory=list)
    pictures: int = 0


@dataclass
class _Group:
    """An open group of the file, with what is known of its kind."""

    kind: str = ""
    in_table: bool = False
    for_older: bool = False
    """Whether it is there for programs that do not know what stands before it."""
    above: bool = False
    """Whether its characters stand above the line."""
    first: bool = True
    """Whether no word of control but `\\*` has come."""
    start: int = 0


def divide(source: str) -> Asides:
    """Separate the asides from a file; each becomes a file of its own with the same code page and fonts."""
    return _Divider(source).run()


class _Divider:
    """One pass over a file, with a stack of the open groups."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._head = _head(source)
        self._found: list[tuple[str, str]] = []
        self._kept: list[str] = []
        self._groups: list[_Group] = []
        self._pictures = 0
        self._before = ""
        """The end of the text before a piece, on its line."""
        self._property = ""
        """The name of the property that was read last, as of a picture."""

    def run(self) -> Asides:
        """Return the divided file; unchanged if it is nested too deeply."""
        at = 0
        while at < len(self._source) and (match := _TOKEN.match(self._source, at)):
            at = match.end()
            if match[1] == "bin":  # so many bytes of a picture, which may hold braces
                at += max(0, int(match[2] or 0))
            elif match[0] == "{":
                self._open()
            elif match[0] == "}":
                self._close()
            else:
                self._inside(match[0], match[1])
            if len(self._groups) > _DEEPEST:
                return Asides(self._source)
        return Asides("".join(self._kept) + self._source[at:], self._found, self._pictures)

    def _open(self) -> None:
        """Begin a group."""
        outer = self._groups[-1] if self._groups else _Group()
        self._groups.append(_Group(outer.kind, outer.in_table, outer.for_older, outer.above, start=len(self._kept)))
        self._kept.append("{")

    def _close(self) -> None:
        """End a group; if it is an aside, store it separately."""
        group = self._groups.pop() if self._groups else _Group()
        if group.kind and not (self._groups and self._groups[-1].kind):
            inner = "".join(self._kept[group.start + 1 :])
            self._found.append((group.kind, f"{self._head} {inner}}}"))
            del self._kept[group.start :]
            if group.kind == "footnote" and group.in_table:  # without it the note is of no row
                self._kept.append(f"[^{sum(kind == 'footnote' for kind, _ in self._found)}]")
        else:
            self._kept.append("}")

    def _inside(self, piece: str, name: str | None) -> None:
        """Keep a piece of the open group, or record that the group is an aside."""
        group = self._groups[-1] if self._groups else _Group()
        if name and group.first and not group.kind and name in _DESTINATIONS:
            group.kind, group.first = _DESTINATIONS[name], False
            del self._kept[group.start + 1 :]
            return
        if name == "sv" and not group.kind and self._property == "wzDescription":
            group.kind, self._property = "picture", ""
            del self._kept[group.start + 1 :]
            return
        if not name and self._kept[-1].startswith("\\sn"):
            self._property = piece.strip()
        group.for_older |= name == "nonshppict"
        self._pictures += name == "pict" and not group.for_older
        group.first = group.first and (piece == "\\*" or piece.isspace())
        if name:
            group.in_table = name == "intbl" or (group.in_table and name != "pard")
            group.above = name == "super" if name in _LEVELS else group.above and name not in ("plain", "pard")
        if group.above and not name and (above := raised_behind(self._before, piece.strip("\r\n"))) != piece:
            self._kept.append("".join(f"{{\\uc1\\u{ord(char)} ?}}" if ord(char) > 127 else char for char in above))
            return
        self._before = "" if name in _ENDS else piece[-4:] if not name else self._before
        self._kept.append("\\~" if name == "par" and group.in_table else piece)


def _head(source: str) -> str:
    """Return the beginning of a file, which declares its code page and fonts."""
    page = re.search(r"\\ansicpg\d{1,5}", source[:2000])
    fonts = _FONTS.search(source, 0, 20_000)
    table = source[fonts.start() : _end(source, fonts.start())] if fonts else ""
    return f"{{\\rtf1\\ansi{page[0] if page else ''}{table}\\pard"


def _end(source: str, start: int) -> int:
    """Return the offset after the brace that closes the group at `start`."""
    depth = 0
    for match in _TOKEN.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return start
