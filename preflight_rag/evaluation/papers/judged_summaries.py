"""Which of two summaries the model prefers, beside one that people wrote; each pair is judged in both orders.

Diversity (Table 9) reports a judge's win rate beside ROUGE. The prompt is that of `open_ended`; a summary wins when it
is preferred in both orders, so a judge that goes by the place alone gives ties.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from preflight_rag.evaluation.harness.arms import read_choice
from preflight_rag.evaluation.harness.asking import Asking
from preflight_rag.evaluation.harness.compared import p_value
from preflight_rag.evaluation.harness.paired import corrected, paired
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.papers.open_ended import EQUAL, OPTIONS, Judged, prompt
from preflight_rag.evaluation.report import Table, number
from preflight_rag.evaluation.samples import Sample

NOT_JUDGED = "No summaries are judged: that needs a language model (--model)."


@dataclass(frozen=True)
class Verdicts:
    """What the judge said.

    Attributes:
        table: Won, tied and lost against each other method.
        figures: The same.
        rows: Question id to the other method to its verdict (1: ours is preferred, 0: tie, -1) and both orders.
    """

    table: Table
    figures: dict[str, Any]
    rows: dict[str, dict[str, Any]]


def judge_summaries(
    asking: Asking, questions: Sequence[Sample], texts: Mapping[str, Mapping[str, str]], ours: str, *, title: str
) -> Verdicts:
    """Judge one method's summaries against those of each other method.

    Args:
        asking: The run's model.
        questions: One a document: what the summary is to answer, and the summary that people wrote as its answer.
        texts: Question id to method to summary.
        ours: The method that is compared with the others.
        title: Of the table.
    """
    others = [name for name in next(iter(texts.values())) if name != ours]
    pairs = [(question, other) for question in questions for other in others]

    async def ask(pair: tuple[Sample, str]) -> Judged:
        question, other = pair
        both = texts[question.id][ours], texts[question.id][other]
        if both[0] == both[1]:
            return Judged((EQUAL, EQUAL))
        replies = [(await asking.prompts.reply(prompt(question, *order)))[0] for order in (both, both[::-1])]
        first, second = (read_choice(reply, OPTIONS).option for reply in replies)
        return Judged((first, second))

    outcomes = asyncio.run(asking.gather(pairs, ask, "pairs judged"))
    judged: dict[str, dict[str, Judged]] = {name: {} for name in others}
    for (question, other), outcome in zip(pairs, outcomes, strict=True):
        if outcome.value is not None:
            judged[other][question.id] = outcome.value
    table, numbers = _table(judged, ours, asking, title)
    rows: dict[str, dict[str, Any]] = {}
    for other, by_id in judged.items():
        for name, one in by_id.items():
            rows.setdefault(name, {})[other] = {"verdict": one.verdict, "orders": list(one.orders)}
    return Verdicts(table, {**numbers, "failed": sum(outcome.value is None for outcome in outcomes)}, rows)


def _table(
    judged: Mapping[str, Mapping[str, Judged]], ours: str, asking: Asking, title: str
) -> tuple[Table, dict[str, Any]]:
    """Won, tied and lost against each method, with sign tests that are corrected for their number."""
    verdicts = {other: [one.verdict for one in by_id.values()] for other, by_id in judged.items()}
    seed = asking.run.seed
    tests = corrected(
        [paired([float(v > 0) for v in found], [float(v < 0) for v in found], seed=seed) for found in verdicts.values()]
    )
    rows, numbers = [], {}
    for (other, found), test in zip(verdicts.items(), tests, strict=True):
        placed = sum(one.by_place for one in judged[other].values())
        rate = wilson(test.wins, len(found))
        counts = (str(test.wins), str(test.ties), str(test.losses), str(placed))
        rows.append((f"{ours} against {other}", number(rate, percent=True), *counts, p_value(test.holm)))
        numbers[other] = {**test.as_json(), "win rate": rate.as_json(), "by place": placed}
    note = (
        f"Judged by {asking.name} in both orders beside a summary that people wrote; a win is preferred in both. By "
        f"place: the same place was preferred twice, a tie. p: sign test, corrected for {len(tests)} comparisons "
        "(Holm). [95 %: Wilson.]"
    )
    head = ("summaries", "win rate %", "win", "tie", "lose", "by place", "p (Holm)")
    return Table(title, head, tuple(rows), note), numbers
