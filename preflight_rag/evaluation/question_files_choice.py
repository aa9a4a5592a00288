"""Adapters of questions with options and of claims: MIRAGE, PubMedQA, BioASQ, SciFact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.datasets import BIOASQ, SCIFACT
from preflight_rag.evaluation.datasets import bioasq as bioasq_collection
from preflight_rag.evaluation.datasets import open_dataset as open_collection
from preflight_rag.evaluation.datasets import scifact as scifact_collection
from preflight_rag.evaluation.long_documents import entries
from preflight_rag.evaluation.question_sets import BIOASQ_TASK, MIRAGE, MIRAGE_PARTS, collected
from preflight_rag.evaluation.reader_data import PUBMEDQA
from preflight_rag.evaluation.reading_sets import bioasq_answers
from preflight_rag.evaluation.records import Line, field, find, json_file, json_lines, listed, mapping
from preflight_rag.evaluation.samples import Context, DataSet, Kind, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument

VERDICTS = ("yes", "no", "maybe")
CLAIM_OPTIONS = ("supported", "contradicted", "not enough information")
CLAIM_ROLES = {"SUPPORT": "support", "CONTRADICT": "contradict"}
BIOASQ_KINDS: dict[str, Kind] = {"yesno": "yes/no", "factoid": "short", "list": "list", "summary": "long"}


def mirage(folder: Path, name: str) -> DataSet:
    """MIRAGE's multiple-choice and yes/no questions; `mirage-medqa` and the like are one part alone.

    benchmark.json as published: part to id to `question`, `options` {letter: text}, `answer` (a letter), and where it
    is known `PMID`, a list; or benchmark.jsonl, one question a line, with `id` ("medqa:0000"), `dataset`, and `pmids`
    in place of `PMID`. An id of PubMedQA* is a PMID. Two options of a question may read alike.
    """
    path = find(folder, "benchmark.json", "benchmark.jsonl", origin=MIRAGE)
    wanted = name.partition("-")[2]
    read = (
        (place, _multiple_choice(record, place, part))
        for place, part, record in _mirage_records(path)
        if wanted in ("", part)
    )
    return DataSet(
        name=name,
        title=f"MIRAGE, {MIRAGE_PARTS[wanted]}" if wanted else "MIRAGE",
        source=MIRAGE,
        licence="public domain notice of NCBI; MedQA, MedMCQA, PubMedQA MIT",
        files=(path,),
        samples=collected(read, path),
    )


def _mirage_records(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if ".jsonl" in path.name:
        for place, record in json_lines(path):
            yield place, field(record, place, "dataset"), record
        return
    for part, questions in mapping(json_file(path), path.name).items():
        for name, record in mapping(questions, f"{path.name}: {part}").items():
            place = f"{path.name}: {part} {name}"
            yield place, part, {**mapping(record, place), "id": f"{part}:{name}"}


def _multiple_choice(record: dict[str, Any], place: str, part: str) -> Sample:
    options = mapping(record.get("options"), f"{place}: options")
    letter, name = field(record, place, "answer"), field(record, place, "id")
    if letter not in options:
        raise UnreadableDocument(f"{place}: the answer {letter!r} is no option", help=f"They are {', '.join(options)}.")
    texts = tuple(field(options, place, key) for key in options)
    pmids = listed(record, place, "pmids", "PMID") if record.keys() & {"pmids", "PMID"} else []
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind="yes/no" if set(texts) <= set(VERDICTS) else "choice",
        options=texts,
        right=field(options, place, letter),
        documents=frozenset(pmids),
        label=part,
        key=name.partition(":")[2] if part == "pubmedqa" else "",
    )


def pubmedqa(folder: Path, name: str) -> DataSet:
    """PubMedQA's expert-labelled questions, each with its abstract without the conclusion.

    ori_pqal.json as published: PMID to `QUESTION`, `CONTEXTS`, `LONG_ANSWER` (the conclusion), `final_decision`
    (yes, no or maybe), `YEAR`.
    """
    path = find(folder, "ori_pqal.json", origin=PUBMEDQA)
    questions = collected(
        (
            (
                f"{path.name}: {pmid}",
                _on_abstract(pmid, mapping(record, f"{path.name}: {pmid}"), f"{path.name}: {pmid}"),
            )
            for pmid, record in mapping(json_file(path), path.name).items()
        ),
        path,
    )
    return DataSet(
        name=name,
        title="PubMedQA",
        source=PUBMEDQA,
        licence="MIT; abstracts PubMed",
        files=(path,),
        samples=questions,
        corpus=passages_as_corpus(questions),
    )


def _on_abstract(pmid: str, found: Any, place: str) -> Sample:
    record = mapping(found, place)
    abstract = Context(
        id=f"pubmedqa/{pmid}",
        title="",
        text="\n".join(listed(record, place, "CONTEXTS")),
        date=field(record, place, "YEAR", default=""),
        role="gold",
    )
    return Sample(
        id=pmid,
        question=field(record, place, "QUESTION"),
        kind="yes/no",
        options=VERDICTS,
        right=field(record, place, "final_decision"),
        answers=((field(record, place, "LONG_ANSWER"),),),
        given=(abstract,),
        answerable=True,
        documents=frozenset({abstract.id}),
        key=pmid,
    )


def bioasq(folder: Path, name: str) -> DataSet:
    """BioASQ's yes/no, factoid, list and summary questions with their gold snippets.

    Either questions.jsonl (`id`, `type`, `question`, `pmids`, `snippets` [{`pmid`, `text`}], `exact_answer`,
    `ideal_answer`) with corpus.jsonl and qrels.tsv, or the task's own files: every *.json of the folder that has a
    list `questions` of `id`, `type`, `body`, `documents` [addresses that end in a PMID], `snippets` [{`document`,
    `text`}], `exact_answer`, `ideal_answer`; those come without a corpus. A snippet may give the answer in other words.
    """
    released = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    collection = None if released else bioasq_collection(folder)
    files = tuple(released) if collection is None else collection.files
    records = [line for path in released for line in _bioasq_release(path)] or list(
        json_lines(find(folder, "questions.jsonl", origin=BIOASQ))
    )
    asked = [(place, _expert_question(record, place)) for place, record in records]
    read = asked if collection is None else ((at, replace(q, documents=collection.relevant(q.id))) for at, q in asked)
    return DataSet(
        name=name,
        title="BioASQ" if collection is None else collection.title,
        source=BIOASQ if collection else BIOASQ_TASK,
        licence="BioASQ's terms: registration and citation",
        files=files,
        samples=collected(read, files[0]),
        corpus=collection.documents if collection else None,
    )


def biomix_bioasq(folder: Path, name: str) -> DataSet:
    """BioASQ's questions that have gold documents in the mixed biomedical corpus, which is searched.

    questions.jsonl in the neighbouring folder `bioasq`, and the files of `datasets.biomix`. An id is "bioasq:" and
    BioASQ's own.
    """
    collection = open_collection("biomix-bioasq", folder.parent)
    path = find(folder.parent / "bioasq", "questions.jsonl", origin=BIOASQ)
    read = ((place, _expert_question(record, place)) for place, record in json_lines(path))
    renamed = ((place, replace(asked, id=f"bioasq:{asked.id}")) for place, asked in read)
    found = (
        (place, replace(asked, documents=collection.relevant(asked.id)))
        for place, asked in renamed
        if collection.relevant(asked.id)
    )
    return DataSet(
        name=name,
        title=collection.title,
        source=BIOASQ,
        licence="BioASQ's terms: registration and citation",
        files=(path, *collection.files),
        samples=collected(found, path),
        corpus=collection.documents,
    )


def _bioasq_release(path: Path) -> Iterator[Line]:
    """The records of one of the task's own files, with the fields of questions.jsonl."""
    for number, entry in enumerate(entries(mapping(json_file(path), path.name), path.name, "questions"), 1):
        place = f"{path.name} question {number}"
        snippets = [
            {"pmid": field(snippet, place, "document").rpartition("/")[2], "text": field(snippet, place, "text")}
            for snippet in entries({"snippets": [], **entry}, place, "snippets")
        ]
        addresses = listed({"documents": [], **entry}, place, "documents")
        yield (
            place,
            {
                **entry,
                "question": field(entry, place, "body"),
                "pmids": [address.rpartition("/")[2] for address in addresses],
                "snippets": snippets,
            },
        )


