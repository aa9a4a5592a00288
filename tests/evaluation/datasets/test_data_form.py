"""Every adapter of every experiment on damaged copies of the published files: one line that names the file."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from evaluation.datasets import ROLES, open_dataset
from preflight_rag.state.errors import PreflightError

pytestmark = pytest.mark.slow

SETS = sorted((role, name) for role, names in ROLES.items() for name in names)
LARGEST = 600_000
"""Bytes of a file as it lies there; larger ones are read by the same functions as smaller ones."""
FIELDS = 2
MOST = 24
UNREAD = (
    "liveqa_judged_answers.jsonl.gz",
    "liveqa_qrels.jsonl",
    "liveqa_questions.jsonl",
    "prompts_without_labels.jsonl.gz",
    "test_ground_truth.json",
)
"""Named for their checksums alone."""
BROKEN = ("", "no data\nat all\n", "[1, 2]", '{"a": 1}', "null\n", "\x00\x01")


def read(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")


def without(value: Any, depth: int = 2) -> Iterator[Any]:
    """Copies of a record in which a field is missing, a number, or a list; fields of its first entries too."""
    for key in list(value)[:FIELDS] if isinstance(value, dict) else range(min(1, len(value))):
        for other in (..., 7, []):
            changed = copy.copy(value)
            if other is ... and isinstance(value, dict):
                del changed[key]
            else:
                changed[key] = 7 if other is ... else other
            yield changed
        if depth and isinstance(value[key], (dict, list)):
            for inner in without(value[key], depth - 1):
                changed = copy.copy(value)
                changed[key] = inner
                yield changed


def damaged(path: Path) -> Iterator[str]:
    """Contents that its adapter should refuse, or can do with."""
    text = read(path)
    yield from BROKEN
    yield text[: len(text) * 2 // 3]
    if ".jsonl" in path.name:
        first, _, rest = text.partition("\n")
        yield f"{first}\n{text}"
        yield from (f"{json.dumps(record)}\n{rest}" for record in without(json.loads(first)))
    elif ".json" in path.name:
        yield from map(json.dumps, without(json.loads(text)))


def linked(data: Path, folder: Path, but: Path) -> Path:
    """The data folder by links, without one file; returns where that would lie, not gzipped."""
    place = but.relative_to(data)
    for depth in range(len(place.parts)):
        here = data.joinpath(*place.parts[:depth])
        (folder / here.relative_to(data)).mkdir(exist_ok=True)
        for entry in here.iterdir():
            if entry.name != place.parts[depth]:
                os.symlink(entry, folder / entry.relative_to(data))
    return folder / place.with_name(place.name.removesuffix(".gz"))


def use(role: str, name: str, data: Path) -> None:
    """Open the set, choose questions, and read a document."""
    found = open_dataset(name, data, role)
    found.select("all", 2)
    next(found.documents(), None)


@pytest.mark.parametrize(("role", "name"), SETS)
def test_a_damaged_file_is_one_line_with_its_name(role: str, name: str, data_dir: Path, tmp_path: Path) -> None:
    try:
        found = open_dataset(name, data_dir, role)
    except PreflightError as error:
        pytest.skip(str(error))
    files = [
        file
        for file in found.files
        if ".json" in file.name and file.name not in UNREAD and file.stat().st_size < LARGEST
    ]
    for number, file in enumerate(files):
        target = linked(data_dir, tmp_path / str(number), file)
        told = [refusal(role, name, tmp_path / str(number), target, content) for content in islice(damaged(file), MOST)]
        refused = [error for error in told if error is not None]
        assert len(refused) >= 3
        for error in refused:
            assert "\n" not in str(error)
            assert error.exit_code in (1, 2)
            assert any(part in str(error) for part in (file.name.partition(".")[0], file.parent.name, name)), error


def refusal(role: str, name: str, data: Path, target: Path, content: str) -> PreflightError | None:
    """What is said of this content of a file."""
    target.write_text(content, encoding="utf-8")
    try:
        use(role, name, data)
    except PreflightError as error:
        return error
    return None
