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
        return _without_extracts(state)
    given = [extract for extract in extracts if extract.text]
    sources = await runtime.context.sources(state["passage_refs"])
    supported = first_extract(first, sources) if first else None
    if not given:
        nothing: State = {"draft": Draft("", found=False).dump(), "onward": "abstain"}
        return nothing if first is None else _with_first(state, first, sources, is_supported=supported is not None)
    given = [*([supported] if supported else []), *_with_sources(state, given, sources)]
    try:
        reply = await instructed(runtime.context.reader, state.get("instructions") or "").reduce(
            question=state["standalone_question"], extracts=given, options=state["options"]
        )
    except ModelError as error:
        reply = _begun(error, given, state["options"])
    update: State = {
        "draft": reply.value.dump(),
        "onward": "cite" if reply.value.found else "abstain",
        "gaps": [{"stage": "reduce_context", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "reduce_context", **reply.usage.model_dump()}],
    }
    if first is not None and not reply.value.found:
        return {**update, **_with_first(state, first, sources, is_supported=supported is not None)}
    free = not reply.value.incomplete and may_escalate(
        state.get("decision") or {}, state.get("escalations") or [], "map_reduce"
    )
    if free and not state["options"] and runtime.context.settings.corg:
        step = contradiction(reply.value, [extract.answer for extract in given])
        if step is not None:
            update["escalations"], update["onward"] = [step], "relate_contexts"
    return update


def _without_extracts(state: Mapped) -> State:
    """Return the update if no partition has an extract: the earlier plain answer, or the first partition's."""
    before = state.get("escalations") or []
    if before and state.get("draft"):
        draft, step = Draft.load(state["draft"]), plain_stands("map_reduce", before[-1]["from"])
        update: State = {"draft": draft.dump(), "onward": "cite" if draft.found else "abstain"}
    else:
        step, update = (
            back_to_plain("map_reduce", state["passage_refs"], state["partitions"][0]),
            {"onward": "answer_plain"},
        )
    gap = {"stage": "reduce_context", "item": "route", "error": step["reason"]}
    return {**update, "escalations": [*before, step], "gaps": [gap]}


def _with_first(state: Mapped, first: Draft, sources: Sequence[Source], *, is_supported: bool) -> State:
    """Return the update with a first answer, about which the other passages say nothing."""
    before = state.get("escalations") or []
    step = first_stands(
        before[-1],
        read=sum(map(len, state["partitions"])),
        left=len(uncited(first, sources)),
        failed=sum(extract["failed"] for extract in state["extracts"]),
        silent=is_supported,
    )
    return {"draft": first.dump(), "onward": "cite", "escalations": [*before, step]}


def _begun(error: ModelError, extracts: Sequence[Extract], options: Sequence[str]) -> Reply[Draft]:
    """Return the beginning of an answer that was cut off; if there is none, the partitions' extracts."""
    try:
        return unfinished(error, options)
    except ModelError:
        return _found_so_far(error, extracts)


def _found_so_far(error: ModelError, extracts: Sequence[Extract]) -> Reply[Draft]:
    """Return the partitions' extracts one after another, as evidence without a claim."""
    quotes = tuple(chain.from_iterable(extract.quotes for extract in extracts))
    text = "\n\n".join([FOUND_SO_FAR, *(extract.text for extract in extracts)])
    used_up = isinstance(error, BudgetUsedUp)
    draft = Draft(text, quotes, claims=False, incomplete="budget" if used_up else "")
    spent = Usage.model_validate(error.spent or {}) if used_up else Usage.of_failed(error.spent)
    return Reply(draft, spent, (str(error),))


def _with_sources(state: Mapped, extracts: Sequence[Extract], sources: Sequence[Source]) -> list[Extract]:
    """Return the extracts with their passages, because a reader by rule answers from these."""
    by_rank, parts = {source.n: source for source in sources}, state["partitions"]
    extracts_with_sources = []
    for extract in extracts:
        extracts_with_sources.append(
            replace(extract, sources=tuple(by_rank[rank] for rank in sorted(parts[extract.partition - 1])))
        )
    return extracts_with_sources
