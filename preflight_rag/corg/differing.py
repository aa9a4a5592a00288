"""Answers that differ though nothing tells apart what they are about: shown side by side, behind COrg's answer.

COrg relates two contexts by `none` when one lacks a descriptor and their answers differ (section 2.1). That is no
contradiction for sure, since they may mean different bearers of the name; it must not pass in silence either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from preflight_rag.corg.agreement import same_answer
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.schema import ContextState, RelationState
from preflight_rag.text.citations import MARK

UNTOLD = "the sources contradict each other or mean different things, and not all say which:"


def untold(a: ContextNote, b: ContextNote) -> bool:
    """Whether two contexts answer differently for one name, and one does not say which bearer of it is meant."""
    if not (a.answer and b.answer) or (a.descriptor and b.descriptor) or not a.entity:
        return False
    return a.entity.casefold() == b.entity.casefold() and not same_answer(a.answer, b.answer)


def differing(contexts: Mapping[int, ContextState], relations: Sequence[RelationState]) -> list[str]:
    """A paragraph for each name whose contexts give answers that nothing tells apart, with what contradicts them.

    Args:
        contexts: What is known of each context, by rank; only what a reader told counts.
        relations: How they relate.
    """
    notes = {
        rank: ContextNote(rank, context["entity"], context["descriptor"], context["answer"])
        for rank, context in contexts.items()
        if context["told"] and context["relevant"]
    }
    told = [(r["kind"], notes[r["a"]], notes[r["b"]]) for r in relations if {r["a"], r["b"]} <= notes.keys()]
    unclear = [{a.n, b.n} for kind, a, b in told if kind == "none" and untold(a, b)]
    against = [{a.n, b.n} for kind, a, b in told if kind == "counterfactual"]
    sides: list[set[int]] = []
    for pair in unclear + against:
        touching = [side for side in sides if side & pair]
        sides = [side for side in sides if side not in touching] + [pair.union(*touching)]
    return [_paragraph([notes[n] for n in sorted(side)]) for side in sides if any(pair <= side for pair in unclear)]


def _paragraph(notes: Sequence[ContextNote]) -> str:
    """The answers of contexts, equal ones together, each with its descriptor."""
    alike: list[list[ContextNote]] = []
    for note in notes:
        held = next((held for held in alike if _one_answer(held[0], note)), None)
        if held is None:
            alike.append([note])
        else:
            held.append(note)
    said = [f"{_said(held[0])} {''.join(f'[{note.n}]' for note in held)}" for held in alike]
    return f"**{_plain(notes[0].entity)}**: {UNTOLD} {'; '.join(said)}."


def _said(note: ContextNote) -> str:
    answer = _plain(note.answer or "")
    return f"{answer} ({_plain(note.descriptor)})" if note.descriptor else answer


def _one_answer(a: ContextNote, b: ContextNote) -> bool:
    return a.descriptor == b.descriptor and same_answer(a.answer or "", b.answer or "")


def _plain(text: str) -> str:
    return " ".join(MARK.sub("", text).replace("*", "").split())
