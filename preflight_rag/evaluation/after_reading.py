"""Recall after reading: how much of a known answer is still in the reply that a model makes of a selection of passages.

Diversity (section 3) tells recall before the reader, of what was selected, from recall after it, of what the answer
says. Selections are the arms; each arm reads its own passages, in the order of its selection.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.harness.arms import run_arms
from preflight_rag.evaluation.harness.asking import Asking
from preflight_rag.evaluation.reading_metrics import normalised
from preflight_rag.evaluation.report import Table
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.samples import Sample
from preflight_rag.evaluation.stages import on_passages, plain
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    pass

Selections = Mapping[str, Mapping[str, tuple[Source, ...]]]
"""Name of a selection to sample id to the passages that it hands on."""
NOT_READ = "Recall after reading is left out: it needs a language model (--model) and answers in words."
RECALL = "recall after reading"
BUDGET = 1024
"""Tokens of the selections that are read: one of the budgets at which recall before reading is measured."""


@dataclass(frozen=True)
class Read:
    """What came of reading selections.

    Attributes:
        tables: Recall after reading with paired differences; what was asked.
        figures: Their numbers.
        rows: The answers, recall as their scores.
        model: What read.
    """

    tables: tuple[Table, ...]
    figures: dict[str, Any]
    rows: tuple[Row, ...]
    model: str


def word_recall(text: str, answers: Sequence[str]) -> float:
    """The share of an answer's words that a text holds, normalised as SQuAD does; of the best alternative."""
    stated = Counter(normalised(text).split())
    shares = [
        sum((stated & Counter(words)).values()) / len(words)
        for answer in answers
        if (words := normalised(answer).split())
    ]
    return max(shares, default=0.0)


def read_selections(
    selections: Selections, samples: Sequence[Sample], asking: Asking, *, baseline: str, title: str
) -> Read:
    """Have the model answer each sample from each selection, and compare what the replies hold of the answers.

    Args:
        selections: Each with the passages of every sample.
        samples: With their right answers in words, as `answers`.
        asking: The run's model.
        baseline: The selection that the others are compared with.
        title: Of the table.
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
        f"{asking.name}, {found.samples:,} questions. Share of the words of the nearest right answer that the reply "
        f"holds [95 %: bootstrap; differences to {baseline}, paired]; p: sign test, corrected for {len(found.tests)} "
        "comparisons (Holm)."
    )
    tables = (found.beside_baseline(title, note, head="selection"), found.costs("What was asked"))
    return Read(tables, found.figures, tuple(rows), asking.name)


def _recalled(row: Row, names: Sequence[str]) -> Row:
    """The answer with its recall as score."""
    if row.score is None:
        return row
    value = 0.0 if row.details["abstained"] else word_recall(row.details["reply"], names)
    return replace(row, score=value, reason=f"word recall {value:.3f}")
