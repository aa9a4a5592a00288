"""A mixed biomedical corpus: PubMed, SciFact, PubMedQA, Evidence Inference and MedQuAD as one, and its questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evaluation.datasets import bioasq
from evaluation.datasets.beir import documents_of, queries_of
from evaluation.datasets.files import collected, field, find, json_lines, judgements
from evaluation.samples import DataSet

SOURCE = "the publishers of BioASQ, SciFact, PubMedQA, Evidence Inference and MedQuAD"
LICENCE = "those of its parts"
ORIGINS = {"bioasq": "BioASQ", "scifact": "SciFact"}
KINDS = {"yes/no": "yes/no", "short": "factoid", "list": "list"}
"""Kinds of questions with known short answers, with BioASQ's names for them."""


def collection(folder: Path, name: str) -> DataSet:
    """Return the questions of one origin over a corpus that mixes several biomedical ones.

    corpus.jsonl and queries.jsonl (`_id`, `title`, `text`, `origin`), qrels.tsv. Only documents of the questions' own
    origin are judged, so documents of other origins count as not relevant.
    """
    origin = name.partition("-")[2]
    files = tuple(find(folder, file, origin=SOURCE) for file in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    chosen = {field(record, at, "_id") for at, record in json_lines(files[1]) if record.get("origin") == origin}
    relevance = judgements(files[2])
    return DataSet(
        name=name,
        title=f"{ORIGINS[origin]} in a mixed biomedical corpus",
        source=SOURCE,
        licence=LICENCE,
        files=files,
        samples=tuple(query for query in queries_of(files[1], "_id", "text", relevance) if query.id in chosen),
        corpus=documents_of(files[0], lambda document: document),
        relevance=relevance,
        library="biomix",
    )


def questions(folder: Path, name: str) -> DataSet:
    """Return BioASQ's questions with gold documents in the mixed biomedical corpus, which is searched.

    questions.jsonl in the neighbouring folder `bioasq`, and the files of `collection`. An id is "bioasq:" and BioASQ's
    own.
    """
    mixed, own = collection(folder, name), folder.parent / "bioasq"
    read = (
        (place, replace(asked, id=f"bioasq:{asked.id}", documents=mixed.relevant(f"bioasq:{asked.id}")))
        for place, asked in bioasq.expert_questions(own)
    )
    path = find(own, bioasq.QUESTIONS, origin=bioasq.SOURCE)
    samples = collected(((place, asked) for place, asked in read if asked.documents), path)
    files = (path, *mixed.files)
    return replace(
        mixed, source=bioasq.SOURCE, licence=bioasq.LICENCE, files=files, samples=samples, relevance={}, library=""
    )


def answers(folder: Path, name: str) -> DataSet:
    """Return BioASQ's factoid, list and yes/no questions with gold documents in the mixed biomedical corpus."""
    samples = [
        replace(
            asked,
            answers=answers,
            evidence=(asked.documents,) * len(answers),
            by_words=asked.right is None,
            label=KINDS[asked.kind],
        )
        for asked in questions(folder, name).samples
        if asked.kind in KINDS and (answers := ((asked.right,),) if asked.right else asked.answers)
    ]
    return replace(collection(folder, name), samples=tuple(samples))


def short_answers(folder: Path, name: str) -> DataSet:
    """Return BioASQ's factoid questions over the mixed biomedical corpus."""
    return replace(
        collection(folder, name),
        samples=tuple(sample for sample in questions(folder, name).samples if sample.kind == "short"),
        title="BioASQ's factoid questions in a mixed biomedical corpus",
    )
