"""Rows of a run's output, one line of `results.jsonl` each: an arm's result for one sample under one condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ScoreRow:
    """One score.

    Attributes:
        sample: Id of the question, claim or query.
        condition: The condition, such as the passages that were shown; empty if there is only one.
        arm: The system that answered, ranked or predicted.
        score: In the measure's own unit, right answers in [0, 1]; None if there is none, e.g. because the server
            failed.
        reason: Why it has this score, or none, in a few words.
        calls: Calls of a language model, as if no reply had been cached.
        tokens: Tokens read and written by it.
        seconds: The model's seconds. They differ from run to run, so `results.jsonl` has them only in figures.
        measure: The measure of `score`, if a run has several: one row each.
        details: JSON that `preflight eval show` prints: the question, passages, prompts and replies.
    """

    sample: str
    condition: str = ""
    arm: str = ""
    score: float | None = None
    reason: str = ""
    calls: int = 0
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    measure: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a line of `results.jsonl`, the same on every run.

        Empty fields are left out, except sample, arm and score.
        """
        score = None if self.score is None or self.score != self.score else round(self.score, 6)
        line = {
            "sample": self.sample,
            "condition": self.condition,
            "arm": self.arm,
            "measure": self.measure,
            "score": score,
            "reason": self.reason,
            "calls": self.calls,
            "tokens": list(self.tokens) if any(self.tokens) else [],
            "details": dict(self.details),
        }
        return {name: value for name, value in line.items() if value or name in ("sample", "arm", "score")}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> ScoreRow:
        """Return the row for a line of `results.jsonl`; other fields (experiment, data set) are ignored.

        A line of another form, such as a record of a data set that an experiment made, is put into the details.
        """
        if "sample" not in line:
            details = {name: value for name, value in line.items() if name not in ("experiment", "dataset", "id")}
            return cls(str(line["id"]), details=details)
        read, written = line.get("tokens") or (0, 0)
        return cls(
            sample=line["sample"],
            condition=line.get("condition", ""),
            arm=line.get("arm", ""),
            score=line.get("score"),
            reason=line.get("reason", ""),
            calls=line.get("calls", 0),
            tokens=(read, written),
            measure=line.get("measure", ""),
            details=line.get("details", {}),
        )


def complete(rows: Iterable[ScoreRow]) -> list[ScoreRow]:
    """Return the rows of those samples that have a score in every one of their rows, so that pairs stay complete."""
    rows = list(rows)
    missing = {row.sample for row in rows if row.score is None}
    return [row for row in rows if row.sample not in missing]


def samples_of(rows: Iterable[ScoreRow]) -> list[str]:
    """Return the distinct ids of the samples, in order."""
    return list(dict.fromkeys(row.sample for row in rows))
