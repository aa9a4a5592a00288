"""Patterns that meet replies, quotes and messages take linear time on the worst input that they have."""

from __future__ import annotations

import re
import time

import pytest
from hostile_text import attacks

from preflight_rag.conversation import intents
from preflight_rag.prompts import answer_group, replies, visible
from preflight_rag.text import citations, concepts, quotes

PATTERNS = {
    "quotes heading": replies.QUOTES_HEADING,
    "choice": replies._CHOICE,
    "disputed": replies._DISPUTED,
    "quote": replies._QUOTE,
    "answer label": replies._ANSWER_LABEL,
    "open mark": visible._OPEN_MARK,
    "group label": answer_group._LABEL,
    "group bullet": answer_group._BULLET,
    "mark": citations.MARK,
    "marks": citations.MARKS,
    "joint mark": citations.JOINT_MARK,
    "ellipsis": quotes._ELLIPSIS,
    "code": concepts._CODE,
    "clauses": intents._CLAUSES,
}
LENGTH = 20_000
SECONDS = 0.2
"""For one text; a quadratic pattern takes one to several seconds for it."""


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_takes_linear_time_on_its_worst_input(pattern: re.Pattern[str]) -> None:
    for text in attacks(pattern, LENGTH):
        began = time.process_time()
        for _ in pattern.finditer(text):
            pass
        assert time.process_time() - began < SECONDS, text[:80]


def test_the_generator_finds_a_quadratic_pattern() -> None:
    slowest = 0.0
    for text in attacks(re.compile(r"\s+x"), 10_000):
        began = time.process_time()
        re.search(r"\s+x", text)
        slowest = max(slowest, time.process_time() - began)
    assert slowest > 0.05
