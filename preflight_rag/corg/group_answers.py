"""The answer of one group of contexts: whether it is asked for in the plural, and what is kept of the reply."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.schema import GroupDraft, GroupStatus
from preflight_rag.state.values import Usage


def asked_in_plural(sources: Sequence[Source], settings: Settings) -> bool:
    """Whether the question is put in the plural: several contexts may speak of several entities (COrg, section 4)."""
    return len(sources) > 1 and not settings.no_reformulation


def answered_or_nothing(draft: Draft) -> GroupStatus:
    """Whether the reader found an answer in the group."""
    return "answered" if draft.found else "nothing"


def unusable(error: ModelError) -> Reply[Draft]:
    """No answer, with the cost and the message of the call that failed."""
    return Reply(Draft("", found=False), Usage.model_validate(error.spent or {"calls": 1}), (str(error),))


def group_draft(number: int, sources: Sequence[Source], draft: Draft, status: GroupStatus) -> GroupDraft:
    """A group's draft as the state holds it; what is not an answer has no text."""
    return {
        "group": number,
        "ranks": [source.n for source in sources],
        "text": draft.text if status == "answered" else "",
        "quotes": list(draft.quotes),
        "status": status,
    }
