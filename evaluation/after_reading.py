"""Recall after reading: whether a known answer is in a model's reply to a selection of passages.

Diversity (section 2.2) distinguishes recall before reading (the selected content contains the answer) from recall after
reading (the reply does). Selections are the arms; each arm reads its own passages, in the order of its selection.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluation.compare import Comparison, compare
from evaluation.harness.arms import run_arms
from evaluation.harness.asking import Asking
from evaluation.reading_metrics import holds, normalised
from evaluation.report import Table
from evaluation.rows import ScoreRow
from evaluation.samples import Sample
from evaluation.stages import on_passages, plain
from preflight_rag.state.reading import Source

Selections = Mapping[str, Mapping[str, tuple[Source, ...]]]
"""The selected passages by sample id, by the selection's name."""
NOT_READ = "Recall after reading is left out: it needs a language model (--model) and answers in words."
RECALL = "recall after reading"
BUDGET = 1024
"""Tokens of a selection: one of the budgets at which recall before reading is measured."""


@dataclass(frozen=True)
class SelectionReading:
    """The results of reading selections.

    Attributes:
        tables: Recall after reading with paired differences; the questions.
        figures: Their numbers.
        rows: The answers, with recall as their scores.
        model: The model that read.
        compared: The comparison in the tables.
    """

    tables: tuple[Table, ...]
    figures: dict[str, Any]
    rows: tuple[ScoreRow, ...]
    model: str
    compared: Comparison


def word_recall(text: str, answers: Sequence[str]) -> float:
    """Return the share of an answer's words in a text, normalised as for SQuAD; of several alternatives the best."""
    stated = Counter(normalised(text).split())
    shares = [
        sum((stated & Counter(words)).values()) / len(words)
        for answer in answers
        if (words := normalised(answer).split())
    ]
    return max(shares, default=0.0)


def read_selections(
    selections: Selections, samples: Sequence[Sample], asking: Asking, *, baseline: str, title: str, condition: str = ""
) -> SelectionReading:
    """Have the model answer each sample from each selection, and compare which replies contain an answer.

    Args:
        selections: Each with the passages of every sample.
        samples: Samples with right answers in words (`answers`).
        asking: The run's model.
        baseline: The selection with which the others are compared.
        title: Title of the table.
        condition: Condition of the rows, if selections are read under several limits.
    """
    arms = [
        on_passages(plain(asking.prompts, name), lambda sample, _, chosen=chosen: chosen[sample.id])  # type: ignore[misc]
        for name, chosen in selections.items()
    ]
    names = {sample.id: sample.names for sample in samples}
    asked = asyncio.run(run_arms(arms, samples, lambda _: (), asking))
    rows = [_recalled(row, names[row.sample]) for row in asked]
    found = compare([replace(row, condition=RECALL) for row in rows], baseline=baseline, seed=asking.run.seed,
                    wilson=False)  # fmt: skip
    note = (
        f"{asking.name}, {found.samples:,} questions. Share of replies that hold a right answer, word for word "
        f"[95 %: bootstrap; differences to {baseline}, paired]; p: sign test, corrected for {len(found.tests)} "
        "comparisons (Holm)."
    )
    tables = (found.beside_baseline(title, note, head="selection"), found.costs("What was asked"))
    return SelectionReading(
        tables, found.figures, tuple(replace(row, condition=condition) for row in rows), asking.name, found
    )


def _recalled(row: ScoreRow, names: Sequence[str]) -> ScoreRow:
    """Return the answer's row, scored by whether the answer contains a right one.

    Its details have the share of that answer's words.
    """
    if row.score is None:
        return row
    reply = "" if row.details["abstained"] else row.details["reply"]
    present = holds(reply, names)
    details = {**row.details, "word recall": round(word_recall(reply, names), 3)}
    reason = "a right answer is present" if present else "no right answer is present"
    return replace(row, score=float(present), reason=reason, details=details)
