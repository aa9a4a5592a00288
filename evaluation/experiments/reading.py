"""Experiment `reading`: an extractive reader's spans, answerability, relevance and verdicts on given passages.

Each question is asked of each of its passages separately. The reader is compared with the sentence reader, which quotes
a passage's best sentence, on the same pairs. If a question has several passages, the span of the passage that most
probably answers is measured as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.compare import compare
from evaluation.datasets.pubmedqa import WHOLE
from evaluation.intervals import Estimate, wilson
from evaluation.metrics import roc_area, roc_area_gain
from evaluation.reading_metrics import (
    above_most_frequent,
    coverage_at,
    exact_match,
    holds,
    is_right,
    macro_f1,
    most_frequent,
    risk_area,
    span_f1,
)
from evaluation.report import Report, Table, checksums, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.cache import file_sha256
from preflight_rag.models import opening
from preflight_rag.models.reading.bundled_reader import MODEL, SETTINGS, BundledReader
from preflight_rag.models.reading.extractive_reader import CachedReader, ExtractiveReader, PassageReading
from preflight_rag.offline.evidence import sentences_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

BATCH = 16
RISKS = (0.1, 0.2)
OPTIONS = {"pubmedqa": ("yes", "no", "maybe"), WHOLE: ("yes", "no", "maybe"), "bioasq": ("yes", "no")}
"""Sets whose questions are also asked as multiple choice."""
READER, SENTENCES = "reader", "sentence reader"
VERDICTS = ("yes", "no", "neither")

Cells = tuple[str, ...]
Part = tuple[Table, dict[str, Any]]


@dataclass(frozen=True)
class ReadPair:
    """A pair with its reading, and the sentence reader's best sentence with its score."""

    example: Sample
    reading: PassageReading
    sentence: str
    score: float

    @property
    def span(self) -> str:
        """The words of the best span."""
        return self.reading.best.text if self.reading.best else ""

    @property
    def marked(self) -> bool:
        """Whether the passage contains an answer with known words."""
        return bool(self.example.passage.spans) and bool(self.example.names)

    @property
    def right(self) -> bool:
        """Whether the passage answers and the span is right."""
        return self.marked and is_right(self.span, self.example.names)

    @property
    def quoted(self) -> bool:
        """Whether the passage answers and its best sentence contains an answer."""
        return self.marked and holds(self.sentence, self.example.names)


def open_named(name: str) -> ExtractiveReader:
    """Return the extractive reader of a name, or of a `.onnx` file with the project's network.

    Raises:
        ExtractiveReaderError: It cannot be loaded.
        UsageError: The name stands for no reader.
    """
    reader = CachedReader(BundledReader(Path(name))) if name.endswith(".onnx") else opening.open_extractive_reader(name)
    if reader is None:
        raise UsageError(f"the extractive reader {name!r} reads nothing", help="Choose default, a model or a file.")
    return reader


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Read every pair of the part with both readers, and compare with the labels."""
    reader, embedder = open_named(run.extractive_reader), opening.open_embedder(run.embedder)
    sentences = OfflineReader(embedder)
    chosen = collection.select(run.part, run.limit)
    puts: list[ReadPair] = []
    for start in range(0, len(chosen), BATCH):
        batch = chosen[start : start + BATCH]
        readings = reader.read([(example.question, example.passage.title, example.passage.text) for example in batch])
        puts += [_put(example, reading, sentences) for example, reading in zip(batch, readings, strict=True)]
        run.progress(f"{collection.name}: pairs", len(puts), len(chosen))
    parts: dict[str, Part | None] = {
        "spans": _spans(puts, run.seed),
        "answerability": _areas(puts, "answerable", run.seed),
        "relevance": _areas(puts, "relevant", run.seed),
        "selective": _selective(puts, run.seed),
        "verdicts": _verdicts(collection.name, puts, run.seed),
        "choices": _choices(
            collection.name, puts, {READER: OfflineReader(embedder, reader), SENTENCES: sentences}, run
        ),
    }
    questions = len({example.id for example in chosen})
    return Report(
        experiment="reading",
        dataset=collection.title,
        about=f"{questions:,} questions ({run.part} part), {len(chosen):,} passages put to them; {reader.name}.",
        tables=tuple(part[0] for part in parts.values() if part),
        rows=tuple(_rows(collection.name, puts)),
        figures={name: part[1] for name, part in parts.items() if part},
        inputs=_inputs(collection, run.extractive_reader) | {"embedder": embedder.name, "reader": reader.name},
    )


def _put(example: Sample, reading: PassageReading, sentences: OfflineReader) -> ReadPair:
    """Return a pair with the reader's result and the sentence that the reader of sentences would quote."""
    found = sentences.rank(
        example.question,
        sentences_of([Source(1, "passage", example.passage.title, example.passage.text)], example.question),
    )
    best = found[0] if found else None
    return ReadPair(example, reading, best.sentence.text if best else "", best.score if best else 0.0)


