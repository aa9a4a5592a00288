"""Sets of questions with answers that were written down by reading, asked of the product as a user asks it.

Each row has a part: "tuning" was looked at while the product was changed, "test" was not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag import Preflight
from preflight_rag.state.values import Answer


@dataclass(frozen=True)
class Shown:
    """What was shown for a question of a set."""

    row: dict[str, Any]
    answer: Answer

    @property
    def first(self) -> bool:
        """Whether the first quote holds an answer."""
        return any(held(text, self.answer.citations[0].quote) for text in self.row["answers"] if self.answer.citations)

    @property
    def claims(self) -> bool:
        """Whether something is claimed."""
        return self.answer.outcome == "answered"

    @property
    def right(self) -> bool:
        """Whether the claim, or the sentence that it stands in, holds an answer."""
        return self.claims and self.first

    def __str__(self) -> str:
        quote = " ".join(self.answer.citations[0].quote.split()) if self.answer.citations else self.answer.answer
        asked = " > ".join(text for text in (self.row.get("first"), self.row["question"]) if text)
        marks = f"{'+' if self.first else '-'} {self.row['id']} {self.answer.outcome}"
        return f"{marks}: {asked} [{self.answer.standalone_question}] {self.answer.short_answer} | {quote[:160]}"


def rows(path: Path, part: str) -> list[dict[str, Any]]:
    """The rows of a part."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in found if row["part"] == part]


def ask(app: Preflight, row: dict[str, Any]) -> Shown:
    """What is shown for a row, after its first question where it has one."""
    if row.get("first"):
        app.ask(row["first"], thread_id=row["id"])
    return Shown(row, app.ask(row["question"], thread_id=row["id"]))


def held(answer: str, quote: str) -> bool:
    """Whether a quote holds an answer, whatever the breaks of its lines."""
    return " ".join(answer.casefold().split()) in " ".join(quote.casefold().split())
