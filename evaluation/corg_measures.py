"""The measures of COrg's tables (section 2.4): how many of the right answers are given, and about the right entities.

The measures are those of AmbigDocs (Lee et al., arXiv 2404.12447), as its published scorer computes them: words are
lower-cased, without punctuation, articles and stop words (here the project's own list of them).

- answer recall: the share of a right answer's words that the text contains;
- entity recall: the same for the entity's full name, without the words of the name that the question uses;
- EAR (entity-answer recall): the product of both, for each entity and its answer;
- Disambig-F1: a reader of spans gets the sub-question, which has the entity's full name, and reads the text as its
  passage; the F1 of what it finds with the right answer, 0 if it finds nothing.

Each is a mean over the question's right answers, or over its entities with their answers. If the data set does not name
entities (ConflictQA), there is no entity recall and no EAR, and the sub-question of each answer is the one in the set,
else the question itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import nan
from statistics import fmean
from typing import Any

from evaluation.compare import Comparison, compare
from evaluation.experiments.reading import open_named
from evaluation.intervals import Estimate, average
from evaluation.plots import BarPlot, PlotAxis
from evaluation.reading_metrics import holds, normalised
from evaluation.report import Table, number
from evaluation.rows import ScoreRow, complete, samples_of
from evaluation.samples import Sample
from preflight_rag.models.reading.extractive_reader import BUNDLED, NO_READER, ExtractiveReader, PassageReading
from preflight_rag.text.citations import MARKS
from preflight_rag.text.names import surface_name
from preflight_rag.text.words import STOP_WORDS

MEASURES = {"answers": "answer recall", "entities": "entity recall", "both": "EAR", "disambig": "Disambig-F1"}
HEADLINE = tuple(MEASURES[name] for name in ("answers", "both", "disambig"))
"""The measures in which systems are compared."""
WRONG = "gives a wrong answer"


@dataclass(frozen=True)
class PossibleReferent:
    """An entity that a question may mean, a right answer for it, and the question that asks for this entity alone.

    Its full name is empty if the data set does not name entities.
    """

    entity: str
    answer: str
    sub_question: str


def things(question: Sample) -> tuple[PossibleReferent, ...]:
    """Return the entities of the passages that give a right answer; if none is named, one for each right answer."""
    right = {name for names in question.answers for name in names}
    giving = [given for given in question.given if given.role != "wrong" and given.answer in right]
    named: dict[tuple[str, str], PossibleReferent] = {}
    for given in giving:
        if entity := given.entity or given.thing:
            asked = given.sub_question or disambiguated(question, entity)
            named.setdefault((entity, given.answer), PossibleReferent(entity, given.answer, asked))
    if named:
        return tuple(named.values())
    sub_questions = {given.answer: given.sub_question for given in reversed(giving) if given.sub_question}
    return tuple(
        PossibleReferent("", names[0], sub_questions.get(names[0]) or question.question) for names in question.answers
    )


def shared_name(question: Sample) -> str:
    """Return the name that a question uses for several entities: its label if the question contains it, else by rule.

    In a question in lower case a name cannot be recognised by capitals: then it is the text of the question that most
    of the entities' full names contain, of these the longest.
    """
    label = question.label.removesuffix("(disambiguation)").strip()
    if label and label.casefold() in question.question.casefold():
        return label
    return surface_name(question.question) or _name_of_things(question)


def _name_of_things(question: Sample) -> str:
    """Return the words of the question that occur in the names of most of its things, e.g. `Apple`."""
    entities = dict.fromkeys(given.entity for given in question.given if given.entity)
    found: dict[str, set[str]] = {}
    for entity in entities:
        parts = list(re.finditer(r"\w+(?:['’.-]\w+)*", entity))
        for first, last in combinations_with_replacement(range(len(parts)), 2):
            run = entity[parts[first].start() : parts[last].end()]
            stands = re.search(rf"(?<!\w){re.escape(run)}(?!\w)", question.question, re.IGNORECASE)
            if stands and tokens(run):
                found.setdefault(stands.group(), set()).add(entity)
    return max(found, key=lambda run: (len(found[run]), len(run.split()), len(run)), default="")


def tokens(text: str) -> list[str]:
    """Return the words that count, in their order."""
    return [word for word in normalised(MARKS.sub("", text)).split() if word not in STOP_WORDS]


def recall(wanted: Sequence[str], text: str) -> float:
    """Return the share of the wanted words in the text; repeated words count as often as they occur in both."""
    return sum((Counter(wanted) & Counter(tokens(text))).values()) / len(wanted)


def answer_recall(names: Sequence[str], text: str) -> float:
    """Return the recall of the best of an answer's names; one without counted words must be in the text verbatim."""
    return max(recall(words, text) if (words := tokens(name)) else float(holds(text, [name])) for name in names)


