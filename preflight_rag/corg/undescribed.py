"""Answers that differ for one name, of which only some come with a descriptor of their entity.

Their contexts are shown side by side after the answer. COrg gives such a pair the relation `none` (appendix C.1); that
is no contradiction, since they may mean different entities of that name, but it must be mentioned. (Two contexts
without descriptors are counterfactual: they are about the same entity.)
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
    """Return a paragraph for each name whose contexts differ, and of which only some have a descriptor.

    A paragraph also has the contexts that contradict these.

    Args:
        contexts: The note of each context, by rank; only a reader's notes count.
        relations: Their relations.
    """
    notes = {rank: context for rank, context in contexts.items() if context.told and context.relevant}
    pairs = [(r.a, r.b, r.kind) for r in relations if {r.a, r.b} <= notes.keys()]
    unclear = [{a, b} for a, b, kind in pairs if kind == "none" and undescribed(notes[a], notes[b])]
    contradicting = [{a, b} for a, b, kind in pairs if kind == "counterfactual"]
    disagreements: list[set[int]] = []
    # Pairs that share a context are one disagreement, and get one paragraph.
    for pair in unclear + contradicting:
        connected = [ranks for ranks in disagreements if ranks & pair]
        separate = [ranks for ranks in disagreements if ranks not in connected]
        disagreements = [*separate, pair.union(*connected)]
    paragraphs = []
    for ranks in disagreements:
        if any(pair <= ranks for pair in unclear):
            paragraphs.append(_paragraph([notes[rank] for rank in sorted(ranks)]))
    return paragraphs


def _paragraph(notes: Sequence[ContextNote]) -> str:
    """Return a paragraph with the answers of notes on one name, equal ones once with all their marks."""
    notes_of_answers: list[list[ContextNote]] = []
    for note in notes:
        equal = next((equal for equal in notes_of_answers if _have_same_answer(equal[0], note)), None)
        if equal is None:
            notes_of_answers.append([note])
        else:
            equal.append(note)
    answers = []
    for equal in notes_of_answers:
        marks = "".join(f"[{note.rank}]" for note in equal)
        answers.append(f"{_answer_of(equal[0])} {marks}")
    return f"**{plain(notes[0].entity)}**: {UNDESCRIBED} {'; '.join(answers)}."


def _answer_of(note: ContextNote) -> str:
    """Return a note's answer, with its descriptor in parentheses if it has one."""
    answer = plain(note.answer or "")
    return f"{answer} ({plain(note.descriptor)})" if note.descriptor else answer


def _have_same_answer(a: ContextNote, b: ContextNote) -> bool:
    """Return whether two notes have the same descriptor and the same answer."""
    return a.descriptor == b.descriptor and same_answer(a.answer or "", b.answer or "")
