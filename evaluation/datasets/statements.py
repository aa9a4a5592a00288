"""Statements with a passage each, and the passage's verdict on them, for measuring the check of citations.

A statement is its sample's answer; the question is empty if it answers none. Parts are those of the reader's training:
"test" is reported, and "development" is the validation part, on which the threshold is chosen; none was used for
training.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.datasets import TRAINING, adapter_of, examples
from evaluation.datasets.pairs import pair
from evaluation.samples import Context, DataSet, ReaderPart, Sample, Span, Verdict
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import Kind, values
from preflight_rag.text.words import STOP_WORDS

RUNNING = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "pubmedqa")
"""Sets from whose passages statements are made."""
ASKED = ("nq_open_oracle", "xquad_en", "ramdocs")
"""Sets with short answers."""
KINDS: tuple[Kind, ...] = ("date", "number", "name")
_PHRASE = re.compile(r"(?<![\w-])[a-z][\w-]*(?: [a-z][\w-]*){0,3}")
SOURCE = "the publishers of NQ-Open, XQuAD, COVID-QA, RAMDocs and PubMedQA"


def made(folder: Path, name: str) -> DataSet:
    """Return statements made from the passages' sentences by rule: true, with a changed value, or not in them."""

    def read(part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
        found = set()
        for name in RUNNING:
            for sample in examples(name, folder.parent, part):
                found |= {(given.title, given.text) for given in sample.given if len(given.text) > 200}
        texts = [SourcePassage(*item) for item in sorted(found)]
        rng.shuffle(texts)
        for sample in by_rule(texts, rng):
            yield statement("", sample.question, sample.passage, sample.passage.verdict or "neither", part)

    return statement_set(name, "statements made of passages by rule", _sources(RUNNING), read)


def answers(folder: Path, name: str) -> DataSet:
    """Return statements of short answers to questions: the marked one, and another value of the passage instead."""

    def read(part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
        for sample in (sample for asked in ASKED for sample in examples(asked, folder.parent, part)):
            passage = sample.passage
            if not passage.spans:
                continue
            right = passage.text[slice(*passage.spans[0])]
            known = [gold.casefold() for gold in (right, *sample.names)]
            others = [item.text for item in candidates(passage.text) if item.kind != "phrase"]
            wrong = []
            for other in others:
                folded = other.casefold()
                if not any(folded in gold or gold in folded for gold in known):
                    wrong.append(other)
            if rng.random() < 0.5:
                yield statement(sample.question, right, passage, "yes", part)
            elif wrong:
                yield statement(sample.question, rng.choice(wrong), passage, "no", part)

    return statement_set(name, "short answers to questions", _sources(ASKED), read)


def statement(question: str, wording: str, passage: Context, verdict: Verdict, part: ReaderPart) -> Sample:
    """Return a statement that a passage supports, contradicts, or neither."""
    name = hashlib.sha256(f"{passage.title}\n{passage.text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    given = Context(name, passage.title, passage.text, verdict=verdict)
    return Sample(
        f"{question}\n{wording}\n{name}\n{verdict}", question, "claim", answers=((wording,),), given=(given,), part=part
    )


def statement_set(
    name: str, title: str, source: str, read: Callable[[ReaderPart, random.Random], Iterable[Sample]]
) -> DataSet:
    """Return the statements of the test and the validation part, each once."""
    parts: tuple[ReaderPart, ...] = ("test", "validation")
    found = [sample for part in parts for sample in read(part, random.Random(f"{name} {part}"))]  # noqa: S311
    return DataSet(name, title, source, "", (), tuple({sample.id: sample for sample in found}.values()))


def _sources(names: Iterable[str]) -> str:
    """Return the publishers of data sets as one text."""
    return ", ".join(adapter_of(TRAINING[name]).SOURCE for name in names)


@dataclass(frozen=True)
class SourcePassage:
    """A passage from which questions are made."""

    title: str
    text: str


@dataclass(frozen=True)
class SentenceValue:
    """A value in a sentence."""

    span: Span
    text: str
    kind: Kind | str


def candidates(sentence: str) -> list[SentenceValue]:
    """Return values of a sentence for which a question could ask: dates, numbers, names, phrases of content words."""
    found: dict[Span, SentenceValue] = {}
    for kind in KINDS:
        for value in values(sentence, kind, ""):
            at = sentence.find(value.text)
            if at >= 0 and len(value.text.split()) <= 8:
                found.setdefault(
                    (at, at + len(value.text)), SentenceValue((at, at + len(value.text)), value.text, kind)
                )
    for match in _PHRASE.finditer(sentence):
        kept = [token for token in match.group().split() if token not in STOP_WORDS]
        if len(kept) == len(match.group().split()) and any(len(token) > 6 for token in kept) and len(kept) <= 3:
            found.setdefault(match.span(), SentenceValue(match.span(), match.group(), "phrase"))
    return list(found.values())


def by_rule(texts: Sequence[SourcePassage], rng: random.Random) -> Iterator[Sample]:
    """Yield one statement for each text: true to it, with a value changed, or from another text."""
    pool: dict[Kind | str, list[str]] = {}
    for text in texts:
        spans = [span for span in sentence_spans(text.text) if 8 <= len(text.text[slice(*span)].split()) <= 45]
        if not spans:
            continue
        sentence = text.text[slice(*rng.choice(spans))]
        found = [item for item in candidates(sentence) if item.kind != "phrase"]
        for item in found:
            pool.setdefault(item.kind, []).append(item.text)
        chance = rng.random()
        if chance < 0.4 and found:
            value = rng.choice(found)
            here = [item for item in pool[value.kind] if item.casefold() not in sentence.casefold()]
            if here:
                changed = f"{sentence[: value.span[0]]}{rng.choice(here)}{sentence[value.span[1] :]}"
                yield pair(text.title, _thinned(changed, rng), text.title, text.text, verdict="no")
        elif chance < 0.8:
            yield pair(text.title, _thinned(sentence, rng), text.title, text.text, verdict="yes")
        else:
            rest = text.text.replace(sentence, " ")
            yield pair(text.title, _thinned(sentence, rng), text.title, rest, verdict="neither")


def _thinned(sentence: str, rng: random.Random) -> str:
    """Return a sentence without about every twelfth word, drawn at random."""
    return " ".join(token for token in sentence.split() if rng.random() > 0.08)
