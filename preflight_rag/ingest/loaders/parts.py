"""Put a document together from blocks: headings, paragraphs, list items, rows of tables, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TOGETHER = ("list", "row")
"""Styles of blocks that are put on adjacent lines, without a blank line between two of the same style."""
_PARAGRAPH_BREAK = "\n\n"


@dataclass
class Parts:
    """Collects blocks in reading order, with the offsets of headings and pages in the joined text.

    Attributes:
        sections: `[offset, heading]` of each heading.
        pages: `(number, offset)` of each page.
        length: Number of characters of the joined text so far.
    """

    sections: list[list[Any]] = field(default_factory=list)
    pages: list[tuple[int, int]] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    length: int = 0
    _previous_style: str = ""

    def add(self, block: str, style: str = "") -> None:
        """Append a block, unless it is blank.

        Args:
            block: The text.
            style: "heading" begins a section; "list" and "row" are put on adjacent lines; "" is a paragraph.
        """
        if not block.strip():
            return
        is_adjacent = style == self._previous_style and style in TOGETHER
        separator = "\n" if is_adjacent else _PARAGRAPH_BREAK
        if not self._pieces:
            separator = ""
        self._previous_style = style
        if style == "heading":
            self.sections.append([self.length + len(separator), block])
        self._pieces += [separator, block]
        self.length += len(separator) + len(block)

    def page(self, number: int) -> None:
        """Begin a page, slide or sheet with the next block."""
        offset = self.length + len(_PARAGRAPH_BREAK) if self._pieces else self.length
        self.pages.append((number, offset))
        self._previous_style = ""

    def joined(self) -> str:
        """Return the text of all blocks, with line breaks between them."""
        return "".join(self._pieces)

    def metadata(self) -> dict[str, Any]:
        """Return the document's headings as metadata, under "sections"; {} if it has none."""
        return {"sections": self.sections} if self.sections else {}
