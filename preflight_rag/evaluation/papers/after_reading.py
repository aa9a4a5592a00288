"""Recall after reading: how much of a known answer is still in the reply that a model makes of a selection of passages.

Diversity (section 3) tells recall before the reader, of what was selected, from recall after it, of what the answer
says. Selections are the arms; each arm reads its own passages, in the order of its selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, Case, answered, ask_arms
from preflight_rag.evaluation.harness.asking import Asking
from preflight_rag.evaluation.harness.compared import p_value
from preflight_rag.evaluation.harness.paired import corrected, paired
from preflight_rag.evaluation.intervals import average
from preflight_rag.evaluation.papers.conditions import spent_table
from preflight_rag.evaluation.reading_metrics import normalised
from preflight_rag.evaluation.report import Table, number
from preflight_rag.evaluation.samples import Sample
from preflight_rag.state.reading import Source

Selections = Mapping[str, Mapping[str, tuple[Source, ...]]]
"""Name of a selection to question id to the passages that it hands on."""
NOT_READ = "Recall after reading is left out: it needs a language model (--model) and answers in words."


@dataclass(frozen=True)
class Read:
    """What came of reading selections.

    Attributes:
        tables: Recall after reading with paired differences; what was asked.
        figures: Their numbers.
        rows: Question id to what `preflight eval show` prints of its arms.
        model: What read.
    """

    tables: tuple[Table, ...]
    figures: dict[str, Any]
    rows: dict[str, dict[str, Any]]
    model: str


def word_recall(text: str, answers: Sequence[str]) -> float:
    """The share of an answer's words that a text holds, normalised as SQuAD does; of the best alternative."""
    said = Counter(normalised(text).split())
    shares = [
        sum((said & Counter(words)).values()) / len(words)
        for answer in answers
        if (words := normalised(answer).split())
    ]
    return max(shares, default=0.0)


async def read_selections(
    selections: Selections, questions: Sequence[Sample], asking: Asking, *, baseline: str, title: str
) -> Read:
    """Have the model answer each question from each selection, and compare what the replies hold of the answers.

    Args:
        selections: Each with the passages of every question.
        questions: With their right answers in words, as `answers`.
        asking: The run's model.
        baseline: The selection that the others are compared with.
        title: Of the table.
    """
    arms = [_arm(name, chosen, asking) for name, chosen in selections.items()]
    cases = await ask_arms(arms, questions, lambda _: (), asking)
    kept = answered(cases)
    recalls = {name: [_recall(case, name) for case in kept] for name in selections}
    others = [name for name in selections if name != baseline]
    tests = corrected([paired(recalls[name], recalls[baseline], seed=asking.run.seed) for name in others])
    compared = dict(zip(others, tests, strict=True))
    rows, numbers = [], {}
    for name, values in recalls.items():
        mean = average(values, seed=asking.run.seed)
        numbers[name] = {"recall": mean.as_json()}
        cells = ("–", "–")
        if name in compared:
            numbers[name]["difference"] = compared[name].as_json()
            cells = number(compared[name].difference, signed=True), p_value(compared[name].holm)
        rows.append((name, number(mean), *cells))
    note = (
        f"{asking.name}, {len(kept):,} questions. Share of the words of the nearest right answer that the reply holds "
        f"[95 %: bootstrap; differences to {baseline}, paired]; p: sign test, corrected for {len(others)} comparisons "
        "(Holm)."
    )
    head = ("selection", "recall after reading", "difference", "p (Holm)")
    spent, spending = spent_table("What was asked", {n: [c.arms[n] for c in kept] for n in selections}, asking.run.seed)
    found = {case.question.id: _row(case) for case in cases}
    figures = {"questions": len(kept), "failed": len(cases) - len(kept), "recall": numbers, "spent": spending}
    return Read((Table(title, head, tuple(rows), note), spent), figures, found, asking.name)


def _arm(name: str, chosen: Mapping[str, tuple[Source, ...]], asking: Asking) -> Arm:
    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        reply = await asking.prompts.answer(question=question.question, sources=chosen[question.id])
        return replace(ArmAnswer.of_draft(reply, "plain"), passages=chosen[question.id])

    return Arm(name, answer)


def _recall(case: Case, arm: str) -> float:
    scored = case.arms[arm]
    names = [name for answer in case.question.answers for name in answer]
    return 0.0 if scored.score.abstained else word_recall(scored.answer.text, names)


def _row(case: Case) -> dict[str, Any]:
    """The case with recall as its scores."""
    arms = {}
    for name, scored in case.arms.items():
        value = _recall(case, name)
        arms[name] = replace(scored, score=replace(scored.score, value=value, reason=f"word recall {value:.3f}"))
    row = replace(case, arms=arms).as_json()
    return {key: row[key] for key in ("kind", "answers", "arms", "error") if key in row}
