"""A small collection in BEIR's form, with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = (
    ("milvexian", "Milvexian", "Milvexian is an oral inhibitor of factor XIa that is studied against thrombosis."),
    ("aspirin", "Aspirin", "Aspirin inhibits cyclooxygenase and is given against pain and fever."),
    ("venus", "", "Venus is the hottest planet because of its dense carbon dioxide atmosphere."),
    ("boiling", "Boiling", "Water boils at a lower temperature at high altitude."),
    ("scurvy", "Scurvy", "Scurvy is caused by a lack of vitamin C and is cured by citrus fruit."),
)
QUERIES = (
    ("q1", "Which factor does milvexian inhibit?", {"milvexian": 1}),
    ("q2", "Why is Venus so hot?", {"venus": 2, "boiling": 0}),
    ("q3", "Which vitamin is missing in scurvy?", {"scurvy": 1}),
    ("q4", "At which temperature does water boil in the mountains?", {"boiling": 1}),
    ("unjudged", "What is the capital of France?", {}),
)


WriteLines = Callable[[Path, Iterable[Any]], None]


@pytest.fixture(scope="session")
def write_lines() -> WriteLines:
    """Writes records as JSON lines, making the folder."""

    def write(path: Path, records: Iterable[Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    return write


@pytest.fixture(scope="session")
def beir_data(tmp_path_factory: pytest.TempPathFactory, write_lines: WriteLines) -> Path:
    """A data folder with the data set `small`."""
    data = tmp_path_factory.mktemp("data")
    write_lines(data / "small" / "corpus.jsonl", ({"_id": i, "title": t, "text": x} for i, t, x in DOCUMENTS))
    write_lines(data / "small" / "queries.jsonl", ({"_id": i, "text": x} for i, x, _ in QUERIES))
    lines = [f"{query}\t{document}\t{grade}" for query, _, gold in QUERIES for document, grade in gold.items()]
    (data / "small" / "qrels").mkdir()
    (data / "small" / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n", encoding="utf-8"
    )
    return data


@pytest.fixture(scope="session")
def library_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")
