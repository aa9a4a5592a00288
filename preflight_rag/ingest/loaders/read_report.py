"""What a loader read of a document, what it left out, and where that is less than one expects of such a file.

It is kept in the document's metadata under `READ_REPORT`, beside the text, so that every store has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight_rag.text.words import on_one_line

READ_REPORT = "read_report"
"""Name of the report in a document's metadata."""
FEW_WORDS = 30
"""A document with pictures and fewer words is mostly pictures; a guess."""
_LABELS = {
    "words": ("word", "words"),
    "pages": ("page", "pages"),
    "slides": ("slide", "slides"),
    "sheets": ("sheet", "sheets"),
    "chapters": ("chapter", "chapters"),
    "cells": ("cell of a notebook", "cells of a notebook"),
    "cues": ("subtitle", "subtitles"),
    "tables": ("table", "tables"),
    "rows": ("row of tables", "rows of tables"),
    "footnotes": ("footnote or endnote", "footnotes and endnotes"),
    "headers": ("header or footer", "headers and footers"),
    "text_boxes": ("text box", "text boxes"),
    "comments": ("comment", "comments"),
    "speaker_notes": ("slide with notes", "slides with notes"),
    "insertions": ("tracked insertion", "tracked insertions"),
    "form_fields": ("filled form field", "filled form fields"),
    "formulas": ("formula computed", "formulas computed"),
    "quoted_parts": ("quoted part", "quoted parts"),
    "attachments": ("attachment", "attachments"),
    "pictures_described": ("picture with a description", "pictures with descriptions"),
    "pictures_without_text": ("picture without text", "pictures without text"),
    "pages_without_text": ("page without text", "pages without text"),
    "contents_lines": ("line of a table of contents left out", "lines of tables of contents left out"),
    "pages_recognised": ("page recognised", "pages recognised"),
}
"""Of each count, its word for one and for several, in the order in which people are shown them."""


@dataclass
class ReadReport:
    """What was read of a document and what was left out, collected while it is read.

    Attributes:
        counts: The number of things that were read, by the names of `_LABELS`.
        left_out: `(what, why)`; `why` is empty if `what` implies it.
        less: The reasons why less was read than usual for such a file; empty if nothing is wrong.
    """

    counts: dict[str, int] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    less: list[str] = field(default_factory=list)

    def leave_out_struck(self, many: int) -> None:
        """Note stretches of text that are struck out, if there are any."""
        if many:
            counted = "1 stretch of text" if many == 1 else f"{many:,} stretches of text"
            self.leave_out(counted, "struck out in the document")

    def leave_out_hidden(self, many: int) -> None:
        """Note stretches of text that are hidden, if there are any."""
        if many:
            self.leave_out(
                "1 stretch of text" if many == 1 else f"{many:,} stretches of text", "hidden in the document"
            )

    def count(self, name: str, many: int = 1) -> None:
        """Add to one of the counts."""
        if many:
            self.counts[name] = self.counts.get(name, 0) + many

    def table(self, lines: list[str]) -> list[str]:
        """Count a table by its lines, and return these."""
        if lines:
            self.count("tables")
            self.count("rows", len(lines))
        return lines

    def leave_out(self, what: str, why: str = "") -> None:
        """Record a part of the document that was not read."""
        self.left_out.append((on_one_line(what), on_one_line(why)))

    def unread(self) -> str:
        """Return the note on what was left out of a document; "" if nothing was."""
        return "; ".join(f"{what}: {why}" if why else what for what, why in self.left_out)

    def to_json(self) -> dict[str, Any]:
        """Return the report as it is stored."""
        left_out = [{"what": what, "why": why} for what, why in self.left_out]
        return {"counts": dict(self.counts), "left_out": left_out, "less": list(self.less)}


def report_of(metadata: Mapping[str, Any]) -> ReadReport | None:
    """Return the report in a document's metadata; None without one."""
    return report_from(metadata.get(READ_REPORT))


def report_from(stored: object) -> ReadReport | None:
    """Return the report from its JSON form; None for anything else."""
    if not isinstance(stored, Mapping):
        return None
    counts, left_out, less = stored.get("counts"), stored.get("left_out"), stored.get("less")
    if not isinstance(counts, Mapping) or not isinstance(left_out, list | tuple) or not isinstance(less, list | tuple):
        return None
    return ReadReport(
        {str(name): many for name, many in counts.items() if isinstance(many, int)},
        [(str(each.get("what", "")), str(each.get("why", ""))) for each in left_out if isinstance(each, Mapping)],
        [str(each) for each in less],
    )


def counted(counts: Mapping[str, int]) -> list[str]:
    """Return counts in words, such as "3 pages"."""
    known = [name for name in _LABELS if counts.get(name)]
    others = [name for name in counts if name not in _LABELS and counts[name]]
    found = []
    for name in (*known, *others):
        one, several = _LABELS.get(name, (name.replace("_", " "), name.replace("_", " ")))
        found.append(f"{counts[name]:,} {one if counts[name] == 1 else several}")
    return found
