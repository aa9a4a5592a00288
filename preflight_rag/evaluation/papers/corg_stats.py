"""Experiment `corg-stats`: which relations there are between the contexts of a question (COrg, section 2.2).

Contexts that come with the questions are counted by the data set's labels, where it has some, and as the reader relates
them; so are those that a search over the set's corpus retrieves, where it has one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

from preflight_rag.evaluation.corg_systems import Systems
from preflight_rag.evaluation.experiments.relations import normal
from preflight_rag.evaluation.experiments.relations import things as of_one_thing
from preflight_rag.evaluation.harness.asking import Outcome, open_asking
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.papers.corg import inputs
from preflight_rag.evaluation.papers.corg_arms import as_organised, given_sources, open_readers
from preflight_rag.evaluation.papers.metered import Metered
from preflight_rag.evaluation.papers.searched import open_searched
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import RelationKind

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.protocol import Reader

KINDS: tuple[RelationKind, ...] = get_args(RelationKind)
LABELLED, GIVEN, RETRIEVED = "given, by the data set", "given, by the reader", "retrieved, by the reader"


@dataclass(frozen=True)
class Composition:
    """The relations between a question's contexts.

    Attributes:
        pairs: The relation of every two contexts that answer, by their ids.
        relevant: How many contexts answer.
        contexts: How many there are.
        calls: Reader calls that compared them.
    """

    pairs: tuple[tuple[str, str, RelationKind], ...]
    relevant: int
    contexts: int
    calls: int = 0

    @property
    def kinds(self) -> Counter[str]:
        """How often each relation stands."""
        return Counter(kind for _, _, kind in self.pairs)


def run(collection: DataSet, run: Run) -> Report:
    """Relate the contexts of each question, and count."""
    questions = collection.select(run.part, run.limit)
    k = Settings().k
    shown = contexts(collection, questions, run, k)
    with open_asking(run, questions) as asking:
        reader, sentences = open_readers(asking, run)

        async def relate(case: tuple[Sample, list[Source]]) -> Composition:
            systems: Systems[Reader] = Systems(Metered(reader), sentences)
            related = await systems.relate(as_organised(*case))
            ids = {source.n: source.passage_id for source in case[1]}
            pairs = tuple((ids[edge.a], ids[edge.b], edge.kind) for edge in related.edges)
            return Composition(pairs, len(related.relevant), len(case[1]), related.calls)

        outcomes = {
            way: asyncio.run(
                asking.gather([(q, sources[q.id]) for q in questions], relate, f"{collection.name}: {way}")
            )
            for way, sources in shown.items()
        }
        name = asking.name if asking.chat_model is not None else f"{asking.name}: {reader.name}"
    found: dict[str, list[Composition | None]] = {
        way: [outcome.value for outcome in told] for way, told in outcomes.items()
    }
    known = [labelled(question) for question in questions]
    if any(composition.pairs for composition in known):
        found = {LABELLED: [*known], **found}
    numbers = {way: composed([part for part in parts if part]) for way, parts in found.items()}
    return Report(
        experiment="corg-stats",
        dataset=collection.title,
        about=f"{len(questions):,} questions ({run.part} part), {k} contexts retrieved for each; model: {name}.",
        tables=(kinds_table(numbers, name), contexts_table(numbers)),
        rows=tuple(row(question, i, found, outcomes) for i, question in enumerate(questions)),
        figures=numbers,
        inputs=inputs(collection, name, k=k, embedder=sentences.embedder.name),
        plots=plots(numbers, name),
    )


def contexts(collection: DataSet, questions: Sequence[Sample], run: Run, k: int) -> dict[str, dict[str, list[Source]]]:
    """The contexts of each question, by where they are from.

    Raises:
        UsageError: The questions come without any, and there is nothing to search.
    """
    shown: dict[str, dict[str, list[Source]]] = {}
    if any(question.given for question in questions):
        shown[GIVEN] = {question.id: given_sources(question) for question in questions}
    if collection.corpus is not None:
        with open_searched(collection, run) as searched:
            shown[RETRIEVED] = {question.id: list(searched.retrieved(question, k)) for question in questions}
    if not shown:
        raise UsageError(
            f"{collection.title} has neither contexts nor documents to search",
            help="Choose ramdocs, or a folder of your own with documents.jsonl.",
        )
    return shown


def labelled(question: Sample) -> Composition:
    """The relations by the data set's labels; pairs of which it does not say what they are about are left out."""
    asked = as_organised(question, given_sources(question))
    about, answers = of_one_thing(asked), {c.source.n: normal(c.answer) for c in asked.contexts}
    ids = {context.source.n: context.source.passage_id for context in asked.contexts}
    pairs = []
    for a, b in combinations(sorted(about), 2):
        same: RelationKind = "duplicated" if answers[a] == answers[b] else "counterfactual"
        pairs.append((ids[a], ids[b], same if about[a] == about[b] else "distracting"))
    telling = sum(context.type != "noise" for context in asked.contexts)
    return Composition(tuple(pairs), telling, len(asked.contexts))


