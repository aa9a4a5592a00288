"""Long regular expressions, each with a text that it matches and one that it must not."""

import pytest
from patterns import check_example, example_id, long_patterns, modules_of, names_of

import evaluation
from evaluation.experiments import cpqa
from evaluation.harness import arms

EXAMPLES = [
    (arms, "_LABELLED", "The answer is (B).", "Answer A question first."),
    (arms, "_DECLINED", "I'm sorry, I can't help with that.", "He said that he would go."),
    (cpqa, "_CANCER", "survival in melanoma", "survival in diabetes"),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=example_id)
def test_a_pattern_matches_its_example_and_not_the_other(example):
    check_example(example)


def test_every_long_pattern_has_an_example():
    assert long_patterns(modules_of(evaluation)) <= names_of(EXAMPLES)
