"""Experiment `router`: what counts is the passage with the marked span, not any passage of its document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evaluation.experiments import router
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from evaluation.searching import collection_library
from preflight_rag.routing.model_profile import ModelProfile
from preflight_rag.routing.risk_features import FEATURES

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
    return router.run(found, ExperimentRun(part="all", library_cache=tmp_path / "cache"))


def test_place_is_that_of_the_passage_with_the_marked_span(report):
    (place,) = {row.details["place"] for row in report.rows}
    assert place > 1  # the passages about harbours stand first, and are of the same document


def test_reader_that_loses_nothing_gains_nothing_by_parts(report):
    rows = {row.arm: row for row in report.rows if row.condition == "loses nothing"}
    assert {row.score for row in rows.values()} == {0.9}
    assert rows["never"].details["calls"] == 1
    assert rows["always"].details["calls"] > 2


def test_tokens_grow_with_what_is_read_again(report):
    """Parts read the passages once, and the question and the instructions once for each part."""
    rows = {row.arm: row.details for row in report.rows if row.condition == "steep"}
    assert rows["never"]["tokens"] < rows["router"]["tokens"] < 2 * rows["always"]["tokens"]
    assert rows["never"]["tokens"] < rows["always"]["tokens"]
    assert report.figures["steep"]["always"]["tokens"] == pytest.approx(rows["always"]["tokens"], abs=1)


def test_a_second_reading_costs_its_tokens():
    """Of .4 right and .6 wrong at the tenth place all are read again, for 500 tokens each."""
    read = replace(case(10), tokens=(1000, 2000, 500))
    assert router._expected("never", read, FLAT_LOW).tokens == 1000
    assert router._expected("always", read, FLAT_LOW).tokens == 2000
    assert router._expected("router", read, FLAT_LOW).tokens == pytest.approx(1500)


def test_measured_without_looks_a_case_has_its_features(tmp_path, report):
    found = router.open_dataset("covidqa", tmp_path / "data")
    run = ExperimentRun(part="all", library_cache=tmp_path / "cache")
    with collection_library(found, run) as library:
        (measured,) = router.measure(found, library, found.select("all"), run, looks=False)
    assert (measured.notices, measured.alarms, measured.reaches) == (None, None, None)
    assert set(measured.values) == set(FEATURES)


def case(place, notices=(True, True, True), alarms=(True, True, True), reaches=True):
    """A question over 16 passages, which four parts hold."""
    return router.RoutingCase(Sample("q", "?"), 0.1, 0.5, place, place, 16, notices, alarms, reaches)


FLAT_LOW = ModelProfile("m", "test", {0.0: 0.9, 2 / 15: 0.9, 2 / 15 + 1e-9: 0.4, 1.0: 0.4}, 0.9)


def test_a_second_reading_costs_two_calls_for_wrong_answers_and_for_right_ones():
    """Of .4 right and .6 wrong at the tenth place all are read again; the .5 that the place lost comes back."""
    found = router._expected("router", case(10), FLAT_LOW)
    assert (found.right, found.calls, found.again) == pytest.approx((0.9, 3.0, 1.0))
    quiet = router._expected("router", case(10, alarms=(False,) * 3), FLAT_LOW)
    assert (quiet.right, quiet.calls) == pytest.approx((0.9, 1 + 0.6 * 2))


def test_a_second_reading_that_misses_the_passage_regains_nothing():
    found = router._expected("router", case(10, reaches=False), FLAT_LOW)
    assert (found.right, found.calls) == pytest.approx((0.4, 3.0))


def test_a_question_without_its_passage_costs_calls_and_is_right_by_no_way():
    found = router._expected("router", case(None), FLAT_LOW)
    assert (found.right, found.calls) == (0.0, 3.0)


def test_the_bound_spends_half_of_the_calls_where_most_is_gained():
    never = [router.ExpectedOutcome(right, 1.0) for right in (0.4, 0.5, 0.9)]
    always = [router.ExpectedOutcome(0.9, 5.0, 1.0)] * 3
    assert [each.right for each in router._bound(never, always)] == [0.9, 0.5, 0.9]  # 7.5 calls, of which 3 are needed
