"""Fitting the order of evidence: what gets a weight, and which sentences count as right."""

import random
from dataclasses import fields, replace

import pytest

from evaluation.datasets.pairs import pair
from preflight_rag.offline.sentence_order import SentenceFeatures
from training.sentence_order import OrderCase, _is_evidence, _is_marked, fitted

NAMES = [field.name for field in fields(SentenceFeatures)]


def cases(decides, count=60):
    """Questions with four sentences each; the right one stands out by one feature."""
    rng = random.Random(7)
    for number in range(count):
        right = rng.randrange(4)
        for place in range(4):
            known = dict.fromkeys(NAMES, 0.0) | {name: rng.random() for name in ("similarity", "share")}
            known[decides] = 1.0 + rng.random() if place == right else rng.random()
            yield OrderCase(number, place == right, known)


@pytest.mark.parametrize(("decides", "other"), [("similarity", "share"), ("share", "similarity")])
def test_the_feature_that_decides_gets_the_weight(decides, other, capsys):
    weights = fitted(list(cases(decides)))["weights"]
    assert weights[decides] > 3 * abs(weights[other])
    assert weights.keys() == set(NAMES)
    assert "first" in capsys.readouterr().out


def test_penalties_are_not_learned_again():
    """Where a penalty already tells the right sentence, the feature that goes with it needs less weight."""
    plain = list(cases("similarity"))
    penalised = [replace(case, penalty=0.0 if case.right else 2.0) for case in plain]
    assert fitted(penalised)["weights"]["similarity"] < fitted(plain)["weights"]["similarity"] / 2


def test_evidence_is_a_sentence_or_a_part_of_one():
    is_right = _is_evidence(("The pier was closed on 3 May because of rust. Boats land there.",))
    assert is_right("The pier was closed on 3 May because of rust.")
    assert is_right("The pier was closed on 3 May because")
    assert not is_right("The pier")
    assert not is_right("It was painted in 1902.")


def test_the_marked_sentence_is_right():
    text = "It was built in 1843 by Ada. Boats land there."
    is_right = _is_marked(pair("k", "When was it built?", "Pier", text, ((16, 20),)))
    assert is_right("It was built in 1843 by Ada.")
    assert not is_right("Boats land there.")
