"""Experiment `corg-factors`: what helps a reader with each relation between contexts (COrg, Fig. 2, Tables 2-4, 8, 9).

For each relation, the contexts of a question in which it stands alone (`isolated`), and six ways to ask:

- base: one prompt with all contexts;
- one-shot: the same behind an example with two things of one name and a contradiction;
- extra prompt: the same with a line that says what the contexts may hold;
- plural: the question put in the plural, as COrg puts it to a group;
- change to distracting: each context is headed by what it is about, so that no two seem to be about one thing;
- separation: each context is asked on its own.

One-shot and extra prompt are prompts, so they need a language model.

COrg's relations (section 2.1) follow from the data set's labels: what thing a passage is about and what it answers. An
ambiguous context is a right one whose thing's full name was cut down to the name that it shares with others; that is
done by rule, and only where the full name stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from preflight_rag.evaluation.bench import given_sources
from preflight_rag.evaluation.compare import Comparison, compare, p_value
from preflight_rag.evaluation.corg_measures import MEASURES, Grader, graded, measure_rows, shared_name
from preflight_rag.evaluation.corg_systems import SEPARATE, Systems, with_passages
from preflight_rag.evaluation.experiments.corg import open_corg
from preflight_rag.evaluation.experiments.relations import things_of
from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer
from preflight_rag.evaluation.harness.asking import Asking
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.rows import complete
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, DataSet, Sample
from preflight_rag.evaluation.stages import Metered
from preflight_rag.models.protocol import Reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.prompts import answer_plain
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

RELATIONS = ("distracting", "ambiguous", "counterfactual", "duplicated")
MADE = "made by rule"
BASE = "base"
SHOWN = (MEASURES["answers"], MEASURES["both"])
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


@dataclass(frozen=True)
class Alone:
    """The contexts of a question in which one relation stands alone."""

    relation: str
    given: tuple[Context, ...]


def run(found: DataSet, run: Run) -> Report:
    """Put each case to every way of asking, and compare each with base, relation by relation."""
    questions = with_passages(found.select(run.part, run.limit))
    made = tuple(cases(questions))
    if not made:
        raise UsageError(
            f"no question of {found.title} has contexts in which a relation stands alone",
            help="They follow from the passages' roles, answers and entities: choose ramdocs or ambigdocs.",
        )
    grader = Grader(run.extractive_reader)
    with open_corg(found, run, questions, with_made(questions, made)) as bench:
        arms = factor_arms(bench.asking, bench.reader, bench.sentences)
        rows = bench.ask(arms, lambda case: {case.label: given_sources(case)}, made)
    asked = {case.id: case for case in made}
    measured = [
        replace(row, condition=f"{row.condition} {row.measure}")
        for row in measure_rows(complete(rows), asked, grader)
        if row.measure in SHOWN
    ]
    compared = compare(measured, baseline=BASE, seed=run.seed, wilson=False)
    whole = compare(rows, columns={"all": RELATIONS}, baseline=BASE, seed=run.seed)
    left_out = "One-shot and extra prompt need a language model and are left out. " if bench.offline else ""
    tables = [relation_table(compared, name, f"{name} %, {bench.model}", left_out) for name in SHOWN]
    tables.append(whole.costs(f"All cases, {bench.model}", right=True))
    return bench.report(
        "corg-factors",
        tables,
        graded(rows, made, grader, baseline=BASE, seed=run.seed).rows,
        {"relations": compared.figures, "all": whole.figures},
        about=f"{bench.about} {len(made):,} cases with one relation each.",
        disambig_reader=grader.name,
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

    arms = {
        BASE: base,
        "one-shot": one_shot,
        "extra prompt": extra,
        "plural": plural,
        "change to distracting": distracting,
    }
    prompts = ("one-shot", "extra prompt") if asking.chat_model is None else ()
    separate = replace(Systems(reader, sentences).arm(SEPARATE), name="separation")
    return [*(Arm(name, answer) for name, answer in arms.items() if name not in prompts), separate]


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


def cases(questions: Sequence[Sample]) -> Iterator[Sample]:
    """For each question and each relation that its contexts allow, the question with those contexts alone.

    Wanted are all answers that the contexts give, one that contradicts another too: COrg leaves none out.
    """
    for question in questions:
        for alone in isolated(question):
            answers = tuple((answer,) for answer in dict.fromkeys(given.answer for given in alone.given))
            yield replace(
                question,
                id=f"{question.id}/{alone.relation}",
                kind="list" if len(answers) > 1 else "short",
                answers=answers,
                wrong=(),
                given=alone.given,
                documents=frozenset(given.id for given in alone.given),
                label=alone.relation,
            )


def with_made(questions: Sequence[Sample], made: Sequence[Sample]) -> list[Sample]:
    """The questions with the contexts that were made of theirs: what a simulated reader knows."""
    new: dict[str, dict[str, Context]] = {}
    for case in made:
        new.setdefault(case.question, {}).update({given.id: given for given in case.given if MADE in given.id})
    return [
        replace(question, given=(*question.given, *new.get(question.question, {}).values())) for question in questions
    ]


def isolated(question: Sample) -> Iterator[Alone]:
    """The relations that a question's contexts allow, in the order of `RELATIONS`."""
    gold = [given for given in question.given if given.role == "gold" and given.answer]
    named: dict[str, Context] = {}
    for given in gold:
        if given.entity:
            named.setdefault(given.entity, given)
    if len(named) > 1:
        yield Alone("distracting", tuple(named.values()))
    for clear in named.values():
        if (vague := undescribed(question, clear)) is not None:
            yield Alone("ambiguous", (clear, vague))
            break
    if (pair := contradicting(question)) is not None:
        yield Alone("counterfactual", pair)
    by_answer: dict[tuple[str, str], list[Context]] = {}
    for given in gold:
        by_answer.setdefault((given.entity, given.answer), []).append(given)
    if copies := next((same for (entity, _), same in by_answer.items() if entity and len(same) > 1), None):
        yield Alone("duplicated", tuple(copies))


