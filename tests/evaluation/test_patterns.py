"""Long regular expressions, each with a text that it matches and one that it must not."""

import importlib
import pkgutil
import re

import pytest

import evaluation
from evaluation.experiments import cpqa
from evaluation.harness import arms

LONG = 80
EXAMPLES = [
    (arms, "_LABELLED", "The answer is (B).", "Answer A question first."),
    (arms, "_DECLINED", "I'm sorry, I can't help with that.", "He said that he would go."),
    (cpqa, "_CANCER", "survival in melanoma", "survival in diabetes"),
]


@pytest.mark.parametrize(
    ("module", "name", "matching", "other"), EXAMPLES, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_pattern_matches_its_example_and_not_the_other(module, name, matching, other):
    pattern = getattr(module, name)
    assert pattern.search(matching)
    assert not pattern.search(other)


def test_every_long_pattern_has_an_example():
    shown = {(module.__name__, name) for module, name, _, _ in EXAMPLES}
    for info in pkgutil.walk_packages(evaluation.__path__, f"{evaluation.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, re.Pattern) and len(value.pattern) > LONG:
                assert (info.name, name) in shown, f"{info.name}.{name} has no example"
