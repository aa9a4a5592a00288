"""The graph's state: one `State` with every channel, and the small views that nodes declare.

Only plain values travel here. Passages are references (`PassageRef`); their text is read from the library by id, so
that a checkpoint stays small however long the conversation is.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

STATE_VERSION = 1


class PassageRef(TypedDict):
    """A retrieved passage: where to find it, its fused rank and score, its cosine with the question, a preview."""

    id: str
    document_id: str
    title: str
    source: str
    rank: int
    score: float
    cosine: float
    tokens: int
    preview: str


class Rankings(TypedDict):
    """Passage ids of the two rankings over the whole collection, best first."""

    dense: list[str]
    lexical: list[str]


class ExtractState(TypedDict):
    """What one partition gave. `failed` partitions have no text and stand in `gaps`."""

    partition: int
    text: str
    quotes: list[tuple[int, str]]
    failed: bool


class DraftState(TypedDict):
    """An answer before its citations are checked; `[n]` are the passages' ranks."""

    text: str
    quotes: list[tuple[int, str]]
    found: bool
    choice: str | None


class State(TypedDict, total=False):
    """Everything a turn reads and writes."""

    schema_version: int
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation; its last human message is the question."""
    options: list[str]
    """The choices of a multiple-choice question; empty for an open one."""
    question: str
    """The question as it was asked."""
    standalone_question: str
    """The question as it reads without the conversation before it."""
    queries: list[str]
    """What was searched for."""
    passages: list[PassageRef]
    """The k passages that go on, in fused order."""
    rankings: Rankings
    """The dense and the lexical ranking over the collection."""
    decision: dict[str, Any]
    """The router's decision, as `RouteDecision.model_dump()`."""
    partitions: list[list[int]]
    """Ranks of the passages in each map prompt; empty unless the route is map/reduce."""
    extracts: Annotated[list[ExtractState], operator.add]
    """What the partitions gave; reset by `rewrite`."""
    draft: DraftState
    """The answer before `cite`."""
    answer: str
    """The answer as the person reads it."""
    abstained: bool
    """Whether the documents were found not to hold the answer."""
    choice: str | None
    """The option that the answer names."""
    citations: list[dict[str, Any]]
    """`Citation.model_dump()` of each, by number."""
    gaps: Annotated[list[dict[str, str]], operator.add]
    """What is missing and why; reset by `rewrite`."""
    spent: Annotated[list[dict[str, Any]], operator.add]
    """One row per stage that ran: `stage`, `started` (epoch seconds), the fields of `Usage`; reset by `rewrite`."""


class Question(TypedDict, total=False):
    """What the graph takes in."""

    messages: Annotated[list[AnyMessage], add_messages]
    options: list[str]


class Asked(TypedDict):
    """View of `rewrite`."""

    messages: list[AnyMessage]


class Rewritten(TypedDict):
    """View of `retrieve`."""

    queries: list[str]


class Retrieved(TypedDict):
    """View of `preflight`."""

    standalone_question: str
    passages: list[PassageRef]


class Routed(TypedDict):
    """View of the conditional edge after `preflight`."""

    standalone_question: str
    passages: list[PassageRef]
    decision: dict[str, Any]
    partitions: list[list[int]]


class Chosen(TypedDict):
    """View of `answer_plain`."""

    standalone_question: str
    options: list[str]
    passages: list[PassageRef]


class Partition(TypedDict):
    """What one `Send` hands to `map_context`."""

    standalone_question: str
    partition: int
    passages: list[PassageRef]


class Mapped(TypedDict):
    """View of `reduce_context`."""

    standalone_question: str
    options: list[str]
    extracts: list[ExtractState]
    gaps: list[dict[str, str]]


class Drafted(TypedDict):
    """View of `cite`, and of the conditional edges after `answer_plain` and `reduce_context`."""

    draft: DraftState
    passages: list[PassageRef]
    extracts: list[ExtractState]


class Unanswered(TypedDict):
    """View of `abstain`."""

    passages: list[PassageRef]
    extracts: list[ExtractState]
