"""Experiment `corg-factors`: what helps a reader with each relation between contexts (COrg, Fig. 2, Tables 2-4, 8, 9).

For each relation, the contexts of a question in which only that relation occurs (`isolated`), and these ways to ask,
all with the prompt with which COrg's groups are answered:

- base: one prompt with all contexts;
- one-shot: the same after an example with two entities of one name and a contradiction;
- extra prompt: the same with a line saying that the question may have several answers;
- plural: the question in the plural, by rule and, if no rule fits, by the model; and always by the model; without a
  model each context's answer after the name of its entity;
- plural & extra prompt: both;
- change to distracting: a context that does not name its entity is replaced by one with the same content that does, or
  gets the name in its title; alone, and with the plural and the extra prompt. It changes ambiguous contexts only;
- separation: each context is asked on its own.

Prompts, and the model's plural, need a language model. Base is also asked with more and more of a relation's contexts
(Fig. 2).

COrg's relations (section 2.1) follow from the data set's labels: the entity and the answer of a passage. For a case of
ambiguous contexts one entity's full name was shortened to the name that it shares with others, by rule, and only if it
occurs in the text; a corpus of `corg-build` has such contexts written by a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from evaluation.bench import given_sources
from evaluation.compare import Comparison, compare, p_value
from evaluation.corg_measures import MEASURES, Grader, graded, measure_rows, shared_name
from evaluation.corg_systems import SEPARATE, SystemArms, with_passages
from evaluation.experiments.corg import open_corg
from evaluation.experiments.relations import things_of
from evaluation.harness.arms import Arm, ArmAnswer
from evaluation.harness.asking import Asking
from evaluation.published import beside
from evaluation.report import Report, Table, number
from evaluation.rows import complete
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample
from evaluation.stages import MeteredReader
from preflight_rag.models.protocol import Reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.prompts import answer_group
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Usage

RELATIONS = ("distracting", "ambiguous", "counterfactual", "duplicated")
MADE = "made by rule"
BASE = "base"
MOST_CONTEXTS = 5
"""Most contexts of a relation with which base is asked, one more each time; few questions have more."""
EXTRA = "The question may be ambiguous and so have several answers."
"""The text of the paper's additional prompt (footnote 2)."""
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
class SingleRelationContexts:
    """The contexts of a question in which only one relation occurs."""

    relation: str
    given: tuple[Context, ...]


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each case in every way, and compare each way with base, relation by relation."""
    questions = with_passages(found.select(run.part, run.limit))
    made = tuple(cases(questions))
    if not made:
        raise UsageError(
            f"no question of {found.title} has contexts in which a relation stands alone",
            help="They follow from the passages' roles, answers and entities: choose ramdocs or ambigdocs.",
        )
    grader = Grader(run.extractive_reader)
    grown = tuple(growing(questions))
    with open_corg(found, run, questions, with_made(questions, made)) as bench:
        arms = factor_arms(bench.asking, bench.reader, bench.sentences, contexts_by_id(questions))
        rows = bench.ask(arms, lambda case: {case.label: given_sources(case)}, made)
        by_count = bench.ask(arms[:1], lambda case: {case.label: given_sources(case)}, grown)
    asked = {case.id: case for case in made}
    measured = [
        replace(row, condition=f"{row.condition} {row.measure}") for row in measure_rows(complete(rows), asked, grader)
    ]
    compared = compare(measured, baseline=BASE, seed=run.seed, wilson=False)
    whole = compare(rows, columns={"all": RELATIONS}, baseline=BASE, seed=run.seed)
    left_out = "What needs a language model is left out. " if bench.offline else ""
    tables = [
        relation_table(compared, name, f"{name} %, {bench.model}", left_out)
        for name in MEASURES.values()
        if any(column.endswith(f" {name}") for column in compared.columns)
    ]
    growth = measure_rows(complete(by_count), {case.id: case for case in grown}, grader)
    growth = [row for row in growth if row.measure == MEASURES["answers"]]
    more = compare(growth, pairs={}, seed=run.seed, wilson=False)
    tables += [growth_table(more, bench.model), whole.costs(f"All cases, {bench.model}", right=True)]
    about = f"{bench.about} {len(made):,} cases with one relation each."
    tables += beside("corg-factors", compared.estimates, here=f"{found.title}; {about} Read by {grader.name}")
    return bench.report(
        "corg-factors",
        tables,
        graded(rows, made, grader, baseline=BASE, seed=run.seed).rows,
        {"relations": compared.figures, "all": whole.figures, "by number of contexts": more.figures["means"]},
        about=about,
        disambig_reader=grader.name,
    )


def factor_arms(
    asking: Asking, reader: Reader, sentences: OfflineReader, known: Mapping[str, Context] | None = None
) -> list[Arm]:
    """Return the ways to ask, base first; those that need prompts of their own only with a language model.

    Args:
        asking: The model.
        reader: The run's reader.
        sentences: The reader of sentences.
        known: The contexts of all questions by id, which replace undescribed ones.
    """

    def arm(name: str, *, plural: str = "", extra: bool = False, example: bool = False, change: bool = False) -> Arm:
        async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
            shown = described(question, sources, known or {}) if change else list(sources)
            if asking.chat_model is None:
                return await _drafted(reader, question, shown, plural=bool(plural))
            text, usage = question.question, Usage()
            if plural:
                text, usage = await asking.prompts.plural(text, by_rule=plural == "by rule")
            messages = answer_group.render(question=text, sources=shown)
            messages = with_line(messages) if extra else messages
            reply, more = await asking.prompts.reply(with_example(messages) if example else messages)
            draft = answer_group.parse(reply)
            text = draft.text if draft.found else ""
            return ArmAnswer(text, quotes=draft.quotes, usage=usage + more, abstained=not draft.found)

        return Arm(name, answer)

    offline = [arm(BASE), arm("plural", plural="by rule"), arm("change to distracting", change=True)]
    asks = [
        arm("one-shot", example=True),
        arm("extra prompt", extra=True),
        arm("plural by the model", plural="by the model"),
        arm("plural & extra prompt", plural="by rule", extra=True),
        arm("change to distracting, plural & extra prompt", plural="by rule", extra=True, change=True),
    ]
    separate = replace(SystemArms(reader, sentences).arm(SEPARATE), name="separation")
    return [*offline, *(asks if asking.chat_model is not None else []), separate]


async def _drafted(reader: Reader, question: Sample, sources: Sequence[Source], *, plural: bool) -> ArmAnswer:
    """Return the keyless reader's answer, or its answer to a group; used without a language model."""
    metered = MeteredReader(reader)
    if plural:
        reply = await metered.answer_group(question=question.question, sources=sources, plural=True)
    else:
        reply = await metered.answer(question=question.question, sources=sources)
    draft = reply.value
    text = draft.text if draft.found else ""
    return ArmAnswer(text, quotes=draft.quotes, usage=metered.usage, abstained=not draft.found)


