"""A compiled graph, with a checkpointer of its own, that begins a new thread if the caller names none.

LangGraph itself stores runs with `thread_id=None` under one thread, which every other such call then continues, and
fails with a KeyError if `configurable` contains other names only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from preflight_rag.threads.locks import new_thread_id


class OwnThreads(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph, as returned by `StateGraph.compile`, in which each call without a thread id gets a new thread."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> OwnThreads:
        """Return the same graph as an `OwnThreads`, copied as `Pregel.copy` does."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:  # type: ignore[override]
        """Run the graph; `invoke` and `batch` call this method."""
        return super().stream(input, self._with_thread(config), **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """Run the graph; `ainvoke` and `abatch` call this method."""
        return super().astream(input, self._with_thread(config), **kwargs)

    def _with_thread(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the config with a new thread's id; unchanged if it has one, or the graph is inside another graph."""
        merged = merge_configs(self.config, ensure_config(config))
        is_inside_graph = "langgraph_node" in merged.get("metadata", {})
        if is_inside_graph or not isinstance(self.checkpointer, BaseCheckpointSaver):
            return config
        configurable = merged.get("configurable", {})
        if configurable.get("thread_id") not in (None, ""):
            return config
        return {**(config or {}), "configurable": {**configurable, "thread_id": new_thread_id("graph")}}