def _inputs(collection: DataSet, name: str) -> dict[str, Any]:
    """Return the inputs of a run for its report: data set, model file and settings by their hashes."""
    own = {"default": MODEL}.get(name, Path(name))
    given: dict[str, Any] = {"source": collection.source, "licence": collection.licence}
    if own.is_file():
        given |= {"model sha256": file_sha256(own), "settings sha256": file_sha256(SETTINGS)}
    return given | {"sha256": checksums(collection.files)}


def _spans(puts: Sequence[ReadPair], seed: int) -> Part | None:
    """Return the span measures of passages that contain the answer, and of each question's most probable passage."""
    marked = [put for put in puts if put.marked]
    if not marked:
        return None
    groups: dict[str, list[ReadPair]] = {}
    for put in puts:
        groups.setdefault(put.example.id, []).append(put)
    several = []
    for group in groups.values():
        if len(group) > 1 and any(put.marked for put in group):
            several.append(_most_probable(group))
    kinds = {"a passage with the answer": marked}
    if several:
        kinds["the most probable of a question's passages"] = several
    rows = [
        ScoreRow(str(place), arm=kind, measure=measure, score=float(of(put)))
        for kind, chosen in kinds.items()
        for place, put in enumerate(chosen)
        for measure, of in SPAN_MEASURES.items()
    ]
    found = compare(rows, by="measure", pairs=[], seed=seed)
    note = (
        "Best of the gold answers, SQuAD's normalisation; right: F1 at least 0.5. In the second row the answers of all "
        "the question's passages count. The last column is the sentence reader, whose sentence is longer than a span. "
        "[95 %: Wilson, F1 bootstrap.]"
    )
    table = found.means("Spans", note, head="span of", intervals="")
    counted = tuple((name, f"{len(kinds[name]):,}", *cells) for name, *cells in table.rows)
    table = replace(table, columns=("span of", "cases", *table.columns[1:]), rows=counted)
    numbers = {name: {"cases": len(kinds[name]), **means} for name, means in found.figures["means"].items()}
    return table, numbers


SPAN_MEASURES: dict[str, Callable[[ReadPair], float]] = {
    "F1": lambda put: span_f1(put.span, put.example.names),
    "exact match %": lambda put: exact_match(put.span, put.example.names),
    "right %": lambda put: is_right(put.span, put.example.names),
    "best sentence holds an answer %": lambda put: holds(put.sentence, put.example.names),
}


def _most_probable(group: Sequence[ReadPair]) -> ReadPair:
    """Return the passage that most probably answers, with the answers of all of the question's passages."""
    best = max(group, key=lambda put: (put.reading.answerable, put.reading.best.margin if put.reading.best else -1e9))
    gold = tuple(dict.fromkeys(answer for put in group for answer in put.example.names))
    return replace(best, example=replace(best.example, answers=(gold,) if gold else ()))


