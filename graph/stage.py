"""The wrapper of every stage: it resolves and checks the context, shows progress and records the cost.

Every stage's answer is converted here to Markdown that loads, links to and runs nothing (`text.inert`).

Stages are asynchronous. Synchronous callers (`invoke`, `stream` of the compiled graph) wait for them on one event loop
that they all share, since a model's HTTP client belongs to the loop on which it was first used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol, get_type_hints

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Overwrite

from preflight_rag.background_loop import BackgroundLoop
from preflight_rag.graph.answer_stream import answer_stream
from preflight_rag.graph.progress import report_begin, report_end
from preflight_rag.graph.tracing import stage_span
from preflight_rag.state.context import Context
from preflight_rag.state.errors import UsageError
from preflight_rag.state.schema import State
from preflight_rag.state.values import Usage
from preflight_rag.text.inert import inert

_synchronous_calls = BackgroundLoop("preflight-graph")


class Node(Protocol):
    """A node function, as the files of `nodes/` define them; the type of `state` is the view that it reads."""

    __name__: str

    async def __call__(self, state: Any, runtime: Runtime[Context]) -> State:
        """Read the view, and return the channels that change."""
        ...


def require_context(context: Any) -> Context:
    """Check that a caller has passed a complete context, and return it.

    Raises:
        UsageError: No `Context` was passed, or it lacks a reader or a library.
    """
    if not isinstance(context, Context) or context.reader is None or context.library is None:
        raise UsageError(
            f"the graph was run with context={context!r}",
            help="Pass context=Context(reader=..., library=...) to invoke, stream or their async forms.",
        )
    return context


class Stage(Runnable[Any, State]):
    """A node that can be called with and without `await`; it cannot run outside a graph.

    Args:
        node: The node.
        resolve: Makes the node's context from the context with which the graph was run.

    Attributes:
        name: The node's name.
        view: The part of the state that the node reads.
    """

    name: str

    def __init__(self, node: Node, resolve: Callable[[Any], Context]) -> None:
        self.name = node.__name__
        self.view: type[Any] = get_type_hints(node)["state"]
        self._node = node
        self._resolve = resolve

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        """Run the stage to its end, for synchronous callers of the graph."""
        return _synchronous_calls.call(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> State:
        """Run the stage: report its begin and end, stream its answer, and record its cost and duration."""
        runtime: Runtime[Any] = get_runtime()
        if self._resolve is require_context:
            context = require_context(runtime.context)
        else:  # the studio's context opens a library, which would block the event loop
            context = await asyncio.to_thread(self._resolve, runtime.context)
        started = time.time()
        report_begin(self.name, input, runtime)
        with stage_span(self.name, context.trace) as span:
            with answer_stream(self.name) as stream:
                update = _with_inert_answer(await self._node(input, runtime.override(context=context)))
                if stream is not None:
                    stream.ended(update)
            spent = update.get("spent") or [{"stage": self.name, **Usage().model_dump()}]
            rows = spent.value if isinstance(spent, Overwrite) else spent
            span.done(input, rows, update)
        report_end(self.name, input, update, runtime)
        seconds = time.time() - started
        timed = [{**row, "started": started, "seconds": seconds} for row in rows]
        update["spent"] = Overwrite(timed) if isinstance(spent, Overwrite) else timed  # type: ignore[typeddict-item]
        return update


def _with_inert_answer(update: State) -> State:
    """Make the texts of a stage's update inert, in place, and return it: a renderer loads and runs nothing from them.

    They are the answer, those of its groups, and the answer's message; an update without an answer is unchanged.
    """
    if not update.get("answer"):
        return update
    update["answer"] = inert(update["answer"])
    if "groups" in update:
        inert_groups = []
        for group in update["groups"]:
            texts = {name: inert(group[name]) for name in ("entity", "descriptor", "answer") if group.get(name)}
            inert_groups.append({**group, **texts})
        update["groups"] = inert_groups
    for message in update.get("messages") or ():
        if isinstance(message, AIMessage):
            message.content = inert(str(message.text))
    return update
