"""Experiment `corg-stats`: which relations there are between the contexts of a question (COrg, section 2.2).

Contexts that come with the questions are counted by the data set's labels, if it has some, and by the reader's
relations; so are the first ten that a search over the set's corpus retrieves, if it has one. As in appendix A.3, the
composition is computed for each question and averaged over the questions. Its kinds are the five of the graph
constructor (Figure 9), including `none`, where one descriptor is missing and the answers differ. A pair whose relation
no reply gave is unreadable and none of the five; its share is given separately. The paper's four kinds sum to 100 % and
do not include `none`, so the shares of the four among themselves are given, too. Coverage is the share of a question's
annotated answers that are in a retrieved context. Intervals are over questions.

A turn relates contexts by its notes on them. The paper relates all ten retrieved ones by its graph constructor with the
prompt of Figure 9; a language model is tested with that as well, in columns of their own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import fmean
from typing import Any

from evaluation.bench import given_sources
from evaluation.corg_systems import ONE_AT_A_TIME, SystemQuestion, organised
from evaluation.experiments.corg import open_corg
from evaluation.experiments.relations import things_of
from evaluation.intervals import average, wilson
from evaluation.plots import recorded
from evaluation.published import beside
from evaluation.reading_metrics import holds, words_of
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import open_searched
from evaluation.stages import MeteredReader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Relation, RelationKind

FOUR: tuple[RelationKind, ...] = ("ambiguous", "duplicated", "counterfactual", "distracting")
"""The kinds of section 2.1, as reported in section 2.2."""
KINDS: tuple[RelationKind, ...] = (*FOUR, "none")
"""The kinds of the graph (appendix C.1)."""
RETRIEVED_CONTEXTS = 10
"""The paper's number of results from a web search."""
UNREADABLE = "unreadable"
LABELLED, GIVEN, RETRIEVED = "given, by the data set", "given, by the reader", "retrieved, by the reader"
PRINTED = "retrieved, by Figure 9's prompt"
AS_PRINTED = ONE_AT_A_TIME.model_copy(update={"corg_mode": "faithful"})
"""Algorithm 1 with Figure 9's prompt, which treats every context as relevant."""


