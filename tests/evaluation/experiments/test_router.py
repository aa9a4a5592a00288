"""Experiment `router`: what counts is the passage with the marked span, not any passage of its document."""

from __future__ import annotations

import json

import pytest

from evaluation.experiments import router
from evaluation.runs import Run

SUBJECTS = ("harbours", "glaciers", "bakeries", "railways", "orchards", "lighthouses")
MARKED = "Its keeper was paid in barrels of salted herring."


@pytest.fixture
def report(tmp_path):
    """One article of a passage for each subject, asked about harbours; its answer is marked behind lighthouses."""
    paragraphs = [
        f"About {subject}. "
        + " ".join(
            f"The {subject} of this coast were counted by {n} clerks who wrote of {subject} alone." for n in range(16)
        )
        for subject in SUBJECTS
    ]
    text = "\n\n".join(paragraphs) + f"\n\n{MARKED}"
    folder = tmp_path / "data" / "covidqa"
    folder.mkdir(parents=True)
    (folder / "documents.jsonl").write_text(json.dumps({"document_id": "a", "text": text}) + "\n", encoding="utf-8")
    answer = {"text": MARKED, "answer_start": text.index(MARKED)}
    asked = {"id": "q", "document_id": "a", "question": "Who counted the harbours of this coast?", "answers": [answer]}
    (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    found = router.open_dataset("covidqa", tmp_path / "data")
    return router.run(found, Run(part="all", library_cache=tmp_path / "cache"))


def test_place_is_that_of_the_passage_with_the_marked_span(report):
    (place,) = {row.details["place"] for row in report.rows}
    assert place > 1  # the passages about harbours stand first, and are of the same document


def test_reader_that_loses_nothing_gains_nothing_by_parts(report):
    rows = {row.arm: row for row in report.rows if row.condition == "loses nothing"}
    assert {row.score for row in rows.values()} == {0.9}
    assert rows["never"].details["calls"] == rows["router"].details["calls"] == 1
    assert rows["always"].details["calls"] > 2
