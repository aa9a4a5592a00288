"""Small parts of published data sets, as their own files are: real questions over few of the real documents."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evaluation.experiments import run
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun

PASSAGES = 110
ASKED = 12
OTHERS = 30

Record = dict[str, Any]


def small_sets(data: Path, folder: Path) -> Path:
    """Writes nq_open_oracle, mirage, biomix and bioasq in part, and links ramdocs and conflictqa whole."""
    if folder.is_dir():
        return folder
    _nq_open(data, folder)
    pmids = _mirage(data, folder)
    _biomix(data, folder, pmids)
    _bioasq(data, folder)
    for name in ("ramdocs", "conflictqa"):
        os.symlink(data / name, folder / name)
    return folder


def report_of(experiment: str, dataset: str, data: Path, library_cache: Path, **settings: Any) -> Report:
    """One experiment on one data set."""
    (report,) = run(experiment, data, [dataset], ExperimentRun(library_cache=library_cache, **settings))
    return report


def answers(report: Report) -> dict[tuple[str, str], dict[str, ScoreRow]]:
    """The answers of each sample under each condition, by arm."""
    found: dict[tuple[str, str], dict[str, ScoreRow]] = {}
    for row in report.rows:
        assert isinstance(row, ScoreRow)
        if not row.measure:
            found.setdefault((row.sample, row.condition), {})[row.arm] = row
    return found


def passages(row: ScoreRow) -> list[str]:
    """The texts of the passages that an arm was shown."""
    return [passage["text"] for passage in row.details["passages"]]


def prompts(row: ScoreRow) -> list[str]:
    """What the model was asked for an answer."""
    return [call["messages"][-1]["content"] for call in row.details["prompts"]]


def _nq_open(data: Path, folder: Path) -> None:
    records = list(_read(data / "nq_open_oracle" / "nq-open-oracle.jsonl"))[:PASSAGES]
    _write(folder / "nq_open_oracle" / "nq-open-oracle.jsonl", records)


def _mirage(data: Path, folder: Path) -> set[str]:
    """The first questions of each part; the PMIDs of those that have some."""
    counts: dict[str, int] = {}
    chosen = []
    for record in _read(data / "mirage" / "benchmark.jsonl"):
        counts[record["dataset"]] = counts.get(record["dataset"], 0) + 1
        if counts[record["dataset"]] <= ASKED:
            chosen.append(record)
    _write(folder / "mirage" / "benchmark.jsonl", chosen)
    return {pmid for record in chosen for pmid in record.get("pmids") or []}


def _biomix(data: Path, folder: Path, pmids: set[str]) -> None:
    """The documents of those PMIDs, and some others of each kind."""
    wanted = {f"{prefix}:{pmid}" for prefix in ("pmid", "pqa") for pmid in pmids}
    corpus = _documents(data / "biomix" / "corpus.jsonl", lambda record: record["_id"] in wanted)
    _write(folder / "biomix" / "corpus.jsonl", corpus)
    _write(folder / "biomix" / "queries.jsonl", list(_read(data / "biomix" / "queries.jsonl"))[:1])
    (folder / "biomix" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")


def _bioasq(data: Path, folder: Path) -> None:
    """Questions for a summary with their documents, and some other documents."""
    asked = [record for record in _read(data / "bioasq" / "questions.jsonl") if record["type"] == "summary"][:ASKED]
    wanted = {pmid for record in asked for pmid in record["pmids"]}
    corpus = _documents(data / "bioasq" / "corpus.jsonl", lambda record: record["_id"] in wanted)
    ids = {record["_id"] for record in corpus}
    _write(folder / "bioasq" / "corpus.jsonl", corpus)
    _write(folder / "bioasq" / "questions.jsonl", asked)
    lines = [f"{record['id']}\t{pmid}\t1" for record in asked for pmid in record["pmids"] if pmid in ids]
    (folder / "bioasq" / "qrels.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n", encoding="utf-8"
    )


def _documents(path: Path, wanted: Callable[[Record], bool]) -> list[Record]:
    """Those that are wanted, and the first others."""
    chosen, others = [], 0
    for record in _read(path):
        if wanted(record):
            chosen.append(record)
        elif others < OTHERS:
            others += 1
            chosen.append(record)
    return chosen


def _read(path: Path) -> Iterator[Record]:
    zipped = path.with_name(f"{path.name}.gz")
    with gzip.open(zipped, "rt", encoding="utf-8") if zipped.is_file() else path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _write(path: Path, records: Iterable[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
