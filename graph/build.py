"""The wiring of the stages: the only place with nodes and edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict  # as in schema.py

from preflight_rag.graph import routes
from preflight_rag.graph.routes import Edge
from preflight_rag.graph.stage import Stage, require_context
from preflight_rag.nodes.abstain import abstain
from preflight_rag.nodes.aggregate_groups import aggregate_groups
from preflight_rag.nodes.answer_group import answer_group
from preflight_rag.nodes.answer_plain import answer_plain
from preflight_rag.nodes.cite import cite
from preflight_rag.nodes.clarify import clarify
from preflight_rag.nodes.converse import converse
from preflight_rag.nodes.list_documents import list_documents
from preflight_rag.nodes.map_context import map_context
from preflight_rag.nodes.organize_contexts import organize_contexts
from preflight_rag.nodes.preflight import preflight
from preflight_rag.nodes.read_metadata import read_metadata
from preflight_rag.nodes.reduce_context import reduce_context
from preflight_rag.nodes.relate_contexts import relate_contexts
from preflight_rag.nodes.retrieve import retrieve
from preflight_rag.nodes.rewrite import rewrite
from preflight_rag.state.context import Context
from preflight_rag.state.errors import UsageError
from preflight_rag.state.schema import Question, State

RECURSION_LIMIT = 40
"""Maximum number of steps of a turn; the longest one, map/reduce that escalates to COrg and asks the user first, takes
eleven."""


def build_graph(
    *,
    context_schema: type[Any] = Context,
    resolve: Callable[[Any], Context] = require_context,
    channels: Sequence[str] | None = None,
) -> StateGraph[State, Any, Any, Any]:
    """Return the graph, not yet compiled: compile it with your own checkpointer, or add it to a graph of yours.

    Args:
        context_schema: Type of the `context` that a caller passes.
        resolve: Converts that into a `Context`; by default it is one already.
        channels: The channels of `State` that are input and output; None for `messages` and `options` as input, and all
            as output.

    Raises:
        UsageError: There is no such channel.
    """
    inputs, outputs = (Question, State) if channels is None else _schemas(channels)
    graph: StateGraph[State, Any, Any, Any] = StateGraph(
        State, context_schema, input_schema=inputs, output_schema=outputs
    )
    for node in (
        *(rewrite, converse, list_documents, read_metadata, retrieve, preflight),
        *(answer_plain, map_context, reduce_context),
        *(relate_contexts, organize_contexts, clarify, answer_group, aggregate_groups),
        *(cite, abstain),
    ):
        stage = Stage(node, resolve)
        graph.add_node(stage.name, stage, input_schema=stage.view)

    graph.add_edge(START, "rewrite")
    graph.add_conditional_edges("rewrite", Edge(routes.after_rewrite), routes.AFTER_REWRITE)
    graph.add_conditional_edges("read_metadata", Edge(routes.after_metadata), routes.AFTER_METADATA)
    graph.add_edge("retrieve", "preflight")
    graph.add_conditional_edges("preflight", Edge(routes.after_preflight), routes.AFTER_PREFLIGHT)
    graph.add_conditional_edges("answer_plain", Edge(routes.after_draft), routes.AFTER_PLAIN)
    graph.add_edge("map_context", "reduce_context")
    graph.add_conditional_edges("reduce_context", Edge(routes.after_draft), routes.AFTER_REDUCE)
    graph.add_edge("relate_contexts", "organize_contexts")
    graph.add_conditional_edges("organize_contexts", Edge(routes.after_organize), routes.AFTER_ORGANIZE)
    graph.add_conditional_edges("clarify", Edge(routes.after_clarify), routes.AFTER_CLARIFY)
    graph.add_edge("answer_group", "aggregate_groups")
    graph.add_conditional_edges("aggregate_groups", Edge(routes.after_draft), routes.AFTER_AGGREGATE)
    graph.add_edge("cite", END)
    graph.add_edge("abstain", END)
    graph.add_edge("converse", END)
    graph.add_edge("list_documents", END)
    return graph


def _schemas(channels: Sequence[str]) -> tuple[type[Any], type[Any]]:
    """Return the input and output schemas of a graph that exposes `messages` and these channels, which must exist."""
    known = get_type_hints(State, include_extras=True)
    if unknown := sorted(set(channels) - known.keys()):
        raise UsageError(f"there is no channel {unknown[0]!r}", help=f"The channels are: {', '.join(known)}.")
    outputs = {name: known[name] for name in dict.fromkeys(("messages", *channels))}
    inputs = {name: channel for name, channel in outputs.items() if name in Question.__annotations__}
    return TypedDict("Taken", inputs), TypedDict("Given", outputs)  # type: ignore[operator, return-value]  # made of names
