"""Evidence Inference: trials' full texts, and the evidence that annotators marked for each prompt."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from evaluation.datasets.files import about_documents, field, find, json_lines, texts
from evaluation.datasets.pairs import pair, window
from evaluation.samples import DataSet, ReaderPart, Sample, Span, Verdict, reader_part_of
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

SOURCE = "github.com/jayded/evidence-inference"
LICENCE = "MIT; articles PMC open access, each with its own"
TITLE = "Evidence Inference"


def spans(folder: Path, name: str) -> DataSet:
    """Return full texts of trials with the evidence that annotators marked for each prompt; 40 articles are used.

    articles_txt.jsonl (`pmcid`, `text`), and prompts_annotated_v2.jsonl as `_marked` reads it.
    """
    articles, prompts = _files(folder)
    samples = [question for question in _marked(prompts) if question.spans]
    title, files, documents = "Evidence Inference 2.0", (articles, prompts), partial(texts, articles, "pmcid")
    return about_documents(name, title, SOURCE, LICENCE, files, samples, documents, 40)


def _files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the articles and the prompts."""
    return find(folder, "articles_txt.jsonl", origin=SOURCE), find(folder, "prompts_annotated_v2.jsonl", origin=SOURCE)


def _marked(path: Path) -> Iterator[Sample]:
    """Yield Evidence Inference's prompts as questions; each annotator's valid evidence is an alternative.

    prompts_annotated_v2.jsonl: `prompt_id`, `pmcid`, `intervention`, `comparator`, `outcome`, `annotations` [{`start`,
    `end`, `valid_label`}].
    """
    for place, record in json_lines(path):
        intervention, comparator, outcome = (
            field(record, place, name) for name in ("intervention", "comparator", "outcome")
        )
        valid = (item for item in record.get("annotations") or () if item.get("valid_label", True))
        marked = {(item["start"], item["end"]) for item in valid if item["end"] > item["start"]}
        yield Sample(
            field(record, place, "prompt_id"),
            f"What is the effect of {intervention} compared with {comparator} on {outcome}?",
            document=field(record, place, "pmcid"),
            spans=tuple((stretch,) for stretch in sorted(marked)),
        )


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield prompts as yes/no questions, each with the marked evidence and its surroundings."""
    articles, path = _files(folder)
    prompts: dict[str, list[dict[str, Any]]] = {}
    for _, row in json_lines(path):
        if reader_part_of(row["pmcid"]) == part:
            prompts.setdefault(row["pmcid"], []).append(row)
    for article in texts(articles, "pmcid"):
        spans = sentence_spans(article.text) if article.id in prompts else []
        for row in prompts.get(article.id, []):
            yield from _prompt(row, article, spans, rng)


def _prompt(row: dict[str, Any], article: Document, spans: list[Span], rng: random.Random) -> Iterator[Sample]:
    """Yield examples about an intervention's effect: with the marked evidence, and often with another passage."""
    marked = next((item for item in row["annotations"] if item["valid_label"] and item["evidence"].strip()), None)
    if marked is None or not 20 < len(marked["evidence"]) < 900:
        return
    change = marked["label_code"]
    if change == 0 and rng.random() < 0.5:
        form, verdict = _alike_or_not(rng)
        question = form.format(i=row["intervention"], o=row["outcome"], c=row["comparator"])
    else:
        up = rng.random() < 0.5 if change == 0 else (change == 1) == (rng.random() < 0.7)
        verb = rng.choice(("increase", "raise", "improve") if up else ("reduce", "decrease", "lower"))
        form = rng.choice(("Does {i} {v} {o} compared with {c}?", "Did {i} {v} {o} more than {c}?", "{i} {v}s {o}."))
        question = form.format(i=row["intervention"], v=verb, o=row["outcome"], c=row["comparator"])
        verdict = "yes" if change == (1 if up else -1) else "no"
    begin, end = window(article.text, spans, (marked["start"], marked["end"]), rng)
    text = " ".join(article.text[begin:end].split())
    group = f"evidence_inference {row['prompt_id']}"
    yield pair(row["pmcid"], question, "", text, None, True, True, verdict, group=group)
    if rng.random() < 0.4:
        begin, end = window(article.text, spans, rng.choice(spans), rng)
        if marked["end"] < begin or end < marked["start"]:
            other = " ".join(article.text[begin:end].split())
            yield pair(row["pmcid"], question, "", other, (), False, False, "neither", group=group)


def _alike_or_not(rng: random.Random) -> tuple[str, Verdict]:
    """Return a random template of a question about two treatments that do not differ, with its right verdict."""
    asked: list[tuple[str, Verdict]] = [
        ("Is there a difference in {o} between {i} and {c}?", "no"),
        ("Are {i} and {c} similar in {o}?", "yes"),
        ("Is {i} as good as {c} for {o}?", "yes"),
    ]
    return rng.choice(asked)
