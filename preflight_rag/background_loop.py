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
"""Seconds for which `close` waits for running tasks, and for the thread; a guess."""
CANCEL_AGAIN_SECONDS = 1.0
"""Seconds after which a task that still runs after it was cancelled is cancelled again; a guess."""
_NORMAL_END, _FAILURE = object(), object()


class BackgroundLoop:
    """Runs coroutines on one event loop, which is started at the first call, so that connections opened there live on.

    Args:
        name: The name of the loop's thread.
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
        """Return whether the caller runs on the loop's own thread, where it must not wait for the loop."""
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
        caller_loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Any] = asyncio.Queue()
        pump_tasks: list[asyncio.Task[Any] | None] = []  # empty until the task has begun

        async def pump() -> None:
            """Pass the generator's items to the other loop's queue."""
            pump_tasks.append(asyncio.current_task())
            end_mark = _FAILURE
            try:
                async for item in source:
                    if caller_loop.is_closed():  # a program that ends in a hurry; nobody listens any more
                        break
                    caller_loop.call_soon_threadsafe(queue.put_nowait, item)
                end_mark = _NORMAL_END
            finally:
                with suppress(RuntimeError):  # the caller's loop is closed
                    caller_loop.call_soon_threadsafe(queue.put_nowait, end_mark)

        future = self._submit(pump())
        ended = False
        try:
            while (item := await queue.get()) is not _NORMAL_END and item is not _FAILURE:
                yield item
            ended = True
            if item is _FAILURE:
                await asyncio.wrap_future(future)
        finally:
            if not ended:
                future.cancel()
                while not await _drain(queue) and pump_tasks:
                    self._cancel(pump_tasks[0])

    def close(self) -> None:
        """Cancel the tasks that still run, wait for their ends, and stop the loop and its thread, if it was started."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_remaining_tasks(loop), loop).result(timeout=CLOSING_SECONDS)
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


async def _drain(queue: asyncio.Queue[Any]) -> bool:
    """Discard a queue's items up to its end mark; return False if that does not come within `CANCEL_AGAIN_SECONDS`.

    The task that fills the queue may run on: `asyncio.wait_for` of Python 3.11 can swallow a cancellation.
    """
    try:
        async with asyncio.timeout(CANCEL_AGAIN_SECONDS):
            while await queue.get() not in (_NORMAL_END, _FAILURE):
                pass
    except TimeoutError:
        return False
    return True


async def _cancel_remaining_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the loop's remaining tasks, and shut down its generators and threads."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