def _expert_question(record: dict[str, Any], place: str) -> Sample:
    kind, name = BIOASQ_KINDS.get(field(record, place, "type")), field(record, place, "id")
    if kind is None:
        raise UnreadableDocument(f"{place}: type is {record['type']!r}", help=f"Expected {' or '.join(BIOASQ_KINDS)}.")
    snippets = entries(record, place, "snippets")
    given = tuple(
        Context(
            id=f"{name}/{i}",
            title="",
            text=field(snippet, place, "text").strip(),
            role="gold",
            source=f"PubMed {field(snippet, place, 'pmid')}",
        )
        for i, snippet in enumerate(snippets)
    )
    right, answers = _expert_answer(record, place, kind)
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind=kind,
        options=VERDICTS[:2] if right else (),
        right=right,
        answers=answers,
        given=given,
        answerable=True if given else None,
        documents=frozenset(listed(record, place, "pmids")),
        label=field(record, place, "batch", default=""),
    )


def _expert_answer(record: dict[str, Any], place: str, kind: Kind) -> tuple[str | None, tuple[tuple[str, ...], ...]]:
    """The right option of a yes/no question, and the answers: of yes/no and summary questions the ideal ones."""
    if kind in ("short", "list"):
        exact = record.get("exact_answer")
        rows = [row if isinstance(row, list) else [row] for row in exact] if isinstance(exact, list) else []
        if not rows or not all(isinstance(name, str) for row in rows for name in row):
            raise UnreadableDocument(f"{place}: exact_answer is {exact!r:.60}", help="Expected lists of names.")
        return None, bioasq_gold(record)
    right = bioasq_answers(record)[1]
    if kind == "yes/no" and right is None:
        raise UnreadableDocument(f"{place} has no exact_answer", help="Expected yes or no.")
    ideal = record.get("ideal_answer") or []
    worded = [ideal] if isinstance(ideal, str) else listed({"ideal_answer": ideal}, place, "ideal_answer")
    return right, (tuple(worded),) if worded else ()


