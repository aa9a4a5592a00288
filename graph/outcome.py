"""Conversion of a finished turn's state into its `Answer`, with its outcome and its receipt.

Nothing is decided here: whether a draft claims something was decided by its author (`Draft.claims`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from preflight_rag.models.protocol import Reader
from preflight_rag.routing.costs import saved, saved_pairs, written_by
from preflight_rag.state.context import Settings
from preflight_rag.state.values import (
    Answer,
    Citation,
    Gap,
    Group,
    Outcome,
    PrunedPassage,
    Receipt,
    Relation,
    RouteDecision,
    Saved,
    SearchExpression,
    StageReceipt,
    Statement,
)


def answer_of(
    state: Mapping[str, Any],
    *,
    reader: Reader,
    settings: Settings | None = None,
    thread_id: str = "",
    turn: int = 1,
    seconds: float = 0.0,
    before: Sequence[Mapping[str, Any]] = (),
) -> Answer:
    """Return the answer of a turn from its final state, for callers that run the graph themselves.

    Args:
        state: The graph's final state.
        reader: The reader of the turn.
        settings: The settings of the turn.
        thread_id: The conversation.
        turn: The turn's number in it, from 1.
        seconds: Duration of the turn.
        before: Rows of the turn's cost before it was restarted without its model.
    """
    outcome = outcome_of(state)
    draft = (state.get("draft") or {}) if outcome == "answered" else {}
    return Answer(
        question=state["question"],
        thread_id=thread_id,
        turn=turn,
        standalone_question=state["standalone_question"],
        queries=tuple(state["queries"]),
        corrections=tuple((was, now) for was, now in state["rewrite"]["corrections"]),
        expressions=tuple(SearchExpression.model_validate(rung) for rung in state["rungs"]),
        route=route_of(state),
        answer=state["answer"],
        abstained=state["abstained"],
        outcome=outcome,
        short_answer=draft.get("short") or None,
        confidence=draft.get("confidence"),
        choice=state["choice"],
        groups=tuple(Group.model_validate(group) for group in state["groups"]),
        citations=tuple(Citation.model_validate(citation) for citation in state["citations"]),
        statements=tuple(Statement.model_validate(statement) for statement in state.get("statements") or []),
        relations=relations_of(state),
        pruned=tuple(PrunedPassage.model_validate(passage) for passage in state.get("pruned") or []),
        gaps=tuple(Gap.model_validate(gap) for gap in state["gaps"]),
        condensed=state.get("condensed_messages") or 0,
        left_out=tuple(state.get("left_out") or ()),
        incomplete=(state.get("draft") or {}).get("incomplete") or None,
        unclaimed=((state.get("draft") or {}).get("unclaimed") or None) if outcome == "evidence" else None,
        receipt=receipt_of(state, reader=reader, settings=settings or Settings(), seconds=seconds, before=before),
    )


def outcome_of(state: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a finished turn: answered, evidence, not found, …."""
    if state["abstained"]:
        return "not_found"
    if (name := state["decision"].get("name")) in ("conversation", "listing"):
        return cast("Outcome", name)
    return "answered" if (state.get("draft") or {}).get("claims", True) else "evidence"


def route_of(state: Mapping[str, Any]) -> RouteDecision:
    """Return the router's decision; after escalations, for the route on which the turn ended, with all reasons."""
    decision = RouteDecision.model_validate(state["decision"])
    for step in state.get("escalations") or []:
        reason = f"{decision.reason}; then {step['to'].replace('_', '/')}: {step['reason']}"
        decision = decision.model_copy(update={"name": step["to"], "reason": reason})
    return decision


def relations_of(state: Mapping[str, Any]) -> tuple[Relation, ...]:
    """Return the relations of the contexts, by the ids of their first passages and of their documents."""
    refs = {ref["rank"]: ref for ref in state["passage_refs"]}
    relations = []
    for row in state["relations"]:
        first, second = refs[row["a"]], refs[row["b"]]
        relation: Relation = Relation(
            a=first["id"],
            b=second["id"],
            kind=row["kind"],
            inferred=row["inferred"],
            documents=(first["document_id"], second["document_id"]),
            announced=row.get("announced", False),
        )
        relations.append(relation)
    return tuple(relations)


def receipt_of(
    state: Mapping[str, Any],
    *,
    reader: Reader,
    settings: Settings,
    seconds: float,
    before: Sequence[Mapping[str, Any]] = (),
) -> Receipt:
    """Return a turn's cost so far, also of a failed turn, including attempts before a restart."""
    rows = [*before, *(state.get("spent") or [])]
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        stages.setdefault(row["stage"], []).append(row)
    calls = sum(row["calls"] for row in rows)
    decision = state.get("decision") or {}
    comparison = {"saved": _saved_by_route(state, reader, settings)} if calls and decision and not before else {}
    return Receipt(
        model=reader.name,
        model_calls=calls,
        input_tokens=sum(row["input_tokens"] for row in rows),
        output_tokens=sum(row["output_tokens"] for row in rows),
        estimated=any(row["estimated"] for row in rows),
        by_stage={name: _stage_receipt(stage_rows) for name, stage_rows in stages.items()},
        seconds=seconds,
        **comparison,
    )


def _saved_by_route(state: Mapping[str, Any], reader: Reader, settings: Settings) -> Saved:
    """Return the calls and tokens that the turn's route saved, estimated against the more expensive one.

    After COrg they are those of comparing every pair of contexts; after two routes nothing was saved.
    """
    tokens = {ref["rank"]: ref["tokens"] for ref in state["passage_refs"]}
    context_tokens = []
    for note in state.get("contexts") or []:
        context_tokens.append(sum(tokens[rank] for rank in note.get("ranks") or [note["rank"]]))
    if context_tokens:
        rows = [row for row in state["spent"] if row["stage"] == "relate_contexts"]
        calls, spent = sum(row["calls"] for row in rows), sum(row["input_tokens"] for row in rows)
        return saved_pairs(reader, state["standalone_question"], context_tokens, calls, spent)
    if state.get("escalations"):
        return Saved(why="both routes were taken")
    route = state["decision"]["name"]
    rows = state["spent"]
    extract_tokens = [row["output_tokens"] for row in rows if row["stage"] == "map_context" and row["output_tokens"]]
    answer_tokens = sum(row["output_tokens"] for row in rows if row["stage"] in ("answer_plain", "reduce_context"))
    written = written_by(extract_tokens, answer_tokens)
    return saved(reader, state["standalone_question"], route, list(tokens.values()), settings.partition_size, written)


def _stage_receipt(rows: list[Mapping[str, Any]]) -> StageReceipt:
    """Return the cost of one stage from its rows; overlapping calls count once in the seconds."""
    return StageReceipt(
        calls=sum(row["calls"] for row in rows),
        input_tokens=sum(row["input_tokens"] for row in rows),
        output_tokens=sum(row["output_tokens"] for row in rows),
        seconds=union_length((row["started"], row["started"] + row["seconds"]) for row in rows),
    )


def union_length(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of (start, end) intervals: the wall-clock time of a stage's parallel items."""
    total, last_end = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, last_end))
        last_end = max(last_end, end)
    return total
