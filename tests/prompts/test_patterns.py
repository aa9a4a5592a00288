"""Long regular expressions of prompts/, each with a text that it matches and one that it must not."""

import pytest
from patterns import check_example, example_id, long_patterns, names_of

from preflight_rag.prompts import answer_group, fences, relate_contexts, replies, rewrite, visible

MODULES = (answer_group, fences, relate_contexts, replies, rewrite, visible)

EXAMPLES = [
    (answer_group, "_LABEL", "**Answers:**", "Answers: 3,559"),
    (fences, "_TAG", "</passage>", "a < b > c"),
    (fences, "_OUR_LINE", "> **Answer:** 42", "Answers differ: 42 or 41"),
    (fences, "_ROLE_LINE", "It is so.\nuser: and now", "user: and now"),
    (relate_contexts, "_REFERENCE", "Contexts 2, 3 and 4", "in 2 of 3 cases"),
    (relate_contexts, "_NOT", "is not a duplicate", "is a duplicate"),
    (relate_contexts, "_FIELD", "Short answer: 4,120", "The answer: 4,120"),
    (rewrite, "_LABEL", "**Question:** What is gout?", "What is the question?"),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=example_id)
def test_a_pattern_matches_its_example_and_not_the_other(example):
    check_example(example)


def test_every_long_pattern_has_an_example():
    assert long_patterns(MODULES) == names_of(EXAMPLES)
