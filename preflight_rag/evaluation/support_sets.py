"""Statements with a passage each, and what the passage says to them: what the check of citations is measured on.

Parts are those of the reader's training (`reader_examples.part_of`): "test" is reported, and "development" is the
validation part, on which the threshold is chosen; nothing here was trained on.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.evaluation.reader_data import CLAPNQ, SCIFACT, SETS, examples
from preflight_rag.evaluation.reader_examples import Example, Verdict
from preflight_rag.evaluation.records import as_published, find, json_lines
from preflight_rag.evaluation.samples import READ_PARTS, ReaderPart, check_selection, reader_part_of
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Passage
from preflight_rag.text.citations import Claim
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words
from training.reader_cloze import Text, candidates, statements

RUNNING = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "pubmedqa")
"""Sets whose passages statements are made of."""
ASKED = ("nq_open_oracle", "xquad_en", "ramdocs")
"""Sets of short answers."""


@dataclass(frozen=True)
class Case:
    """A statement, the question that it answers (empty where there is none), a passage, and what that says to it."""

    question: str
    statement: str
    passage: Passage
    verdict: Verdict

    @property
    def claim(self) -> Claim:
        """The statement, citing the passage as 1."""
        return Claim(self.statement, (1,))

    @property
    def id(self) -> str:
        """Of the statement and the passage."""
        key = f"{self.question}\n{self.statement}\n{self.passage.id}\n{self.verdict}"
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class StatementSet:
    """Cases of one origin.

    Attributes:
        name: What `--dataset` calls it.
        title: What the report calls it.
        source: Where its texts are published.
        read: The cases of a part of the training's.
        asked: Whether its statements answer questions.
    """

    name: str
    title: str
    source: str
    read: Callable[[ReaderPart], Sequence[Case]]
    asked: bool

    def select(self, part: str, limit: int | None = None) -> list[Case]:
        """The cases of a part, ordered by the hash of their texts, so that a limit takes a fixed random sample.

        Raises:
            UsageError: There is no such part, the limit is below 1, or no case is left.
        """
        check_selection(part, limit, of="statement")
        found = {case.id: case for named in READ_PARTS[part] for case in self.read(named)}
        if not found:
            raise UsageError(f"{self.name} has no statement in its {part} part", help="Try --part all.")
        return [found[name] for name in sorted(found)[:limit]]


def open_dataset(name: str, data: Path | None) -> StatementSet:
    """The statements of a name.

    Raises:
        UsageError: The name is unknown, or there is no folder of data sets.
    """
    if name not in KINDS:
        raise UsageError(f"there are no statements of {name!r}", help=f"Choose {' or '.join(KINDS)}.")
    if data is None:
        raise UsageError("no folder of data sets", help="Give --data DIR or PREFLIGHT_DATA.")
    read, title, source, asked = KINDS[name]

    def cases(part: ReaderPart) -> list[Case]:
        with as_published(name):
            return list(read(data, part, _rng(name, part)))

    return StatementSet(name, title, source, cases, asked)


def _rng(name: str, part: ReaderPart) -> random.Random:
    return random.Random(f"{name} {part}")  # noqa: S311


def scifact(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Case]:
    """Claims that experts wrote, put to abstracts: with the evidence, cited without evidence, and another one's."""
    for example in examples("scifact", data, part):
        yield _case("", example.question, example)


def made(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Case]:
    """Statements made of the passages' own sentences by rule: true, with a value changed, or of a sentence left out."""
    found = {(e.title, e.text) for name in RUNNING for e in examples(name, data, part) if len(e.text) > 200}
    texts = [Text(*item) for item in sorted(found)]
    rng.shuffle(texts)
    for example in statements(texts, rng):
        yield _case("", example.question, example)


def clapnq(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Case]:
    """Sentences of answers that people wrote from a passage: as they are, with a value changed, and put elsewhere.

    The changed value is another one of its kind from the same passage; elsewhere is the passage of another question
    that shares the most words with the sentence.
    """
    path = find(data / "clapnq", "clapnq_dev_answerable.jsonl", origin=CLAPNQ)
    entries = [entry for _, entry in json_lines(path) if reader_part_of(entry["input"]) == part]
    passages = [_passage(entry["passages"][0]["title"], entry["passages"][0]["text"]) for entry in entries]
    terms = [frozenset(words(passage.text)) for passage in passages]
    for i, entry in enumerate(entries):
        answer = next((output["answer"] for output in entry["output"] if output["answer"]), "")
        for span in sentence_spans(answer):
            said = answer[slice(*span)].strip()
            if len(said.split()) < 5:
                continue
            yield Case(entry["input"], said, passages[i], "yes")
            if changed := _changed(said, passages[i].text, rng):
                yield Case(entry["input"], changed, passages[i], "no")
            shared = frozenset(words(said))
            others = [j for j in range(len(entries)) if passages[j].id != passages[i].id]
            if others:
                nearest = max(others, key=lambda j: (len(shared & terms[j]), -j))
                yield Case(entry["input"], said, passages[nearest], "neither")


def answers(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Case]:
    """Short answers to questions: the marked one, and another value of the passage in its place."""
    for name in ASKED:
        for example in examples(name, data, part):
            if not example.answers:
                continue
            right = example.text[slice(*example.answers[0])]
            told = [gold.casefold() for gold in (right, *example.gold)]
            others = [item.text for item in candidates(example.text) if item.kind != "phrase"]
            wrong = [other for other in others if not any(o in t or t in o for o in [other.casefold()] for t in told)]
            if rng.random() < 0.5:
                yield _case(example.question, right, example, "yes")
            elif wrong:
                yield _case(example.question, rng.choice(wrong), example, "no")


def _changed(sentence: str, text: str, rng: random.Random) -> str:
    """The sentence with a date, number or name replaced by another one of its kind in the text; else empty."""
    found = [item for item in candidates(sentence) if item.kind != "phrase"]
    there = [item for item in candidates(text) if item.text.casefold() not in sentence.casefold()]
    swaps = [(item, other) for item in found for other in there if other.kind == item.kind]
    if not swaps:
        return ""
    item, other = rng.choice(swaps)
    return f"{sentence[: item.span[0]]}{other.text}{sentence[item.span[1] :]}"


def _case(question: str, statement: str, example: Example, verdict: Verdict | None = None) -> Case:
    told = verdict or example.verdict or "neither"
    return Case(question, statement, _passage(example.title, example.text), told)


def _passage(title: str, text: str) -> Passage:
    name = hashlib.sha256(f"{title}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Passage(id=name, document_id=name, title=title, text=text)


KINDS: dict[str, tuple[Callable[[Path, ReaderPart, random.Random], Iterator[Case]], str, str, bool]] = {
    "scifact": (scifact, "SciFact, claims of experts", SCIFACT, False),
    "made": (made, "statements made of passages by rule", ", ".join(SETS[name].source for name in RUNNING), False),
    "clapnq": (clapnq, "ClapNQ, answers that people wrote", CLAPNQ, True),
    "answers": (answers, "short answers to questions", ", ".join(SETS[name].source for name in ASKED), True),
}
"""Name to reader of the cases, title, place of publication, and whether the statements answer questions."""