def _areas(puts: Sequence[ReadPair], label: str, seed: int) -> Part | None:
    """Return the area under the ROC curve of a probability for a label, beside that of the best sentence's score."""
    known = [put for put in puts if _known(put.example, label) is not None]
    truth = [bool(_known(put.example, label)) for put in known]
    values = [put.reading.answerable if label == "answerable" else put.reading.relevance for put in known]
    probabilities = [value for value in values if value is not None]
    if len(set(truth)) < 2 or len(probabilities) < len(known):
        return None
    scores = [put.score for put in known]
    found = {
        READER: roc_area(probabilities, truth, seed=seed),
        SENTENCES: roc_area(scores, truth, seed=seed),
        "difference": roc_area_gain(probabilities, scores, truth, seed=seed),
    }
    cells = [number(estimate, signed=name == "difference") for name, estimate in found.items()]
    title = {"answerable": "Answerability: does the passage hold the answer?", "relevant": "Relevance"}[label]
    columns = ("pairs", "of these yes", "reader, ROC area", "best sentence's score, ROC area", "difference")
    row = (f"{len(known):,}", f"{sum(truth):,}", *cells)
    return Table(title, columns, (row,), "[95 % bootstrap intervals, the difference paired.]"), figures(found)


def _known(example: Sample, label: str) -> bool | None:
    """Return whether a pair is known to be answerable (or relevant); None if unknown."""
    return example.answerable if label == "answerable" else example.passage.relevant


def selective_pairs(puts: Sequence[ReadPair]) -> list[ReadPair]:
    """Return the pairs whose answer is known: its words, or that there is none."""
    return [put for put in puts if put.marked or put.example.answerable is False]


def _selective(puts: Sequence[ReadPair], seed: int) -> Part | None:
    """Return how many pairs can be answered at a given risk."""
    known = selective_pairs(puts)
    if len({put.marked for put in known}) < 2:
        return None
    systems = {
        READER: ([put.reading.answerable for put in known], [not put.right for put in known]),
        SENTENCES: ([put.score for put in known], [not put.quoted for put in known]),
    }
    rows, numbers = [], {}
    for name, (confidence, wrong) in systems.items():
        found = selective(confidence, wrong, seed)
        rows.append((name, f"{len(known):,}", *selective_cells(found)))
        numbers[name] = figures(found)
    return Table("Answering some, leaving the rest", SELECTIVE_COLUMNS, tuple(rows), SELECTIVE_NOTE), numbers


SELECTIVE_COLUMNS = ("system", "pairs", "answerable and right %", "area under risk-coverage",
                     *(f"coverage % at {risk:.0%} risk" for risk in RISKS))  # fmt: skip
SELECTIVE_NOTE = (
    "Wrong: no answer in the passage, or another span (the sentence reader: a sentence without the answer). Coverage: "
    "share of all pairs that are answered. Less area is better. [95 %: Wilson; the rest bootstrap.]"
)


def selective(confidence: Sequence[float], wrong: Sequence[bool], seed: int) -> dict[str, Estimate]:
    """Return the share that is right, the area under the risk-coverage curve, and the coverage at each of `RISKS`."""
    return {
        "right": wilson(len(wrong) - sum(wrong), len(wrong)),
        "area": risk_area(confidence, wrong, seed=seed),
        **{f"coverage_at_{risk}": coverage_at(risk, confidence, wrong, seed=seed) for risk in RISKS},
    }


def selective_cells(found: dict[str, Estimate]) -> Cells:
    """Return the estimates of selective answering as cells of a table's row."""
    return tuple(number(estimate, percent=name != "area") for name, estimate in found.items())


def _verdicts(name: str, puts: Sequence[ReadPair], seed: int) -> Part | None:
    """Return the measures of the verdict head on yes/no questions and statements; for BioASQ, of mean verdicts."""
    units: dict[str, list[ReadPair]] = {}
    for place, put in enumerate(puts):
        if put.example.passage.verdict is not None and put.reading.verdict is not None:
            units.setdefault(put.example.id if name == "bioasq" else str(place), []).append(put)
    if not units:
        return None
    judged = [(group[0].example.passage.verdict or "", _mean_verdict(group)) for group in units.values()]
    kinds = {"yes / no": [pair for pair in judged if pair[0] != "neither"]}
    if len(kinds["yes / no"]) < len(judged):
        kinds["yes / no / neither"] = judged
    rows, numbers = [], {}
    for kind, pairs in kinds.items():
        classes = VERDICTS[: 2 if kind == "yes / no" else 3]
        gold = [truth for truth, _ in pairs]
        predicted = [_likeliest(mass, classes) for _, mass in pairs]
        cells, numbers[kind] = _accuracy(predicted, gold, seed)
        rows.append((kind, *cells))
    return Table("Verdict head", ("classes", *ACCURACY_COLUMNS), tuple(rows), ACCURACY_NOTE), numbers


