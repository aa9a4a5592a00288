"""The turns that a server is running: each in a task of its own, to which several clients may listen."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from typing_extensions import TypeIs

from preflight_rag.graph.events import ProgressEvent, StageEvent, TokenEvent
from preflight_rag.library.names import DocumentNames
from preflight_rag.server.errors import Refused
from preflight_rag.server.metrics import Metrics
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Answer, Clarification

log = logging.getLogger("preflight.server")
WAITING = 4  # waiting turns for each running one: a guess


class StoppedTurn:
    """The last item of a turn that was stopped on purpose."""


@dataclass(frozen=True)
class QueuedTurn:
    """An item for a waiting turn; `ahead` counts the turns before it."""

    ahead: int


Event = ProgressEvent | StageEvent | TokenEvent | Answer | Clarification
Outcome = Answer | Clarification | Exception | StoppedTurn
Item = Event | QueuedTurn | Outcome
"""An item of a turn's stream; an `Outcome` is the last one."""


def is_last(item: Item | None) -> TypeIs[Outcome]:
    """Return whether no item of the turn comes after this one."""
    return isinstance(item, Answer | Clarification | Exception | StoppedTurn)


class Listener:
    """A listener to a turn: it gets all items from the first on, also earlier ones; `get` returns the next.

    Attributes:
        thread_id: The turn's thread, by its id in the ledger.
        seconds: When the last item returned by `get` was produced, counted from the turn's beginning.
    """

    def __init__(self, turn: RunningTurn, items: Sequence[tuple[float, Item]]) -> None:
        self.thread_id = turn.thread_id
        self.seconds = 0.0
        self._items: asyncio.Queue[tuple[float, Item]] = asyncio.Queue()
        for item in items:
            self._items.put_nowait(item)

    def take(self, seconds: float, item: Item) -> None:
        """Deliver an item to this listener."""
        self._items.put_nowait((seconds, item))

    async def get(self, seconds: float | None = None) -> Item | None:
        """Return the next item, or None if none comes within the seconds."""
        try:
            async with asyncio.timeout(seconds):
                self.seconds, item = await self._items.get()
        except TimeoutError:
            return None
        return item

    async def outcome(self) -> Outcome:
        """Return the turn's last item."""
        while not is_last(item := await self.get()):
            pass
        return item


class RunningTurn:
    """One turn, in a task of its own. `get` returns its items in order to the client that started it; others `listen`.

    Args:
        thread_id: The thread, by its id in the ledger.
        start: Starts the turn.
        turns: The server's turns, to which this one belongs.
    """

    def __init__(self, thread_id: str, start: Callable[[], AsyncGenerator[Event, None]], turns: RunningTurns) -> None:
        self.thread_id = thread_id
        self.started = time.perf_counter()
        self._items: list[tuple[float, Item]] = []
        self._listeners: list[Listener] = []
        self._own = self.listen()
        self._start, self._turns = start, turns
        self._task = asyncio.create_task(self._run(), name=f"turn {thread_id}")

    def listen(self) -> Listener:
        """Return another listener, which gets all items from the turn's beginning."""
        listener = Listener(self, self._items)
        self._listeners.append(listener)
        return listener

    async def get(self, seconds: float | None = None) -> Item | None:
        """Return the next item, or None if none comes within the seconds."""
        return await self._own.get(seconds)

    @property
    def seconds(self) -> float:
        """When the last item returned by `get` was produced, counted from the turn's beginning."""
        return self._own.seconds

    async def outcome(self) -> Outcome:
        """Return the turn's last item."""
        return await self._own.outcome()

    def stop(self) -> None:
        """Stop the turn; it may take a moment until it has ended."""
        self._task.cancel()

    async def ended(self, seconds: float = 10.0) -> None:
        """Wait until the turn has ended."""
        await asyncio.wait([self._task], timeout=seconds)

    def _put(self, item: Item) -> None:
        """Deliver an item to all listeners, and keep it for later ones."""
        timed = time.perf_counter() - self.started, item
        self._items.append(timed)
        for listener in self._listeners:
            listener.take(*timed)

    async def _run(self) -> None:
        """Run the turn, and deliver every event, and the outcome last, to the listeners."""
        outcome: Outcome = StoppedTurn()
        try:
            async with (
                self._turns.slot(self._put),
                asyncio.timeout(self._turns.turn_seconds),
                aclosing(self._start()) as events,
            ):
                async for event in events:
                    if is_last(event):
                        outcome = await asyncio.to_thread(self._turns.named, event)
                    else:
                        self._put(event)
        except asyncio.CancelledError:
            outcome = StoppedTurn()
        except TimeoutError:
            outcome = Refused(504, f"the turn took longer than {self._turns.turn_seconds:g} s", help="Ask for less.")
        except (PreflightError, Refused, UnicodeEncodeError) as error:
            outcome = error
        except Exception as error:
            log.exception("a turn failed")
            outcome = error
        finally:
            self._turns.over(self, outcome)
            self._put(outcome)


