"""The graph's state: one `State` with every channel.

Channels hold only plain values: those with a class of their own, in `reading.py` or `values.py`, are dumped, and the
channel's docstring names the class. Passages are references (`PassageRef`); their text is read from the library by id,
so that a checkpoint stays small however long the conversation is.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # that of `typing` gives no JSON schema before Python 3.12

STATE_VERSION = 6
"""To be increased whenever a stage is renamed, or reads a value that an earlier version did not write: a turn that was
cut off before is then restarted, instead of resumed from old values (`tests/faults/test_old_state.py`)."""


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
    """The last turn that answered from the documents, to which a follow-up may refer.

    `citations` are `Citation.model_dump()`, `groups` are `Group.model_dump()`.
    """

    question: str
    answer: str
    citations: list[dict[str, Any]]
    groups: list[dict[str, Any]]


class CondensedState(TypedDict):
    """The condensed older part of the conversation: the text, the number of replaced messages, the last one's id."""

    text: str
    messages: int
    upto: str


GroupStatus = Literal["answered", "nothing", "unreadable", "failed"]


class GroupDraft(TypedDict):
    """The answer of one group's contexts: its option, or `nothing` if the reader says that they have no answer.

    `spared` marks a failed group without which the turn may continue, as in an `Extract`.
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
"""One step from a route to a more expensive one, with the reason; or back to plain, with the reason why the other route
gave nothing, which is shown below the answer unless the step is `silent`."""


def add_messages(left: Any, right: Any) -> Any:
    """Merge messages by LangGraph's reducer, imported on first use, so that code which only needs a type does not wait.

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
    """The question as the user wrote it."""
    standalone_question: str
    """The question in a form that can be understood without the conversation before it."""
    queries: list[str]
    """The texts that were searched for: the standalone question, then its parts, if it has several."""
    rewrite: dict[str, Any]
    """How the message was prepared for search, as a `Rewrite`."""
    talk: dict[str, Any]
    """A request that needs no retrieval, as a `Talk`; read if the decision is "conversation"."""
    lookup: dict[str, Any]
    """A question about the documents themselves, as a `Lookup`; read if the decision says so."""
    earlier: EarlierState
    """The last turn that answered from the documents; kept while the conversation is about it."""
    condensed: CondensedState
    """The part of the conversation that is too long to be read in full."""
    condensed_messages: int
    """Number of earlier messages that the turn read condensed."""
    within: list[str]
    """Ids of the documents that the question names by their number among the last answer's sources; else empty."""
    continued: list[str]
    """The id of the document that the last answer cites first, if the message continues from it; else empty."""
    rungs: list[dict[str, Any]]
    """The search expressions that were tried, in order, with their hits."""
    passage_refs: list[PassageRef]
    """The selected passages, in the order of a prompt."""
    unread_refs: list[PassageRef]
    """Requested passages for which a slow model has no time; else empty."""
    pruned: list[dict[str, Any]]
    """`PrunedPassage.model_dump()` of each passage that was found but not passed to the language model."""
    rankings: Rankings
    """The dense and the lexical ranking over the collection."""
    decision: dict[str, Any]
    """The router's decision, as `RouteDecision.model_dump()`."""
    unchecked: bool
    """Whether the extractive reader still has to compare the passages' answers, which may change the route to COrg."""
    partitions: list[list[int]]
    """Ranks of the passages in each map prompt; empty unless the route is map/reduce."""
    extracts: Annotated[list[dict[str, Any]], operator.add]
    """The results of the partitions, as `Extract`s; reset by `rewrite`."""
    contexts: list[dict[str, Any]]
    """Notes on the related contexts, as `ContextNote`s in fused order; empty unless the route is COrg."""
    relations: list[dict[str, Any]]
    """The relations of pairs of relevant contexts: `Relation.model_dump()` with their numbers."""
    organisation: Organisation
    """The groups, and why some contexts are in none."""
    choices: list[dict[str, Any]]
    """The choices that the user gets before the groups are answered, as `Choice.model_dump()`; else empty."""
    left_out: list[str]
    """Labels of the choices that the user did not select."""
    group_drafts: Annotated[list[GroupDraft], operator.add]
    """The results of the groups; reset by `rewrite`."""
    entries: list[EntryState]
    """The answers of the groups, before citations are numbered."""
    escalations: list[Escalation]
    """Steps to another route within the turn: at most one to a more expensive one, then back to plain if that failed.
    """
    onward: Stop
    """The node after a draft, as the drafting node decided."""
    draft: dict[str, Any]
    """The answer before `cite`, a `Draft`; its `[n]` are the passages' ranks."""
    groups: list[dict[str, Any]]
    """`Group.model_dump()` of each answer; empty unless the route is COrg."""
    answer: str
    """The answer as the user reads it."""
    abstained: bool
    """Whether the documents were found not to contain the answer."""
    choice: str | None
    """The option that the answer names."""
    citations: list[dict[str, Any]]
    """`Citation.model_dump()` of each, by number."""
    statements: list[dict[str, Any]]
    """`Statement.model_dump()` of each statement of a language model's answer; empty if none was checked."""
    gaps: Annotated[list[dict[str, str]], operator.add]
    """Missing parts of the answer, with reasons; reset by `rewrite`."""
    spent: Annotated[list[dict[str, Any]], operator.add]
    """One row per stage that ran: `stage`, `started` (epoch seconds), the fields of `Usage`; reset by `rewrite`."""


class Question(TypedDict, total=False):
    """The input of the graph."""

    messages: Annotated[list[AnyMessage], add_messages]
    options: list[str]
