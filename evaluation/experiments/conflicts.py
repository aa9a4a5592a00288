"""Experiment `conflicts`: questions whose partitions disagree, and how many of them map/reduce and RAG get right.

BriefContext, section 5.3, Fig. 4 and Supplementary Table 2. There is a conflict if two partitions of a question's
passages answer differently, by the last line of their extracts: two options; for free answers, if they name no right or
wrong answer of the data set in common, and if one of them names none, if their words say different things. It is
resolved if the answer is right, completely if there are several, and includes no wrong one. If the key passage is
known, it is put at each percentile of 8 and of 16 passages, as in `positions`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil
from typing import Any, TypeAlias

from evaluation.bench import Bench, data_inputs, open_bench
from evaluation.compare import INTERVALS, Comparison, compare
from evaluation.datasets import CONFLICTS
from evaluation.experiments.positions import PERCENTILES, SIZES, condition, placed
from evaluation.harness.arms import Arm, ArmAnswer
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, wilson
from evaluation.published import beside
from evaluation.reading_metrics import holds, is_right
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow, complete
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import KEYED
from evaluation.stages import MAP_REDUCE, PARTITION, RAG, MeteredReader, TurnStages, plain
from preflight_rag.corg.agreement import same_answer
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.protocol import Reader
from preflight_rag.routing.decision import partition
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Extract, Reply, Source
from preflight_rag.text.citations import MARKS

VOTE = "vote of the partitions"
ARMS = (RAG, MAP_REDUCE, VOTE)
KINDS = (*KEYED, "list")
CONFLICT, NO_CONFLICT, ALL = "conflict", "no conflict", "all"
Passages: TypeAlias = Mapping[str, tuple[Source, ...]]
"""The passages for each condition."""
GIVEN_PASSAGES = "The passages are not from the paper's own collection but come with each question, shuffled."


@dataclass(frozen=True)
class PartitionAnswer:
    """The answer of one partition: the option or the text, and the known answers that it names."""

    text: str
    known: frozenset[str] = frozenset()

    def disagrees(self, other: PartitionAnswer) -> bool:
        """Return whether the other partition has a different answer."""
        if self.known and other.known:
            return not self.known & other.known
        return not same_answer(self.text, other.text)


Asked: TypeAlias = tuple[str, tuple[str, ...]]
"""A question and the ids of its passages."""


@dataclass
class QuestionNotes:
    """Notes on questions while they are asked.

    Attributes:
        stands: The answers of the partitions, by question id and ids of its passages, in order.
    """

    stands: dict[Asked, list[PartitionAnswer | None]] = field(default_factory=dict)

    def conflict(self, asked: Asked) -> bool:
        """Return whether two partitions that answer disagree."""
        stands = [stand for stand in self.stands.get(asked, []) if stand is not None]
        return any(a.disagrees(b) for a, b in combinations(stands, 2))

    def right(self, question: Sample, asked: Asked) -> bool:
        """Return whether one of the question's partitions, answering by itself, gives a right answer."""
        right = {question.right} if question.options else {names[0] for names in question.answers}
        return any(stand is not None and stand.known & right for stand in self.stands.get(asked, []))


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with its partitions separately, with them combined, and with all passages at once."""
    with _opened(found, run) as (bench, sources, where):
        noted = QuestionNotes()
        arms = [plain(bench.reader), map_reduce_of_two(bench.reader, noted), vote(noted)]
        asked = bench.ask(arms, lambda question: sources[question.id])
    rows = by_conflict(asked, noted)
    compared = compared_by_conflict(rows, run.seed)
    counts, counted = count(compared, {question.id: question for question in bench.questions}, noted, where)
    note = "Conflict: two partitions that answer by themselves give different answers."
    tables = [
        counts,
        compared.differences(f"{MAP_REDUCE} against the others"),
        compared.means("Right answers", note),
        compared.costs("Beside the answers"),
    ]
    if any(row.condition for row in asked):
        table, counted["grid"], estimates = grid(rows, run.seed)
        here = f"{found.title}, {compared.samples:,} questions, {bench.model}"
        tables += [table, *beside("conflicts", estimates, here=here)]
    plot = compared.bars("Right answers where partitions disagree", note=f"{bench.model}. Intervals: 95 %, Wilson's of "
                         "shares.")  # fmt: skip
    numbers = {**compared.figures, **counted}
    return bench.report("conflicts", tables, rows, numbers, (plot,), partition_size=PARTITION)


@contextmanager
def _opened(found: DataSet, run: ExperimentRun) -> Iterator[tuple[Bench, Mapping[str, Passages], str]]:
    """Yield the bench, the passages of each question, and their origin: the set's own, or those around its key passage.

    For a set without passages of its own, the key passage is at each place of `positions`, by the name of its
    condition.
    """
    if not comes_with_passages(found):
        with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
            yield bench, placed(bench, SIZES), bench.searched.where
        return
    chosen = [question for question in found.select(run.part) if question.kind in KINDS]
    found.select(run.part, run.limit)
    questions = _some(found, run, [question for question in chosen if len(question.given) > 1])
    with open_asking(run, questions) as asking:
        reader = asking.reader(open_embedder(run.embedder))
        bench_of_set = Bench(found, run, questions, asking, reader, data_inputs(found))
        yield bench_of_set, {question.id: {"": shuffled(question, run.seed)} for question in questions}, GIVEN_PASSAGES


def _some(found: DataSet, run: ExperimentRun, chosen: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the first questions up to the run's limit; UsageError if there are none."""
    if not chosen:
        raise UsageError(
            f"{found.name} has no question in its {run.part} part with passages that could disagree",
            help="Take ramdocs, conflictqa or mirage-bioasq.",
        )
    return tuple(chosen[: run.limit])