def bioasq_gold(record: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Each right answer of a factoid (one, whose entries are its names) or list question, with its names."""
    if record["type"] == "factoid":
        names, _ = bioasq_answers(record)
        return (names,) if names else ()
    items = (item if isinstance(item, list) else [item] for item in record.get("exact_answer") or ())
    return tuple(tuple(item) for item in items if item)


def scifact(folder: Path, name: str) -> DataSet:
    """SciFact's claims with a label, each with the abstracts that it cites; unlabelled test claims are left out.

    The files of `datasets.scifact`. `evidence` is, as published, the document's id to [{`sentences`, `label`}], or a
    list of {`doc_id`, `label`, `sentences`}. A claim whose cited abstracts hold no evidence has not enough information.
    """
    collection = scifact_collection(folder)
    claims = [line for path in collection.files[1:] for line in json_lines(path)]
    abstracts = {document.id: document for document in collection.documents()}
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
    return DataSet(
        name=name,
        title="SciFact",
        source=SCIFACT,
        licence=collection.licence,
        files=collection.files,
        samples=collected(read, collection.files[1]),
        corpus=collection.documents,
    )


def _claim(record: dict[str, Any], place: str, given: tuple[Context, ...]) -> Sample:
    roles = {passage.role for passage in given}
    right = CLAIM_OPTIONS[0 if "support" in roles else 1 if "contradict" in roles else 2]
    name = field(record, place, "id")
    return Sample(
        id=name,
        question=field(record, place, "claim"),
        kind="claim",
        options=CLAIM_OPTIONS,
        right=right,
        given=given,
        answerable=right != CLAIM_OPTIONS[2],
        documents=frozenset(passage.id for passage in given),
        key=name,
    )


def _evidence(record: dict[str, Any], place: str) -> dict[str, str]:
    """Id of an abstract to its role for the claim: "support" or "contradict"."""
    evidence = record.get("evidence")
    if isinstance(evidence, dict):
        rows = [{"doc_id": name, **row} for name, found in evidence.items() for row in found]
    else:
        rows = entries(record, place, "evidence")
    labels = {field(row, place, "doc_id"): field(row, place, "label") for row in rows}
    for label in labels.values():
        if label not in CLAIM_ROLES:
            raise UnreadableDocument(f"{place}: the label {label!r} is unknown", help="Expected SUPPORT or CONTRADICT.")
    return {name: CLAIM_ROLES[label] for name, label in labels.items()}
