"""Experiment `off-topic`: what counts as refused and as kept, and over which questions."""

import json

import pytest

from evaluation.experiments import off_topic
from evaluation.runs import ExperimentRun


@pytest.fixture
def dataset(data_dir, tmp_path):
    """One's own two documents with a question each, beside the other sets of questions."""
    documents = [{"id": "a", "text": "The Orla bridge opened in 1931."}, {"id": "b", "text": "Zinc melts at 420 °C."}]
    questions = [
        {"id": "1", "question": "When did the Orla bridge open?", "answer": "1931"},
        {"id": "2", "question": "At what temperature does zinc melt?", "answer": "420 °C"},
    ]
    for name, lines in (("documents", documents), ("questions", questions)):
        path = tmp_path / "mine" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return off_topic.open_dataset(str(tmp_path / "mine"), data_dir)


def test_questions_of_other_sets_are_to_be_refused_and_the_own_ones_kept(dataset, tmp_path):
    report = off_topic.run(dataset, ExperimentRun("all", 6, library_cache=tmp_path))
    kinds = [row.condition for row in report.rows]
    assert kinds == ["answerable"] * 2 + ["off topic"] * 3
    refused = {row.sample: row.details["outcome"] == "not_found" for row in report.rows}
    assert [row.score for row in report.rows] == [
        float(refused[row.sample] == (row.condition == "off topic")) for row in report.rows
    ]
    assert not refused["1"]
    assert not refused["2"]
    assert report.figures["off topic: refused"]["n"] == 3
