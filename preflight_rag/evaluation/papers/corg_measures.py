"""What COrg's tables measure (section 5): how many of the right answers are given, and whether of the right things.

The measures are those of AmbigDocs (Lee et al., arXiv 2404.12447), as its published scorer computes them: words are
lower-cased, without punctuation, articles and stop words (here the project's own list of them).

- answer recall: the share of a right answer's words that the text holds;
- entity recall: the same of the thing's full name, without the words of the name that the question uses;
- EAR (entity-answer recall): the product of both, for each thing and its answer;
- Disambig-F1: a reader of spans is asked for the thing by its full name and reads the text as its passage; the F1 of
  what it finds with the right answer, 0 where it finds none.

Each is a mean over the question's right answers, or over its things with their answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from preflight_rag.evaluation.experiments.reading import open_named
from preflight_rag.evaluation.harness.arms import Case
from preflight_rag.evaluation.reading_metrics import holds, normalised
from preflight_rag.evaluation.samples import Sample
from preflight_rag.models.reading.extractive_reader import BUNDLED, NO_READER, ExtractiveReader, PassageReading
from preflight_rag.text.names import surface_name
from preflight_rag.text.words import STOP_WORDS

MEASURES = {"answers": "answer recall", "entities": "entity recall", "both": "EAR", "disambig": "Disambig-F1"}
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True)
class Thing:
    """A thing that a question may mean, by its full name, and a right answer for it."""

    entity: str
    answer: str


def things(question: Sample) -> tuple[Thing, ...]:
    """The things of the passages that give a right answer; none where the data set does not name them."""
    right = {name for names in question.answers for name in names}
    found = (Thing(given.entity, given.answer) for given in question.given if given.entity and given.answer in right)
    return tuple(dict.fromkeys(found))


def shared_name(question: Sample) -> str:
    """The name that a question uses for several things: its label where the question holds it, else by rule."""
    label = question.label.removesuffix("(disambiguation)").strip()
    return label if label and label.casefold() in question.question.casefold() else surface_name(question.question)


def tokens(text: str) -> list[str]:
    """The words that count, in their order."""
    return [word for word in normalised(_MARK.sub("", text)).split() if word not in STOP_WORDS]


def recall(wanted: Sequence[str], text: str) -> float:
    """Share of the words that the text holds, each as often as it is wanted."""
    return sum((Counter(wanted) & Counter(tokens(text))).values()) / len(wanted)


def answer_recall(names: Sequence[str], text: str) -> float:
    """Of an answer's names the best; one without words that count must stand in the text as it is."""
    return max(recall(words, text) if (words := tokens(name)) else float(holds(text, [name])) for name in names)


def entity_recall(entity: str, name: str, text: str) -> float:
    """Of the words that the name lacks; where it lacks none, whether the entity stands in the text."""
    told = frozenset(tokens(name))
    wanted = [word for word in tokens(entity) if word not in told]
    return recall(wanted, text) if wanted else float(holds(text, [entity]))


def f1(found: str, answer: str) -> float:
    """F1 of the words of what was found with those of an answer; without any words, whether neither has some."""
    predicted, wanted = tokens(found), tokens(answer)
    if not predicted or not wanted:
        return float(predicted == wanted)
    shared = sum((Counter(predicted) & Counter(wanted)).values())
    return 2 * shared / (len(predicted) + len(wanted))


def disambiguated(question: Sample, entity: str) -> str:
    """The question with the thing's full name in the place of the name that it shares with others."""
    name = shared_name(question)
    place = question.question.casefold().find(name.casefold()) if name else -1
    return (
        question.question if place < 0 else question.question[:place] + entity + question.question[place + len(name) :]
    )


class Grader:
    """Measures answers; its `name` is that of the reader behind Disambig-F1.

    Args:
        reader: A SQuAD-v2 model's name, as `--extractive-reader` takes it; where there is to be none, the project's
            own reader.

    Raises:
        ExtractiveReaderError: There is no such reader.
    """

    def __init__(self, reader: str = BUNDLED) -> None:
        self._reader: ExtractiveReader = open_named(BUNDLED if reader == NO_READER else reader)
        self.name = self._reader.name

    def grade(self, question: Sample, text: str) -> dict[str, float | None]:
        """Each of `MEASURES`, in [0, 1]; None where the question's things, or its answers, are not known."""
        told, name = things(question), shared_name(question)
        answers = [answer_recall(names, text) for names in question.answers]
        entities = [entity_recall(thing.entity, name, text) for thing in told]
        own = [answer_recall([thing.answer], text) for thing in told]
        return {
            "answers": fmean(answers) if answers else None,
            "entities": fmean(entities) if told else None,
            "both": fmean(a * b for a, b in zip(own, entities, strict=True)) if told else None,
            "disambig": fmean(self._disambig(question, told, text)) if told else None,
        }

    def case(self, case: Case) -> dict[str, dict[str, float | None]]:
        """The measures of each arm of a case."""
        return {name: self.grade(case.question, scored.answer.text) for name, scored in case.arms.items()}

    def ceiling(self, question: Sample) -> float | None:
        """Disambig-F1 of the right answers written out, "THING is ANSWER." for each: the most to be expected."""
        told = things(question)
        text = " ".join(f"{thing.entity} is {thing.answer}." for thing in told)
        return fmean(self._disambig(question, told, text)) if told else None

    def _disambig(self, question: Sample, told: Sequence[Thing], text: str) -> list[float]:
        passage = " ".join(_MARK.sub("", text).split())
        if not passage:
            return [0.0] * len(told)
        readings = self._reader.read([(disambiguated(question, thing.entity), "", passage) for thing in told])
        return [f1(_found(reading), thing.answer) for thing, reading in zip(told, readings, strict=True)]


def _found(reading: PassageReading) -> str:
    """The best span, where it scores above "no answer here" (SQuAD 2.0's rule)."""
    return reading.best.text if reading.best and reading.best.margin > 0 else ""