@dataclass(frozen=True)
class Composition:
    """The relations between a question's contexts.

    Attributes:
        pairs: The relation of every two contexts that answer, by their ids; without the unreadable ones.
        relevant: How many contexts answer.
        contexts: How many there are.
        calls: Reader calls that compared them.
        covered: Share of the question's right answers that are in a context; None if none are known.
        unreadable: How many pairs have a relation that no reply gave.
    """

    pairs: tuple[tuple[str, str, RelationKind], ...]
    relevant: int
    contexts: int
    calls: int = 0
    covered: float | None = None
    unreadable: int = 0

    @property
    def kinds(self) -> Counter[str]:
        """Return how often each relation occurs."""
        return Counter(kind for _, _, kind in self.pairs)


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Relate the contexts of each question, and count the relations."""
    questions = collection.select(run.part, run.limit)
    k = RETRIEVED_CONTEXTS
    shown = contexts(collection, questions, run, k)
    known = {LABELLED: {question.id: labelled(question) for question in questions}}
    found: dict[str, dict[str, Composition]] = known if any(c.pairs for c in known[LABELLED].values()) else {}
    rows = [row(question, way, by_id[question.id]) for way, by_id in found.items() for question in questions]
    with open_corg(collection, run, questions) as bench:

        async def relate(case: tuple[Sample, list[Source], Settings]) -> Composition:
            question, sources, settings = case
            meter = MeteredReader(bench.reader)
            made = await organised(SystemQuestion(meter, question.question, tuple(sources)), settings)
            ids = {source.n: source.passage_id for source in sources}
            noted = {note.rank for note in made.contexts if note.told}
            unread = [pair for pair in made.relations if unreadable(pair, meter.unread, noted)]
            pairs = tuple((ids[pair.a], ids[pair.b], pair.kind) for pair in made.relations if pair not in unread)
            relevant = sum(note.relevant for note in made.contexts)
            covered = coverage(question, sources)
            return Composition(pairs, relevant, len(sources), made.calls, covered, len(unread))

        if RETRIEVED in shown and not bench.offline:
            shown[PRINTED] = shown[RETRIEVED]
        for way, by_id in shown.items():
            settings = AS_PRINTED if way == PRINTED else ONE_AT_A_TIME
            cases = [(question, by_id[question.id], settings) for question in questions]
            outcomes = asyncio.run(bench.asking.gather(cases, relate, f"{collection.name}: {way}"))
            answered = zip(questions, outcomes, strict=True)
            found[way] = {question.id: outcome.value for question, outcome in answered if outcome.value is not None}
            rows += [row(q, way, outcome.value, outcome.error) for q, outcome in zip(questions, outcomes, strict=True)]
    numbers = {way: composed(list(by_id.values()), seed=run.seed) for way, by_id in found.items()}
    ours: dict[str, dict[str, Any]] = {
        kind: {way: recorded(counted["of_four"][kind]) for way, counted in numbers.items()} for kind in FOUR
    }
    ours["coverage"] = {way: recorded(counted["covered"]) for way, counted in numbers.items()}
    about = f"{len(questions):,} questions ({run.part} part), {k} contexts retrieved for each; model: {bench.model}."
    return bench.report(
        "corg-stats",
        (
            kinds_table(numbers, bench.model),
            contexts_table(numbers),
            *beside("corg-stats", ours, here=f"{collection.title}, {about}"),
        ),
        rows,
        numbers,
        about=about,
        settings={"k": k, "embedder": bench.sentences.embedder.name},
    )


def unreadable(pair: Relation[int], unread: Set[frozenset[int]], noted: Set[int]) -> bool:
    """Return whether a pair is `none` only because neither a reply nor a note gives its relation."""
    both = {pair.a, pair.b}
    return pair.kind == "none" and pair.inferred and frozenset(both) in unread and not both <= noted


def contexts(
    collection: DataSet, questions: Sequence[Sample], run: ExperimentRun, k: int
) -> dict[str, dict[str, list[Source]]]:
    """Return the contexts of each question, by their origin.

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


def coverage(question: Sample, sources: Sequence[Source]) -> float | None:
    """Return the share of the right answers that at least one context contains (appendix A.3)."""
    held = [any(holds(f"{s.title} {s.text}", names) for s in sources) for names in question.answers]
    return fmean(held) if held else None


def labelled(question: Sample) -> Composition:
    """Return the relations by the data set's labels.

    Pairs of contexts without a labelled entity are left out.
    """
    about = things_of(question)
    given = dict(enumerate(question.given, 1))
    pairs = []
    for a, b in combinations(sorted(about), 2):
        same_answer = words_of(given[a].answer) == words_of(given[b].answer)
        vague = [given[n].descriptor == () for n in (a, b)]
        # Two entities may have the same right answer: if both have names, these distinguish them.
        names = given[a].entity, given[b].entity
        same_thing = names[0] == names[1] if all(names) else about[a] == about[b]
        kind: RelationKind
        if any(vague) and not all(vague):
            kind = "ambiguous" if same_answer else "none"
        elif all(vague) or same_thing:
            kind = "duplicated" if same_answer else "counterfactual"
        else:
            kind = "distracting"
        pairs.append((given[a].id, given[b].id, kind))
    telling = sum(passage.role in ("gold", "wrong") for passage in question.given)
    return Composition(tuple(pairs), telling, len(given), covered=coverage(question, given_sources(question)))


