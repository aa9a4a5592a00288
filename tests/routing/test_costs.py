"""The cost model, against the paper's equations worked out by hand."""

import pytest

from preflight_rag.routing.costs import USUAL, Cost, WrittenTokens, cost, written_by

OVERHEAD = (100, 110, 90)
"""Tokens of instruction and question (N_ins) of the plain, the map and the reduce prompt."""


def test_plain_rag_is_equation_4():
    """N_con p_in + N_ins p_in + N_out p_out: (800 + 100) · 2 + 183 · 8."""
    plain = cost("plain", OVERHEAD, [100] * 8, 4, WrittenTokens(extract=32, answer=183))
    assert plain == Cost(1, 900, 183)
    assert plain.price(2, 8) == 900 * 2 + 183 * 8


def test_map_reduce_is_equation_5_with_the_reading_of_its_extracts():
    """N_con p_in + M N_ins p_in + (M + 1) N_out p_out with M = 2, and the two extracts that reduce reads."""
    mapped = cost("map_reduce", OVERHEAD, [100] * 8, 4, WrittenTokens(extract=32, answer=183))
    assert mapped == Cost(3, 800 + 2 * 110 + 90 + 2 * 32, 2 * 32 + 183)
    assert mapped.price(2, 8) == pytest.approx((800 + 220 + 90 + 64) * 2 + 247 * 8)


def test_equation_5_as_printed_reads_no_reduce_prompt():
    """N_con + M N_ins with M = 2: 800 + 2 · 110; what is written stays (M + 1) N_out."""
    mapped = cost("map_reduce", OVERHEAD, [100] * 8, 4, WrittenTokens(extract=32, answer=32), reduce_prompt=False)
    assert mapped == Cost(3, 1020, 3 * 32)


@pytest.mark.parametrize(("passages", "calls"), [(4, 2), (5, 3), (16, 5)])
def test_there_is_a_call_for_each_partition_and_one_more(passages, calls):
    assert cost("map_reduce", OVERHEAD, [10] * passages, 4).calls == calls


def test_lengths_are_those_that_were_written_and_else_the_usual_ones():
    assert written_by([30, 50], 80) == WrittenTokens(40, 80)
    assert written_by([], 80) == WrittenTokens(USUAL.extract, 80)
    assert written_by([30], 0) == WrittenTokens(30, USUAL.answer)
