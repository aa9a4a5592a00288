"""What every stage is wrapped in: its context is resolved and guarded, its progress told, what it spent recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from preflight_rag.graph.progress import begun, ended
from preflight_rag.graph.tracing import stage_span
from preflight_rag.state.context import Context
from preflight_rag.state.errors import UsageError
from preflight_rag.state.schema import State
from preflight_rag.state.values import Usage

Node = Callable[[Any, Runtime[Context]], Awaitable[State]]


def given(context: Any) -> Context:
    """The context as the caller passed it.

    Raises:
        UsageError: No `Context` was passed, or it lacks a reader or a library.
    """
    if not isinstance(context, Context) or context.reader is None or context.library is None:
        raise UsageError(
            f"the graph was run with context={context!r}",
            help="Pass context=Context(reader=..., library=...) to invoke, stream or their async forms.",
        )
    return context


def stage(node: Node, resolve: Callable[[Any], Context]) -> tuple[str, Callable[..., Awaitable[State]], type[Any]]:
    """A node's name, the node with its context resolved and its seconds recorded, and the view that it reads."""
    name = str(getattr(node, "__name__", node))
    view = get_type_hints(node)["state"]

    async def run(state: Any, runtime: Runtime[Any]) -> State:
        context = await asyncio.to_thread(resolve, runtime.context)
        started = time.time()
        begun(name, state, runtime)
        with stage_span(name, context.trace) as span:
            update = await node(state, runtime.override(context=context))
            spent = update.get("spent") or [{"stage": name, **Usage().model_dump()}]
            rows = spent.value if isinstance(spent, Overwrite) else spent
            span.done(state, rows, update)
        ended(name, state, update, runtime)
        seconds = time.time() - started
        timed = [{**row, "started": started, "seconds": seconds} for row in rows]
        update["spent"] = Overwrite(timed) if isinstance(spent, Overwrite) else timed  # type: ignore[typeddict-item]
        return update

    run.__name__ = run.__qualname__ = name
    run.__doc__ = node.__doc__
    return name, run, view
