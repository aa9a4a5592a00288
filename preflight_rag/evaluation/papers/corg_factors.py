"""Experiment `corg-factors`: what helps a reader with each relation between contexts (COrg, Fig. 2, Tables 2-4, 8, 9).

For each relation, the contexts of a question in which it stands alone (`corg_cases`), and six ways to ask:

- base: one prompt with all contexts;
- one-shot: the same behind an example with two things of one name and a contradiction;
- extra prompt: the same with a line that says what the contexts may hold;
- plural: the question put in the plural, as COrg puts it to a group;
- change to distracting: each context is headed by what it is about, so that no two seem to be about one thing;
- separation: each context is asked on its own.

One-shot and extra prompt are prompts, so they need a language model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from preflight_rag.evaluation.corg_systems import Systems
from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.harness.compared import compare, p_value
from preflight_rag.evaluation.harness.paired import Paired, corrected, paired
from preflight_rag.evaluation.papers.corg import about, inputs
from preflight_rag.evaluation.papers.corg_arms import as_organised, given_sources, open_readers, told, with_passages
from preflight_rag.evaluation.papers.corg_cases import RELATIONS, cases, described, with_made
from preflight_rag.evaluation.papers.corg_measures import MEASURES, Grader
from preflight_rag.evaluation.papers.corg_tables import Measured, graded_rows, measure
from preflight_rag.evaluation.papers.metered import Metered
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.prompts import answer_plain
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.harness.asking import Asking
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.protocol import Reader
    from preflight_rag.offline.reader import OfflineReader

BASE = "base"
SHOWN = ("answers", "both")
"""The measures whose tables have a column for each relation."""
EXTRA = (
    "Some passages may be about different things of one name, some may not say which one they are about, some may "
    "contradict each other, and some may repeat each other. Give every answer that the passages hold, each with what "
    "it is the answer to."
)
EXAMPLE_QUESTION = "What is the length of the Clear River?"
EXAMPLE = (
    Source(1, "example-1", "Clear River (Arden)", "The Clear River in Arden is 42 km long."),
    Source(2, "example-2", "Clear River (Belmark)", "The Clear River in Belmark has a length of 118 km."),
    Source(3, "example-3", "Rivers of Arden", "The Clear River in Arden is 51 km long, as was measured later."),
)
EXAMPLE_REPLY = """\
Clear River (Arden): 42 km [1], or 51 km by another source [3]
Clear River (Belmark): 118 km [2]
QUOTES
[1] "The Clear River in Arden is 42 km long."
[2] "The Clear River in Belmark has a length of 118 km."
[3] "The Clear River in Arden is 51 km long, as was measured later.\""""


def run(collection: DataSet, run: Run) -> Report:
    """Put each case to every way of asking, and compare each with base, relation by relation."""
    questions = with_passages(collection.select(run.part, run.limit))
    made = tuple(cases(questions))
    if not made:
        raise UsageError(
            f"no question of {collection.title} has contexts in which a relation stands alone",
            help="They are told by the passages' roles, answers and entities: choose ramdocs or ambigdocs.",
        )
    grader = Grader(run.extractive_reader)
    with open_asking(run, with_made(questions, made)) as asking:
        reader, sentences = open_readers(asking, run)
        arms = factor_arms(asking, reader, sentences)
        found = asyncio.run(ask_arms(arms, made, given_sources, asking, collection.name))
        name = asking.name if asking.chat_model is not None else f"{asking.name}: {reader.name}"
    kept = {relation: [case for case in found if case.question.label == relation] for relation in RELATIONS}
    by_relation = {name: measure(part, grader, seed=run.seed) for name, part in kept.items() if part}
    tests = compared(by_relation, run.seed)
    whole, cost = (
        measure(found, grader, seed=run.seed),
        compare(found, seed=run.seed, baseline=BASE, title=f"All cases, {name}"),
    )
    left_out = "" if asking.chat_model else "One-shot and extra prompt need a language model and are left out. "
    return Report(
        experiment="corg-factors",
        dataset=collection.title,
        about=f"{about(questions, run, name)} {len(made):,} cases with one relation each.",
        tables=(
            *(relation_table(by_relation, key, tests, f"{MEASURES[key]} %, {name}", left_out) for key in SHOWN),
            cost.tables[0],
        ),
        rows=graded_rows(found, whole),
        figures={
            "relations": {relation: told.figures for relation, told in by_relation.items()},
            "compared": {" ".join(key): test.as_json() for key, test in tests.items()},
            "all": cost.figures,
        },
        inputs=inputs(collection, name, grader),
        plots=plots(by_relation, name),
    )