def composed(parts: Sequence[Composition]) -> dict[str, Any]:
    """Counts, and shares with their intervals: of all pairs, and of the questions that have at least one."""
    pairs = sum(len(part.pairs) for part in parts)
    kinds = {}
    for kind in KINDS:
        count, having = sum(part.kinds[kind] for part in parts), sum(kind in part.kinds for part in parts)
        shares = {"of_pairs": wilson(count, pairs), "of_questions": wilson(having, len(parts))}
        kinds[kind] = {"pairs": count, **{name: share.as_json() for name, share in shares.items()}}
    several = wilson(sum(bool(part.kinds.keys() - {"none"}) for part in parts), len(parts))
    return {
        "questions": len(parts),
        "pairs": pairs,
        "contexts": sum(part.contexts for part in parts),
        "relevant": sum(part.relevant for part in parts),
        "calls": sum(part.calls for part in parts),
        "related": several.as_json(),
        "kinds": kinds,
    }


def kinds_table(numbers: Mapping[str, dict[str, Any]], name: str) -> Table:
    """One row a relation, and for each way its share of the pairs and of the questions."""
    from preflight_rag.evaluation.plots import recorded

    def cells(kind: str) -> list[str]:
        told = [told["kinds"][kind] for told in numbers.values()]
        return [number(recorded(part[of]), percent=True) for part in told for of in ("of_pairs", "of_questions")]

    rows = tuple((kind, *cells(kind)) for kind in KINDS)
    head = (column for way in numbers for column in (f"{way}: of pairs %", "of questions %"))
    note = (
        "Of pairs: every two contexts that answer. Of questions: those with at least one such pair. By the data set: "
        "what its labels tell; a missing descriptor is not among them, so nothing is ambiguous. [95 %: Wilson.]"
    )
    return Table(f"Relations, {name}", ("relation", *head), rows, note)


def contexts_table(numbers: Mapping[str, dict[str, Any]]) -> Table:
    """One row a way: how many contexts answer, how many pairs they make, and what relating them took."""
    from preflight_rag.evaluation.plots import recorded

    rows = tuple(
        (
            way,
            f"{told['questions']:,}",
            *(f"{told[part] / max(1, told['questions']):.2f}" for part in ("contexts", "relevant", "pairs", "calls")),
            number(recorded(told["related"]), percent=True),
        )
        for way, told in numbers.items()
    )
    head = ("contexts", "questions", "contexts", "that answer", "pairs", "calls", "with a relation %")
    return Table("For one question", head, rows, "With a relation: questions with one other than none.")


def row(
    question: Sample,
    place: int,
    found: Mapping[str, Sequence[Composition | None]],
    outcomes: Mapping[str, Sequence[Outcome[Composition]]],
) -> dict[str, Any]:
    """One line of `results.jsonl`."""
    told = {way: parts[place] for way, parts in found.items()}
    errors = {way: outcomes[way][place].error for way in outcomes if outcomes[way][place].error}
    relations = {way: [list(pair) for pair in part.pairs] for way, part in told.items() if part is not None}
    return {
        "id": question.id,
        "question": question.question,
        "relations": relations,
        **({"error": errors} if errors else {}),
    }


def plots(numbers: Mapping[str, dict[str, Any]], name: str) -> tuple[Bars, ...]:
    """The shares of the pairs, to look at."""
    from preflight_rag.evaluation.plots import recorded

    series = tuple(
        Series(way, tuple(recorded(told["kinds"][kind]["of_pairs"]) for kind in KINDS)) for way, told in numbers.items()
    )
    axis = Axis("share of the pairs", percent=True, low=0.0, high=1.0)
    return (Bars(f"Relations between contexts, {name}", axis, KINDS, series, note="Intervals: 95 %, Wilson."),)
