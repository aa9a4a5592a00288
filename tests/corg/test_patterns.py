"""Long regular expressions of corg/, each with a text that it matches and one that it must not."""

import re

import pytest

from preflight_rag.corg import agreement, choices, comparability, composition, entities, signals
from preflight_rag.text import names, values

MODULES = (agreement, choices, comparability, composition, entities, signals)

LONG = 80
EXAMPLES = [
    (choices, "_LEAD", "the one in Texas", "Texas"),
    (comparability, "_YEAR", "in 2010 it had", "the 2010 people"),
    (comparability, "_PERIOD", "the 12-week trial", "six patients"),
    (comparability, "_QUARTER", "in Q2 it sold", "a question of time"),
    (comparability, "_ARM", "12 % of arm A", "a longer table of prices"),
    (comparability, "_UP", "pressure increased", "pressure fell"),
    (comparability, "_DOWN", "pressure fell", "pressure increased"),
    (comparability, "_LEVEL", "no significant difference", "a large difference"),
    (entities, "_SAME_THING", "formerly Bent Arrow", "Nebraska"),
    (entities, "_PLACE", "a town in the Netherlands", "a town in northern hills"),
    (entities, "_LIFE_DATES", "1882–1911", "American football"),
    (signals, "_EXPLAINING", "why is it", "what is it"),
]


@pytest.mark.parametrize(("module", "name", "matching", "other"), EXAMPLES)
def test_a_pattern_matches_its_example_and_not_the_other(module, name, matching, other):
    pattern = getattr(module, name)
    assert pattern.search(matching)
    assert not pattern.search(other)


def test_every_long_pattern_has_an_example():
    long = {
        (module.__name__, name)
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern) and len(value.pattern) > LONG and value not in vars(names).values()
        if value not in vars(values).values()
    }
    assert long == {(module.__name__, name) for module, name, _, _ in EXAMPLES}