def composed(parts: Sequence[Composition], *, seed: int = 0) -> dict[str, Any]:
    """Return the mean composition of questions with pairs, the share with each kind, coverage, and counts."""
    having = [part for part in parts if part.pairs]
    kinds = {}
    for kind in KINDS:
        shares = [part.kinds[kind] / len(part.pairs) for part in having]
        with_one = wilson(sum(part.kinds[kind] > 0 for part in parts), len(parts))
        kinds[kind] = {**average(shares, seed=seed).as_json(), "of_questions": with_one.as_json()}
    fours = [(part, sum(part.kinds[kind] for kind in FOUR)) for part in having]
    of_four = {}
    for kind in FOUR:
        shares = [part.kinds[kind] / count for part, count in fours if count]
        of_four[kind] = average(shares, seed=seed).as_json()
    asked = [(part.unreadable, part.unreadable + len(part.pairs)) for part in parts]
    unread = average([missing / count for missing, count in asked if count], seed=seed)
    covered = [part.covered for part in parts if part.covered is not None]
    return {
        "questions": len(parts),
        "with_pairs": len(having),
        "pairs": sum(len(part.pairs) for part in parts),
        "contexts": sum(part.contexts for part in parts),
        "relevant": sum(part.relevant for part in parts),
        "calls": sum(part.calls for part in parts),
        "covered": average(covered, seed=seed).as_json(),
        "kinds": kinds,
        "of_four": of_four,
        "unreadable": unread.as_json(),
    }


def kinds_table(numbers: Mapping[str, dict[str, Any]], name: str) -> Table:
    """Return a table by kind: for each origin its mean share of a question's pairs, and the questions that have it."""

    def cells(kind: str) -> list[str]:
        found = [counted["kinds"][kind] for counted in numbers.values()]
        return [number(recorded(part), percent=True) for own in found for part in (own, own["of_questions"])]

    rows = [(kind, *cells(kind)) for kind in KINDS]
    unread = [(number(recorded(counted["unreadable"]), percent=True), "") for counted in numbers.values()]
    rows.append((UNREADABLE, *chain.from_iterable(unread)))
    covered = [(number(recorded(counted["covered"]), percent=True), "") for counted in numbers.values()]
    rows.append(("coverage", *chain.from_iterable(covered)))
    head = (column for way in numbers for column in (f"{way}: of a question's pairs %", "questions with it %"))
    note = (
        "Pairs: every two contexts that answer. The shares are those of each question, averaged over the questions "
        "that have pairs; they sum to 100 %. Unreadable: of all pairs those whose relation no reply gave; they are not "
        "among the others. Coverage: the share of a question's right answers that a context holds. "
        "[95 %: bootstrap over questions; Wilson for the share of questions.]"
    )
    return Table(f"Relations, {name}", ("relation", *head), tuple(rows), note)


def contexts_table(numbers: Mapping[str, dict[str, Any]]) -> Table:
    """Return a table by origin: how many contexts answer, how many pairs they make, and the cost of relating them."""
    rows = []
    for way, counted in numbers.items():
        questions = counted["questions"]
        means = [counted[part] / max(1, questions) for part in ("contexts", "relevant", "pairs", "calls")]
        rows.append((way, f"{questions:,}", f"{counted['with_pairs']:,}", *(f"{mean:.2f}" for mean in means)))
    head = ("contexts", "questions", "with pairs", "contexts", "that answer", "pairs", "calls")
    return Table("For one question", head, tuple(rows))


def row(question: Sample, way: str, found: Composition | None, error: str = "") -> ScoreRow:
    """Return how many pairs of a question's contexts are related; which relations, in the details."""
    details: dict[str, Any] = {"question": question.question, "relations": [], "error": error}
    if found is None:
        return ScoreRow(question.id, way, "relations", None, error, details=details)
    details["relations"] = [list(pair) for pair in found.pairs]
    related = sum(kind != "none" for _, _, kind in found.pairs)
    return ScoreRow(
        question.id, way, "relations", related, f"of {len(found.pairs)} pairs", found.calls, details=details
    )
