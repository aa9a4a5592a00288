"""Calibration of the reader: the fit on known data, the threshold's rule, the file, and a small run of it all."""

from __future__ import annotations

import json
import random

import pytest

from evaluation.datasets.pairs import pair
from preflight_rag.models.reading.bundled_reader import BundledReader, Calibration
from training.calibrate_reader import ValidationCase, choose_threshold, fit, logits_of, put_cases, report, shares, write

LINE = Calibration(1.0, 0.0, 0.0, 0.5)
LIKELY, DOUBTFUL, UNLIKELY = (3.0, 1.0), (0.0, 1.0), (-3.0, 1.0)


def drawn(seed: int, count: int, signal: float):
    """Pairs whose answerability logit tells, with noise, and whose margin tells nothing."""
    rng = random.Random(seed)
    known = [n % 2 == 0 for n in range(count)]
    return [((rng.gauss(signal if answers else -signal, 1.0), rng.gauss(0, 1)), answers) for answers in known]


def test_the_fit_finds_which_logit_tells():
    found = fit({"a": drawn(0, 400, 1.0), "b": drawn(1, 100, 1.0)})
    assert 1.5 < found.answerable < 2.6
    assert 0 <= found.margin < 0.4
    assert abs(found.bias) < 0.4


def test_a_logit_that_speaks_against_is_left_out():
    against = [((a, -a), known) for (a, _), known in drawn(2, 200, 1.0)]
    assert fit({"a": against}).margin == 0.0


def test_a_set_counts_by_itself_not_by_its_size():
    one, other = drawn(0, 50, 2.0), drawn(1, 50, 0.1)
    even, uneven = fit({"a": one, "b": other}), fit({"a": one * 3, "b": other})
    assert uneven.answerable == pytest.approx(even.answerable, rel=0.1)


@pytest.mark.parametrize(
    ("known", "unknown", "expected"),
    [
        ([LIKELY] * 10, [UNLIKELY] * 10, 0.95),
        ([LIKELY] * 9 + [UNLIKELY], [DOUBTFUL] * 10, 0.95),
        ([LIKELY] * 8 + [DOUBTFUL] * 2, [UNLIKELY] * 5 + [LIKELY] * 5, 0.5),
    ],
)
def test_the_threshold_keeps_nine_in_ten_and_is_the_best_of_those(known, unknown, expected):
    cases = [ValidationCase("a", True, (logits,)) for logits in known] + [
        ValidationCase("a", False, (logits,)) for logits in unknown
    ]
    found = choose_threshold(cases, LINE)
    assert found == expected
    assert shares(cases, LINE, found)[0] >= 0.9


def test_a_question_has_the_probability_of_its_best_passage():
    assert ValidationCase("a", True, (UNLIKELY, LIKELY, (9.0, None))).probability(LINE) == LINE.probability(*LIKELY)


def test_the_file_keeps_its_other_keys(tmp_path):
    path = tmp_path / "reader.json"
    path.write_text(json.dumps({"sha256": "abc", "calibration": {}, "trained": {"seed": 0}}), encoding="utf-8")
    write(path, Calibration(1.5, 0.25, -0.5, 0.4))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["sha256"] == "abc"
    assert kept["trained"] == {"seed": 0}
    assert Calibration(**kept["calibration"]) == Calibration(1.5, 0.25, -0.5, 0.4)


def test_questions_are_put_with_and_without_their_answer(embedder):
    cities = ("Oslo", "Rome", "Lima", "Cairo")
    found = []
    for city in cities:
        text = f"The meeting of that year was held in {city}."
        span = ((text.index(city), text.index(city) + len(city)),)
        key = f"Where was the meeting of {city}'s mayor?"
        found.append(pair(key, key, "", text, span, True, True, group=key, gold=(city,)))
    reader = BundledReader()
    cases = put_cases("small", found, reader, embedder, limit=3)
    assert [(case.answerable, len(case.logits)) for case in cases] == [(True, 4), (False, 3)] * 3
    rows = {"small": list(zip(logits_of(reader, [("Where?", "", e.passage.text) for e in found], "small"),
                              (True, False, True, False), strict=True))}  # fmt: skip
    assert "| small | 4 |" in report(rows, cases, LINE)
