"""Stage `aggregate_groups`: one answer out of the groups, contradictions side by side. No reader is asked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain

from langgraph.runtime import Runtime

from preflight_rag.corg.composition import Groups, compose
from preflight_rag.corg.contexts import contexts_of, in_passages
from preflight_rag.corg.group_answers import as_evidence, chosen
from preflight_rag.routing.decision import back_to_plain, nearest_passages, partition, plain_stands
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import ContextNote, Draft
from preflight_rag.state.schema import EntryState, State
from preflight_rag.state.values import Relation
from preflight_rag.state.views import Answered
from preflight_rag.text.headers import only_says_near
from preflight_rag.text.names import surface_names
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.values import years


async def aggregate_groups(state: Answered, runtime: Runtime[Context]) -> State:
    """Combine the groups' answers; if the reader found nothing in any group, the turn abstains.

    Raises:
        AllPartitionsFailed: No group could be answered, and any other call of the model would fail, too.
    """
    drafts = sorted(state["group_drafts"], key=lambda draft: draft["group"])
    statuses = {draft["status"] for draft in drafts}
    if statuses == {"failed"}:
        if any(draft.get("spared") for draft in drafts):
            return _without_groups(state, runtime.context)
        raise AllPartitionsFailed.of(f"{len(drafts)} groups could be answered", "answer_group", state["gaps"])
    if not statuses & {"answered", "unreadable"}:
        return {"draft": Draft("", found=False).dump(), "entries": [], "onward": "abstain"}
    direct, notes = Draft.load(state["draft"]), [ContextNote.load(note) for note in state["contexts"]]
    compared = set(chain.from_iterable(note.ranks or (note.rank,) for note in notes))
    sources = await runtime.context.sources([ref for ref in state["passage_refs"] if ref["rank"] in compared])
    contexts = {context.n: context for context in contexts_of(sources)}
    groups = Groups(
        question=state["standalone_question"],
        drafts=drafts,
        contexts={note.rank: note for note in notes},
        relations=[Relation[int].model_validate(row) for row in state["relations"]],
        organisation=state["organisation"],
        sources=contexts,
        choice=chosen(drafts, state["organisation"]),
    )
    composed = await asyncio.to_thread(compose, groups)
    draft, entries = in_passages(composed.draft, composed.entries, contexts)
    if len(drafts) == len(composed.entries) == 1:
        # The only group's reader was asked directly: its short answer, and how sure it is, hold for the whole.
        draft = replace(draft, short=direct.short, confidence=direct.confidence)
    draft = replace(draft, incomplete=direct.incomplete if len(drafts) == 1 else "")
    if draft.found and not (draft.claims and (direct.claims or len(drafts) > 1)):
        draft, entries = as_evidence(
            state["standalone_question"], draft, entries, {source.n: source for source in sources}
        )
        if only_says_near(draft.text.split("\n\n")[0]) and not _may_be_several(state):
            return _nearest_instead(state, draft, entries)
    return {
        "draft": draft.dump(),
        "entries": entries,
        "relations": [
            row | {"announced": frozenset((row["a"], row["b"])) in composed.announced} for row in state["relations"]
        ],
        "gaps": composed.gaps,
        "onward": "cite" if draft.found else "abstain",
    }


def _may_be_several(state: Answered) -> bool:
    """Return whether a question has a name that several things may have, or a year, or the route was asked for.

    Then the answers of all groups are shown, however uncertain: on RAMDocs fewer right ones would be, and of several
    editions that of the year is known here.
    """
    question = state["standalone_question"]
    is_forced = bool((state.get("decision") or {}).get("forced")) or bool(years(question))
    return is_forced or (form_of(question) != "verdict" and bool(surface_names(question)))


def _nearest_instead(state: Answered, draft: Draft, entries: list[EntryState]) -> State:
    """Return the update of a turn whose groups' answers are too uncertain for a claim, and no versions of one document.

    What stands nearest to the question in each group's answer is often not what is nearest among all passages, so all
    are read at once, as on the plain route; where that was done before, its result stands. The groups' answers stay
    where that reading would claim one, or finds none.
    """
    before, direct = state.get("escalations") or [], Draft.load(state["draft"]) if state.get("draft") else None
    ranks = [ref["rank"] for ref in state["passage_refs"]]
    if before and direct is not None and direct.found and direct.text:
        step = nearest_passages(before[-1]["from"])
        update: State = {"draft": direct.dump(), "onward": "cite"}
    else:
        step = nearest_passages("plain")
        update = {"draft": draft.dump(), "entries": entries, "partitions": [ranks], "onward": "answer_plain"}
    return {"entries": [], **update, "escalations": [*before, step]}


def _without_groups(state: Answered, context: Context) -> State:
    """Return the update of a turn whose groups gave no answer.

    It contains map/reduce's answer, or a plain one from the first passages.
    """
    before, direct = state.get("escalations") or [], Draft.load(state["draft"]) if state.get("draft") else None
    if before and direct is not None and direct.found and direct.text:
        step = plain_stands("corg", before[-1]["from"])
        update: State = {"draft": direct.dump(), "entries": [], "onward": "cite"}
    else:
        parts = partition(len(state["passage_refs"]), context.settings.partition_size, context.settings.max_partitions)
        step = back_to_plain("corg", state["passage_refs"], parts[0])
        update = {"partitions": parts, "entries": [], "onward": "answer_plain"}
    gap = {"stage": "aggregate_groups", "item": "route", "error": step["reason"]}
    return {**update, "escalations": [*before, step], "gaps": [gap]}
