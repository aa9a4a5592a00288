"""Experiment `conflicts`: questions whose partitions disagree, how many of them map/reduce gets right, and against RAG.

BriefContext, Fig. 4 and Supplementary Table 2. Each partition is also asked for an answer of its own. It is a conflict
when two of those answers differ: two options; of free answers, when they name no right or wrong answer in common that
the data set knows, and where one of them names none, when their words say different things. It is resolved when the
answer is right, all of it where there are several, and gives no wrong one beside it.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

from preflight_rag.corg.agreement import contradiction, same_answer
from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, Case, answered, ask_arms
from preflight_rag.evaluation.harness.asking import Asking, open_asking
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.papers.briefcontext import (
    MAP_REDUCE,
    PARTITION,
    RAG,
    extracted,
    partitions,
    plain,
    reduced,
)
from preflight_rag.evaluation.papers.conditions import (
    INTERVALS,
    accuracy_table,
    difference_table,
    family,
    spent_table,
    values,
)
from preflight_rag.evaluation.papers.searched import KEYED, SETTINGS, open_searched
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.question_sets import SOURCES
from preflight_rag.evaluation.reading_metrics import holds, is_right
from preflight_rag.evaluation.report import Report, Table, checksums, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.models.chat.chat_reader import add
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.values import Usage

if TYPE_CHECKING:
    from preflight_rag.models.protocol import Reader

VOTE = "vote of the partitions"
ARMS = (RAG, MAP_REDUCE, VOTE)
KINDS = (*KEYED, "list")
GIVEN_PASSAGES = "The passages are not from the paper's own collection but come with each question, shuffled."
_MARKS = re.compile(r"\s*\[\d+\]")


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
class Heard:
    """What is noted of a question while it is asked: its partitions' answers, and whether the graph's rule sees one."""

    stands: dict[str, list[Stand | None]] = field(default_factory=dict)
    seen: dict[str, bool] = field(default_factory=dict)

    def conflict(self, question: Sample) -> bool:
        """Whether two partitions that answer disagree."""
        stands = [stand for stand in self.stands.get(question.id, []) if stand is not None]
        return any(a.disagrees(b) for a, b in combinations(stands, 2))

    def right(self, question: Sample) -> bool:
        """Whether a partition by itself gives a right answer."""
        right = {question.right} if question.options else {names[0] for names in question.answers}
        return any(stand is not None and stand.known & right for stand in self.stands.get(question.id, []))


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with its partitions apart, put together, and all passages at once."""
    chosen = [question for question in found.select(run.part) if question.kind in KINDS]
    found.select(run.part, run.limit)
    with ExitStack() as stack:
        given: dict[str, Any] = {"source": found.source, "licence": found.licence, "sha256": checksums(found.files)}
        if comes_with_passages(found):
            questions = [question for question in chosen if len(question.given) > 1][: run.limit]
            sources, texts, library = {q.id: shuffled(q, run.seed) for q in questions}, None, None
            where = GIVEN_PASSAGES
        else:
            searched = stack.enter_context(open_searched(found, run))
            questions = chosen[: run.limit]
            sources = {question.id: searched.retrieved(question, SETTINGS.k) for question in questions}
            texts, given, library = searched.gold_texts(questions), searched.inputs, searched.library
            where = searched.where
        asking = stack.enter_context(open_asking(run, questions, texts))
        if not questions:
            raise UsageError(
                f"{found.name} has no question in its {run.part} part with passages that could disagree",
                help="Take ramdocs, conflictqa or mirage-bioasq.",
            )
        cases, heard = asyncio.run(ask(questions, sources, asking, _reader(asking, library, run), found.name))
        given = {**given, "model": asking.name, "partition_size": PARTITION}
    tables, numbers, plot = measured(cases, heard, asking.name, run.seed, where)
    return Report(
        experiment="conflicts",
        dataset=found.title,
        about=f"{numbers['questions']:,} questions ({run.part} part), {asking.name}.",
        tables=tables,
        rows=tuple(_row(case, heard) for case in cases),
        figures=numbers,
        inputs=given,
        plots=(plot,),
    )


