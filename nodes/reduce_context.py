"""Stage `reduce_context`: one answer out of the partitions' extracts (BriefContext, reduce).

Where partitions answer differently, the reader resolves it with a reason. A turn whose route was chosen freely goes on
to COrg when they do so for one and the same thing; a question with options does not, since one has to be chosen.
Where no answer can be made of them, the extracts are shown. Where there are none, since no reply came in time or none
that can be used, the turn goes back to plain, over the first partition.
After a plain answer the partitions hold what it does not cite (`routing.second_look`). An answer with support is
weighed beside what they give; and where they give nothing, or fail, the first answer stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from langgraph.runtime import Runtime

from preflight_rag.models.protocol import instructed
from preflight_rag.models.unfinished import unfinished
from preflight_rag.routing.decision import back_to_plain, contradiction, may_escalate, plain_stands
from preflight_rag.routing.second_look import first_answer, first_extract, first_stands, uncited
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed, BudgetUsedUp, ModelError
from preflight_rag.state.reading import Draft, Extract, Reply, Source
from preflight_rag.state.schema import State
from preflight_rag.state.values import Usage
from preflight_rag.state.views import Mapped

FOUND_SO_FAR = "This is what the passages say, part by part; no answer was made of it."


async def reduce_context(state: Mapped, runtime: Runtime[Context]) -> State:
    """Have the reader combine the extracts that are not empty into one answer; without any, do not call it.

    Raises:
        AllPartitionsFailed: No partition could be read, and any other call of the model would fail, too.
    """
    extracts = sorted(map(Extract.load, state["extracts"]), key=lambda extract: extract.partition)
    first = first_answer(state.get("draft"), state.get("escalations") or [])
    if all(extract.failed for extract in extracts):
        if first is None and not any(extract.spared for extract in extracts):
            raise AllPartitionsFailed.of(f"{len(extracts)} partitions could be read", "map_context", state["gaps"])
        return _answer_without_extracts(state)
    non_empty = [extract for extract in extracts if extract.text]
    sources = await runtime.context.sources(state["passage_refs"])
    # The first answer as an extract of its own; None if no passage supports it.
    extract_of_first = first_extract(first, sources) if first else None
    is_supported = extract_of_first is not None
    if not non_empty:
        if first is not None:
            return _keep_first_answer(state, first, sources, is_supported=is_supported)
        return {"draft": Draft("", found=False).dump(), "onward": "abstain"}
    to_combine = _with_sources(state, non_empty, sources)
    if extract_of_first:
        to_combine.insert(0, extract_of_first)
    reader = instructed(runtime.context.reader, state.get("instructions") or "")
    try:
        reply = await reader.reduce(
            question=state["standalone_question"], extracts=to_combine, options=state["options"]
        )
    except ModelError as error:
        reply = _partial_answer(error, to_combine, state["options"])
    update: State = {
        "draft": reply.value.dump(),
        "onward": "cite" if reply.value.found else "abstain",
        "gaps": [{"stage": "reduce_context", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "reduce_context", **reply.usage.model_dump()}],
    }
    if first is not None and not reply.value.found:
        return {**update, **_keep_first_answer(state, first, sources, is_supported=is_supported)}
    can_escalate = not reply.value.incomplete and may_escalate(
        state.get("decision") or {}, state.get("escalations") or [], "map_reduce"
    )
    if can_escalate and not state["options"] and runtime.context.settings.corg:
        step = contradiction(reply.value, [extract.answer for extract in to_combine])
        if step is not None:
            update["escalations"], update["onward"] = [step], "relate_contexts"
    return update


def _answer_without_extracts(state: Mapped) -> State:
    """Return the update of a turn whose calls for all partitions failed.

    The plain answer from which the turn escalated is used; without one, the turn goes on to a plain answer from the
    first partition.
    """
    escalations = state.get("escalations") or []
    update: State
    if escalations and state.get("draft"):
        draft = Draft.load(state["draft"])
        step = plain_stands("map_reduce", escalations[-1]["from"])
        update = {"draft": draft.dump(), "onward": "cite" if draft.found else "abstain"}
    else:
        step = back_to_plain("map_reduce", state["passage_refs"], state["partitions"][0])
        update = {"onward": "answer_plain"}
    gap = {"stage": "reduce_context", "item": "route", "error": step["reason"]}
    return {**update, "escalations": [*escalations, step], "gaps": [gap]}


def _keep_first_answer(state: Mapped, first: Draft, sources: Sequence[Source], *, is_supported: bool) -> State:
    """Return the update that keeps the first, plain answer, since the passages that it does not cite give none."""
    escalations = state.get("escalations") or []
    step = first_stands(
        escalations[-1],
        read=sum(map(len, state["partitions"])),
        left=len(uncited(first, sources)),
        failed=sum(extract["failed"] for extract in state["extracts"]),
        silent=is_supported,
    )
    return {"draft": first.dump(), "onward": "cite", "escalations": [*escalations, step]}


def _partial_answer(error: ModelError, extracts: Sequence[Extract], options: Sequence[str]) -> Reply[Draft]:
    """Return the usable part of an answer that failed with this error; if there is none, the partitions' extracts."""
    try:
        return unfinished(error, options)
    except ModelError:
        return _extracts_as_evidence(error, extracts)


def _extracts_as_evidence(error: ModelError, extracts: Sequence[Extract]) -> Reply[Draft]:
    """Return the partitions' extracts one after another, as evidence without a claim, with a note on the error."""
    quotes = tuple(chain.from_iterable(extract.quotes for extract in extracts))
    text = "\n\n".join([FOUND_SO_FAR, *(extract.text for extract in extracts)])
    is_budget_used_up = isinstance(error, BudgetUsedUp)
    draft = Draft(text, quotes, claims=False, incomplete="budget" if is_budget_used_up else "")
    # A call beyond the budget was not made; a failed call counts.
    spent = Usage.model_validate(error.spent or {}) if is_budget_used_up else Usage.of_failed(error.spent)
    return Reply(draft, spent, (str(error),))


def _with_sources(state: Mapped, extracts: Sequence[Extract], sources: Sequence[Source]) -> list[Extract]:
    """Return the extracts with the passages of their partitions, because a reader by rule answers from these."""
    by_rank = {source.n: source for source in sources}
    result = []
    for extract in extracts:
        ranks = sorted(state["partitions"][extract.partition - 1])
        result.append(replace(extract, sources=tuple(by_rank[rank] for rank in ranks)))
    return result
