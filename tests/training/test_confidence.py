"""The weights of the confidence of keyless answers: what is fitted, and on which answers a claim's threshold rests."""

from __future__ import annotations

import json

import numpy as np
import pytest

from training import confidence
from training.confidence import RIGHT, CandidateAnswer, fit, likeliest


def candidates(rng, questions=400):
    """Two answers to each question; "sign" is the log odds that an answer is right, with nothing else to learn from."""
    for number in range(questions):
        for _ in range(2):
            sign = float(rng.normal(0, 2))
            yield CandidateAnswer(number, bool(rng.random() < 1 / (1 + np.exp(-sign))), {"sign": sign, "denied": 0.0})


def test_the_likeliest_answer_of_each_question_is_taken():
    groups = np.array([4, 4, 9, 9, 9])
    assert likeliest(groups, np.array([0.2, 0.7, 0.1, 0.9, 0.3])) == [1, 3]


def test_a_probability_is_learned_from_the_features_but_not_from_those_that_only_veto():
    found = fit(list(candidates(np.random.default_rng(0))))
    assert set(found["weights"]) == {"sign"}
    assert found["weights"]["sign"] == pytest.approx(1.0, abs=0.25)
    assert found["bias"] == pytest.approx(0.0, abs=0.4)


def test_answers_that_a_rule_forbids_to_claim_do_not_move_the_threshold(capsys):
    """Without the rule they would: each is as sure as can be, and wrong."""
    cases = list(candidates(np.random.default_rng(1)))
    wrong = [CandidateAnswer(1000 + i, False, {"sign": 6.0, "denied": 1.0}, claimable=False) for i in range(40)]
    allowed = [CandidateAnswer(case.of, case.right, case.features) for case in wrong]
    forbidden = fit([*cases, *wrong])["answered"]
    lines = capsys.readouterr().out.splitlines()
    assert forbidden < fit([*cases, *allowed])["answered"]
    assert lines[0].endswith("400 may be claimed")
    taken = next(line for line in lines if line.endswith("taken"))
    assert float(taken.split("claims, ")[1].split("%")[0]) >= 100 * RIGHT


def test_kept_answers_are_fitted_without_reading_anything(tmp_path, monkeypatch):
    cases = tmp_path / "cases.json"
    kept = [confidence.asdict(case) for case in candidates(np.random.default_rng(2))]
    cases.write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setattr(confidence, "libraries", lambda *_: pytest.fail("the libraries are opened"))
    out = tmp_path / "confidence.json"
    options = ["--data", str(tmp_path), "--library-cache", str(tmp_path), "--cases", str(cases), "--out", str(out)]
    confidence.main(options)
    assert json.loads(out.read_text(encoding="utf-8")) == fit([CandidateAnswer(**case) for case in kept])
