"""The graph's state: one `State` with every channel.

Only plain values travel here: what has a class of its own, in `reading.py` or `values.py`, is dumped, and its channel
names it. Passages are references (`PassageRef`); their text is read from the library by id, so that a checkpoint stays
small however long the conversation is.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # that of `typing` gives no JSON schema before Python 3.12

STATE_VERSION = 6
"""To be raised whenever a stage gets another name, or reads what an earlier version did not write: a turn that was cut
off before is then begun again, instead of going on from what it left (`tests/faults/test_old_state.py`)."""


class PassageRef(TypedDict):
    """A retrieved passage: where to find it, its fused rank and score, its cosine with the question, a preview."""

    id: str
    document_id: str
    title: str
    source: str
    rank: int
    score: float
    cosine: float
    dense_rank: NotRequired[int | None]
    lexical_rank: NotRequired[int | None]
    bm25: NotRequired[float | None]
    relevance: NotRequired[float | None]
    found_by: NotRequired[str]
    origin: NotRequired[str]
    tokens: int
    preview: str


class Rankings(TypedDict):
    """Passage ids of the two rankings over the whole collection, best first."""

    dense: list[str]
    lexical: list[str]


class DroppedContext(TypedDict):
    """A context outside all groups: the reason, and the rank of the context that represents it, if any."""

    rank: int
    why: str
    kept: int | None


class Organisation(TypedDict, total=False):
    """The organised contexts: ranks by group, dropped contexts, and further sources by the kept context's rank."""

    groups: list[list[int]]
    dropped: list[DroppedContext]
    sources: dict[str, list[int]]


class EarlierState(TypedDict):
    """The last turn that answered from the documents: what a follow-up may point to.

    `citations` are `Citation.model_dump()`, `groups` are `Group.model_dump()`.
    """

    question: str
    answer: str
    citations: list[dict[str, Any]]
    groups: list[dict[str, Any]]


class CondensedState(TypedDict):
    """The older part of the conversation, condensed: the text, for how many messages it stands, the last one's id."""

    text: str
    messages: int
    upto: str


GroupStatus = Literal["answered", "nothing", "unreadable", "failed"]


class GroupDraft(TypedDict):
    """The answer of one group's contexts: its option, or `nothing` if the reader says that they have no answer.

    `spared` marks a failed group without which the turn may go on, as in an `Extract`.
    """

    group: int
    ranks: list[int]
    text: str
    quotes: list[tuple[int, str]]
    status: GroupStatus
    choice: NotRequired[str | None]
    spared: NotRequired[bool]


class EntryState(TypedDict):
    """One answer of the turn, with its entity and the ranks of the contexts that give it."""

    entity: str
    descriptor: str | None
    answer: str
    ranks: list[int]


Stop = Literal["cite", "abstain", "map_context", "relate_contexts", "aggregate_groups", "answer_plain", "retrieve"]

Escalation = TypedDict("Escalation", {"from": str, "to": str, "reason": str, "silent": NotRequired[bool]})
"""One step from a route to a dearer one, and what was seen; or back to plain, and why the dearer one gave nothing. That
the answer says below itself unless the step is `silent`."""


def add_messages(left: Any, right: Any) -> Any:
    """LangGraph's reducer, imported by the first turn: what only names a type of this file waits for no LangGraph.

    A search is such a case, and half of its time would be that import.
    """
    from langgraph.graph.message import add_messages

    return add_messages(left, right)


