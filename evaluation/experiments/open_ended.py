"""Experiment `open-ended`: long answers of BriefContext against those of RAG, in pairs that the model judges.

Both arms read identical passages that a turn retrieves. The model sees each pair twice, with the answers in both
orders, beside the reference answer; an answer wins if it is preferred in both. So a judge that always prefers the
first, or the second, gives ties, which are counted separately. Without a language model nothing is judged; only ROUGE
with the reference is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from evaluation.bench import open_bench
from evaluation.compare import compare, p_value
from evaluation.harness.arms import Arm, ArmAnswer
from evaluation.harness.asking import Asking
from evaluation.intervals import Estimate, wilson
from evaluation.judging import EQUAL, FIRST, SECOND, PairPreference, judge_pair, tested
from evaluation.published import beside
from evaluation.reading_metrics import rouge
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import SETTINGS
from evaluation.stages import MAP_REDUCE, RAG, map_reduce, plain
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.text.citations import MARKS

JUDGE = "judge"
ARMS = (MAP_REDUCE, RAG)
NOT_JUDGED = "The pairs are not judged: that needs a language model (--model)."


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Have each question answered by both arms, and each pair judged."""
    with open_bench(found, run, lambda _: long_questions(found, run)) as bench:
        retrieved = bench.retrieved()
        answers: dict[tuple[str, str], str] = {}
        judged: dict[str, PairPreference] = {}
        arms = [_noted(arm, answers) for arm in (map_reduce(bench.reader), plain(bench.reader))]
        arms += [] if bench.offline else [judge(bench.asking, answers, judged)]
        rows = bench.ask(arms, lambda question: retrieved[question.id])
    if bench.offline:
        run.warn(f"note: {NOT_JUDGED}")
    rows = [_compared_in_pairs(row, judged) for row in rows]
    answered = compare(rows, pairs={}, seed=run.seed)
    rated = similarity([row for row in answered.rows if row.arm in ARMS], {q.id: q for q in bench.questions})
    likeness = compare(rated, by="measure", baseline=RAG, seed=run.seed)
    words = {}
    for arm in ARMS:
        replies = [plain_text(row.details["reply"]) for row in answered.rows if row.arm == arm]
        words[arm] = fmean(len(reply.split()) for reply in replies)
    lengths = ", ".join(f"{arm} {mean:.0f}" for arm, mean in words.items())
    note = f"F1 of stemmed words with the nearest wording of the reference answer. {bench.searched.where}"
    tables = [
        likeness.means("Likeness to the reference answer", f"{note} Words of an answer: {lengths}.", head="",
                       percent=False, differences=True, intervals="[95 %: bootstrap, paired.]"),
        answered.costs("Beside the answers"),
    ]  # fmt: skip
    numbers = {**answered.figures, "rouge": likeness.figures["means"], "words": words}
    kept = [judged[name] for name in answered.scores[RAG][""] if name in judged]
    if kept:
        verdicts, numbers["judged"], shares = _verdicts(kept, bench.model, run.seed)
        here = f"{found.title}, {len(kept):,} questions, {bench.model} as reader and judge"
        tables[:0] = [verdicts, *beside("open-ended", {verdicts.title: shares}, here=here)]
    more = NOT_JUDGED if bench.offline else ""
    return bench.report("open-ended", tables, rows, numbers, more=more, k=SETTINGS.k)


def long_questions(found: DataSet, run: ExperimentRun) -> tuple[Sample, ...]:
    """Return the part's questions that ask for a long answer and have a reference.

    Raises:
        UsageError: There is none.
    """
    chosen = tuple(q for q in found.select(run.part) if q.kind == "long" and q.answers)
    found.select(run.part, run.limit)
    if not chosen:
        raise UsageError(
            f"{found.name} has no question in its {run.part} part that asks for a long answer",
            help="Take bioasq, biomix-bioasq, or your own questions with kind long.",
        )
    return chosen[: run.limit]


def plain_text(text: str) -> str:
    """Return an answer without citation marks."""
    return MARKS.sub("", text).strip()


def judge(asking: Asking, answers: dict[tuple[str, str], str], judged: dict[str, PairPreference]) -> Arm:
    """Return an arm that judges the answers of `ARMS` in both orders; a missing answer loses to an existing one."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        first, second = (answers.get((question.id, name), "") for name in ARMS)
        if first != second and not (first and second):
            judged[question.id] = PairPreference((FIRST, SECOND) if first else (SECOND, FIRST))
            return ArmAnswer("one arm has no answer", passages=())
        judged[question.id], replies, usage = await judge_pair(asking, question, first, second)
        return ArmAnswer("\n\n".join(replies) or "the answers are the same", usage=usage, passages=())

    return Arm(JUDGE, answer)


def similarity(rows: Sequence[ScoreRow], questions: dict[str, Sample]) -> list[ScoreRow]:
    """Return ROUGE of each answer with the nearest wording of the reference, one row for each measure."""
    found = []
    for row in rows:
        text = plain_text(row.details["reply"])
        wordings = [rouge(text, name) for name in questions[row.sample].names]
        for measure in wordings[0]:
            best = max(one[measure] for one in wordings)
            found.append(ScoreRow(row.sample, arm=row.arm, measure=measure, score=best))
    return found


def _noted(arm: Arm, answers: dict[tuple[str, str], str]) -> Arm:
    """Return the arm with its answers recorded for the judge; an abstention is an answer too."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        found = await arm.answer(question, sources)
        answers[question.id, arm.name] = plain_text(found.text)
        return found

    return Arm(arm.name, answer)


def _compared_in_pairs(row: ScoreRow, judged: dict[str, PairPreference]) -> ScoreRow:
    """Return the judge's row with the verdict; long answers are compared, so they have no score of their own."""
    verdict = judged.get(row.sample) if row.arm == JUDGE else None
    details = row.details if verdict is None else {**row.details, "judged": verdict.as_json()}
    return replace(row, reason="compared in a pair" if row.score is not None else row.reason, details=details)


def _verdicts(
    found: Sequence[PairPreference], model: str, seed: int
) -> tuple[Table, dict[str, Any], dict[str, Estimate]]:
    """Return wins, losses and ties, and how often the position decided."""
    test = tested(found, seed)
    counts = {
        "win": test.wins,
        "tie": test.ties,
        "lose": test.losses,
        "of the ties: equally good in both orders": sum(one.orders == (EQUAL, EQUAL) for one in found),
        "of the ties: the same place was preferred twice": sum(one.by_place for one in found),
        "of the ties: a verdict was unreadable": sum(None in one.orders for one in found),
    }
    shares = {name: wilson(part, len(found)) for name, part in counts.items()}
    lines = tuple((name, str(part), number(shares[name], percent=True)) for name, part in counts.items())
    net = ("win − lose", "", number(test.difference, percent=True, signed=True))
    note = (
        f"Each pair is judged by {model} in both orders; a win is preferred in both. Win against lose: p = "
        f"{p_value(test.p)} (exact sign test). [95 %: Wilson for shares, bootstrap for the difference.]"
    )
    title = f"{MAP_REDUCE} against {RAG}"
    return Table(title, ("", "pairs", "%"), (*lines, net), note), {**test.as_json(), **counts}, shares
