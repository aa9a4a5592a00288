"""ConflictQA (Xie et al. 2023): a passage for a model's belief, and one for the counter-answer.

The set called ConflictQA in the COrg paper is another one, of Zhou et al. ("Context-faithful prompting", 2023).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets.files import field, find, json_lines, json_records, listed, with_passages
from evaluation.datasets.pairs import pair, spans_of
from evaluation.samples import Context, DataSet, ReaderPart, Sample, gold_of, reader_part_of
from preflight_rag.state.errors import UnreadableDocument, UsageError

SOURCE = "github.com/OSU-NLP-Group/LLM-Knowledge-Conflict"
LICENCE = "Apache-2.0"
TITLE = "ConflictQA"
YES_NO = ("yes", "no")

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b")


def questions(folder: Path, name: str) -> DataSet:
    """Return ConflictQA: a passage for a model's belief, and one for the counter-answer.

    Every conflictQA-*.json or .jsonl of the folder, one object on each line: `question`, `ground_truth` (["True" or
    "False"] for StrategyQA's yes/no questions, a list of names for PopQA's); `memory_answer`, `counter_answer`, and the
    passages `parametric_memory_aligned_evidence`, `counter_memory_aligned_evidence`, or if one of these is empty
    `parametric_memory`, `counter_memory`. A yes/no passage's side follows from which of both answers is negated; if
    that is unclear, it has no role.
    """
    files = tuple(sorted(folder.glob("conflictQA-*.json*")))
    if not files:
        raise UsageError(
            f"there is no conflictQA-*.json in {str(folder)!r}", help=f"The data set is published at {SOURCE}."
        )
    read = (
        (place, _conflicting(record, place, f"{_stem(path)}/{i}"))
        for path in files
        for i, (place, record) in enumerate(json_records(path))
    )
    return with_passages(name, "ConflictQA", SOURCE, LICENCE, files, read)


def _conflicting(record: dict[str, Any], place: str, name: str) -> Sample:
    """Return the question of a record with one context for the model's memory and one against it."""
    truth = tuple(listed(record, place, "ground_truth"))
    if not truth:
        raise UnreadableDocument(f"{place}: ground_truth is empty", help="Fix the line.")
    is_verdict = set(truth) <= {"True", "False"}
    right = ("yes" if truth[0] == "True" else "no") if is_verdict else None
    stated = [field(record, place, f"{source}_answer") for source in ("memory", "counter")]
    answers = _sides(stated) if is_verdict else stated
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
        documents=gold_of(given),
        label=name.partition("/")[0],
        key=text,
    )


def _sides(stated: list[str]) -> list[str]:
    """Return which of two opposite statements says yes and which no; empty if it is unclear."""
    negated = [bool(_NEGATION.search(statement)) for statement in stated]
    return ["", ""] if negated[0] == negated[1] else ["no" if no else "yes" for no in negated]


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield ConflictQA's passages for and against the statement of a StrategyQA question."""
    for model in ("gpt4", "chatgpt"):
        name = f"conflictQA-strategyQA-{model}.jsonl"
        for _, row in json_lines(find(folder, name, origin=SOURCE)):
            if reader_part_of(row["question"]) != part or (part == "train" and rng.random() < 0.4):
                continue
            known = row["memory_answer"] != row["counter_answer"]
            negative, counter = (bool(_NEGATION.search(row[f"{side}_answer"])) for side in ("memory", "counter"))
            if not known or negative == counter:
                continue
            pairs = (("parametric_memory_aligned_evidence", negative), ("counter_memory_aligned_evidence", counter))
            for key, against in pairs:
                if row.get(key):
                    yield pair(
                        row["question"], row["question"], "", " ".join(row[key].split()[:190]),
                        relevant=True, verdict="no" if against else "yes", group=f"conflictqa {row['question']}",
                    )  # fmt: skip


def _stem(path: Path) -> str:
    """Return the part of a file's name that tells the subset, e.g. `popQA` for `conflictQA-popQA-chatgpt.json`."""
    return path.name.removeprefix("conflictQA-").partition(".")[0]
