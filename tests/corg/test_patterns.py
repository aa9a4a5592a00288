"""Long regular expressions of corg/, each with a text that it matches and one that it must not."""

import pytest
from patterns import check_example, example_id, long_patterns, names_of

from preflight_rag.corg import agreement, choices, comparability, composition, entities, signals

MODULES = (agreement, choices, comparability, composition, entities, signals)

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


@pytest.mark.parametrize("example", EXAMPLES, ids=example_id)
def test_a_pattern_matches_its_example_and_not_the_other(example):
    check_example(example)


def test_every_long_pattern_has_an_example():
    assert long_patterns(MODULES) == names_of(EXAMPLES)