ACCURACY_COLUMNS = ("questions", "accuracy %", "macro-F1", "most frequent class %", "accuracy above it")
ACCURACY_NOTE = "[95 %: Wilson for shares, bootstrap for macro-F1 and for the paired difference.]"


def _mean_verdict(group: Sequence[ReadPair]) -> tuple[float, ...]:
    """Return the mean of the verdict's probabilities over a question's passages."""
    verdicts = [put.reading.verdict for put in group if put.reading.verdict is not None]
    return tuple(round(sum(column) / len(verdicts), 6) for column in zip(*verdicts, strict=True))


def _likeliest(verdict: Sequence[float], classes: Sequence[str]) -> str:
    """Return the class with the largest probability; the first of equals."""
    return max(classes, key=lambda name: (verdict[VERDICTS.index(name)], -VERDICTS.index(name)))


def _accuracy(predicted: Sequence[str], gold: Sequence[str], seed: int) -> tuple[Cells, dict[str, Any]]:
    """Return cells and figures of verdicts: accuracy, macro F1, and the gain over the most frequent verdict."""
    usual = most_frequent(gold)
    found = {
        "accuracy": wilson(sum(a == b for a, b in zip(predicted, gold, strict=True)), len(gold)),
        "macro_f1": macro_f1(predicted, gold, seed=seed),
        "most_frequent": wilson(list(gold).count(usual), len(gold)),
        "above": above_most_frequent(predicted, gold, seed=seed),
    }
    cells = [number(e, percent=name != "macro_f1", signed=name == "above") for name, e in found.items()]
    return (f"{len(gold):,}", *cells), {"questions": len(gold), **figures(found)}


def _choices(name: str, puts: Sequence[ReadPair], readers: dict[str, OfflineReader], run: ExperimentRun) -> Part | None:
    """Return the measures of multiple choice as in the product: the question, all its passages, and the options."""
    groups: dict[str, list[Sample]] = {}
    for put in puts:
        if name in OPTIONS and put.example.passage.verdict is not None:
            groups.setdefault(put.example.id, []).append(put.example)
    if not groups:
        return None
    options = OPTIONS[name]
    gold = [
        {"neither": "maybe"}.get(str(group[0].passage.verdict), str(group[0].passage.verdict))
        for group in groups.values()
    ]
    rows, numbers = [], {}
    for system, reader in readers.items():
        chosen = []
        for done, group in enumerate(groups.values(), 1):
            sources = [
                Source(n, f"p{n}", example.passage.title, example.passage.text) for n, example in enumerate(group, 1)
            ]
            reply = asyncio.run(reader.answer(question=group[0].question, sources=sources, options=options))
            chosen.append(reply.value.choice or "none")
            run.progress(f"{name}: options, {system}", done, len(groups))
        cells, numbers[system] = _accuracy(chosen, gold, run.seed)
        numbers[system]["no choice"] = chosen.count("none")
        rows.append((system, *cells, str(chosen.count("none"))))
    note = f"Options: {', '.join(options)}. No choice counts as wrong. {ACCURACY_NOTE}"
    return Table("Options", ("system", *ACCURACY_COLUMNS, "no choice"), tuple(rows), note), numbers


def _rows(name: str, puts: Sequence[ReadPair]) -> Iterator[ScoreRow]:
    """Yield whether each reader is right about a pair, and its confidence."""
    for place, put in enumerate(puts):
        example, reading = put.example, put.reading
        known = {
            "group": example.id,
            "question": example.question,
            "gold": list(example.names) if put.marked else [],
            "known": put.marked or example.answerable is False,
        }
        of_reader = {
            "confidence": reading.answerable,
            "span": put.span,
            "relevance": reading.relevance,
            "verdict": reading.verdict,
            "labels": [example.answerable, example.passage.relevant, example.passage.verdict],
        }
        yield ScoreRow(f"{name} {place}", arm=READER, score=float(put.right), details=known | of_reader)
        of_sentences = {"confidence": put.score, "sentence": put.sentence}
        yield ScoreRow(f"{name} {place}", arm=SENTENCES, score=float(put.quoted), details=known | of_sentences)
