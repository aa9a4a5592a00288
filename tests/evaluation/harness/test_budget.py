"""Budgets refuse a call before it is made, and nobody is refused for what others might still spend."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.harness.budget import Budget, Price
from preflight_rag.state.errors import BudgetUsedUp, UsageError


async def spend(budget: Budget, read: int = 1000, written: int = 100, seconds: float = 0.0) -> None:
    async with budget.call(read, max_output=written) as paid:
        await asyncio.sleep(seconds)
        paid.input_tokens, paid.output_tokens = read, written


async def test_no_more_calls_than_allowed() -> None:
    budget = Budget(max_calls=3)
    results = await asyncio.gather(*(spend(budget, seconds=0.01) for _ in range(5)), return_exceptions=True)
    assert [isinstance(result, BudgetUsedUp) for result in results] == [False] * 3 + [True] * 2
    assert (budget.calls, budget.input_tokens, budget.output_tokens) == (3, 3000, 300)
    assert "3 calls, 3,300 tokens of --max-calls 3. Raise it" in str(budget.refusal())


async def test_the_cost_stays_below_the_limit() -> None:
    budget = Budget(max_cost=0.005, price=Price(1.0, 2.0))
    results = await asyncio.gather(*(spend(budget, seconds=0.01) for _ in range(6)), return_exceptions=True)
    assert sum(result is None for result in results) == 4
    assert budget.cost == pytest.approx(4 * 0.0012)
    assert "USD 0.0048 of --max-cost 0.005" in str(budget.refusal())


async def test_a_call_waits_for_those_that_may_cost_less_than_reckoned() -> None:
    budget = Budget(max_cost=0.0025, price=Price(1.0, 2.0))

    async def cheap() -> None:
        async with budget.call(1000, max_output=500) as paid:
            await asyncio.sleep(0.01)
            paid.input_tokens, paid.output_tokens = 100, 1

    await asyncio.gather(cheap(), cheap(), cheap())
    assert budget.calls == 3
    assert not budget.used_up


async def test_one_refusal_ends_it_for_shorter_prompts_too() -> None:
    budget = Budget(max_cost=0.001, price=Price(1.0, 0.0))
    with pytest.raises(BudgetUsedUp):
        await spend(budget, read=2000)
    with pytest.raises(BudgetUsedUp):
        await spend(budget, read=1)
    assert (budget.calls, budget.used_up) == (0, True)


async def test_a_call_that_fails_counts_without_tokens() -> None:
    budget = Budget(max_calls=1)
    with pytest.raises(ValueError, match="no reply"):
        async with budget.call(1000):
            raise ValueError("no reply")
    assert (budget.calls, budget.input_tokens) == (1, 0)


@pytest.mark.parametrize("text", ["", "3", "a/b", "1/2/3", "-1/2", "nan/1", "1/inf"])
def test_a_price_that_cannot_be_read_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"--price 0\.15/0\.60"):
        Price.parse(text)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_cost": 1.0}, "needs the model's price.*--price IN/OUT.*--max-calls"),
        ({"max_cost": -1.0, "price": Price(1, 1)}, "--max-cost is -1.0"),
        ({"max_cost": float("nan"), "price": Price(1, 1)}, "--max-cost is nan"),
        ({"max_calls": -1}, "--max-calls is -1"),
    ],
)
def test_limits_that_make_no_sense_are_usage_errors(limits: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Budget(**limits)


@given(st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 500)), max_size=20), st.floats(0, 0.02))
def test_spending_as_reckoned_never_exceeds_the_limit(calls: list[tuple[int, int]], limit: float) -> None:
    budget = Budget(max_cost=limit, price=Price(1.0, 4.0))

    async def run() -> None:
        await asyncio.gather(*(spend(budget, *tokens) for tokens in calls), return_exceptions=True)

    asyncio.run(run())
    assert budget.cost <= limit + 1e-12
