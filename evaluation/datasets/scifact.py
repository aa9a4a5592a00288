"""SciFact: claims, the abstracts that they cite, and which of them support or contradict them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets import examples as made_of
from evaluation.datasets.beir import documents_of, queries_of
from evaluation.datasets.files import collected, entries, field, find, json_lines, listed
from evaluation.datasets.pairs import pair
from evaluation.datasets.statements import statement, statement_set
from evaluation.samples import Context, DataSet, ReaderPart, Sample, Verdict, reader_part_of
from preflight_rag.state.errors import UnreadableDocument

SOURCE = "github.com/allenai/scifact"
LICENCE = "claims CC BY 4.0, abstracts ODC-By 1.0"
TITLE = "SciFact"
OPTIONS = ("supported", "contradicted", "not enough information")

ROLES = {"SUPPORT": "support", "CONTRADICT": "contradict"}

LABELS: dict[str, Verdict] = {"SUPPORT": "yes", "CONTRADICT": "no"}
"""SciFact's labels as verdicts."""


def collection(folder: Path, name: str) -> DataSet:
    """Return SciFact's claims over abstracts; relevant are the abstracts that a claim cites, as in BEIR.

    corpus.jsonl (`_id` or `doc_id`, `title`, `sentences` or `abstract`), claims.jsonl or claims_train.jsonl and
    claims_dev.jsonl (`id`, `claim`, `cited_doc_ids`; claims that cite nothing are not judged).
    """
    corpus = find(folder, "corpus.jsonl", origin=SOURCE)
    claims = [find(folder, "claims.jsonl", "claims_train.jsonl", origin=SOURCE)]
    if claims[0].name.startswith("claims_train"):
        claims.append(find(folder, "claims_dev.jsonl", origin=SOURCE))
    cited = {
        field(record, place, "id"): dict.fromkeys(listed(record, place, "cited_doc_ids"), 1)
        for path in claims
        for place, record in json_lines(path)
    }
    relevance = {claim: documents for claim, documents in cited.items() if documents}
    samples = tuple(query for path in claims for query in queries_of(path, "id", "claim", relevance))
    documents = documents_of(corpus, lambda document: f"S2 {document}")
    return DataSet("scifact", TITLE, SOURCE, LICENCE, (corpus, *claims), samples, documents, relevance)


def questions(folder: Path, name: str) -> DataSet:
    """Return SciFact's claims with a label, each with the abstracts that it cites; unlabelled test claims are left out.

    The files of `collection`. `evidence` is, as published, the document's id to [{`sentences`, `label`}], or a list of
    {`doc_id`, `label`, `sentences`}. A claim whose cited abstracts have no evidence has not enough information.
    """
    found = collection(folder, name)
    claims = [line for path in found.files[1:] for line in json_lines(path)]
    abstracts = {document.id: document for document in found.documents()}
    read = []
    for place, record in claims:
        if record.get("split") == "test":
            continue
        labels = _evidence(record, place)
        given = tuple(
            Context(cited, abstracts[cited].title, abstracts[cited].text, role=labels.get(cited, "neutral"))
            for cited in listed(record, place, "cited_doc_ids")
            if cited in abstracts
        )
        read.append((place, _claim(record, place, given)))
    return replace(found, name=name, samples=collected(read, found.files[1]), relevance={})


def _claim(record: dict[str, Any], place: str, given: tuple[Context, ...]) -> Sample:
    """Return a record's claim with the passages that support or contradict it."""
    roles = {passage.role for passage in given}
    right = OPTIONS[0 if "support" in roles else 1 if "contradict" in roles else 2]
    name = field(record, place, "id")
    return Sample(
        id=name,
        question=field(record, place, "claim"),
        kind="claim",
        options=OPTIONS,
        right=right,
        given=given,
        answerable=right != OPTIONS[2],
        documents=frozenset(passage.id for passage in given),
        key=name,
    )


def _evidence(record: dict[str, Any], place: str) -> dict[str, str]:
    """Return each abstract's role for the claim, "support" or "contradict", by its id."""
    evidence = record.get("evidence")
    if isinstance(evidence, dict):
        rows = [{"doc_id": name, **row} for name, found in evidence.items() for row in found]
    else:
        rows = entries(record, place, "evidence")
    labels = {field(row, place, "doc_id"): field(row, place, "label") for row in rows}
    for label in labels.values():
        if label not in ROLES:
            raise UnreadableDocument(f"{place}: the label {label!r} is unknown", help="Expected SUPPORT or CONTRADICT.")
    return {name: ROLES[label] for name, label in labels.items()}


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield claims with their evidence (supported: yes, contradicted: no) and with a cited abstract without any."""
    corpus = {str(row["_id"]): row for _, row in json_lines(find(folder, "corpus.jsonl", origin=SOURCE))}
    everything = sorted(corpus)
    for _, row in json_lines(find(folder, "claims.jsonl", origin=SOURCE)):
        if reader_part_of(row["id"]) != part or row["split"] == "test":
            continue
        evidence_of = {str(evidence["doc_id"]): evidence for evidence in row["evidence"]}
        for name in map(str, row["cited_doc_ids"]):
            evidence, lines = evidence_of.get(name), corpus[name]["sentences"]
            middle = evidence["sentences"][0] if evidence else rng.randrange(len(lines))
            text = " ".join(line.strip() for line in lines[max(0, middle - 2) : middle + 3])
            verdict: Verdict = LABELS[evidence["label"]] if evidence else "neither"
            yield pair(
                row["id"], row["claim"], corpus[name]["title"], text, relevant=True, verdict=verdict,
                group=f"scifact {row['id']}",
            )  # fmt: skip
            if evidence:
                alone = " ".join(lines[i].strip() for i in evidence["sentences"])
                yield pair(row["id"], row["claim"], "", alone, verdict=verdict, group=f"scifact {row['id']}")
        other = corpus[rng.choice(everything)]
        text = " ".join(line.strip() for line in other["sentences"][:4])
        yield pair(
            row["id"], row["claim"], other["title"], text, (), False, False, "neither", group=f"scifact {row['id']}"
        )


def statements(folder: Path, name: str) -> DataSet:
    """Return experts' claims, each with an abstract: one with evidence, one without, or that of another claim."""

    def read(part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
        for sample in made_of("scifact", folder.parent, part):
            yield statement("", sample.question, sample.passage, sample.passage.verdict or "neither", part)

    return statement_set(name, "SciFact, claims of experts", SOURCE, read)
