"""The questions over real documents: their number by kind, their parts, and that their evidence stands in the files."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from evaluation.datasets.trust import KINDS, SILENT, TrustQuestion, TrustSet, open_dataset, own_part
from evaluation.trust_claims import letters, stands_in
from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

LEAST = {
    "yes/no": 20, "table": 12, "metadata": 8, "collection": 8, "false premise": 10, "absent near": 12, "absent far": 8,
    "disagree": 6, "alone": 6, "follow-up": 8, "language": 6, "comparison": 5, "fact": 20, "number": 20,
}  # fmt: skip
"""How many of our own there are to be of each kind, at least."""


@cache
def opened(data: Path) -> TrustSet:
    return open_dataset("trust", data)


@pytest.fixture(scope="module")
def found(data_dir) -> TrustSet:
    return opened(data_dir)


def own(found: TrustSet) -> list[TrustQuestion]:
    return [question for question in found.questions if question.id.startswith("own ")]


def test_there_are_enough_questions_of_each_kind(found):
    assert len(found.questions) >= 300
    assert len(own(found)) >= 120
    counts = Counter(question.kind for question in own(found))
    assert {kind: count for kind, count in LEAST.items() if counts[kind] < count} == {}
    assert {question.kind for question in found.questions} == set(KINDS)
    assert Counter(pair.part for pair in found.pairs).keys() == {"test", "development"}
    assert min(Counter(pair.part for pair in found.pairs).values()) >= 60


@pytest.mark.parametrize("part", ["test", "development"])
def test_each_part_has_both_verdicts_and_questions_of_every_kind(found, part):
    asked = [question for question in found.questions if question.part == part]
    verdicts = Counter(question.right for question in asked if question.right)
    assert min(verdicts["yes"], verdicts["no"]) >= 30
    assert {question.kind for question in asked} == set(KINDS)


def test_parts_share_no_document_and_no_question(found):
    names = {part: {document.name for document in documents} for part, documents in found.documents.items()}
    assert not names["test"] & names["development"]
    assert len(names["test"]) == len(found.documents["test"])
    asked = {part: [q for q in (*found.questions, *found.pairs) if q.part == part] for part in names}
    for part, questions in asked.items():
        assert {name for question in questions for name in question.documents} <= names[part]
    said = {part: {(q.question.casefold(), q.before) for q in questions} for part, questions in asked.items()}
    assert not said["test"] & said["development"]
    assert not {text for q in asked["test"] for text in q.given} & {t for q in asked["development"] for t in q.given}
    ids = [question.id for questions in asked.values() for question in questions]
    assert len(ids) == len(set(ids))


def test_a_document_in_two_formats_is_in_one_part():
    assert own_part("ingest_docs/unstructured/stanley-cups.csv") == own_part(
        "ingest_docs/unstructured/stanley-cups.tsv"
    )


def test_what_nothing_answers_has_no_answer_and_the_rest_has(found):
    for question in found.questions:
        known = bool(question.answers or question.right or question.kind in ("open", "collection"))
        assert known == question.answerable == (question.kind not in SILENT), question.id


@pytest.fixture(scope="module")
def texts(found, tmp_path_factory) -> dict[str, str]:
    """Title and text of each document that is no abstract, and of the abstracts, as the loaders give them."""
    folder, read = tmp_path_factory.mktemp("files"), {}
    for documents in found.documents.values():
        for document in documents:
            if document.record:
                record = json.loads(document.content())
                read[document.name] = f"{record.get('title', '')} {record['text']}"
                continue
            path = folder / document.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.content())
            items = [item for item in load(path) if isinstance(item, Document)]
            read[document.name] = " ".join(f"{item.title} {item.text}" for item in items)
    return read


def test_evidence_stands_in_the_documents_as_the_loaders_give_them(found, texts):
    squeezed: dict[str, str] = {}
    for question in found.questions:
        for name in question.documents if question.evidence else ():
            squeezed.setdefault(name, letters(texts[name]))
        for evidence in question.evidence:
            assert any(stands_in(evidence, squeezed[name]) for name in question.documents), (question.id, evidence)


def test_the_documents_that_mention_something_are_those_whose_text_does(found, texts):
    parts = {document.name: part for part, documents in found.documents.items() for document in documents}
    seen = 0
    for question in found.questions:
        if asked := re.search(r"mention (?:the )?([\w ]+)[.?]$", question.question):
            word = asked[1].casefold()
            mentioned = {n for n, text in texts.items() if parts[n] == question.part and word in text.casefold()}
            assert mentioned == set(question.documents), question.id
            assert not question.answers or str(len(mentioned)) in question.answers[0]
            seen += 1
    assert seen >= 8


def test_another_name_is_refused(data_dir):
    with pytest.raises(UsageError, match="no data set 'real'"):
        open_dataset("real", data_dir)
