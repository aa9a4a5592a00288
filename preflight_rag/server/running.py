"""The turns that are being taken: each in a task of its own, which a client's going or a call stops."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from preflight_rag.server.errors import Refused
from preflight_rag.server.metrics import Metrics
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Answer, Clarification

log = logging.getLogger("preflight.server")
WAITING = 4
Source = Callable[[], AsyncGenerator[Any, None]]


class Stopped:
    """The last item of a turn that was stopped on purpose."""


class Queued:
    """A turn waits for others to end; `ahead` counts them."""

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead


class RunningTurn:
    """One turn. `get` gives its items in order: events, at last an `Answer`, a `Clarification`, an error or `Stopped`.

    Args:
        thread_id: The thread, as the ledger calls it.
        source: Starts the turn.
        running: What it counts among.
    """

    def __init__(self, thread_id: str, source: Source, running: Running) -> None:
        self.thread_id = thread_id
        self.started = time.perf_counter()
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self._source, self._running = source, running
        self._task = asyncio.create_task(self._run(), name=f"turn {thread_id}")

    async def get(self, seconds: float | None = None) -> Any:
        """The next item, or None where none comes within the seconds."""
        with suppress(asyncio.QueueEmpty):
            return self._items.get_nowait()
        try:
            async with asyncio.timeout(seconds):
                return await self._items.get()
        except TimeoutError:
            return None

    def stop(self) -> None:
        """Stop the turn; it may take a moment until it has ended."""
        self._task.cancel()

    async def ended(self, seconds: float = 10.0) -> None:
        """Wait until the turn has ended."""
        await asyncio.wait([self._task], timeout=seconds)

    @staticmethod
    def is_last(item: Any) -> bool:
        """Whether no item comes after this one."""
        return isinstance(item, Answer | Clarification | Exception | Stopped)

    async def _run(self) -> None:
        outcome: Any = Stopped()
        try:
            async with (
                self._running.slot(self._items.put_nowait),
                asyncio.timeout(self._running.turn_seconds),
                aclosing(self._source()) as events,
            ):
                async for event in events:
                    if self.is_last(event):
                        outcome = event
                    else:
                        self._items.put_nowait(event)
        except asyncio.CancelledError:
            outcome = Stopped()
        except TimeoutError:
            outcome = Refused(504, f"the turn took longer than {self._running.turn_seconds:g} s", help="Ask for less.")
        except PreflightError as error:
            outcome = error
        except Exception as error:
            log.exception("a turn failed")
            outcome = error
        finally:
            self._running.over(self, outcome)
            self._items.put_nowait(outcome)


class Running:
    """All turns of a server.

    Args:
        most: Turns at once; four times as many may wait.
        turn_seconds: How long one may take.
        metrics: Where turns are counted.
    """

    def __init__(self, most: int, turn_seconds: float, metrics: Metrics) -> None:
        self.turn_seconds = turn_seconds
        self._most, self._metrics = most, metrics
        self._slots = asyncio.Semaphore(most)
        self._turns: set[RunningTurn] = set()
        self._closed = False

    def start(self, thread_id: str, source: Source) -> RunningTurn:
        """Start a turn.

        Raises:
            Refused: Too many are running and waiting.
        """
        if self._closed or len(self._turns) >= self._most * (1 + WAITING):
            raise Refused(503, "the server is busy", help="Try again in a moment.", headers={"Retry-After": "5"})
        turn = RunningTurn(thread_id, source, self)
        self._turns.add(turn)
        return turn

    @asynccontextmanager
    async def slot(self, tell: Callable[[Any], None]) -> AsyncIterator[None]:
        """A place among the turns that run at once; a turn that has to wait is told so."""
        if self._slots.locked():
            tell(Queued(len(self._turns) - 1))
        async with self._slots:
            self._metrics.running.inc()
            try:
                yield
            finally:
                self._metrics.running.dec()

    async def stop(self, thread_id: str) -> bool:
        """Stop a thread's turns and wait for their end; false where none runs."""
        found = [turn for turn in self._turns if turn.thread_id == thread_id]
        for turn in found:
            turn.stop()
        for turn in found:
            await turn.ended()
        return bool(found)

    async def close(self) -> None:
        """Stop all turns, and take no more."""
        self.stop_all()
        for turn in list(self._turns):
            await turn.ended()

    def stop_all(self) -> None:
        """Tell all turns to stop, and take no more."""
        self._closed = True
        for turn in self._turns:
            turn.stop()

    def over(self, turn: RunningTurn, outcome: Any) -> None:
        """Count a turn that has ended."""
        self._turns.discard(turn)
        route, status = "none", "failed"
        if isinstance(outcome, Answer):
            route, status = outcome.route.name, "abstained" if outcome.abstained else "answered"
            self._metrics.turn_seconds.labels(route).observe(time.perf_counter() - turn.started)
            self._metrics.tokens.labels("input").inc(outcome.receipt.input_tokens)
            self._metrics.tokens.labels("output").inc(outcome.receipt.output_tokens)
        elif isinstance(outcome, Clarification):
            status = "asking"
        elif isinstance(outcome, Stopped):
            status = "stopped"
        self._metrics.turns.labels(route, status).inc()