class RunningTurns:
    """All turns that a server is running.

    Args:
        most: Turns at once; `WAITING` times as many may wait.
        turn_seconds: Timeout of one turn.
        metrics: Counts the turns.
        names: Names shown to clients instead of paths.
    """

    def __init__(self, most: int, turn_seconds: float, metrics: Metrics, names: DocumentNames) -> None:
        self.turn_seconds = turn_seconds
        self._most, self._metrics, self._names = most, metrics, names
        self._slots = asyncio.Semaphore(most)
        self._turns: set[RunningTurn] = set()
        self._closed = False

    def start(self, thread_id: str, start: Callable[[], AsyncGenerator[Event, None]], of: str = "") -> RunningTurn:
        """Start a turn in the background.

        Args:
            thread_id: The thread, by its id in the ledger.
            start: Starts the turn.
            of: The prefix of the user's thread ids, by which the user's turns are counted.

        Raises:
            Refused: Too many turns are running and waiting, or too many of this user.
        """
        places = self._most * (1 + WAITING)
        if self._closed or len(self._turns) >= places:
            raise Refused(503, "the server is busy", help="Try again in a moment.", headers={"Retry-After": "5"})
        if of and sum(turn.thread_id.startswith(of) for turn in self._turns) >= max(places // 2, 1):
            help = "Try again when some of them have ended."
            raise Refused(429, "too many of your turns at once", help=help, headers={"Retry-After": "5"})
        turn = RunningTurn(thread_id, start, self)
        self._turns.add(turn)
        return turn

    @asynccontextmanager
    async def slot(self, report: Callable[[QueuedTurn], None]) -> AsyncIterator[None]:
        """Wait for a place among the turns that run at once, and hold it during the block; a wait is reported."""
        if self._slots.locked():
            report(QueuedTurn(len(self._turns) - 1))
        async with self._slots:
            self._metrics.running.inc()
            try:
                yield
            finally:
                self._metrics.running.dec()

    @property
    def is_busy(self) -> bool:
        """Return whether a turn runs or waits."""
        return bool(self._turns)

    def of(self, thread_id: str) -> RunningTurn | None:
        """Return the turn that runs on a thread; if others wait for the thread, the one that came first."""
        found = [turn for turn in self._turns if turn.thread_id == thread_id]
        return min(found, key=lambda turn: turn.started, default=None)

    async def stop(self, thread_id: str) -> bool:
        """Stop a thread's turns and wait for their end; return False if none runs."""
        found = [turn for turn in self._turns if turn.thread_id == thread_id]
        for turn in found:
            turn.stop()
        for turn in found:
            await turn.ended()
        return bool(found)

    async def close(self) -> None:
        """Stop all turns, wait for their end, and accept no more."""
        self.stop_all()
        for turn in list(self._turns):
            await turn.ended()

    def stop_all(self) -> None:
        """Request all turns to stop, and accept no more."""
        self._closed = True
        for turn in self._turns:
            turn.stop()

    def named(self, outcome: Answer | Clarification) -> Answer | Clarification:
        """Return an answer for clients: with documents by their names, not by paths of this machine."""
        if isinstance(outcome, Clarification):
            return outcome
        return Answer.model_validate(self._names.shown(outcome.model_dump()))

    def over(self, turn: RunningTurn, outcome: Outcome) -> None:
        """Remove a turn that has ended, and count its outcome in the metrics."""
        self._turns.discard(turn)
        route, status = "none", "failed"
        if isinstance(outcome, Answer):
            route, status = outcome.route.name, "abstained" if outcome.abstained else "answered"
            self._metrics.turn_seconds.labels(route).observe(time.perf_counter() - turn.started)
            self._metrics.tokens.labels("input").inc(outcome.receipt.input_tokens)
            self._metrics.tokens.labels("output").inc(outcome.receipt.output_tokens)
        elif isinstance(outcome, Clarification):
            status = "asking"
        elif isinstance(outcome, StoppedTurn):
            status = "stopped"
        self._metrics.turns.labels(route, status).inc()
