"""Cases put to a model a few at a time: in order, with progress, and with failures as rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from preflight_rag.evaluation.experiments import Progress, no_progress
from preflight_rag.evaluation.harness.budget import Budget
from preflight_rag.evaluation.harness.replies import Call, recording
from preflight_rag.state.errors import BudgetUsedUp, ModelAuthError, PreflightError, UnknownModel, UsageError

C = TypeVar("C")
T = TypeVar("T")
HOPELESS = (ModelAuthError, UnknownModel)
"""Errors that every case would meet: they end the run."""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a case.

    Attributes:
        value: What `ask` returned; None where it failed, or where the budget refused a call that it needed.
        error: Why it failed, in one line.
        unpaid: Whether it is missing because the budget is used up.
        calls: Every prompt of the case, with its reply.
    """

    value: T | None
    error: str = ""
    unpaid: bool = False
    calls: tuple[Call, ...] = ()


async def gather(
    cases: Sequence[C],
    ask: Callable[[C], Awaitable[T]],
    *,
    concurrency: int,
    budget: Budget,
    stage: str = "cases",
    progress: Progress = no_progress,
) -> list[Outcome[T]]:
    """Ask all cases, at most `concurrency` at a time; outcomes come in the order of the cases.

    Once the budget is used up, only cases whose replies are all cached still come to an end. What the budget refused is
    noticed also where `ask` hides it, as a graph does that records a failed partition as a gap.

    Raises:
        UsageError: `concurrency` is below 1.
        ModelAuthError: The server refused the key.
        UnknownModel: The server does not know the model.
        PreflightError: No case came to an end; the first one's error.
    """
    if concurrency < 1:
        raise UsageError(f"the concurrency is {concurrency}", help="Give 1 or more.")
    outcomes: list[Outcome[T] | None] = [None] * len(cases)
    waiting = iter(range(len(cases)))
    errors: list[Exception] = []
    done = 0

    async def work() -> None:
        nonlocal done
        for place in waiting:
            budget.cases += 1
            outcomes[place], error = await _outcome(cases[place], ask)
            budget.answered += error is None
            errors.extend([error] if error is not None else [])
            done += 1
            progress(stage, done, len(cases))

    await _all(work, min(concurrency, len(cases)))
    if cases and len(errors) == len(cases):
        raise errors[0]
    return [outcome for outcome in outcomes if outcome is not None]


async def _outcome(case: C, ask: Callable[[C], Awaitable[T]]) -> tuple[Outcome[T], Exception | None]:
    """A case's outcome, with its error, which the outcome holds as text."""
    with recording() as calls:
        failure: Exception | None = None
        try:
            value: T | None = await ask(case)
        except HOPELESS:
            raise
        except Exception as error:  # of whatever kind: the other cases are paid for
            value, failure = None, error
    unpaid = next((call for call in calls if call.unpaid), None)
    if unpaid is not None:
        return Outcome(None, unpaid.error, True, tuple(calls)), failure or BudgetUsedUp(unpaid.error)
    if failure is None:
        return Outcome(value, calls=tuple(calls)), None
    named = str(failure) if isinstance(failure, PreflightError) else f"{type(failure).__name__}: {failure}"
    return Outcome(None, " ".join(named.split()), False, tuple(calls)), failure


async def _all(work: Callable[[], Awaitable[None]], workers: int) -> None:
    """Run workers until all are done; when one fails, end the others and raise its error."""
    tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
