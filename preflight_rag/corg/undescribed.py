"""Answers that differ for one name, of which only some come with a descriptor of their entity.

Their contexts are shown side by side after the answer. COrg relates such a pair by `none` (appendix C.1); that is no
contradiction, since they may mean different entities of that name, but it must be mentioned. (Two contexts that both do
not name their entity are counterfactual: they are about the same one.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from preflight_rag.corg.agreement import same_answer
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.values import Relation
from preflight_rag.text.citations import plain
from preflight_rag.text.headers import UNDESCRIBED


def undescribed(a: ContextNote, b: ContextNote) -> bool:
    """Return whether two contexts answer differently for one name, and only one context has a descriptor."""
    if not (a.answer and b.answer and a.entity) or (a.descriptor is None) == (b.descriptor is None):
        return False
    return a.entity.casefold() == b.entity.casefold() and not same_answer(a.answer, b.answer)


def undescribed_answers(contexts: Mapping[int, ContextNote], relations: Sequence[Relation[int]]) -> list[str]:
    """Return a paragraph for each name whose contexts differ and do not all have a descriptor.

    Contexts that contradict these are included.

    Args:
        contexts: The note of each context, by rank; only a reader's notes count.
        relations: Their relations.
    """
    notes = {rank: context for rank, context in contexts.items() if context.told and context.relevant}
    known = [relation for relation in relations if {relation.a, relation.b} <= notes.keys()]
    unclear = [{r.a, r.b} for r in known if r.kind == "none" and undescribed(notes[r.a], notes[r.b])]
    against = [{r.a, r.b} for r in known if r.kind == "counterfactual"]
    sides: list[set[int]] = []
    # Pairs that share a context are one disagreement, and get one paragraph.
    for pair in unclear + against:
        touching = [side for side in sides if side & pair]
        sides = [side for side in sides if side not in touching] + [pair.union(*touching)]
    paragraphs = []
    for side in sides:
        if any(pair <= side for pair in unclear):
            paragraphs.append(_paragraph([notes[n] for n in sorted(side)]))
    return paragraphs


def _paragraph(notes: Sequence[ContextNote]) -> str:
    """Return the contexts' answers, equal ones together, each with its descriptor."""
    alike: list[list[ContextNote]] = []
    for note in notes:
        same = next((same for same in alike if _one_answer(same[0], note)), None)
        if same is None:
            alike.append([note])
        else:
            same.append(note)
    answers = []
    for same in alike:
        marks = "".join(f"[{note.rank}]" for note in same)
        answers.append(f"{_answer_of(same[0])} {marks}")
    return f"**{plain(notes[0].entity)}**: {UNDESCRIBED} {'; '.join(answers)}."


def _answer_of(note: ContextNote) -> str:
    """Return a note's answer with its descriptor in parentheses."""
    answer = plain(note.answer or "")
    return f"{answer} ({plain(note.descriptor)})" if note.descriptor else answer


def _one_answer(a: ContextNote, b: ContextNote) -> bool:
    """Return whether two notes have the same descriptor and the same answer."""
    return a.descriptor == b.descriptor and same_answer(a.answer or "", b.answer or "")
