"""Experiment `conflicts`: questions whose partitions disagree, how many of them map/reduce gets right, and against RAG.

BriefContext, Fig. 4 and Supplementary Table 2. Each partition is also asked for an answer of its own. It is a conflict
when two of those answers differ: two options; of free answers, when they name no right or wrong answer in common that
the data set knows, and where one of them names none, when their words say different things. It is resolved when the
answer is right, all of it where there are several, and gives no wrong one beside it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil
from typing import Any

from preflight_rag.corg.agreement import same_answer
from preflight_rag.evaluation.bench import Bench, data_inputs, open_bench
from preflight_rag.evaluation.compare import INTERVALS, Comparison, compare
from preflight_rag.evaluation.datasets import CONFLICTS
from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.reading_metrics import holds, is_right
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searched import KEYED, SETTINGS
from preflight_rag.evaluation.stages import MAP_REDUCE, PARTITION, RAG, Metered, Stages, plain
from preflight_rag.models.chat.chat_reader import add
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.protocol import Reader
from preflight_rag.routing.decision import partition
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.values import Usage
from preflight_rag.text.citations import MARKS

VOTE = "vote of the partitions"
ARMS = (RAG, MAP_REDUCE, VOTE)
KINDS = (*KEYED, "list")
CONFLICT, NO_CONFLICT, ALL = "conflict", "no conflict", "all"
GIVEN_PASSAGES = "The passages are not from the paper's own collection but come with each question, shuffled."


@dataclass(frozen=True)
class Stand:
    """What one partition answers: the option or the text, and the known answers that it names."""

    text: str
    known: frozenset[str] = frozenset()

    def disagrees(self, other: Stand) -> bool:
        """Whether the other's answer is another one."""
        if self.known and other.known:
            return not self.known & other.known
        return not same_answer(self.text, other.text)


@dataclass
class Noted:
    """What is noted of questions while they are asked.

    Attributes:
        stands: Question id to the answers of its partitions.
    """

    stands: dict[str, list[Stand | None]] = field(default_factory=dict)

    def conflict(self, name: str) -> bool:
        """Whether two partitions that answer disagree."""
        stands = [stand for stand in self.stands.get(name, []) if stand is not None]
        return any(a.disagrees(b) for a, b in combinations(stands, 2))

    def right(self, question: Sample) -> bool:
        """Whether a partition by itself gives a right answer."""
        right = {question.right} if question.options else {names[0] for names in question.answers}
        return any(stand is not None and stand.known & right for stand in self.stands.get(question.id, []))


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with its partitions apart, put together, and all passages at once."""
    with _opened(found, run) as (bench, sources, where):
        noted = Noted()
        arms = [plain(bench.reader), map_reduce_of_two(bench.reader), vote(bench.reader, noted)]
        rows = bench.ask(arms, lambda question: sources[question.id])
    rows = [replace(row, condition=CONFLICT if noted.conflict(row.sample) else NO_CONFLICT) for row in rows]
    compared = compared_by_conflict(rows, run.seed)
    counts, counted = count(compared, {question.id: question for question in bench.questions}, noted, where)
    note = "Conflict: two partitions that answer by themselves give different answers."
    tables = (
        counts,
        compared.differences(f"{MAP_REDUCE} against the others"),
        compared.means("Right answers", note),
        compared.costs("Beside the answers"),
    )
    plot = compared.bars("Right answers where partitions disagree", note=f"{bench.model}. Intervals: 95 %, Wilson's of "
                         "shares.")  # fmt: skip
    numbers = {**compared.figures, **counted}
    return bench.report("conflicts", tables, rows, numbers, (plot,), partition_size=PARTITION)


@contextmanager
def _opened(found: DataSet, run: Run) -> Iterator[tuple[Bench, Mapping[str, tuple[Source, ...]], str]]:
    """The bench, the passages of each question, and what they are from: the set's own, or those that are retrieved."""
    chosen = [question for question in found.select(run.part) if question.kind in KINDS]
    found.select(run.part, run.limit)
    if not comes_with_passages(found):
        with open_bench(found, run, lambda _: _some(found, run, chosen)) as bench:
            yield bench, bench.retrieved(SETTINGS.k), bench.searched.where
        return
    questions = _some(found, run, [question for question in chosen if len(question.given) > 1])
    with open_asking(run, questions) as asking:
        reader = asking.reader(open_embedder(run.embedder))
        bench_of_set = Bench(found, run, questions, asking, reader, data_inputs(found))
        yield bench_of_set, {question.id: shuffled(question, run.seed) for question in questions}, GIVEN_PASSAGES


