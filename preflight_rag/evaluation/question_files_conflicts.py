"""Adapters of questions whose passages disagree: RAMDocs, AmbigDocs, ConflictQA, DRAGged, WikiContradict."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.long_documents import entries
from preflight_rag.evaluation.question_sets import AMBIGDOCS, DRAGGED, WIKICONTRADICT, collected
from preflight_rag.evaluation.reader_data import CONFLICTQA, RAMDOCS
from preflight_rag.evaluation.reader_examples import spans_of
from preflight_rag.evaluation.records import csv_records, field, find, json_lines, json_records, listed
from preflight_rag.evaluation.samples import Context, DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument, UsageError

YES_NO = ("yes", "no")
RAMDOCS_ROLES = {"correct": "gold", "misinfo": "wrong", "noise": "noise"}

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b")


def ramdocs(folder: Path, name: str) -> DataSet:
    """RAMDocs: documents on several entities of a name, with misinformation and noise, over which one can search.

    RAMDocs_test.jsonl: `question`, `documents` [{`text`, `type` correct, misinfo or noise, `answer`}], `gold_answers`
    and `disambig_entity` (one for each of them), `wrong_answers`.
    """
    path = find(folder, "RAMDocs_test.jsonl", origin=RAMDOCS)
    read = ((place, _ambiguous(record, place, f"ramdocs/{i}")) for i, (place, record) in enumerate(json_lines(path)))
    questions = collected(read, path)
    return DataSet(name, "RAMDocs", RAMDOCS, "MIT", (path,), questions, passages_as_corpus(questions))


def _ambiguous(record: dict[str, Any], place: str, name: str) -> Sample:
    gold = tuple(dict.fromkeys(listed(record, place, "gold_answers")))
    entities = dict(zip(gold, listed(record, place, "disambig_entity"), strict=False))
    given = []
    for position, document in enumerate(entries(record, place, "documents")):
        kind, answer = field(document, place, "type"), field(document, place, "answer")
        if kind not in RAMDOCS_ROLES:
            raise UnreadableDocument(
                f"{place}: a document's type is {kind!r}", help=f"Expected {' or '.join(RAMDOCS_ROLES)}."
            )
        given.append(
            Context(
                id=f"{name}/{position}",
                title="",
                text=field(document, place, "text"),
                role=RAMDOCS_ROLES[kind],
                answer="" if kind == "noise" else answer,
                entity=entities.get(answer, "") if kind == "correct" else "",
            )
        )
    text = field(record, place, "question")
    return Sample(
        id=name,
        question=text,
        kind="list" if len(gold) > 1 else "short",
        answers=tuple((answer,) for answer in gold),
        wrong=tuple(dict.fromkeys(listed(record, place, "wrong_answers"))),
        given=tuple(given),
        answerable=True,
        documents=_gold(given),
        key=text,
    )


def ambigdocs(folder: Path, name: str) -> DataSet:
    """AmbigDocs: a question on a name, and one document for each thing of that name, each with its answer.

    test.json (or dev.json, train.json; the first that is there) as its authors publish it: a list of `qid`,
    `question`, `ambiguous_entity`, `documents` [{`title` (the disambiguated entity), `text`, `pid` (a passage of DPR's
    Wikipedia of December 2018), `answer`}]. (AmbigDocs, arXiv 2404.12447.)
    """
    path = find(folder, "test.json", "dev.json", "train.json", origin=AMBIGDOCS)
    questions = collected(((place, _same_name(record, place)) for place, record in json_records(path)), path)
    licence = "see its publisher; Wikipedia's text CC BY-SA"
    return DataSet(name, "AmbigDocs", AMBIGDOCS, licence, (path,), questions, passages_as_corpus(questions))


def _same_name(record: dict[str, Any], place: str) -> Sample:
    name = field(record, place, "qid")
    given = tuple(
        Context(
            id=f"ambigdocs/{name}/{field(document, place, 'pid')}",
            title=field(document, place, "title"),
            text=field(document, place, "text"),
            role="gold",
            answer=field(document, place, "answer"),
            entity=field(document, place, "title"),
        )
        for document in entries(record, place, "documents")
    )
    answers = dict.fromkeys(passage.answer for passage in given)
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind="list" if len(answers) > 1 else "short",
        answers=tuple((answer,) for answer in answers),
        given=given,
        answerable=True,
        documents=_gold(given),
        label=field(record, place, "ambiguous_entity"),
    )


def conflictqa(folder: Path, name: str) -> DataSet:
    """ConflictQA: a passage for what a model believed, and one for the counter-answer.

    Every conflictQA-*.json or .jsonl of the folder, an object a line: `question`, `ground_truth` ["True" or "False"] of
    StrategyQA's yes/no questions, a list of names of PopQA's; `memory_answer`, `counter_answer`, and the passages
    `parametric_memory_aligned_evidence`, `counter_memory_aligned_evidence`, or where one of these is empty
    `parametric_memory`, `counter_memory`. A yes/no passage's side is told by which of both answers is negated; where
    that doesn't tell, it has no role.
    """
    files = tuple(sorted(folder.glob("conflictQA-*.json*")))
    if not files:
        raise UsageError(
            f"there is no conflictQA-*.json in {str(folder)!r}", help=f"The data set is published at {CONFLICTQA}."
        )
    read = (
        (place, _conflicting(record, place, f"{_stem(path)}/{i}"))
        for path in files
        for i, (place, record) in enumerate(json_records(path))
    )
    questions = collected(read, files[0])
    return DataSet(name, "ConflictQA", CONFLICTQA, "Apache-2.0", files, questions, passages_as_corpus(questions))


def _conflicting(record: dict[str, Any], place: str, name: str) -> Sample:
    truth = tuple(listed(record, place, "ground_truth"))
    if not truth:
        raise UnreadableDocument(f"{place}: ground_truth is empty", help="Fix the line.")
    is_verdict = set(truth) <= {"True", "False"}
    right = ("yes" if truth[0] == "True" else "no") if is_verdict else None
    told = [field(record, place, f"{source}_answer") for source in ("memory", "counter")]
    answers = _sides(told) if is_verdict else told
    given = []
    for source, own, answer in zip(
        ("memory", "counter"), ("parametric_memory", "counter_memory"), answers, strict=True
    ):
        text = field(record, place, f"{own}_aligned_evidence", default="") or field(record, place, own)
        is_right = answer == right if is_verdict else bool(spans_of(answer, truth))
        role = ("gold" if is_right else "wrong") if answer else ""
        given.append(Context(f"conflictqa/{name}/{source}", "", text, role=role, answer=answer))
    text = field(record, place, "question")
    return Sample(
        id=name,
        question=text,
        kind="yes/no" if is_verdict else "short",
        options=YES_NO if is_verdict else (),
        right=right,
        answers=() if is_verdict else (truth,),
        wrong=() if is_verdict else tuple(passage.answer for passage in given if passage.role == "wrong"),
        given=tuple(given),
        answerable=any(passage.role == "gold" for passage in given) or None,
        documents=_gold(given),
        label=name.partition("/")[0],
        key=text,
    )


def _sides(told: list[str]) -> list[str]:
    """Which of two opposite statements says yes and which no; nothing where it cannot be told."""
    negated = [bool(_NEGATION.search(statement)) for statement in told]
    return ["", ""] if negated[0] == negated[1] else ["no" if no else "yes" for no in negated]


def dragged(folder: Path, name: str) -> DataSet:
    """DRAGged into Conflicts (CONFLICTS): dated search results, and the type of conflict among them as the label.

    conflicts.jsonl as published: `question`, `conflict_type`, `correct_answer`, `search_results` [{`title`, `url`,
    `date`, `short_text`, `snippet`}] (the text is the first that is not empty); or sample.jsonl: `id`, `query`,
    `conflict_type`, `ref_answer`, `docs` [{`doc_id`, `title`, `url`, `date`, `snippet`}]. A question of opinion has no
    answer.
    """
    path = find(folder, "conflicts.jsonl", "sample.jsonl", origin=DRAGGED)
    read = ((place, _dated(record, place, str(i))) for i, (place, record) in enumerate(json_lines(path)))
    questions = collected(read, path)
    licence = "annotations Apache-2.0; the snippets are of third parties, measuring only"
    return DataSet(name, "DRAGged into Conflicts", DRAGGED, licence, (path,), questions, passages_as_corpus(questions))


def _dated(record: dict[str, Any], place: str, position: str) -> Sample:
    name = field(record, place, "id", default=position)
    answer = field(record, place, "ref_answer", "correct_answer", default="").strip()
    listing = "search_results" if "search_results" in record else "docs"
    given = []
    for number, document in enumerate(entries(record, place, listing), 1):
        title, url = field(document, place, "title", default=""), field(document, place, "url", default="")
        texts = (field(document, place, key, default="") for key in ("short_text", "snippet", "title", "url"))
        own = field(document, place, "doc_id", default=f"d{number}")
        date = field(document, place, "date", default="")
        text = next(filter(None, texts), "")
        given.append(Context(f"dragged/{name}/{own}", title, text, date=date, source=url))
    return Sample(
        id=name,
        question=field(record, place, "query", "question"),
        kind="short" if answer else "long",
        answers=((answer,),) if answer else (),
        given=tuple(given),
        label=field(record, place, "conflict_type"),
    )


def wikicontradict(folder: Path, name: str) -> DataSet:
    """WikiContradict: two passages of Wikipedia that contradict each other, each right by its own words.

    WikiContradict_dataset_v1_rag_qa.csv as published, or an earlier WikiContradict_dataset.csv or .json with the same
    columns: `question`, `context1`, `answer1`, `context2`, `answer2`, `contradictType` (the label),
    `WikipediaArticleTitle`, `url`. Both answers are to be given. (WikiContradict, arXiv 2406.13805.)
    """
    names = ("WikiContradict_dataset_v1_rag_qa.csv", "WikiContradict_dataset.csv", "WikiContradict_dataset.json")
    path = find(folder, *names, origin=WIKICONTRADICT)
    records = csv_records(path) if ".csv" in path.name else json_records(path)
    questions = collected(
        ((place, _contradicting(record, place, f"wikicontradict/{i}")) for i, (place, record) in enumerate(records)),
        path,
    )
    licence = "MIT; Wikipedia's text CC BY-SA"
    return DataSet(name, "WikiContradict", WIKICONTRADICT, licence, (path,), questions, passages_as_corpus(questions))


def _contradicting(record: dict[str, Any], place: str, name: str) -> Sample:
    given = tuple(
        Context(
            id=f"{name}/{side}",
            title=field(record, place, "WikipediaArticleTitle", default=""),
            text=field(record, place, f"context{side}").strip(),
            role="gold",
            answer=field(record, place, f"answer{side}").strip(),
            source=field(record, place, "url", default=""),
        )
        for side in (1, 2)
    )
    return Sample(
        id=name,
        question=field(record, place, "question").strip(),
        kind="list",
        answers=tuple((passage.answer,) for passage in given),
        given=given,
        answerable=True,
        documents=_gold(given),
        label=field(record, place, "contradictType", default=""),
    )


def _gold(given: list[Context] | tuple[Context, ...]) -> frozenset[str]:
    return frozenset(passage.id for passage in given if passage.role == "gold")


def _stem(path: Path) -> str:
    return path.name.removeprefix("conflictQA-").partition(".")[0]
