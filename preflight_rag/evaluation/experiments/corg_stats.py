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
from typing import Any, get_args

from preflight_rag.evaluation.bench import given_sources
from preflight_rag.evaluation.corg_systems import Asked, organised
from preflight_rag.evaluation.experiments.corg import open_corg
from preflight_rag.evaluation.experiments.relations import things_of
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.plots import recorded
from preflight_rag.evaluation.reading_metrics import words_of
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searched import open_searched
from preflight_rag.evaluation.stages import Metered
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import RelationKind

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
    known = {LABELLED: {question.id: labelled(question) for question in questions}}
    found: dict[str, dict[str, Composition]] = known if any(c.pairs for c in known[LABELLED].values()) else {}
    rows = [row(question, way, by_id[question.id]) for way, by_id in found.items() for question in questions]
    with open_corg(collection, run, questions) as bench:

        async def relate(case: tuple[Sample, list[Source]]) -> Composition:
            question, sources = case
            made = await organised(Asked(Metered(bench.reader), question.question, tuple(sources)))
            ids = {source.n: source.passage_id for source in sources}
            pairs = tuple((ids[pair.a], ids[pair.b], pair.kind) for pair in made.relations)
            return Composition(pairs, sum(note.relevant for note in made.contexts), len(sources), made.calls)

        for way, by_id in shown.items():
            cases = [(question, by_id[question.id]) for question in questions]
            outcomes = asyncio.run(bench.asking.gather(cases, relate, f"{collection.name}: {way}"))
            answered = zip(questions, outcomes, strict=True)
            found[way] = {question.id: outcome.value for question, outcome in answered if outcome.value is not None}
            rows += [row(q, way, outcome.value, outcome.error) for q, outcome in zip(questions, outcomes, strict=True)]
    numbers = {way: composed(list(by_id.values())) for way, by_id in found.items()}
    about = f"{len(questions):,} questions ({run.part} part), {k} contexts retrieved for each; model: {bench.model}."
    return bench.report(
        "corg-stats",
        (kinds_table(numbers, bench.model), contexts_table(numbers)),
        rows,
        numbers,
        about=about,
        settings={"k": k, "embedder": bench.sentences.embedder.name},
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
    about = things_of(question)
    given = dict(enumerate(question.given, 1))
    pairs = []
    for a, b in combinations(sorted(about), 2):
        one_answer = words_of(given[a].answer) == words_of(given[b].answer)
        same: RelationKind = "duplicated" if one_answer else "counterfactual"
        pairs.append((given[a].id, given[b].id, same if about[a] == about[b] else "distracting"))
    telling = sum(passage.role in ("gold", "wrong") for passage in question.given)
    return Composition(tuple(pairs), telling, len(given))


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

    def cells(kind: str) -> list[str]:
        found = [counted["kinds"][kind] for counted in numbers.values()]
        return [number(recorded(part[of]), percent=True) for part in found for of in ("of_pairs", "of_questions")]

    rows = tuple((kind, *cells(kind)) for kind in KINDS)
    head = (column for way in numbers for column in (f"{way}: of pairs %", "of questions %"))
    note = (
        "Of pairs: every two contexts that answer. Of questions: those with at least one such pair. By the data set: "
        "what its labels tell; a missing descriptor is not among them, so nothing is ambiguous. [95 %: Wilson.]"
    )
    return Table(f"Relations, {name}", ("relation", *head), rows, note)


def contexts_table(numbers: Mapping[str, dict[str, Any]]) -> Table:
    """One row a way: how many contexts answer, how many pairs they make, and what relating them took."""
    rows = tuple(
        (
            way,
            f"{counted['questions']:,}",
            *(
                f"{counted[part] / max(1, counted['questions']):.2f}"
                for part in ("contexts", "relevant", "pairs", "calls")
            ),
            number(recorded(counted["related"]), percent=True),
        )
        for way, counted in numbers.items()
    )
    head = ("contexts", "questions", "contexts", "that answer", "pairs", "calls", "with a relation %")
    return Table("For one question", head, rows, "With a relation: questions with one other than none.")


def row(question: Sample, way: str, found: Composition | None, error: str = "") -> Row:
    """How many pairs of a question's contexts are related; which relations, in the details."""
    details: dict[str, Any] = {"question": question.question, "relations": [], "error": error}
    if found is None:
        return Row(question.id, way, "relations", None, error, details=details)
    details["relations"] = [list(pair) for pair in found.pairs]
    related = sum(kind != "none" for _, _, kind in found.pairs)
    return Row(question.id, way, "relations", related, f"of {len(found.pairs)} pairs", found.calls, details=details)
