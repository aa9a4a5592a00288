"""Examples without annotators: questions made from the texts' own sentences, and statements that they support or not.

A question is a sentence with one value replaced by an interrogative, with words dropped and loosely reordered, so that
word order alone does not give the answer away ("noisy cloze translation", Lewis et al., ACL 2019). For half of them the
sentence itself is removed from the passage and the value occurs in another sentence ("recurring span selection", Ram et
al., ACL 2021). A statement is a sentence with words dropped, either true to the passage or with a value replaced by one
of the same type.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.datasets import evidence_inference, examples, medquad, scifact
from evaluation.datasets.files import find, json_lines
from evaluation.datasets.pairs import pair, spans_of
from evaluation.datasets.statements import SentenceValue, SourcePassage, candidates
from evaluation.samples import Sample, Span, reader_part_of
from preflight_rag.text.sentences import sentence_spans

MAX_QUESTION = 22
"""Most words of a made question."""
_CLUTTER = re.compile(r"\bet al\b|https?:|www\.|\[ ?edit|[|•=@]|\.\.\.")
SUPERVISED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "clapnq", "pubmedqa", "conflictqa")
"""Annotated sets whose passages are used as texts, too."""
MEDICAL = 7000
"""Number of abstracts and of consumer-health answers used beside them."""
EACH = 3
"""Most questions from one text."""
_TYPED = 0.7
"""Probability that a question asks for a date, number or name if the sentence has one."""


def training_texts(data: Path, rng: random.Random) -> list[SourcePassage]:
    """Return passages of the training parts, from every set with running text, in a random order."""
    found = set()
    for name in SUPERVISED:
        for sample in examples(name, data, "train"):
            if len(sample.passage.text) > 200:
                found.add((sample.passage.title, sample.passage.text))
    texts = [SourcePassage(*item) for item in sorted(found)]
    rows = [
        row for _, row in json_lines(find(data / "medquad", "qa_pairs.jsonl", origin=medquad.SOURCE)) if row["answer"]
    ]
    chosen = [row for row in rows if reader_part_of(row["focus"]) == "train"]
    medical = [SourcePassage(row["focus"], _words(row["answer"])) for row in rng.sample(chosen, min(2500, len(chosen)))]
    for _, row in json_lines(find(data / "scifact", "corpus.jsonl", origin=scifact.SOURCE)):
        medical.append(SourcePassage(row["title"], _words(" ".join(row["sentences"]))))
    path = find(data / "evidence_inference", "abstracts.jsonl", origin=evidence_inference.SOURCE)
    medical += [
        SourcePassage(row["title"], _words(row["abstract"]))
        for _, row in json_lines(path)
        if reader_part_of(row["pmcid"]) == "train"
    ]
    texts += rng.sample(medical, min(MEDICAL, len(medical)))
    rng.shuffle(texts)
    return texts


def _words(text: str) -> str:
    """Return the first 170 words of a text."""
    return " ".join(text.split()[:170])


def cloze(texts: Sequence[SourcePassage], rng: random.Random) -> Iterator[Sample]:
    """Yield up to three questions from each text, about different sentences."""
    for text in texts:
        spans = [span for span in sentence_spans(text.text) if _is_prose(text.text[slice(*span)])]
        for span in rng.sample(spans, min(EACH, len(spans))):
            made = _question(text, span, rng)
            if made is not None:
                yield made


def _is_prose(sentence: str) -> bool:
    """Return whether a sentence has a usual length and no table or reference marks."""
    return 6 <= len(sentence.split()) <= 60 and not _CLUTTER.search(sentence)


def _question(text: SourcePassage, span: Span, rng: random.Random) -> Sample | None:
    """Return a question for a value of a sentence; None if it has no value, or too few words would be left."""
    sentence = text.text[slice(*span)]
    found = candidates(sentence)
    typed = [item for item in found if item.kind != "phrase"]
    found = typed if typed and rng.random() < _TYPED else found
    if not found:
        return None
    rest = f"{text.text[: span[0]]}{text.text[span[1] :]}"
    recurring = [item for item in found if len(item.text) > 3 and spans_of(rest, [item.text])]
    elsewhere = bool(recurring) and rng.random() < 0.5
    value = rng.choice(recurring if elsewhere else found)
    question = masked(sentence, value, rng)
    if len(question.split()) < 4:
        return None
    if elsewhere:
        return _example(text, question, rest, spans_of(rest, [value.text]), value)
    if rng.random() < 0.2 and not spans_of(rest, [value.text]) and len(rest.split()) > 30:
        return _example(text, question, rest, (), value)
    at = span[0] + value.span[0]
    return _example(text, question, text.text, ((at, at + len(value.text)),), value)


def _example(
    text: SourcePassage, question: str, passage: str, answers: tuple[Span, ...], value: SentenceValue
) -> Sample:
    """Return a cloze question about a passage as a training sample."""
    return pair(text.title, question, text.title, passage, answers, bool(answers), gold=(value.text,))


def masked(sentence: str, value: SentenceValue, rng: random.Random) -> str:
    """Return the sentence as a question for one of its values, with words dropped and loosely reordered."""
    before, after = sentence[: value.span[0]].split(), sentence[value.span[1] :].split()
    room = rng.randint(6, MAX_QUESTION)
    before = before[-min(len(before), max(room // 2, room - len(after))) :]
    after = after[: max(0, room - len(before))]
    rest = [token for token in before + after if rng.random() > 0.12]
    if rng.random() < 0.4 and before and after:
        rest = [token for token in after + before if rng.random() > 0.12]
    asked = f"{_interrogative(value, before, rng)} {' '.join(rest)}".rstrip(" .,;:")
    return asked + ("?" if rng.random() < 0.6 else "")


def _interrogative(value: SentenceValue, before: Sequence[str], rng: random.Random) -> str:
    """Return the question word for a value, by its kind and the word before it."""
    last = before[-1].casefold() if before else ""
    if value.kind == "date":
        return rng.choice(("when", "in what year", "what date", "when"))
    if value.kind == "number":
        unit = value.text.split()[-1] if not value.text[-1].isdigit() else ""
        return rng.choice((f"how many {unit}".strip(), "how much", "what number", "what"))
    if value.kind == "name":
        if last in {"in", "at", "near", "from"}:
            return rng.choice(("where", "where", "in which place", "what"))
        return rng.choice(("who", "which", "what", "who" if last == "by" else "what"))
    return rng.choice(("what", "which", "what"))


def answered(asked: Sequence[Sample], rng: random.Random) -> Iterator[Sample]:
    """Yield statements of question and answer: the marked answer, or another value of the passage instead."""
    for example in asked:
        if not example.passage.spans:
            continue
        right = example.passage.text[slice(*example.passage.spans[0])]
        given = replace(example.passage, spans=None, relevant=None, descriptor=None)
        kept = replace(example, id="", answerable=None)
        if rng.random() < 0.5:
            yield replace(kept, question=f"{example.question} {right}", given=(replace(given, verdict="yes"),))
            continue
        found = [item.text for item in candidates(example.passage.text) if item.kind != "phrase"]
        others = [item for item in found if not spans_of(item, [right]) and not spans_of(right, [item])]
        if others:
            asked_of = f"{example.question} {rng.choice(others)}"
            yield replace(kept, question=asked_of, given=(replace(given, verdict="no"),))


def agreed(asked: Sequence[Sample], rng: random.Random) -> Iterator[Sample]:
    """Yield yes/no questions followed by "Yes" or "No", as statements that the passage supports or contradicts."""
    for example in asked:
        verdict = example.passage.verdict
        if verdict not in ("yes", "no"):
            continue
        stated = rng.choice(("yes", "no"))
        passage = replace(example.passage, spans=None, relevant=None, verdict="yes" if stated == verdict else "no")
        form = rng.choice(("{q} {a}", "{q} {a}.")).format(q=example.question, a=stated.capitalize())
        yield replace(example, id="", question=form, answerable=None, given=(passage,))