def with_example(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the prompt after one example in the same form."""
    system, asked = messages
    _, example = answer_group.render(question=EXAMPLE_QUESTION, sources=EXAMPLE)
    return [system, example, AIMessage(EXAMPLE_REPLY), asked]


def with_line(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the prompt with a line on the possible number of answers."""
    system, asked = messages
    return [system, HumanMessage(f"{asked.text}\n{EXTRA}")]


def contexts_by_id(questions: Sequence[Sample]) -> dict[str, Context]:
    """Return the contexts that came with the questions."""
    return {given.id: given for question in questions for given in question.given}


def cases(questions: Sequence[Sample]) -> Iterator[Sample]:
    """Yield, for each question and each relation possible among its contexts, the question with only those contexts.

    The right answers are all that the contexts give, also contradicting ones: COrg leaves none out.
    """
    for question in questions:
        for alone in isolated(question):
            yield _case(question, alone, alone.relation)


def growing(questions: Sequence[Sample]) -> Iterator[Sample]:
    """Yield each case with its first context alone, with its first two, and so on up to `MOST_CONTEXTS`."""
    for question in questions:
        for alone in isolated(question):
            for count in range(1, min(len(alone.given), MOST_CONTEXTS) + 1):
                part = SingleRelationContexts(alone.relation, alone.given[:count])
                yield _case(question, part, f"{alone.relation}, {count}")


def _case(question: Sample, alone: SingleRelationContexts, label: str) -> Sample:
    """Return a question asked only of contexts with a single relation; right are the answers that these give."""
    answers = tuple((answer,) for answer in dict.fromkeys(given.answer for given in alone.given))
    return replace(
        question,
        id=f"{question.id}/{label}",
        kind="list" if len(answers) > 1 else "short",
        answers=answers,
        wrong=(),
        given=alone.given,
        documents=frozenset(given.id for given in alone.given),
        label=label,
    )


def with_made(questions: Sequence[Sample], made: Sequence[Sample]) -> list[Sample]:
    """Return the questions with the contexts that were made from theirs: the knowledge of a simulated reader."""
    new: dict[str, dict[str, Context]] = {}
    for case in made:
        new.setdefault(case.question, {}).update({given.id: given for given in case.given if MADE in given.id})
    return [
        replace(question, given=(*question.given, *new.get(question.question, {}).values())) for question in questions
    ]


def isolated(question: Sample) -> Iterator[SingleRelationContexts]:
    """Yield the relations possible among a question's contexts, in the order of `RELATIONS`.

    Only two contexts can be ambiguous to each other: two that both do not name their entity would count as being about
    the same one. So only one of the contexts on several entities is undescribed, as in the paper's Table 3, whose
    change to distracting gives the contexts of Table 2.
    """
    gold = [given for given in question.given if given.role == "gold" and given.answer]
    named: dict[str, Context] = {}
    for given in gold:
        if given.entity:
            named.setdefault(given.entity, given)
    if len(named) > 1:
        yield SingleRelationContexts("distracting", tuple(named.values()))
    if (ambiguous := one_undescribed(question, list(named.values()))) is not None:
        yield SingleRelationContexts("ambiguous", ambiguous)
    if against := contradicting(question):
        yield SingleRelationContexts("counterfactual", against)
    by_answer: dict[tuple[str, str], list[Context]] = {}
    for given in gold:
        by_answer.setdefault((given.entity, given.answer), []).append(given)
    if copies := next((same for (entity, _), same in by_answer.items() if entity and len(same) > 1), None):
        yield SingleRelationContexts("duplicated", tuple(copies))


def one_undescribed(question: Sample, named: Sequence[Context]) -> tuple[Context, ...] | None:
    """Return contexts on several entities with the second possible one undescribed, or both kinds about one entity."""
    for place in (*range(1, len(named)), 0):
        if place < len(named) and (vague := undescribed(question, named[place])) is not None:
            rest = [given for given in named if given is not named[place]] or [named[place]]
            return (rest[0], vague, *rest[1:])
    return None


def undescribed(question: Sample, given: Context) -> Context | None:
    """Return a context without what distinguishes its entity from others of the name; None if there is none.

    It is another one in the data set with the same answer, else the context with its full name shortened where it
    occurs in the text. Its entity is still one of those whose answers are measured.
    """
    own = (one for one in question.given if one.descriptor == () and one.answer == given.answer)
    if (written := next(own, None)) is not None:
        return replace(written, thing=given.entity, sub_question=given.sub_question)
    name = shared_name(question)
    if not name or name.casefold() == given.entity.casefold() or name.casefold() not in given.entity.casefold():
        return None
    cut, times = re.subn(re.escape(given.entity), name, given.text, flags=re.IGNORECASE)
    return (
        replace(given, id=f"{given.id} ({MADE})", title=name, text=cut, entity="", thing=given.entity)
        if times
        else None
    )


def contradicting(question: Sample) -> tuple[Context, ...]:
    """Return a right context and the wrong ones about the same entity, each with another answer.

    Empty if there are none.
    """
    about, numbered = things_of(question), dict(enumerate(question.given, 1))
    for right, given in numbered.items():
        against: dict[str, Context] = {given.answer: given}
        for wrong, other in numbered.items():
            if other.role == "wrong" and right in about and about.get(wrong) == about[right]:
                against.setdefault(other.answer, replace(other, entity=given.entity, role="gold"))
        if given.role == "gold" and len(against) > 1:
            return tuple(against.values())
    return ()


def described(question: Sample, sources: Sequence[Source], known: Mapping[str, Context]) -> list[Source]:
    """Return the contexts, with each that does not name its entity replaced by one that does.

    The replacement is the original one, or another with its answer; without one, the context stays.
    """
    given = {one.id: one for one in question.given}
    shown = []
    for source in sources:
        own = given.get(source.passage_id)
        clear = known.get(source.passage_id.removesuffix(f" ({MADE})"))
        if own is not None and not own.entity and (clear is None or not clear.entity):
            prefix = source.passage_id.rpartition("/")[0]
            same = (one for one in known.values() if one.entity and one.answer == own.answer)
            clear = next((one for one in same if one.id.rpartition("/")[0] == prefix and one.role == "gold"), None)
        if own is None or own.entity or clear is None or not clear.entity:
            shown.append(source)
        else:
            shown.append(replace(source, title=clear.title or clear.entity, text=clear.text))
    return shown


def growth_table(found: Comparison, name: str) -> Table:
    """Return a table with one row for each relation, one column for each number of contexts (Fig. 2)."""
    (row,) = found.estimates.values() or ({},)
    counts = range(1, MOST_CONTEXTS + 1)
    lines = []
    for relation in RELATIONS:
        found_at = [row.get(f"{relation}, {n}") for n in counts]
        lines.append((relation, *("–" if share is None else number(share, percent=True) for share in found_at)))
    note = (
        "Base, shown the first so many contexts of each case; wanted are the answers that these give. Questions with "
        "fewer contexts are in the first columns only. Of ambiguous cases one context is undescribed; the others are "
        "distracting to each other. [95 %: bootstrap.]"
    )
    head = ("relation", *(f"{n} contexts" if n > 1 else "1 context" for n in counts))
    return Table(f"Answer recall % by number of contexts, {name}", head, tuple(lines), note)


def relation_table(found: Comparison, measure: str, title: str, left_out: str) -> Table:
    """Return a table of ways to ask by relations; after each value, p of its difference from base."""
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
