"""Stage `aggregate_groups`: one answer out of the groups, contradictions side by side. No reader is asked."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from preflight_rag.corg.composition import Groups, compose
from preflight_rag.nodes.answer_plain import drafted
from preflight_rag.nodes.cite import read
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import Draft
from preflight_rag.state.schema import State
from preflight_rag.state.views import Answered


async def aggregate_groups(state: Answered, runtime: Runtime[Context]) -> State:
    """Put the groups' answers together; when the reader found nothing in any group, the turn abstains.

    Raises:
        AllPartitionsFailed: No group could be answered.
    """
    drafts = sorted(state["group_drafts"], key=lambda draft: draft["group"])
    statuses = {draft["status"] for draft in drafts}
    if statuses == {"failed"}:
        raise AllPartitionsFailed(
            f"none of the {len(drafts)} groups could be answered: {first_error(state)}", help="Ask again."
        )
    if not statuses & {"answered", "unreadable"}:
        return {"draft": drafted(Draft("", found=False)), "entries": [], "onward": "abstain"}
    passages = await read(state["passages"], runtime.context)
    groups = Groups(
        question=state["standalone_question"],
        drafts=drafts,
        contexts={context["rank"]: context for context in state["contexts"]},
        relations=state["relations"],
        organisation=state["organisation"],
        passages={ref["rank"]: passage for ref, passage in zip(state["passages"], passages, strict=True)},
        choice=state["draft"]["choice"],
    )
    found = await asyncio.to_thread(compose, groups)
    draft = found.draft
    if len(drafts) == len(found.entries) == 1 and "short" in state["draft"]:
        draft = {**draft, "short": state["draft"]["short"], "confidence": state["draft"]["confidence"]}
    return {
        "draft": draft,
        "entries": found.entries,
        "gaps": found.gaps,
        "onward": "cite" if found.draft["found"] else "abstain",
    }


def first_error(state: Answered) -> str:
    """What the first failed group reported."""
    return next((gap["error"] for gap in state["gaps"] if gap["stage"] == "answer_group"), "no reason recorded")
