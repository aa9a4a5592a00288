"""The report of a loader on a document: what it read, what it left out, and where it read less than expected.

It is kept in the document's metadata under `READ_REPORT`, so that every store has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight_rag.text.words import on_one_line

READ_REPORT = "read_report"
"""Name of the report in a document's metadata."""
FEW_WORDS = 30
"""Number of words below which a document with pictures consists mostly of these; a guess."""
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
"""The singular and plural of each count, in the order in which they are displayed."""


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
        """Record the number of stretches of text that are struck out, if there are any."""
        self._leave_out_stretches(many, "struck out in the document")

    def leave_out_hidden(self, many: int) -> None:
        """Record the number of stretches of text that are hidden, if there are any."""
        self._leave_out_stretches(many, "hidden in the document")

    def _leave_out_stretches(self, count: int, why: str) -> None:
        """Record that stretches of text were not read, with the reason; nothing if there are none."""
        if count:
            self.leave_out("1 stretch of text" if count == 1 else f"{count:,} stretches of text", why)

    def count(self, name: str, many: int = 1) -> None:
        """Add a number to one of the counts; a count of 0 is not listed."""
        if many:
            self.counts[name] = self.counts.get(name, 0) + many

    def table(self, lines: list[str]) -> list[str]:
        """Count a table and its rows, which are its lines, and return the lines; count nothing if there are none."""
        if lines:
            self.count("tables")
            self.count("rows", len(lines))
        return lines

    def leave_out(self, what: str, why: str = "") -> None:
        """Record a part of the document that was not read, and the reason unless `what` implies it."""
        self.left_out.append((on_one_line(what), on_one_line(why)))

    def unread(self) -> str:
        """Return what was left out of the document as one line; "" if nothing was."""
        return "; ".join(f"{what}: {why}" if why else what for what, why in self.left_out)

    def to_json(self) -> dict[str, Any]:
        """Return the report as it is stored."""
        left_out = [{"what": what, "why": why} for what, why in self.left_out]
        return {"counts": dict(self.counts), "left_out": left_out, "less": list(self.less)}


def report_of(metadata: Mapping[str, Any]) -> ReadReport | None:
    """Return the report in a document's metadata; None if there is none."""
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
        [(str(part.get("what", "")), str(part.get("why", ""))) for part in left_out if isinstance(part, Mapping)],
        [str(reason) for reason in less],
    )


def counted(counts: Mapping[str, int]) -> list[str]:
    """Return the counts that are not 0 in words, such as "3 pages"; unknown ones by their name, at the end."""
    known = [name for name in _LABELS if counts.get(name)]
    others = [name for name in counts if name not in _LABELS and counts[name]]
    result = []
    for name in (*known, *others):
        singular, plural = _LABELS.get(name, (name.replace("_", " "), name.replace("_", " ")))
        result.append(f"{counts[name]:,} {singular if counts[name] == 1 else plural}")
    return result