class State(TypedDict, total=False):
    """Everything a turn reads and writes."""

    schema_version: int
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation; its last human message is the question."""
    options: list[str]
    """The choices of a multiple-choice question; empty for an open one."""
    instructions: str
    """Instructions on how to write answers, from the setting and the system messages among `messages`; empty for
    none."""
    question: str
    """The question as it was asked."""
    standalone_question: str
    """The question as it reads without the conversation before it."""
    queries: list[str]
    """The texts that were searched for: the standalone question, then its parts, where it has several."""
    rewrite: dict[str, Any]
    """How the message was prepared for search, as a `Rewrite`."""
    talk: dict[str, Any]
    """A request that needs no retrieval, as a `Talk`; read where the decision is "conversation"."""
    lookup: dict[str, Any]
    """A question about the documents themselves, as a `Lookup`; read where the decision says so."""
    earlier: EarlierState
    """The last turn that answered from the documents; kept while the conversation is about it."""
    condensed: CondensedState
    """The part of the conversation that is too long to be read word for word."""
    condensed_messages: int
    """Number of earlier messages that the turn read condensed."""
    within: list[str]
    """Ids of the documents that the question names by their place among the last answer's sources; else empty."""
    continued: list[str]
    """The id of the document that the last answer cites first, where the message goes on from it; else empty."""
    rungs: list[dict[str, Any]]
    """The search expressions that were tried, in order, with their hits."""
    passage_refs: list[PassageRef]
    """The passages that go on, in the order of a prompt."""
    unread_refs: list[PassageRef]
    """Those that were asked for and that a slow model has no time for; else empty."""
    pruned: list[dict[str, Any]]
    """`PrunedPassage.model_dump()` of each passage that was found and is kept from the language model."""
    rankings: Rankings
    """The dense and the lexical ranking over the collection."""
    decision: dict[str, Any]
    """The router's decision, as `RouteDecision.model_dump()`."""
    unchecked: bool
    """Whether the extractive reader has still to compare the passages' answers, which may make the route COrg."""
    partitions: list[list[int]]
    """Ranks of the passages in each map prompt; empty unless the route is map/reduce."""
    extracts: Annotated[list[dict[str, Any]], operator.add]
    """The results of the partitions, as `Extract`s; reset by `rewrite`."""
    contexts: list[dict[str, Any]]
    """Notes on the related contexts, as `ContextNote`s in fused order; empty unless the route is COrg."""
    relations: list[dict[str, Any]]
    """The relations of pairs of relevant contexts: `Relation.model_dump()` with their numbers."""
    organisation: Organisation
    """The groups, and why contexts are in none."""
    choices: list[dict[str, Any]]
    """The choices that the user gets before the groups are answered, as `Choice.model_dump()`; else empty."""
    left_out: list[str]
    """Labels of the choices that the person did not choose."""
    group_drafts: Annotated[list[GroupDraft], operator.add]
    """The results of the groups; reset by `rewrite`."""
    entries: list[EntryState]
    """The answers of the groups, before citations are numbered."""
    escalations: list[Escalation]
    """Steps to another route within the turn: to a dearer one, of which there is one at most, then back to plain where
    that one failed."""
    onward: Stop
    """The node after a draft, as the drafting node decided."""
    draft: dict[str, Any]
    """The answer before `cite`, a `Draft`; its `[n]` are the passages' ranks."""
    groups: list[dict[str, Any]]
    """`Group.model_dump()` of each answer; empty unless the route is COrg."""
    answer: str
    """The answer as the person reads it."""
    abstained: bool
    """Whether the documents were found not to hold the answer."""
    choice: str | None
    """The option that the answer names."""
    citations: list[dict[str, Any]]
    """`Citation.model_dump()` of each, by number."""
    statements: list[dict[str, Any]]
    """`Statement.model_dump()` of each statement of a language model's answer; empty where none was checked."""
    gaps: Annotated[list[dict[str, str]], operator.add]
    """Missing parts of the answer, with reasons; reset by `rewrite`."""
    spent: Annotated[list[dict[str, Any]], operator.add]
    """One row per stage that ran: `stage`, `started` (epoch seconds), the fields of `Usage`; reset by `rewrite`."""


class Question(TypedDict, total=False):
    """What the graph takes in."""

    messages: Annotated[list[AnyMessage], add_messages]
    options: list[str]
