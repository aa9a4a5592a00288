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
            return _answer_without_groups(state, runtime.context)
        raise AllPartitionsFailed.of(f"{len(drafts)} groups could be answered", "answer_group", state["gaps"])
    if not statuses & {"answered", "unreadable"}:
        return {"draft": Draft("", found=False).dump(), "entries": [], "onward": "abstain"}
    plain_draft, notes = Draft.load(state["draft"]), [ContextNote.load(note) for note in state["contexts"]]
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
    is_single = len(drafts) == 1
    if is_single and len(composed.entries) == 1:
        # The only group's reader was asked directly: its short answer, and how sure it is, hold for the whole.
        draft = replace(draft, short=plain_draft.short, confidence=plain_draft.confidence)
    draft = replace(draft, incomplete=plain_draft.incomplete if is_single else "")
    is_claim = draft.claims and (plain_draft.claims or not is_single)
    if draft.found and not is_claim:
        by_number = {source.n: source for source in sources}
        draft, entries = as_evidence(state["standalone_question"], draft, entries, by_number)
        header = draft.text.split("\n\n")[0]
        if only_says_near(header) and not _shows_all_groups(state):
            return _answer_from_nearest(state, draft, entries)
    relations = []
    for row in state["relations"]:
        is_announced = frozenset((row["a"], row["b"])) in composed.announced
        relations.append(row | {"announced": is_announced})
    return {
        "draft": draft.dump(),
        "entries": entries,
        "relations": relations,
        "gaps": composed.gaps,
        "onward": "cite" if draft.found else "abstain",
    }


def _shows_all_groups(state: Answered) -> bool:
    """Return whether to show the answers of all groups, however uncertain they are.

    That is so if the question has a name that several things may have, or a year, or the user has chosen the route: on
    RAMDocs fewer right answers would be shown otherwise, and of several editions that of the year is known here.
    """
    question = state["standalone_question"]
    is_forced = bool((state.get("decision") or {}).get("forced")) or bool(years(question))
    return is_forced or (form_of(question) != "verdict" and bool(surface_names(question)))


def _answer_from_nearest(state: Answered, draft: Draft, entries: list[EntryState]) -> State:
    """Return the update of a turn whose groups' answers are too uncertain for a claim.

    What is nearest to the question in each group's answer is often not what is nearest among all passages, so all
    passages are read at once, as on the plain route; if that was done before, its answer is used. The groups' answers
    are passed on, and stay if that reading would claim an answer, or finds none.
    """
    escalations, previous = state.get("escalations") or [], _previous_answer(state)
    if previous is not None:
        step = nearest_passages(escalations[-1]["from"])
        update: State = {"draft": previous.dump(), "entries": [], "onward": "cite"}
    else:
        step = nearest_passages("plain")
        ranks = [ref["rank"] for ref in state["passage_refs"]]
        update = {"draft": draft.dump(), "entries": entries, "partitions": [ranks], "onward": "answer_plain"}
    return {**update, "escalations": [*escalations, step]}


def _answer_without_groups(state: Answered, context: Context) -> State:
    """Return the update of a turn whose calls for all groups failed.

    The answer of the route before COrg is used; without one, the turn goes on to a plain answer from the first
    partition of the passages.
    """
    escalations, previous = state.get("escalations") or [], _previous_answer(state)
    if previous is not None:
        step = plain_stands("corg", escalations[-1]["from"])
        update: State = {"draft": previous.dump(), "entries": [], "onward": "cite"}
    else:
        settings = context.settings
        partitions = partition(len(state["passage_refs"]), settings.partition_size, settings.max_partitions)
        step = back_to_plain("corg", state["passage_refs"], partitions[0])
        update = {"partitions": partitions, "entries": [], "onward": "answer_plain"}
    gap = {"stage": "aggregate_groups", "item": "route", "error": step["reason"]}
    return {**update, "escalations": [*escalations, step], "gaps": [gap]}


def _previous_answer(state: Answered) -> Draft | None:
    """Return the answer of the route from which the turn escalated to COrg; None without an escalation or an answer."""
    if not state.get("escalations") or not state.get("draft"):
        return None
    draft = Draft.load(state["draft"])
    return draft if draft.found and draft.text else None