def entity_recall(entity: str, name: str, text: str) -> float:
    """Return the recall of the entity's words beyond the shared name; without any, whether the text contains it."""
    shared = frozenset(tokens(name))
    wanted = [word for word in tokens(entity) if word not in shared]
    return recall(wanted, text) if wanted else float(holds(text, [entity]))


def f1(found: str, answer: str) -> float:
    """Return the F1 of the words of a found answer with those of a right one; without words, whether both lack them."""
    predicted, wanted = tokens(found), tokens(answer)
    if not predicted or not wanted:
        return float(predicted == wanted)
    shared = sum((Counter(predicted) & Counter(wanted)).values())
    return 2 * shared / (len(predicted) + len(wanted))


def disambiguated(question: Sample, entity: str) -> str:
    """Return the question with the entity's full name instead of the name that it shares with others."""
    name = shared_name(question)
    place = question.question.casefold().find(name.casefold()) if name else -1
    return (
        question.question if place < 0 else question.question[:place] + entity + question.question[place + len(name) :]
    )


class Grader:
    """Computes the measures of answers; `name` is that of the reader for Disambig-F1.

    Args:
        reader: A SQuAD-v2 model's name, as `--extractive-reader` takes it; for "none", the project's own reader.

    Raises:
        ExtractiveReaderError: There is no such reader.
    """

    def __init__(self, reader: str = BUNDLED) -> None:
        self._reader: ExtractiveReader = open_named(BUNDLED if reader == NO_READER else reader)
        self.name = self._reader.name

    def grade(self, question: Sample, text: str) -> dict[str, float | None]:
        """Return each of `MEASURES`, in [0, 1]; None if the question's entities, or its answers, are unknown."""
        known, name = things(question), shared_name(question)
        named = [thing for thing in known if thing.entity]
        answers = [answer_recall(names, text) for names in question.answers]
        entities = [entity_recall(thing.entity, name, text) for thing in named]
        own = [answer_recall([thing.answer], text) for thing in named]
        return {
            "answers": fmean(answers) if answers else None,
            "entities": fmean(entities) if named else None,
            "both": fmean(a * b for a, b in zip(own, entities, strict=True)) if named else None,
            "disambig": fmean(self._disambig(known, text)) if known else None,
        }

    def ceiling(self, question: Sample) -> float | None:
        """Return Disambig-F1 of a text with all right answers ("ENTITY is ANSWER."): the highest to be expected."""
        known = things(question)
        text = " ".join(f"{thing.entity or thing.sub_question} is {thing.answer}." for thing in known)
        return fmean(self._disambig(known, text)) if known else None

    def _disambig(self, known: Sequence[PossibleReferent], text: str) -> list[float]:
        """Return, for each possible referent, the F1 of the answer that the reader finds to its sub-question."""
        passage = " ".join(MARKS.sub("", text).split())
        if not passage:
            return [0.0] * len(known)
        readings = self._reader.read([(thing.sub_question, "", passage) for thing in known])
        return [f1(_found(reading), thing.answer) for thing, reading in zip(known, readings, strict=True)]


def _found(reading: PassageReading) -> str:
    """Return the best span, if it scores above "no answer here" (SQuAD 2.0's rule)."""
    return reading.best.text if reading.best and reading.best.margin > 0 else ""