def undescribed(question: Sample, given: Context) -> Context | None:
    """A context without what tells its thing from others of the name; None where its full name is not in the text."""
    name = shared_name(question)
    if not name or name.casefold() == given.entity.casefold() or name.casefold() not in given.entity.casefold():
        return None
    cut, times = re.subn(re.escape(given.entity), name, given.text, flags=re.IGNORECASE)
    return replace(given, id=f"{given.id} ({MADE})", title=name, text=cut, entity="") if times else None


def contradicting(question: Sample) -> tuple[Context, Context] | None:
    """A right context and a wrong one about the same thing, where there are some."""
    about, numbered = things_of(question), list(enumerate(question.given, 1))
    for wrong in (n for n, given in numbered if given.role == "wrong" and n in about):
        for right, given in numbered:
            if given.role == "gold" and about.get(right) == about[wrong]:
                return given, replace(question.given[wrong - 1], entity=given.entity, role="gold")
    return None


def described(question: Sample, sources: Sequence[Source]) -> list[Source]:
    """The contexts changed to distracting ones: above each stands what it is about, no two the same.

    That is the full name of its thing, or else the name that the question uses; where several would have one, each
    gets the number of its account.
    """
    entities = {given.id: given.entity for given in question.given}
    names = [entities.get(source.passage_id) or shared_name(question) or source.title for source in sources]
    heads = [
        f"{name} (account {names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
    return [
        replace(source, title=head, text=f"{head}: {source.text}") for source, head in zip(sources, heads, strict=True)
    ]


def relation_table(found: Comparison, measure: str, title: str, left_out: str) -> Table:
    """One line a way to ask, one column a relation; behind the value, p of its difference from base."""
    columns = [column for relation in RELATIONS if (column := f"{relation} {measure}") in found.columns]
    tests = {cells[0]: found.tests[name] for name, cells in found.pairs.items()}
    lines = []
    for arm, row in found.estimates.items():
        cells = [number(row[column], percent=True) for column in columns]
        p_values = [tests.get((arm, column)) for column in columns]
        cells = [cell if test is None else f"{cell}, p {p_value(test.holm)}"
                 for cell, test in zip(cells, p_values, strict=True)]  # fmt: skip
        lines.append((arm, *cells))
    counts = {column: len(found.scores[BASE][column]) for column in columns}
    head = ("asked", *(f"{column.removesuffix(f' {measure}')} ({count:,})" for column, count in counts.items()))
    note = (
        "In each column the contexts of one relation alone; wanted are all answers that they give, a contradicting one "
        f"too. {left_out}p: sign test against base, corrected for {len(found.tests)} comparisons. [95 %: bootstrap.]"
    )
    return Table(title, head, tuple(lines), note)