def _some(found: DataSet, run: Run, chosen: Sequence[Sample]) -> tuple[Sample, ...]:
    if not chosen:
        raise UsageError(
            f"{found.name} has no question in its {run.part} part with passages that could disagree",
            help="Take ramdocs, conflictqa or mirage-bioasq.",
        )
    return tuple(chosen[: run.limit])


def comes_with_passages(found: DataSet) -> bool:
    """Whether a set brings passages that disagree with each other; of other sets passages are retrieved."""
    planted = any(passage.role == "wrong" for question in found.samples for passage in question.given)
    return planted or found.name in CONFLICTS


def shuffled(question: Sample, seed: int) -> tuple[Source, ...]:
    """The passages that come with a question, in an order that the seed and the question's id draw."""
    passages = list(question.given)
    random.Random(f"{seed}|{question.id}").shuffle(passages)  # noqa: S311
    return tuple(Source(n, p.id, p.title, p.text, p.source, p.date or None) for n, p in enumerate(passages, 1))


def parts_of(count: int) -> list[list[int]]:
    """The partitions of a turn, as ranks; of few passages they are smaller, so that there are two."""
    return partition(count, min(PARTITION, max(1, ceil(count / 2))))


def map_reduce_of_two(reader: Reader) -> Arm:
    """The product's map and reduce over at least two partitions."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        meter, parts = Metered(reader, estimate=False), parts_of(len(sources))
        stages = Stages(meter, question.question, sources, options=question.options)
        extracts = await stages.extracts(parts)
        return ArmAnswer.of_draft(Reply(await stages.reduce(extracts, parts), meter.usage), "map_reduce")

    return Arm(MAP_REDUCE, answer)


def vote(reader: Reader, noted: Noted) -> Arm:
    """Each partition is answered by itself; the answer that most give counts, of equals the first partition's."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        stands, usage = list[Stand | None](), Usage()
        for ranks in parts_of(len(sources)):
            part = [sources[rank - 1] for rank in ranks]
            reply = await reader.answer(question=question.question, sources=part, options=question.options)
            stands.append(stand_of(question, reply.value))
            usage = add(usage, reply.usage)
        noted.stands[question.id] = stands
        taken = [stand for stand in stands if stand is not None]
        if not taken:
            return ArmAnswer("", usage=usage, abstained=True)
        first = max(taken, key=lambda one: sum(not one.disagrees(other) for other in taken))
        return ArmAnswer(first.text, first.text if question.options else None, usage=usage, abstained=False)

    return Arm(VOTE, answer)


def stand_of(question: Sample, draft: Draft) -> Stand | None:
    """The answer of a partition; None where it found none, or chose no option."""
    if question.options:
        return Stand(draft.choice, frozenset({draft.choice})) if draft.choice and draft.found else None
    text = MARKS.sub("", draft.short or draft.text).strip()
    if not draft.found or not text:
        return None
    known = [*question.answers, *((wrong,) for wrong in question.wrong)]
    return Stand(text, frozenset(names[0] for names in known if holds(text, names) or is_right(text, names)))


def compared_by_conflict(rows: Sequence[Row], seed: int) -> Comparison:
    """The arms where partitions disagree, where they do not, and on all questions."""
    columns = {CONFLICT: [CONFLICT], NO_CONFLICT: [NO_CONFLICT], ALL: [CONFLICT, NO_CONFLICT]}
    pairs = {f"{name}: {MAP_REDUCE} − {RAG}": ((MAP_REDUCE, name), (RAG, name)) for name in columns}
    pairs |= {f"{CONFLICT}: {MAP_REDUCE} − {VOTE}": ((MAP_REDUCE, CONFLICT), (VOTE, CONFLICT))}
    return compare(rows, columns=columns, lines=ARMS, pairs=pairs, seed=seed)


def count(
    compared: Comparison, questions: Mapping[str, Sample], noted: Noted, where: str
) -> tuple[Table, dict[str, Any]]:
    """How many conflicts there are, and what becomes of them; `where` says what the passages are from."""
    kept, conflicts = (list(compared.scores[RAG][name]) for name in (ALL, CONFLICT))
    resolved = {
        arm: sum(
            row.score == 1.0 and not row.details["wrong"]
            for row in compared.rows
            if row.arm == arm and row.condition == CONFLICT
        )
        for arm in ARMS
    }
    right = sum(noted.right(questions[name]) for name in conflicts)
    counts = {
        "partitions disagree": (len(conflicts), len(kept)),
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
    return Table("Conflicts", ("", "questions", "of", "%"), cells, note), numbers
