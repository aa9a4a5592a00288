"""The same answers on every machine: those of the shipped model to made-up questions, stored when it was trained.

`python tests/models/test_reader_determinism.py` stores them anew, for a new model.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight_rag.models.reading.bundled_reader import BundledReader, reader_settings

pytestmark = pytest.mark.slow

STORED = Path(__file__).with_name("reader_answers.json")


def read():
    """The stored questions and passages with the answer of this machine, None where it abstains."""
    cases = json.loads(STORED.read_text(encoding="utf-8"))
    pairs = [(case["question"], case["title"], case["text"]) for case in cases]
    least = reader_settings().calibration.threshold
    return [
        case | {"answer": reading.best.text if reading.answerable >= least else None}
        for case, reading in zip(cases, BundledReader().read(pairs), strict=True)
    ]


def test_the_answers_are_those_that_were_stored():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert len(stored) == 20
    assert read() == stored


if __name__ == "__main__":
    STORED.write_text(json.dumps(read(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