def factor_arms(asking: Asking, reader: Reader, sentences: OfflineReader) -> list[Arm]:
    """The ways to ask; those that need prompts of their own only where there is a language model."""

    async def prompted(messages: list[BaseMessage]) -> ArmAnswer:
        text, usage = await asking.prompts.reply(messages)
        draft = answer_plain.parse(text)
        return ArmAnswer(draft.text, quotes=draft.quotes, usage=usage, abstained=not draft.found)

    async def one_shot(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return await prompted(with_example(question.question, sources))

    async def extra(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return await prompted(with_line(question.question, sources))

    async def base(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return await _drafted(reader, question, sources)

    async def plural(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return await _drafted(reader, question, sources, plural=True)

    async def distracting(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return await _drafted(reader, question, described(question, sources))

    async def separate(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        metered = Metered(reader)
        systems: Systems[Reader] = Systems(metered, sentences)
        return told(await systems.separate(as_organised(question, sources)), sources, metered)

    arms = {
        BASE: base,
        "one-shot": one_shot,
        "extra prompt": extra,
        "plural": plural,
        "change to distracting": distracting,
        "separation": separate,
    }
    prompts = ("one-shot", "extra prompt") if asking.chat_model is None else ()
    return [Arm(name, answer) for name, answer in arms.items() if name not in prompts]


async def _drafted(reader: Reader, question: Sample, sources: Sequence[Source], *, plural: bool = False) -> ArmAnswer:
    metered = Metered(reader)
    if plural:
        reply = await metered.answer_group(question=question.question, sources=sources, plural=True)
    else:
        reply = await metered.answer(question=question.question, sources=sources)
    draft = reply.value
    text = draft.text if draft.found else ""
    return ArmAnswer(text, quotes=draft.quotes, usage=metered.usage, abstained=not draft.found)


def with_example(question: str, sources: Sequence[Source]) -> list[BaseMessage]:
    """The plain prompt behind one example in the same form."""
    system, asked = answer_plain.render(question=question, sources=sources)
    _, example = answer_plain.render(question=EXAMPLE_QUESTION, sources=EXAMPLE)
    return [system, example, AIMessage(EXAMPLE_REPLY), asked]


def with_line(question: str, sources: Sequence[Source]) -> list[BaseMessage]:
    """The plain prompt with a line on what the contexts may hold."""
    system, asked = answer_plain.render(question=question, sources=sources)
    return [system, HumanMessage(f"{asked.text}\n{EXTRA}")]


def compared(found: dict[str, Measured], seed: int) -> dict[tuple[str, str, str], Paired]:
    """Each way less base in each relation and measure; all of them are one family for Holm's correction."""
    keys = [
        (relation, arm, name)
        for relation, told in found.items()
        for arm in told.arms
        if arm != BASE
        for name in SHOWN
        if told.columns(arm, name)
    ]
    tests = [
        paired(found[relation].columns(arm, name), found[relation].columns(BASE, name), seed=seed)
        for relation, arm, name in keys
    ]
    return dict(zip(keys, corrected(tests), strict=True))


def relation_table(
    found: dict[str, Measured], name: str, tests: dict[tuple[str, str, str], Paired], title: str, left_out: str
) -> Table:
    """One row a way to ask, one column a relation; behind the value, p of its difference from base."""
    arms = list(dict.fromkeys(arm for told in found.values() for arm in told.arms))

    def cell(relation: str, arm: str) -> str:
        if arm not in found[relation].estimates:
            return "–"
        value = number(found[relation].estimates[arm][name], percent=True)
        test = tests.get((relation, arm, name))
        return value if test is None else f"{value}, p {p_value(test.holm)}"

    rows = tuple((arm, *(cell(relation, arm) for relation in found)) for arm in arms)
    head = ("asked", *(f"{relation} ({len(told.cases):,})" for relation, told in found.items()))
    note = (
        "In each column the contexts of one relation alone; wanted are all answers that they give, a contradicting one "
        f"too. {left_out}p: sign test against base, corrected for {len(tests)} comparisons. [95 %: bootstrap.]"
    )
    return Table(title, head, rows, note)


def plots(found: dict[str, Measured], name: str) -> tuple[Bars, ...]:
    """The first measure by relation, to look at."""
    arms = list(dict.fromkeys(arm for told in found.values() for arm in told.arms))
    told = [part for part in found.values() if part.arms]
    if not told:
        return ()
    series = tuple(Series(arm, tuple(part.estimates[arm][SHOWN[0]] for part in told)) for arm in arms)
    relations = tuple(relation for relation, part in found.items() if part.arms)
    axis = Axis(f"{MEASURES[SHOWN[0]]}, mean", percent=True, low=0.0, high=1.0)
    return (
        Bars(f"What helps with each relation, {name}", axis, relations, series, note="Intervals: 95 %, bootstrap."),
    )
