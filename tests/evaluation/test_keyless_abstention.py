"""The calibration of the offline reader's threshold: how scores are told apart and answers are found."""

import pytest

from evaluation.experiments.keyless_abstention import area_between
from evaluation.reading_metrics import holds

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("positive", "negative", "area"), [([0.9, 0.8], [0.1], 1.0), ([0.1], [0.9], 0.0), ([0.5], [0.5], 0.5)]
)
def test_the_area_between_two_sets_of_scores(positive, negative, area):
    assert area_between(positive, negative) == area


def test_an_answer_is_held_as_whole_words_in_any_case():
    assert holds("It opened in MAY 1889.", ["May 1889"])
    assert not holds("The category is wide.", ["cat"])
