"""Experiment `corg-build`: AmbigDocs+ and ConflictQA+, made from questions, answers and contexts with a model.

Following section 2.3 and appendix A.4 of COrg. A question q comes with contexts, each with its answer a_j and, if the
set names each one's entity, with a sub-question q'_j: the question about that entity. The model writes

- duplicated contexts for (q'_j, a_j) and ambiguous ones for (q, a_j), for every j;
- if the contexts are about different entities (AmbigDocs, RAMDocs): counterfactual ones for (q'_i, a_j), for one random
  i and every other true answer a_j;
- if they contradict each other and name no entities (the set of Zhou et al. 2023, which the paper calls ConflictQA):
  the sub-questions, and distracting contexts for (q'_j, a_j).

Two filters: the context contains its answer; asked the question for which it was written, with the context alone, the
model gives that answer. A context that fails one is written anew with the reason in the prompt, at most `MOST_TRIES`
times.

`results.jsonl` is the corpus, in the form of RAMDocs: `question`, `documents` (`text`, `type`, `answer`, with `entity`,
`relation` and the `sub_question`), `gold_answers`, `disambig_entity`, `wrong_answers`. As
DATA/ramdocs/RAMDocs_test.jsonl it is a data set for all experiments that read `ramdocs`.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from evaluation.bench import data_inputs
from evaluation.corg_measures import disambiguated, shared_name
from evaluation.experiments.corg_factors import RELATIONS
from evaluation.harness.asking import Asking, CaseOutcome, PromptReader, open_asking
from evaluation.harness.replies import PromptCall
from evaluation.intervals import Estimate, wilson
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, number
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.corg.agreement import same_answer
from preflight_rag.prompts.fences import fenced
from preflight_rag.prompts.replies import clean
from preflight_rag.state.errors import BadReply, UsageError
from preflight_rag.state.reading import Source

SYSTEM = """\
You write contexts for a test of question answering. For a question and an answer, write a context of six or seven
sentences from which a reader can answer the question with that answer, in its exact words. It need not be true. Write
plain prose, as an encyclopedia would, and nothing else. Name things as the question names them: where it says which one
of a name is meant, say so too; where it does not, leave it open.

Question: What is the height of Mount Orr in Tasmania?
Answer: 1,104 metres
Context: Mount Orr is a mountain in the west of Tasmania. Its summit lies 1,104 metres above the sea. ...

Question: What is the height of Mount Orr?
Answer: 1,104 metres
Context: Mount Orr is known for its steep northern face. At 1,104 metres it stands above every hill around it. ..."""

USER = """\
Question: {question}
Answer: {answer}{issues}
Context:"""

ISSUES = "\nEarlier contexts were turned down. Mend this: {issues}"

SUB_SYSTEM = """\
A question has several answers, since it leaves open which thing it means. Write a more detailed question for each
answer, in the order of the answers: the same question, which also says which one is meant (a year, a place, a season, a
part). No question may hold its answer. Reply with as many questions as there are answers, on one line, between //

Question: how many goals did the team score?
Answers: 41; 58
how many goals did the team score in the season of 1997? // how many goals did the team score in the season of 2004?"""

SUB_USER = """\
Question: {question}
Answers: {answers}"""

ORIGINAL = "original"
MOST_TRIES = 5
"""Most attempts at one context before its place in the corpus stays empty; the paper gives no limit. A guess."""

_LABEL = re.compile(r"^[\s#*_>-]*context[\s*_]*:[\s*_]*", re.IGNORECASE)
Document = dict[str, Any]


@dataclass(frozen=True)
class Seed:
    """A context that came with a question: the full name of its entity, its answer, and its sub-question."""

    entity: str
    answer: str
    text: str
    sub_question: str = ""


@dataclass(frozen=True)
class ContextRequest:
    """A context to be written for a question and an answer; `entity` is what it is then about."""

    relation: str
    question: str
    answer: str
    entity: str = ""