@dataclass(frozen=True)
class GradedAnswers:
    """Answers with COrg's measures, from `graded`.

    Attributes:
        rows: The answers, each with its measures in the details.
        by_system: Systems by measure, compared with the baseline.
        wrong: Share of the answers that include a wrong one, among questions with wrong answers.
        ceiling: Disambig-F1 of a text with all right answers: the highest to be expected.
        grader: The grader, with the reader for Disambig-F1.
        seed: Seed of the bootstrap.
    """

    rows: tuple[ScoreRow, ...]
    by_system: Comparison
    wrong: Comparison
    ceiling: Estimate
    grader: str
    seed: int

    @property
    def figures(self) -> dict[str, Any]:
        """Return the estimates as JSON, and the ceiling of Disambig-F1."""
        return {**self.by_system.figures["means"], "ceiling": self.ceiling.as_json()}

    def table(self, title: str, note: str = "") -> Table:
        """Return a table with one line for each system: measures, share of answers that include a wrong one, length."""
        nothing = Estimate(nan, nan, nan)
        lines = []
        for arm, row in self.by_system.estimates.items():
            gives = self.wrong.estimates.get(arm, {}).get(WRONG, nothing)
            words = fmean(len(r.details["reply"].split()) for r in self.rows if r.arm == arm and r.score is not None)
            cells = (number(row[name], percent=True) for name in MEASURES.values())
            lines.append((arm, *cells, number(gives, percent=True), f"{words:.0f}"))
        head = ("system", *(f"{name} %" for name in MEASURES.values()), f"{WRONG} %", "words")
        note = (
            f"Measures of AmbigDocs' scorer; Disambig-F1 by the reader {self.grader}, with which the right answers "
            f"written out get {number(self.ceiling, percent=True)}. "
            f"Wrong answers: of the {self.wrong.samples:,} questions that have some. {note}".rstrip()
        )
        return Table(title, head, tuple(lines), f"{note} [95 %: bootstrap; Wilson for shares.]")

    def plots(self, title: str, note: str = "") -> tuple[BarPlot, ...]:
        """Return bar plots of the headline measures of all systems; none if no question was answered."""
        if not self.by_system.estimates:
            return ()
        bars = self.by_system.bars(title, note=f"{note} Intervals: 95 %, bootstrap.".strip(), turned=True)
        axis = PlotAxis("mean over the questions", percent=True, low=0.0, high=1.0)
        series = tuple(one for one in bars.series if one.name in HEADLINE)
        return (replace(bars, measure=axis, series=series),)


def measure_rows(rows: Iterable[ScoreRow], samples: Mapping[str, Sample], grader: Grader) -> list[ScoreRow]:
    """Return a row for each answer and each measure that its question has."""
    found = []
    for row in rows:
        grades = grader.grade(samples[row.sample], row.details["reply"])
        found += [
            replace(row, measure=MEASURES[name], score=value, details={})
            for name, value in grades.items()
            if value is not None
        ]
    return found


def graded(
    rows: Iterable[ScoreRow], samples: Iterable[Sample], grader: Grader, *, baseline: str, seed: int
) -> GradedAnswers:
    """Return the measures of all samples that every system has answered, each system compared with the baseline."""
    asked, rows = {sample.id: sample for sample in samples}, list(rows)
    kept = complete(rows)
    measured = measure_rows(kept, asked, grader)
    lines = list(dict.fromkeys(row.arm for row in kept))
    others = [line for line in lines if line != baseline]
    pairs = {f"{line} − {baseline}, {name}": ((line, name), (baseline, name)) for line in others for name in HEADLINE}
    compared = compare(measured, by="measure", columns=tuple(MEASURES.values()), lines=lines, pairs=pairs, seed=seed,
                       wilson=False)  # fmt: skip
    wrong = [replace(row, measure=WRONG, score=float(row.details["wrong"])) for row in kept if asked[row.sample].wrong]
    reached = [value for name in samples_of(kept) if (value := grader.ceiling(asked[name])) is not None]
    grades: dict[tuple[str, str], dict[str, float]] = {}
    for row in measured:
        grades.setdefault((row.sample, row.arm), {})[row.measure] = round(row.score or 0.0, 6)
    answers = [replace(row, details={**row.details, "measures": grades.get((row.sample, row.arm), {})}) for row in rows]
    return GradedAnswers(
        tuple(answers),
        compared,
        compare(wrong, by="measure", pairs={}, seed=seed),
        average(reached, seed=seed),
        grader.name,
        seed,
    )
