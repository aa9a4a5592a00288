"""The budget of a run for a language model, and its spending by number of cases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

from preflight_rag.state.errors import BudgetUsedUp, UsageError

EXPECTED_OUTPUT = 256
"""Assumed tokens of a reply before there was a longer one, if the model has no limit of its own."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """USD for a million tokens, read and written."""

    input: float
    output: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Return a price in the form of the command line: `0.15/0.60`.

        Raises:
            UsageError: It is not two amounts.
        """
        try:
            read, written = (float(part) for part in text.split("/"))
        except ValueError:
            read = written = -1.0
        if not (isfinite(read) and isfinite(written) and read >= 0 and written >= 0):
            raise UsageError(
                f"the price {text!r} cannot be read",
                help="Write USD per million tokens, input/output, as in --price 0.15/0.60.",
            )
        return cls(read, written)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost in USD."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


@dataclass
class PaidCall:
    """A call in progress; the caller sets its tokens."""

    input_tokens: int = 0
    output_tokens: int = 0


class Budget:
    """Counts calls, tokens and cost, and refuses a call that would exceed a limit; from then on it refuses every call.

    A call's cost is estimated before it is made: its prompt by estimate, its reply by the model's own limit, else by
    the longest reply so far. If calls in progress could exceed the limit, the next one waits until they are finished.

    Args:
        max_cost: Most USD.
        max_calls: Most calls. A retry by the model's own client is not counted.
        price: The model's price; a cost is only known with it.

    Attributes:
        calls: Calls made, including those without a reply.
        replayed: Replies that were taken from the cache.
        input_tokens: Tokens read by the calls made.
        output_tokens: Tokens written by them.
        cases: Cases that were started.
        answered: Those of them that were finished.
        used_up: Whether a call was refused.

    Raises:
        UsageError: A limit is below 0, or there is a limit of cost without a price.
    """

    def __init__(self, max_cost: float | None = None, max_calls: int | None = None, price: Price | None = None) -> None:
        for option, limit in (("--max-cost", max_cost), ("--max-calls", max_calls)):
            if limit is not None and not limit >= 0:
                raise UsageError(f"{option} is {limit}", help="Give 0 or more, or leave it out.")
        if max_cost is not None and price is None:
            raise UsageError(
                f"--max-cost {max_cost} needs the model's price",
                help="Add --price IN/OUT, USD per million tokens, or limit the calls with --max-calls.",
            )
        self.max_cost, self.max_calls, self.price = max_cost, max_calls, price
        self.calls = self.replayed = self.input_tokens = self.output_tokens = self.cases = self.answered = 0
        self.used_up = False
        self._longest, self._reserved, self._under_way = EXPECTED_OUTPUT, 0.0, 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def cost(self) -> float | None:
        """USD spent; None without a price."""
        return None if self.price is None else self.price.cost(self.input_tokens, self.output_tokens)

    @property
    def spent(self) -> str:
        """The spending in a few words."""
        tokens = f"{self.calls:,} calls, {self.input_tokens + self.output_tokens:,} tokens"
        return tokens if self.cost is None else f"{tokens}, USD {self.cost:.4f}"

    @asynccontextmanager
    async def call(self, input_tokens: int, max_output: int | None = None) -> AsyncIterator[PaidCall]:
        """Count one call, made in the block, whether it succeeds or not, with the tokens that were set.

        Args:
            input_tokens: Estimated tokens of the prompt.
            max_output: Most tokens of the reply, if the model has a limit.

        Raises:
            BudgetUsedUp: It would exceed a limit, or an earlier one would have.
        """
        reserved = await self._reserve(input_tokens, max_output)
        self.calls += 1
        self._under_way += 1
        paid = PaidCall()
        try:
            yield paid
        finally:
            self._under_way -= 1
            self._reserved = self._reserved - reserved if self._under_way else 0.0
            self.input_tokens += paid.input_tokens
            self.output_tokens += paid.output_tokens
            self._longest = max(self._longest, paid.output_tokens)
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def refusal(self, lead: str = "the budget is used up") -> BudgetUsedUp:
        """Return the error that says how much of the budget was spent."""
        limits = [f"--max-calls {self.max_calls}"] if self.max_calls is not None else []
        limits += [f"--max-cost {self.max_cost}"] if self.max_cost is not None else []
        return BudgetUsedUp(
            f"{lead}: {self.spent} of {' and '.join(limits)}",
            help="Raise it and run the same command again: replies that were paid for are kept and not asked again.",
        )

    def as_json(self) -> dict[str, Any]:
        """Return limits, price and spending, for the manifest."""
        price = self.price and {"input": self.price.input, "output": self.price.output}
        return {
            "asked": self.calls,
            "cached": self.replayed,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": None if self.cost is None else round(self.cost, 6),
            "usd_per_million_tokens": price,
            "max_cost": self.max_cost,
            "max_calls": self.max_calls,
            "cases": self.cases,
            "answered": self.answered,
        }

    async def _reserve(self, input_tokens: int, max_output: int | None) -> float:
        """Wait until a call fits into the budget beside those under way; reserve its cost, and return it."""
        price = self.price or Price(0.0, 0.0)
        while True:
            reserved = price.cost(input_tokens, max_output or self._longest)
            spent = self.cost or 0.0
            if self.used_up or self._exceeds(spent + reserved):
                self.used_up = True
                raise self.refusal()
            if self.max_cost is None or not self._under_way or spent + self._reserved + reserved <= self.max_cost:
                self._reserved += reserved
                return reserved
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def _exceeds(self, cost: float) -> bool:
        """Return whether the number of calls, or the cost if it rises to this, exceeds the budget."""
        too_many = self.max_calls is not None and self.calls >= self.max_calls
        return too_many or (self.max_cost is not None and cost > self.max_cost)