@dataclass(frozen=True)
class ContextAttempt:
    """The result for a requested context.

    Attributes:
        wanted: The request.
        text: The last context that was written.
        issues: The reason for each rejection.
        kept: Whether the last one passed both filters.
    """

    wanted: ContextRequest
    text: str
    issues: tuple[str, ...]
    kept: bool


@dataclass(frozen=True)
class BuiltQuestion:
    """A question with its original contexts and those written for it."""

    question: Sample
    seeds: tuple[Seed, ...]
    attempts: tuple[ContextAttempt, ...]

    @property
    def relations(self) -> frozenset[str]:
        """The relations that its contexts have."""
        among = {"distracting" if self.seeds[0].entity else "counterfactual"} if len(self.seeds) > 1 else set()
        return frozenset(among | {attempt.wanted.relation for attempt in self.attempts if attempt.kept})

    @property
    def contexts(self) -> int:
        """The number of its contexts in the corpus."""
        return len(self.seeds) + sum(attempt.kept for attempt in self.attempts)


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Have each question's contexts written and filtered."""
    questions = [question for question in collection.select(run.part) if seeds(question)][: run.limit]
    if not questions:
        raise UsageError(
            f"no question of {collection.title} comes with a passage that answers it",
            help="Choose ambigdocs, ramdocs, conflictqa with PopQA's files, or questions of your own with contexts.",
        )
    with open_asking(run, questions) as asking:
        outcomes = asyncio.run(built(questions, asking, collection.name, run.seed))
        name = asking.name
    made = [outcome.value for outcome in outcomes if outcome.value is not None]
    failed = {q.id: o.error for q, o in zip(questions, outcomes, strict=True) if o.value is None}
    counts = {relation: passed(made, relation) for relation in RELATIONS}
    whole = wilson(sum(part.relations == frozenset(RELATIONS) for part in made), len(made))
    contexts = Counter(part.contexts for part in made)
    documents = sum(part.contexts for part in made)
    return Report(
        experiment="corg-build",
        dataset=collection.title,
        about=f"{len(made):,} questions ({run.part} part), {documents:,} contexts; model: {name}.",
        tables=(table(counts, name, whole, len(failed)), _contexts(contexts)),
        rows=tuple(row(outcome.value, outcome.calls) for outcome in outcomes if outcome.value is not None),
        figures={
            "questions": len(made),
            "documents": documents,
            "failed": failed,
            "attempts": counts,
            "all_four": whole.as_json(),
            "contexts": {str(count): contexts[count] for count in sorted(contexts)},
        },
        inputs={**data_inputs(collection), "model": name},
    )


async def built(questions: Sequence[Sample], asking: Asking, stage: str, seed: int) -> list[CaseOutcome[BuiltQuestion]]:
    """Return, for each question, the contexts that the model wrote for it.

    Raises:
        UsageError: There is no language model.
    """
    writer = asking.prompts

    async def build(question: Sample) -> BuiltQuestion:
        originals = await with_sub_questions(writer, question, seeds(question))
        attempts = [await attempt(writer, one) for one in wanted(question, originals, seed)]
        return BuiltQuestion(question, tuple(originals), tuple(attempts))

    return await asking.gather(questions, build, stage)


def seeds(question: Sample) -> list[Seed]:
    """Return a question's contexts, one for each answer; contradicting ones only if there are no others.

    If contexts name their entities, wrong ones are left out, since counterfactual ones are written.
    """
    named = any(given.role == "gold" and given.entity for given in question.given)
    found: dict[str, Seed] = {}
    for given in question.given:
        stated = (name for name in question.names if holds(given.text, [name]))
        answer = given.answer or next(stated, "")
        if answer and not question.options and (given.role == "gold" or (given.role == "wrong" and not named)):
            if named and not given.entity:
                continue
            found.setdefault(answer, Seed(given.entity, answer, given.text))
    return list(found.values())


