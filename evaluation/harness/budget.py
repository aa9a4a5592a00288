"""What a run may spend on a language model, and what it has spent on how many cases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

from preflight_rag.state.errors import BudgetUsedUp, UsageError

EXPECTED_OUTPUT = 256
"""Tokens that a reply is reckoned with before there was a longer one, where the model has no limit of its own."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """USD for a million tokens, read and written."""

    input: float
    output: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Return a price as the command line takes it: `0.15/0.60`.

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
        """USD."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


@dataclass
class PaidCall:
    """A call that is under way; the caller sets what it took."""

    input_tokens: int = 0
    output_tokens: int = 0


class Budget:
    """Counts calls, tokens and cost, and refuses a call that would exceed a limit; from then on it refuses every call.

    A call is reckoned before it is made: its prompt by estimate, its reply by the model's own limit, else as long as
    the longest so far. Where calls under way could exceed the limit, the next one waits until they are settled.

    Args:
        max_cost: Most USD.
        max_calls: Most calls that may be made. A retry of the model's own client is no call.
        price: Of the model; a cost is only known with it.

    Attributes:
        calls: Calls made, those without a reply included.
        replayed: Replies that were taken from the cache.
        input_tokens: Read by the calls made.
        output_tokens: Written by them.
        cases: Cases that were put to the model.
        answered: Those of them that came to an end.
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
        """What was spent, in a few words."""
        tokens = f"{self.calls:,} calls, {self.input_tokens + self.output_tokens:,} tokens"
        return tokens if self.cost is None else f"{tokens}, USD {self.cost:.4f}"

    @asynccontextmanager
    async def call(self, input_tokens: int, max_output: int | None = None) -> AsyncIterator[PaidCall]:
        """Make one call inside; it counts, whether it succeeds or not, with the tokens that were set.

        Args:
            input_tokens: Of the prompt, estimated.
            max_output: Most tokens of the reply, where the model has a limit.

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
        """Return the error that says what was spent and of how much."""
        limits = [f"--max-calls {self.max_calls}"] if self.max_calls is not None else []
        limits += [f"--max-cost {self.max_cost}"] if self.max_cost is not None else []
        return BudgetUsedUp(
            f"{lead}: {self.spent} of {' and '.join(limits)}",
            help="Raise it and run the same command again: replies that were paid for are kept and not asked again.",
        )

    def as_json(self) -> dict[str, Any]:
        """Limits, price and what was spent, for the manifest."""
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
        too_many = self.max_calls is not None and self.calls >= self.max_calls
        return too_many or (self.max_cost is not None and cost > self.max_cost)