def comes_with_passages(found: DataSet) -> bool:
    """Whether a set brings passages that disagree with each other; of other sets passages are retrieved."""
    source = SOURCES.get(found.name)
    planted = any(passage.role == "wrong" for question in found.samples for passage in question.given)
    return planted or (source is not None and source.adapter.startswith("conflicts."))


def shuffled(question: Sample, seed: int) -> tuple[Source, ...]:
    """The passages that come with a question, in an order that the seed and the question's id draw."""
    passages = list(question.given)
    random.Random(f"{seed}|{question.id}").shuffle(passages)  # noqa: S311
    return tuple(Source(n, p.id, p.title, p.text, p.source, p.date or None) for n, p in enumerate(passages, 1))


def _reader(asking: Asking, library: Any, run: Run) -> Reader:
    """The run's reader; offline it compares sentences with the library's embedder."""
    from preflight_rag.models.opening import open_embedder

    return asking.reader(open_embedder(run.embedder) if library is None else library.embedder)


async def ask(
    questions: Sequence[Sample],
    sources: Mapping[str, tuple[Source, ...]],
    asking: Asking,
    reader: Reader,
    name: str,
) -> tuple[list[Case], Heard]:
    """Put the questions to the three arms, which see the same passages in the same partitions."""
    heard = Heard()
    arms = [plain(reader), _map_reduce(reader, heard), _vote(reader, heard)]
    return await ask_arms(arms, questions, lambda q: sources[q.id], asking, f"{name}: questions"), heard


def parts_of(sources: Sequence[Source]) -> list[tuple[Source, ...]]:
    """The partitions of a turn; of few passages they are smaller, so that there are two."""
    return partitions(sources, min(PARTITION, max(1, ceil(len(sources) / 2))))


def _map_reduce(reader: Reader, heard: Heard) -> Arm:
    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        extracts, usage = await extracted(reader, question, parts_of(sources))
        told = [extract.text for extract in extracts if extract.text]
        heard.seen[question.id] = contradiction(told) is not None
        return ArmAnswer.of_draft(await reduced(reader, question, extracts, usage), "map_reduce")

    return Arm(MAP_REDUCE, answer)


