"""The papers' figures: as they are printed, beside ours, with what differs."""

from __future__ import annotations

import pytest

from evaluation.experiments import EXPERIMENTS, run
from evaluation.intervals import Estimate
from evaluation.published import PUBLISHED, beside
from evaluation.runs import ExperimentRun

pytestmark = pytest.mark.slow


def cells(table):
    return {row[0]: dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_each_published_table_is_an_experiments_and_has_a_figure_for_each_column(experiment):
    assert experiment in EXPERIMENTS
    for table in PUBLISHED[experiment]:
        assert table.rows
        assert {len(figures) for figures in table.rows.values()} == {len(table.columns)}
        assert table.made_with


def test_our_figures_stand_behind_the_papers():
    ours = {"COrg": {"Disambig-F1": Estimate(0.31, 0.2, 0.4)}}
    found = {table.title: cells(table) for table in beside("corg", ours, here="RAMDocs, 9 questions")}
    five = found["Beside COrg, Table 5 (AmbigDocs+)"]
    assert five["COrg"]["paper: GPT-4o"] == "31.4"
    assert five["Separate"]["paper: Llama2 7B"] == "13.5"
    assert five["COrg"]["here: Disambig-F1"] == "31.0 [20.0, 40.0]"
    assert five["Base"]["here: Disambig-F1"] == "–"
    assert found["Beside COrg, Table 6"]["Separate"]["paper: 70B Ans"] == "89.0"
    assert found["Beside COrg, Table 10 (ConflictQA)"]["COrg"]["paper: Llama3 8B"] == "17.3"


def test_each_table_says_what_differs():
    for table in beside("corg", {}, here="RAMDocs, 9 questions"):
        assert table.note.endswith("those here of RAMDocs, 9 questions.")


def test_an_experiment_without_published_figures_has_no_such_table():
    assert beside("relations", {}, here="") == ()


def test_a_run_prints_them(data_dir):
    (report,) = run("corg", data_dir, ["ramdocs"], ExperimentRun(limit=1))
    table = next(table for table in report.tables if table.title == "Beside COrg, Table 6")
    assert cells(table)["COrg"]["paper: 7B EAR"] == "34.0"
    assert "[" in cells(table)["COrg"]["here: EAR"]
    assert "RAMDocs" in table.note