def comes_with_passages(found: DataSet) -> bool:
    """Return whether a set has its own disagreeing passages; for other sets passages are retrieved."""
    planted = any(passage.role == "wrong" for question in found.samples for passage in question.given)
    return planted or found.name in CONFLICTS


def shuffled(question: Sample, seed: int) -> tuple[Source, ...]:
    """Return the passages of a question in a random order that depends on the seed and the question's id."""
    passages = list(question.given)
    random.Random(f"{seed}|{question.id}").shuffle(passages)  # noqa: S311
    return tuple(Source(n, p.id, p.title, p.text, p.source, p.date or None) for n, p in enumerate(passages, 1))


def parts_of(count: int) -> list[list[int]]:
    """Return the partitions of a turn, as ranks; with few passages they are smaller, so that there are two."""
    return partition(count, min(PARTITION, max(1, ceil(count / 2))))


def map_reduce_of_two(reader: Reader, noted: QuestionNotes) -> Arm:
    """Return the product's map and reduce over at least two partitions, whose answers are noted.

    A reader by rule adds no answer to its extracts, so it is asked to answer from each partition.
    """

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        meter, parts = MeteredReader(reader, estimate=False), parts_of(len(sources))
        stages = TurnStages(meter, question.question, sources, options=question.options)
        extracts = await stages.extracts(parts)
        drafts = [_draft_of(extract, question) for extract in extracts]
        if reader.by_rule:
            given = [[sources[rank - 1] for rank in ranks] for ranks in parts]
            drafts = [
                (await reader.answer(question=question.question, sources=part, options=question.options)).value
                for part in given
            ]
        noted.stands[asked_of(question.id, sources)] = [stand_of(question, draft) for draft in drafts]
        return ArmAnswer.of_draft(Reply(await stages.reduce(extracts, parts), meter.usage), "map_reduce")

    return Arm(MAP_REDUCE, answer)


def asked_of(question: str, sources: Sequence[Source]) -> Asked:
    """Return the key under which a question with its passages is noted."""
    return question, tuple(source.passage_id for source in sources)


def _draft_of(extract: Extract, question: Sample) -> Draft:
    """Return the answer in a partition's extract as a draft."""
    choice = extract.answer if extract.answer in question.options else None
    return Draft(extract.answer, found=bool(extract.answer), choice=choice)


def vote(noted: QuestionNotes) -> Arm:
    """Return an arm with the answer of most partitions; of equal numbers, the first partition's.

    It makes no calls.
    """

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        taken = [stand for stand in noted.stands.get(asked_of(question.id, sources), []) if stand is not None]
        if not taken:
            return ArmAnswer("", abstained=True)
        first = max(taken, key=lambda one: sum(not one.disagrees(other) for other in taken))
        return ArmAnswer(first.text, first.text if question.options else None, abstained=False)

    return Arm(VOTE, answer)


def stand_of(question: Sample, draft: Draft) -> PartitionAnswer | None:
    """Return the answer of a partition; None if it found none, or chose no option."""
    if question.options:
        return PartitionAnswer(draft.choice, frozenset({draft.choice})) if draft.choice and draft.found else None
    text = MARKS.sub("", draft.short or draft.text).strip()
    if not draft.found or not text:
        return None
    known = [*question.answers, *((wrong,) for wrong in question.wrong)]
    return PartitionAnswer(text, frozenset(names[0] for names in known if holds(text, names) or is_right(text, names)))


def by_conflict(rows: Sequence[ScoreRow], noted: QuestionNotes) -> list[ScoreRow]:
    """Return the rows with whether their partitions disagree, put before the name of their condition."""
    marked = []
    for row in rows:
        conflict = noted.conflict(_asked(row))
        marked.append(replace(row, condition=f"{CONFLICT if conflict else NO_CONFLICT} {row.condition}".strip()))
    return marked


