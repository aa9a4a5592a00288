"""The views that nodes declare: the parts of the state that each node, or the edge after it, reads.

A type checker finds a key that is missing or misspelt in a view; LangGraph would drop it silently.
"""

from __future__ import annotations

from typing import Any, NotRequired

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # that of `typing` gives no JSON schema before Python 3.12

from preflight_rag.state.schema import (
    CondensedState,
    EarlierState,
    EntryState,
    Escalation,
    GroupDraft,
    Organisation,
    PassageRef,
    Stop,
)


class Asked(TypedDict):
    """The part of the state that `rewrite` reads: the messages, and the values that the last turn has left."""

    messages: list[AnyMessage]
    options: NotRequired[list[str]]
    decision: NotRequired[dict[str, Any]]
    standalone_question: NotRequired[str]
    answer: NotRequired[str]
    citations: NotRequired[list[dict[str, Any]]]
    groups: NotRequired[list[dict[str, Any]]]
    earlier: NotRequired[EarlierState]
    condensed: NotRequired[CondensedState]


class Decided(TypedDict):
    """The part of the state that the conditional edge after `rewrite` reads."""

    decision: dict[str, Any]


class Talked(TypedDict):
    """The part of the state that `converse` reads."""

    question: str
    messages: list[AnyMessage]
    talk: dict[str, Any]
    earlier: NotRequired[EarlierState]
    condensed: NotRequired[CondensedState]
    instructions: NotRequired[str]


class LookedUp(TypedDict):
    """The part of the state that `list_documents` and `read_metadata` read."""

    lookup: dict[str, Any]
    earlier: NotRequired[EarlierState]


class Found(TypedDict):
    """The part of the state that the conditional edge after `read_metadata` reads."""

    onward: Stop


class Rewritten(TypedDict):
    """The part of the state that `retrieve` reads."""

    queries: list[str]
    question: NotRequired[str]
    rewrite: NotRequired[dict[str, Any]]
    within: NotRequired[list[str]]
    continued: NotRequired[list[str]]
    earlier: NotRequired[EarlierState]
    instructions: NotRequired[str]


class Retrieved(TypedDict):
    """The part of the state that `preflight` reads."""

    standalone_question: str
    passage_refs: list[PassageRef]
    unread_refs: NotRequired[list[PassageRef]]


class Routed(TypedDict):
    """The part of the state that is read by the conditional edges which start map/reduce or COrg."""

    standalone_question: str
    options: NotRequired[list[str]]
    passage_refs: list[PassageRef]
    decision: dict[str, Any]
    partitions: list[list[int]]


class Chosen(TypedDict):
    """The part of the state that `answer_plain` reads; a `Send` of COrg fills in the passages of the only group."""

    standalone_question: str
    options: list[str]
    passage_refs: list[PassageRef]
    decision: dict[str, Any]
    escalations: list[Escalation]
    question: NotRequired[str]
    earlier: NotRequired[EarlierState]
    continued: NotRequired[list[str]]
    unchecked: NotRequired[bool]
    instructions: NotRequired[str]


class Partition(TypedDict):
    """Input of `map_context`, sent by one `Send`."""

    standalone_question: str
    options: NotRequired[list[str]]
    partition: int
    of: NotRequired[int]
    passage_refs: list[PassageRef]


class Mapped(TypedDict):
    """The part of the state that `reduce_context` reads."""

    standalone_question: str
    options: list[str]
    passage_refs: list[PassageRef]
    partitions: list[list[int]]
    extracts: list[dict[str, Any]]
    gaps: list[dict[str, str]]
    draft: NotRequired[dict[str, Any]]
    decision: NotRequired[dict[str, Any]]
    escalations: NotRequired[list[Escalation]]
    instructions: NotRequired[str]


class Onward(TypedDict):
    """The part of the state that is read after `answer_plain`, `reduce_context` and `aggregate_groups`, by edges."""

    onward: Stop
    standalone_question: str
    options: NotRequired[list[str]]
    passage_refs: list[PassageRef]
    partitions: list[list[int]]
    decision: NotRequired[dict[str, Any]]
    escalations: NotRequired[list[Escalation]]
    instructions: NotRequired[str]


class Related(TypedDict):
    """The part of the state that `relate_contexts` reads."""

    standalone_question: str
    passage_refs: list[PassageRef]


class Unorganised(TypedDict):
    """The part of the state that `organize_contexts` reads."""

    contexts: list[dict[str, Any]]
    relations: list[dict[str, Any]]
    options: NotRequired[list[str]]


class Organised(TypedDict):
    """The part of the state that the conditional edges after `organize_contexts` and `clarify` read."""

    standalone_question: str
    options: list[str]
    passage_refs: list[PassageRef]
    decision: dict[str, Any]
    escalations: list[Escalation]
    contexts: list[dict[str, Any]]
    organisation: Organisation
    choices: list[dict[str, Any]]
    instructions: NotRequired[str]


class Unclear(TypedDict):
    """The part of the state that `clarify` reads."""

    question: str
    contexts: list[dict[str, Any]]
    organisation: Organisation
    choices: list[dict[str, Any]]


class GroupView(TypedDict):
    """Input of `answer_group`, sent by one `Send`."""

    standalone_question: str
    options: NotRequired[list[str]]
    group: int
    of: NotRequired[int]
    passage_refs: list[PassageRef]
    instructions: NotRequired[str]


class Answered(TypedDict):
    """The part of the state that `aggregate_groups` reads."""

    standalone_question: str
    passage_refs: list[PassageRef]
    contexts: list[dict[str, Any]]
    relations: list[dict[str, Any]]
    organisation: Organisation
    group_drafts: list[GroupDraft]
    draft: dict[str, Any]
    gaps: list[dict[str, str]]
    decision: NotRequired[dict[str, Any]]
    escalations: NotRequired[list[Escalation]]


class Drafted(TypedDict):
    """The part of the state that `cite` reads."""

    question: NotRequired[str]
    standalone_question: str
    earlier: NotRequired[EarlierState]
    draft: dict[str, Any]
    passage_refs: list[PassageRef]
    extracts: list[dict[str, Any]]
    entries: NotRequired[list[EntryState]]
    left_out: NotRequired[list[str]]
    escalations: NotRequired[list[Escalation]]


class Unanswered(TypedDict):
    """The part of the state that `abstain` reads."""

    draft: NotRequired[dict[str, Any] | None]
    passage_refs: list[PassageRef]
    extracts: list[dict[str, Any]]
    question: NotRequired[str]
    standalone_question: NotRequired[str]
    decision: NotRequired[dict[str, Any]]
    left_out: NotRequired[list[str]]
