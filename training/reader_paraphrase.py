"""Examples made from paraphrases of a passage: titles, conclusions, claims, trial prompts.

A value in the title that the abstract repeats is removed from the title, which becomes the question, and is to be found
in the abstract. Title and abstract differ in wording as a user's question and a passage do, unlike a cloze question
(`reader_cloze.py`) made from the passage itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets import evidence_inference, examples, scifact
from evaluation.datasets.files import find, json_lines, texts
from evaluation.datasets.pairs import pair, spans_of, window
from evaluation.datasets.statements import candidates
from evaluation.samples import Sample, reader_part_of
from preflight_rag.text.sentences import sentence_spans
from training.reader_cloze import masked

EACH = 2
"""Questions from one sentence."""
LEAST = 4
"""Least characters of a value that is asked for, and least words of a question."""
WORDS = 170
CHANGES = {1: ("increased", "improved", "raised"), -1: ("reduced", "decreased", "lowered")}


def paraphrased(data: Path, rng: random.Random) -> Iterator[Sample]:
    """Yield questions made from titles, PubMedQA's conclusions and SciFact's supported claims (training parts)."""
    for saying, text in _pairs(data):
        found = [item for item in candidates(saying) if len(item.text) >= LEAST and spans_of(text, [item.text])]
        for value in rng.sample(found, min(EACH, len(found))):
            question = masked(saying, value, rng)
            if len(question.split()) >= LEAST:
                answers = spans_of(text, [value.text])
                yield pair("", question, "", text, answers, True, True, gold=(value.text,))


def _pairs(data: Path) -> Iterator[tuple[str, str]]:
    """Yield paraphrases, each with its passage."""
    for _, row in json_lines(find(data / "scifact", "corpus.jsonl", origin=scifact.SOURCE)):
        yield row["title"], " ".join(" ".join(row["sentences"]).split()[:WORDS])
    path = find(data / "evidence_inference", "abstracts.jsonl", origin=evidence_inference.SOURCE)
    for _, row in json_lines(path):
        if reader_part_of(row["pmcid"]) == "train":
            yield row["title"], " ".join(row["abstract"].split()[-WORDS:])
    asked = [example for example in examples("pubmedqa", data, "train") if example.passage.verdict]
    for body, conclusion in zip(asked[::2], asked[1::2], strict=True):
        for span in sentence_spans(conclusion.passage.text):
            yield conclusion.passage.text[slice(*span)], body.passage.text
    for example in examples("scifact", data, "train"):
        if example.passage.verdict == "yes":
            yield example.question, example.passage.text


def prompted(data: Path, rng: random.Random) -> Iterator[Sample]:
    """Yield Evidence Inference's prompts as questions for the treatment or the outcome, if the evidence names it."""
    folder = data / "evidence_inference"
    prompts: dict[str, list[dict[str, Any]]] = {}
    for _, row in json_lines(find(folder, "prompts_annotated_v2.jsonl", origin=evidence_inference.SOURCE)):
        if reader_part_of(row["pmcid"]) == "train":
            prompts.setdefault(row["pmcid"], []).append(row)
    for article in texts(find(folder, "articles_txt.jsonl", origin=evidence_inference.SOURCE), "pmcid"):
        spans = sentence_spans(article.text) if article.id in prompts else []
        for row in prompts.get(article.id, []):
            annotation = next(
                (item for item in row["annotations"] if item["valid_label"] and item["evidence"].strip()), None
            )
            if annotation is None or annotation["label_code"] == 0 or len(annotation["evidence"]) > 900:
                continue
            begin, end = window(article.text, spans, (annotation["start"], annotation["end"]), rng)
            yield from _asked(row, annotation["label_code"], " ".join(article.text[begin:end].split()), rng)


def _asked(row: dict[str, Any], change: int, text: str, rng: random.Random) -> Iterator[Sample]:
    """Yield questions for the treatment and the outcome of a trial's prompt, if the text has the answer."""
    verb = rng.choice(CHANGES[change])
    forms = {
        "intervention": "Which treatment {v} {o} compared with {c}?",
        "outcome": "What was {v} by {i} compared with {c}?",
    }
    for name, form in forms.items():
        answers = spans_of(text, [row[name]])
        if answers and len(row[name].split()) <= 8:
            question = form.format(v=verb, i=row["intervention"], o=row["outcome"], c=row["comparator"])
            group = f"evidence_inference {row['prompt_id']}"
            yield pair(row["pmcid"], question, "", text, answers, True, True, group=group, gold=(row[name],))