def _asked(row: ScoreRow) -> Asked:
    """Return the key under which a row's question and passages are noted."""
    return row.sample, tuple(passage["id"] for passage in row.details["passages"])


def compared_by_conflict(rows: Sequence[ScoreRow], seed: int) -> Comparison:
    """Return a comparison of the arms on questions whose partitions disagree, on others, and on all.

    A question asked under several conditions counts once in a column, with the mean of its answers there.
    """
    found = {row.condition for row in rows}
    disagree = sorted(name for name in found if name.startswith(CONFLICT))
    columns = {CONFLICT: disagree, NO_CONFLICT: sorted(found - set(disagree)), ALL: sorted(found)}
    pairs = {f"{name}: {MAP_REDUCE} − {RAG}": ((MAP_REDUCE, name), (RAG, name)) for name in columns}
    pairs |= {f"{CONFLICT}: {MAP_REDUCE} − {VOTE}": ((MAP_REDUCE, CONFLICT), (VOTE, CONFLICT))}
    return compare(rows, columns=columns, lines=ARMS, pairs=pairs, seed=seed)


def grid(rows: Sequence[ScoreRow], seed: int) -> tuple[Table, dict[str, Any], dict[str, dict[str, Estimate]]]:
    """Return conflicts by the number of passages and the key passage's place, as in Supplementary Table 2.

    Win, tie and lose: BriefContext against RAG on the cases with a conflict, right or wrong.
    """
    kept = complete(rows)
    lines, numbers, shares = [], {}, dict[str, dict[str, Estimate]]()
    for name in (*(condition(size, at) for size in SIZES for at in PERCENTILES), ALL):
        here = [
            row
            for row in kept
            if row.condition.startswith(CONFLICT) and (name == ALL or row.condition.endswith(f" {name}"))
        ]
        right = {}
        for arm in (RAG, MAP_REDUCE):
            right[arm] = {(row.sample, row.condition): resolves(row) for row in here if row.arm == arm}
        cases = list(right[MAP_REDUCE])
        ours, theirs = [right[MAP_REDUCE][case] for case in cases], [right[RAG][case] for case in cases]
        outcomes = [a - b for a, b in zip(ours, theirs, strict=True)]
        counts = {"win": outcomes.count(1), "tie": outcomes.count(0), "lose": outcomes.count(-1), "resolved": sum(ours)}
        numbers[name] = {"conflicts": len(cases), **counts}
        shares[name] = {part: wilson(value, len(cases)) for part, value in counts.items()} if cases else {}
        cells = (number(share, percent=True) for share in shares[name].values()) if cases else ("–",) * len(counts)
        lines.append((name, *cells, f"{counts['resolved']} of {len(cases)}"))
    head = ("passages, place of the key", "win %", "tie %", "lose %", "resolved %", "resolved")
    return (
        Table("Conflicts by the key passage's place", head, tuple(lines), f"Cases with a conflict. {INTERVALS}"),
        numbers,
        shares,
    )


def resolves(row: ScoreRow) -> bool:
    """Return whether an answer is wholly right, with no wrong one beside it."""
    return row.score == 1.0 and not row.details["wrong"]


def count(
    compared: Comparison, questions: Mapping[str, Sample], noted: QuestionNotes, where: str
) -> tuple[Table, dict[str, Any]]:
    """Return the numbers of conflicts and of their outcomes; `where` names the origin of the passages."""
    of_arm = {arm: [row for row in compared.rows if row.arm == arm] for arm in ARMS}
    conflicts = [row for row in of_arm[MAP_REDUCE] if row.condition.startswith(CONFLICT)]
    resolved = {}
    for arm, rows in of_arm.items():
        resolved[arm] = sum(resolves(row) for row in rows if row.condition.startswith(CONFLICT))
    right = sum(noted.right(questions[row.sample], _asked(row)) for row in conflicts)
    counts = {
        "partitions disagree": (len(conflicts), len(of_arm[MAP_REDUCE])),
        "… and one of them is right by itself": (right, len(conflicts)),
        **{f"… and {arm} resolves it": (resolved[arm], len(conflicts)) for arm in ARMS},
    }
    cells = tuple(
        (name, str(part), str(of), number(wilson(part, of), percent=True)) for name, (part, of) in counts.items()
    )
    note = f"Resolved: wholly right, no wrong answer beside it. {where} {compared.left_out}{INTERVALS}"
    numbers = {
        "conflicts": len(conflicts),
        "counts": {
            name: {"count": part, "of": of, **wilson(part, of).as_json()} for name, (part, of) in counts.items()
        },
    }
    return Table("Conflicts", ("", "cases", "of", "%"), cells, note), numbers