def _vote(reader: Reader, heard: Heard) -> Arm:
    """Each partition is answered by itself; the answer that most give counts, of equals the first partition's."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        stands, usage = list[Stand | None](), Usage()
        for part in parts_of(sources):
            reply = await reader.answer(question=question.question, sources=part, options=question.options)
            stands.append(stand_of(question, reply.value))
            usage = add(usage, reply.usage)
        heard.stands[question.id] = stands
        told = [stand for stand in stands if stand is not None]
        if not told:
            return ArmAnswer("", usage=usage, abstained=True)
        first = max(told, key=lambda one: sum(not one.disagrees(other) for other in told))
        return ArmAnswer(first.text, first.text if question.options else None, usage=usage, abstained=False)

    return Arm(VOTE, answer)


def stand_of(question: Sample, draft: Draft) -> Stand | None:
    """The answer of a partition; None where it found none, or chose no option."""
    if question.options:
        return Stand(draft.choice, frozenset({draft.choice})) if draft.choice and draft.found else None
    text = _MARKS.sub("", draft.short or draft.text).strip()
    if not draft.found or not text:
        return None
    named = [names for names in (*question.answers, *((wrong,) for wrong in question.wrong))]
    return Stand(text, frozenset(names[0] for names in named if holds(text, names) or is_right(text, names)))


def measured(
    cases: Sequence[Case], heard: Heard, model: str, seed: int, where: str = GIVEN_PASSAGES
) -> tuple[tuple[Table, ...], dict[str, Any], Bars]:
    """The tables, their numbers and the plot; `where` says what the passages are from."""
    kept = answered(cases)
    groups = {
        "conflict": [case for case in kept if heard.conflict(case.question)],
        "no conflict": [case for case in kept if not heard.conflict(case.question)],
        "all": kept,
    }
    counts, numbers = _counted(groups["conflict"], kept, heard, len(cases) - len(kept), where)
    columns = {arm: {name: values(case.arms[arm] for case in held) for name, held in groups.items()} for arm in ARMS}
    note = "Conflict: two partitions that answer by themselves give different answers."
    accuracy, estimates = accuracy_table("Right answers", columns, note, seed)
    pairs = {f"{name}: {MAP_REDUCE} − {RAG}": (columns[MAP_REDUCE][name], columns[RAG][name]) for name in groups}
    pairs |= {f"conflict: {MAP_REDUCE} − {VOTE}": (columns[MAP_REDUCE]["conflict"], columns[VOTE]["conflict"])}
    tests = family(pairs, seed)
    spent, spending = spent_table("Beside the answers", {arm: [c.arms[arm] for c in kept] for arm in ARMS}, seed)
    numbers |= {
        "accuracy": {arm: figures(row) for arm, row in estimates.items()},
        "paired": {name: test.as_json() for name, test in tests.items()},
        "spent": spending,
    }
    plot = Bars(
        "Right answers where partitions disagree",
        Axis("right answers", percent=True),
        tuple(groups),
        tuple(Series(arm, tuple(row.values())) for arm, row in estimates.items()),
        note=f"{model}. Intervals: 95 %, Wilson's of shares.",
    )
    return (counts, difference_table(f"{MAP_REDUCE} against the others", tests), accuracy, spent), numbers, plot


def resolved(case: Case, arm: str) -> bool:
    """Whether an arm's answer is wholly right, without a wrong one."""
    score = case.arms[arm].score
    return score.value == 1.0 and not score.wrong


def _counted(
    conflicts: Sequence[Case], kept: Sequence[Case], heard: Heard, failed: int, where: str
) -> tuple[Table, dict[str, Any]]:
    """How many conflicts there are, and what becomes of them."""
    seen = sum(heard.seen.get(case.question.id, False) for case in kept)
    both = sum(heard.seen.get(case.question.id, False) for case in conflicts)
    rows = {
        "partitions disagree": (len(conflicts), len(kept)),
        "… and one of them is right by itself": (sum(heard.right(c.question) for c in conflicts), len(conflicts)),
        **{f"… and {arm} resolves it": (sum(resolved(c, arm) for c in conflicts), len(conflicts)) for arm in ARMS},
        "… and the graph's rule sees it": (both, len(conflicts)),
        "the graph's rule sees a contradiction": (seen, len(kept)),
        "… and partitions disagree": (both, seen),
    }
    cells = tuple(
        (name, str(part), str(of), number(wilson(part, of), percent=True)) for name, (part, of) in rows.items()
    )
    note = (
        "Resolved: wholly right, no wrong answer beside it. The graph's rule compares the extracts' statements; where "
        f"it sees a contradiction, a turn of the auto route goes on to COrg. {where} "
    )
    note += f"{failed:,} questions that not every arm has answered are left out. " if failed else ""
    numbers = {
        "questions": len(kept),
        "failed": failed,
        "conflicts": len(conflicts),
        "counts": {name: {"count": part, "of": of, **wilson(part, of).as_json()} for name, (part, of) in rows.items()},
    }
    return Table("Conflicts", ("", "questions", "of", "%"), cells, f"{note}{INTERVALS}"), numbers


def _row(case: Case, heard: Heard) -> dict[str, Any]:
    """One line of `results.jsonl`."""
    stands = heard.stands.get(case.question.id, [])
    return {
        **case.as_json(),
        "conflict": heard.conflict(case.question),
        "partitions": [None if stand is None else stand.text for stand in stands],
        "seen": heard.seen.get(case.question.id),
    }
