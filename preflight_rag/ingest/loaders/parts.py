"""A document that is put together from blocks: headings, paragraphs, lists, rows of tables, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TOGETHER = ("list", "row")
"""Styles whose blocks follow each other without a blank line."""


@dataclass
class Parts:
    """Collects blocks in reading order, with the offsets of headings and pages."""

    sections: list[list[Any]] = field(default_factory=list)
    pages: list[tuple[int, int]] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    length: int = 0
    _previous: str = ""

    def add(self, block: str, style: str = "") -> None:
        """Append a block; the style "heading" begins a section, "list" and "row" stay on adjacent lines."""
        if not block.strip():
            return
        together = style == self._previous and style in TOGETHER
        separator = "" if not self._pieces else "\n" if together else "\n\n"
        self._previous = style
        if style == "heading":
            self.sections.append([self.length + len(separator), block])
        self._pieces += [separator, block]
        self.length += len(separator) + len(block)

    def page(self, number: int) -> None:
        """Begin a page, slide or sheet."""
        self.pages.append((number, self.length + (2 if self._pieces else 0)))
        self._previous = ""

    def joined(self) -> str:
        """Return the text of all parts, joined."""
        return "".join(self._pieces)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata about the document's headings."""
        return {"sections": self.sections} if self.sections else {}
