"""Figures on the way: taken from the validation parts, and perfect for a network that says what is right."""

from __future__ import annotations

import pytest
import torch

from evaluation.samples import reader_part_of
from training.reader_network import VERDICTS
from training.reader_validation import Validation
from training.train_reader import positions


@pytest.fixture(scope="module")
def validation(reader_data):
    return Validation(reader_data)


class Knowing:
    """A network that is asked in the order of the pairs and says what is known of them, or its opposite."""

    def __init__(self, validation, sign):
        self.known, self.sign = [pair for pairs in validation.pairs.values() for pair in pairs], sign

    def __call__(self, input_ids, attention_mask, token_type_ids):
        tokens = torch.zeros(4, *input_ids.shape)
        scores = torch.zeros(len(input_ids), 5)
        for row in range(len(input_ids)):
            window, example = self.known.pop(0)
            for first, last in positions(window, example.passage.spans or ())[:1]:
                tokens[0, row, first] = tokens[1, row, last] = 9.0 * self.sign
            scores[row, 0] = self.sign * (1.0 if example.answerable else -1.0)
            if example.passage.verdict:
                scores[row, 2 + VERDICTS.index(example.passage.verdict)] = 5.0 * self.sign
        return (*tokens, scores)


def test_all_pairs_are_of_the_validation_part(validation):
    assert set(validation.pairs) == {"squadshifts-new_wiki", "xquad_en", "squad2", "boolq"}
    for pairs in validation.pairs.values():
        assert pairs
        assert all(reader_part_of(example.key) == "validation" for _, example in pairs)


def test_a_network_that_knows_gets_full_marks(validation):
    found = validation.measure(Knowing(validation, 1))
    assert {value for name, value in found.items() if not name.endswith("area")} == {100.0}
    assert found["squad2 area"] == 1.0


def test_a_network_that_says_the_opposite_gets_none(validation):
    found = validation.measure(Knowing(validation, -1))
    assert found["squad2 area"] == 0.0
    assert found["boolq right"] == 0.0
    assert found["squadshifts-new_wiki exact"] == 0.0
