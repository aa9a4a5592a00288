"""Limits on the use of a language model: calls, tokens and seconds of a turn, and tokens of a user over many turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from preflight_rag.state.errors import BudgetUsedUp
from preflight_rag.state.values import Usage


class SharedBudget(Protocol):
    """A budget of tokens over many turns, such as a user's for a day."""

    async def take(self, tokens: int) -> str:
        """Set tokens aside for a call; return why there are too few, or ""."""
        ...

    async def settle(self, taken: int, spent: int) -> None:
        """Replace the tokens set aside for a call by those that it has used."""
        ...


class Budget:
    """The limits of one turn. Each call is counted before it is made, so that concurrent calls stay within them.

    A call counts with the estimated tokens of its prompt until its reply reports the real number: the last replies may
    exceed the limit of tokens by their own length, and no call is made after that.

    Args:
        calls: Maximum number of calls of the model.
        tokens: Maximum number of tokens, of prompts and replies.
        seconds: Seconds from now in which calls may be made; a call that still runs then is ended.
        spent: The cost of the turn before it was cut off and resumed.
        purses: Shared budgets that the same calls count against, such as the user's for a day.
        time_setting: The setting that the seconds come from.
        slow_seconds: The limit in seconds for a model on this machine that turns out to be slow; 0: `seconds` holds.
        reply_tokens: Smallest limit for a reply's tokens; a prompt that needs a longer reply sets a higher one.

    Attributes:
        used_up: The error of the first refused call; None as long as no call was refused.
    """

    def __init__(
        self,
        *,
        calls: int,
        tokens: int,
        seconds: float,
        spent: Usage | None = None,
        purses: Sequence[SharedBudget] = (),
        reply_tokens: int = 0,
        time_setting: str = "PREFLIGHT_TURN_SECONDS",
        slow_seconds: float = 0.0,
    ) -> None:
        self._calls, self._tokens, self._seconds = calls, tokens, seconds
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._slow_seconds = slow_seconds
        self._made = spent.calls if spent else 0
        self._used = spent.input_tokens + spent.output_tokens if spent else 0
        self._purses = tuple(purses)
        self.reply_tokens = reply_tokens
        self._time_setting = time_setting
        self.used_up: BudgetUsedUp | None = None

    async def begin(self, tokens: int) -> None:
        """Count a call, with the tokens of its prompt, before it is made.

        Raises:
            BudgetUsedUp: The call must not be made.
        """
        if self._made >= self._calls:
            raise self._record_refusal(f"the turn's {self._calls:,} model calls are used up", "PREFLIGHT_TURN_CALLS")
        if self._used + tokens > self._tokens:
            raise self._record_refusal(f"the turn's {self._tokens:,} tokens are used up", "PREFLIGHT_TURN_TOKENS")
        if self.seconds_left() <= 0:
            raise self.out_of_time()
        # Counted before anything is awaited: other calls of the turn may begin meanwhile.
        self._made += 1
        self._used += tokens
        try:
            await self._take_from_shared_budgets(tokens)
        except BaseException:
            self._made -= 1
            self._used -= tokens
            raise

    async def _take_from_shared_budgets(self, tokens: int) -> None:
        """Take tokens from all shared budgets; if one has too few, give the others theirs back, and raise the error."""
        for index, purse in enumerate(self._purses):
            if refusal := await purse.take(tokens):
                for previous in self._purses[:index]:
                    await previous.settle(tokens, 0)
                raise self._record_refusal(refusal, "")

    async def end(self, tokens: int, spent: int) -> None:
        """Replace the tokens counted for a call, here and in all shared budgets, by the tokens that it has used."""
        self._used += spent - tokens
        for purse in self._purses:
            await purse.settle(tokens, spent)

    def seconds_left(self) -> float:
        """Return for how many more seconds the turn may call its model; negative after the limit."""
        return self._end - time.monotonic()

    def seconds_if_slow(self) -> float | None:
        """Return for how many more seconds a slow model may be called; None if there is no limit for slow models."""
        return self._began + self._slow_seconds - time.monotonic() if self._slow_seconds else None

    def hurry(self) -> None:
        """Apply the limit for slow models to this turn, if there is one and it ends earlier."""
        slow_end = self._began + self._slow_seconds
        if self._slow_seconds and slow_end < self._end:
            self._seconds, self._end = self._slow_seconds, slow_end
            self._time_setting = "PREFLIGHT_ANSWER_SECONDS"

    def out_of_time(self) -> BudgetUsedUp:
        """Return the error for a call for which no time is left, and record it as `used_up` if it is the first."""
        return self._record_refusal(f"the turn's {self._seconds:g} s for its model are used up", self._time_setting)

    def _record_refusal(self, problem: str, setting: str) -> BudgetUsedUp:
        """Return the error for a call beyond the budget, and record it as `used_up` if it is the first.

        Its help names the setting that has the limit; with "" it advises to wait.
        """
        help = f"Ask for less at once; the limit is {setting}." if setting else "Ask again later."
        error = BudgetUsedUp(problem, help=help)
        error.spent = Usage().model_dump()
        self.used_up = self.used_up or error
        return error