async def with_sub_questions(writer: PromptReader, question: Sample, originals: Sequence[Seed]) -> list[Seed]:
    """Return the seeds with a sub-question each: with the full name instead of the name, else written by the model.

    Raises:
        BadReply: The model writes none that can be used.
    """
    asked = [disambiguated(question, seed.entity) if seed.entity else question.question for seed in originals]
    if any(sub == question.question for sub in asked) and len(originals) > 1:
        asked = await sub_questions(writer, question, [seed.answer for seed in originals])
    return [
        Seed(seed.entity, seed.answer, seed.text, sub_question)
        for seed, sub_question in zip(originals, asked, strict=True)
    ]


async def sub_questions(writer: PromptReader, question: Sample, answers: Sequence[str]) -> list[str]:
    """Return a detailed question for each answer (COrg, Figure 7).

    Raises:
        BadReply: After `MOST_TRIES`, there are still too few or too many, or one contains its answer.
    """
    values = {"question": fenced(question.question), "answers": "; ".join(map(fenced, answers))}
    messages: list[BaseMessage] = [SystemMessage(SUB_SYSTEM), HumanMessage(SUB_USER.format(**values))]
    issues: list[str] = []
    while len(issues) < MOST_TRIES:
        prompt = [*messages[:-1], HumanMessage("\n".join([messages[-1].text, *issues]))]
        lines = [line for line in clean((await writer.reply(prompt))[0]).splitlines() if line.strip()]
        made = [part.strip() for part in lines[-1].split("//") if part.strip()] if lines else []
        if len(made) != len(answers):
            issues.append(f"Mend this: there were {len(made)} questions for {len(answers)} answers.")
        elif any(holds(sub, [answer]) for sub, answer in zip(made, answers, strict=True)):
            issues.append("Mend this: a question held its answer.")
        else:
            return made
    raise BadReply(f"no sub-questions could be had for {question.id}: {issues[-1]}", help="Take another model.")


def wanted(question: Sample, originals: Sequence[Seed], seed: int) -> list[ContextRequest]:
    """Return the contexts to write: for each sub-question, the question, and one sub-question with other answers."""
    found = [ContextRequest("duplicated", one.sub_question, one.answer, one.entity) for one in originals]
    found += [ContextRequest("ambiguous", question.question, one.answer) for one in originals]
    if originals[0].entity:
        chosen = random.Random(f"{seed} {question.id}").choice(list(originals))  # noqa: S311
        others = (other for other in originals if other is not chosen)
        found += [
            ContextRequest("counterfactual", chosen.sub_question, other.answer, chosen.entity) for other in others
        ]
    elif len(originals) > 1:
        found += [ContextRequest("distracting", one.sub_question, one.answer) for one in originals]
    return found


async def attempt(writer: PromptReader, asked: ContextRequest) -> ContextAttempt:
    """Have one context written until it passes both filters, each time with the previous problem in the prompt."""
    issues: list[str] = []
    text = ""
    while len(issues) < MOST_TRIES:
        try:
            text = parse((await writer.reply(render(asked, issues)))[0])
            issue = await amiss(writer, asked, text)
        except BadReply as error:
            issue = str(error)
        if not issue:
            return ContextAttempt(asked, text, tuple(issues), kept=True)
        issues.append(issue)
    return ContextAttempt(asked, text, tuple(issues), kept=False)


async def amiss(reader: PromptReader, asked: ContextRequest, text: str) -> str:
    """Return why a written context fails one of the two filters; "" if it passes both."""
    if not text:
        return "there was no context"
    if not holds(text, [asked.answer]):
        return f"it does not hold the answer {asked.answer!r}"
    draft = (await reader.answer(question=asked.question, sources=[Source(1, "made", "", text)])).value
    if draft.found and (holds(draft.text, [asked.answer]) or same_answer(draft.text, asked.answer)):
        return ""
    said = repr(" ".join(draft.text.split())[:120]) if draft.found else "nothing"
    return f"asked the question over it, a reader answers {said}, not {asked.answer!r}"


