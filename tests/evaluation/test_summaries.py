"""The experiment on summaries and its data sets."""

from __future__ import annotations

import pytest

from evaluation.datasets import SUMMARIES, open_dataset
from evaluation.experiments import run
from evaluation.runs import ExperimentRun
from preflight_rag.state.errors import UnreadableDocument, UsageError

pytestmark = pytest.mark.slow

NO_SUMMARY = '{"meeting_transcripts": [], "specific_query_list": [], "general_query_list": []}'
ANSWERS = "Sleep helps the memory of adults. Naps help nearly as much. Caffeine in the evening shortens deep sleep."


@pytest.fixture
def data(tmp_path, write_lines):
    """A folder with six small questions in MEDIQA's form, and one meeting in QMSum's."""
    records = (
        {
            "id": f"q{n}",
            "question": "Does sleep help?",
            "answers": [
                {"Answer": f"<h2>Sleep</h2>{ANSWERS}"},
                {"Answer": f"Walking for {n} hours makes people tired."},
            ],
            "extractive_summary": "Sleep helps the memory of adults.",
            "abstractive_summary": "Adults remember more after they have slept.",
        }
        for n in range(6)
    )
    write_lines(tmp_path / "mediqa2021_mas" / "questions.jsonl", records)
    turns = [{"speaker": "A", "content": "We  want a remote control {vocalsound} that is yellow ."}]
    general = [{"query": "Summarise.", "answer": "A yellow remote control."}]
    record = {"meeting_transcripts": turns, "specific_query_list": [], "general_query_list": general}
    write_lines(tmp_path / "qmsum" / "val.jsonl", [record])
    return tmp_path


def test_answers_become_one_document_without_tags(data):
    found = open_dataset("mediqa2021_mas", data, SUMMARIES)
    (text,) = found.samples[3].given
    assert (text.id, text.text) == ("q3", f"Sleep\n{ANSWERS}\n\nWalking for 3 hours makes people tired.")
    assert set(found.samples[3].summaries) == {"extractive", "abstractive"}


def test_a_meeting_is_what_was_said(data):
    (meeting,) = open_dataset("qmsum", data, SUMMARIES).samples
    assert [(given.id, given.text) for given in meeting.given] == [
        ("meeting0", "We want a remote control that is yellow.")
    ]
    assert meeting.summaries == {"abstractive": "A yellow remote control."}


def test_the_experiment_compares_the_methods_on_equal_lengths(data, tmp_path):
    (report,) = run("summaries", data, ["mediqa2021_mas"], ExperimentRun(part="all", library_cache=tmp_path / "cache"))
    table = report.tables[1]
    assert [row[0] for row in table.rows][-6:-3] == ["lead", "closest to the mean", "random"]
    assert len({row.sample for row in report.rows}) == 6
    first = [
        row
        for row in report.rows
        if (row.sample, row.arm, row.condition) == (report.rows[0].sample, "lead", "extractive")
    ]
    scores = {row.measure: row.score for row in first}
    assert 0 < scores["ROUGE-2"] <= scores["ROUGE-1"] <= 1


@pytest.mark.parametrize(
    ("name", "line", "error", "told"),
    [
        ("nothing", "{}", UsageError, "'nothing' has no summaries"),
        ("mediqa2021_mas", '{"id": "a", "question": "b"}', UnreadableDocument, "line 1: answers is no list"),
        ("qmsum", NO_SUMMARY, UnreadableDocument, "meeting0 of val.jsonl has no general query"),
    ],
)
def test_what_is_no_data_set_of_summaries_is_refused(tmp_path, name, line, error, told):
    for folder, file in (("mediqa2021_mas", "questions.jsonl"), ("qmsum", "val.jsonl")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(line + "\n", encoding="utf-8")
    with pytest.raises(error, match=told):
        open_dataset(name, tmp_path, SUMMARIES)
    with pytest.raises(UsageError, match=r"no folder|no summaries"):
        open_dataset(name, None, SUMMARIES)
