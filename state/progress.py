"""Progress reports of a running stage, as plain values: items of the graph's `custom` stream."""

from __future__ import annotations

from typing import Any


def progress(stage: str, note: str, done: int | None = None, total: int | None = None) -> dict[str, Any]:
    """Return the report of a stage: a sentence for users, and how many parts of how many are done."""
    return {"type": "progress", "stage": stage, "note": note, "done": done, "total": total}