def render(asked: ContextRequest, issues: Sequence[str] = ()) -> list[BaseMessage]:
    """Return the messages for the model."""
    numbered = "; ".join(f"({n}) {fenced(issue)}" for n, issue in enumerate(issues, 1))
    earlier = ISSUES.format(issues=numbered) if issues else ""
    values = {"question": fenced(asked.question), "answer": fenced(asked.answer), "issues": earlier}
    return [SystemMessage(SYSTEM), HumanMessage(USER.format(**values))]


def parse(reply: str) -> str:
    """Return the context of a reply, on one line and without its label."""
    return " ".join(_LABEL.sub("", clean(reply).strip()).split())


def record(built: BuiltQuestion) -> dict[str, Any]:
    """Return a line of the corpus, in the form of RAMDocs.

    An answer that is right for any entity is not among the wrong ones.
    """
    documents = [
        document(seed.text, "correct", ContextRequest(ORIGINAL, seed.sub_question, seed.answer, seed.entity))
        for seed in built.seeds
    ]
    for made in built.attempts:
        if made.kept:
            kind = "misinfo" if made.wanted.relation == "counterfactual" else "correct"
            documents.append(document(made.text, kind, made.wanted))
    return {
        "id": built.question.id,
        "question": built.question.question,
        "name": shared_name(built.question),
        "documents": documents,
        "gold_answers": [seed.answer for seed in built.seeds],
        "disambig_entity": [seed.entity for seed in built.seeds],
        "wrong_answers": [],
    }


def document(text: str, kind: str, of: ContextRequest) -> Document:
    """Return a context as a record of RAMDocs; `kind` is its type, `of` is the request for which it was written."""
    described = {"text": text, "type": kind, "answer": of.answer, "entity": of.entity}
    return {**described, "relation": of.relation, "sub_question": of.question}


def row(built: BuiltQuestion, calls: Sequence[PromptCall]) -> dict[str, Any]:
    """Return a line of the results, with the requests and their outcomes."""
    attempts = [
        {
            "relation": made.wanted.relation,
            "question": made.wanted.question,
            "answer": made.wanted.answer,
            "score": float(made.kept),
            "issues": list(made.issues),
            "reply": made.text,
        }
        for made in built.attempts
    ]
    return {**record(built), "attempts": attempts, "calls": [call.as_json() for call in calls]}


def passed(made: Sequence[BuiltQuestion], relation: str) -> dict[str, int]:
    """Return how many contexts were requested, how many passed both filters, and how often each was written."""
    attempts = [attempt for part in made for attempt in part.attempts if attempt.wanted.relation == relation]
    return {
        "asked for": len(attempts),
        "passed at once": sum(attempt.kept and not attempt.issues for attempt in attempts),
        "passed": sum(attempt.kept for attempt in attempts),
        "written": sum(len(attempt.issues) + attempt.kept for attempt in attempts),
    }


def table(counts: dict[str, dict[str, int]], name: str, whole: Estimate, failed: int) -> Table:
    """Return a table with one row for each relation: requested and passed contexts, and their share of the corpus."""
    rows = tuple(
        (relation, *map(str, steps.values()), number(wilson(steps["passed"], steps["asked for"]), percent=True))
        for relation, steps in counts.items()
    )
    note = (
        f"All four relations: {number(whole, percent=True)} % of the questions, those among the contexts that came "
        "with them counted. "
        + (f"{failed:,} questions failed and are left out. " if failed else "")
        + "results.jsonl is the corpus, in the form of RAMDocs. [95 %: Wilson.]"
    )
    head = ("relation", "asked for", "passed at once", "passed", "written", "kept %")
    return Table(f"Contexts written by {name}", head, rows, note)


def _contexts(counts: Counter[int]) -> Table:
    """Return a table of the numbers of contexts of questions (COrg, Figure 8: mostly eight, 25 at most)."""
    rows = tuple((str(count), f"{counts[count]:,}") for count in sorted(counts))
    return Table("Contexts of a question", ("contexts", "questions"), rows, "The paper: mostly 8, at most 25 (Fig. 8).")
