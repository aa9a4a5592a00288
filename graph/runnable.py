"""A stage as a `Runnable`, so that a compiled graph also runs by `invoke` and `stream`, from code without a loop.

Stages are asynchronous. Plain code waits for them on one loop that they all share, since a model's HTTP client stays
with the loop that it was first used on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import get_runtime

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.state.schema import State

_plain_calls = BackgroundLoop("preflight-graph")


class StageRunnable(Runnable[Any, State]):
    """A stage for plain and for asynchronous callers; outside a graph it cannot run."""

    def __init__(self, name: str, run: Callable[..., Awaitable[State]]) -> None:
        self.name = name
        self._run = run

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        """Run the stage to its end."""
        return _plain_calls.call(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        """Run the stage."""
        return await self._run(input, get_runtime())
