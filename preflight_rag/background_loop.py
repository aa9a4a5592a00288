"""An event loop in a thread of its own: plain code waits on it, and several loops share what lives there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
CLOSING_SECONDS = 30
"""Timeout of closing, for running tasks and for the thread; a guess."""
CANCEL_AGAIN_SECONDS = 1.0
"""A task that goes on so long after it was cancelled is cancelled again; a guess."""
_END, _FAILED = object(), object()


class BackgroundLoop:
    """Runs coroutines on one loop, begun at the first call, so that connections opened there live on.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def begun(self) -> bool:
        """Whether the event loop was started."""
        return self._loop is not None

    def is_here(self) -> bool:
        """Return whether this code runs on the loop's own thread, where nothing may wait for it."""
        return threading.current_thread() is self._thread

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, in the caller's context; an interrupt of the caller cancels it."""
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def iterate(self, source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
        """Iterate, from another event loop, over a generator that runs on this one.

        Leaving early cancels the generator and waits for its end.
        """
        home = asyncio.get_running_loop()
        queue: asyncio.Queue[Any] = asyncio.Queue()
        pumping: list[asyncio.Task[Any] | None] = []

        async def pump() -> None:
            """Pass the generator's items to the other loop's queue."""
            pumping.append(asyncio.current_task())
            how = _FAILED
            try:
                async for item in source:
                    if home.is_closed():  # a program that ends in a hurry; nobody listens any more
                        break
                    home.call_soon_threadsafe(queue.put_nowait, item)
                how = _END
            finally:
                with suppress(RuntimeError):  # closed, likewise
                    home.call_soon_threadsafe(queue.put_nowait, how)

        future = self._submit(pump())
        ended = False
        try:
            while (item := await queue.get()) is not _END and item is not _FAILED:
                yield item
            ended = True
            if item is _FAILED:
                await asyncio.wrap_future(future)
        finally:
            if not ended:
                future.cancel()
                while not await _drained(queue) and pumping:
                    self._cancel(pumping[0])

    def close(self) -> None:
        """Cancel what still runs, let it end, and stop the loop, if it was begun."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_wind_down(loop), loop).result(timeout=CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=CLOSING_SECONDS)
        loop.close()

    def _cancel(self, task: asyncio.Task[Any] | None) -> None:
        """Cancel a task on the loop from any thread."""
        with self._lock:
            if self._loop is not None and task is not None:
                self._loop.call_soon_threadsafe(task.cancel)

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the loop if necessary, and schedule a coroutine on it."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _drained(queue: asyncio.Queue[Any]) -> bool:
    """Return whether the task that fills the queue ends in time.

    It may not: `asyncio.wait_for` of Python 3.11 can swallow a cancellation.
    """
    try:
        async with asyncio.timeout(CANCEL_AGAIN_SECONDS):
            while await queue.get() not in (_END, _FAILED):
                pass
    except TimeoutError:
        return False
    return True


async def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the loop's remaining tasks, and shut down its generators and threads."""
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
