"""An event loop in a thread of its own, so that plain calls and other people's loops can share one checkpointer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()


class LoopThread:
    """Runs coroutines; close it when done."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="preflight-loop", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end from plain code; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def iterate(self, source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
        """Iterate from another loop over what runs on this one; leaving cancels it and waits for its end."""
        home = asyncio.get_running_loop()
        queue: asyncio.Queue[Any] = asyncio.Queue()

        async def pump() -> None:
            try:
                async for item in source:
                    home.call_soon_threadsafe(queue.put_nowait, item)
            finally:
                home.call_soon_threadsafe(queue.put_nowait, _END)

        future = asyncio.run_coroutine_threadsafe(pump(), self._loop)
        ended = False
        try:
            while (item := await queue.get()) is not _END:
                yield item
            ended = True
            await asyncio.wrap_future(future)
        finally:
            if not ended:
                future.cancel()
                while await queue.get() is not _END:
                    pass

    def close(self) -> None:
        """Cancel what still runs, let it end, and stop the loop."""

        async def wind_down() -> None:
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            await self._loop.shutdown_asyncgens()
            await self._loop.shutdown_default_executor()

        asyncio.run_coroutine_threadsafe(wind_down(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()
