"""COrg's Algorithm 1 as a state machine: which contexts to compare next, and what follows from the replies.

A relation between two relevant contexts depends on their descriptors and answers (COrg, section 2.1 and appendix C.1):

                        same answer    different answers
    same descriptor     duplicated     counterfactual
    two different ones  distracting    distracting
    one alone           ambiguous      none

Two contexts without descriptors count as having the same one. Counterfactual ones are the contradictions; `composition`
decides which of them the user is told about. The comparison of two contexts comes from a language model
(`prompts/relate_contexts.py`) or from `offline/relations.py`.

One call compares a pivot with every context whose relation to it is open, and has the reader note what each context is
about. There are three ways to go on:

- `notes`: the notes of one prompt name the same thing in the same words, so every relation among its contexts is
  derived from them by the table above. One call suffices if all contexts fit one prompt and all are noted; missing ones
  are requested as in `careful`.
- `careful`: Algorithm 1, which infers only what the table makes certain; contexts that are both counterfactual to the
  pivot may be duplicates of each other, so they are settled by the notes or, if a note is missing, by another call.
- `faithful`: Algorithm 1 in its loop order and until no context is left, with the edges of two lines as the text
  describes them, and Figure 9's prompt; see `PrintedGraph`.

In the first two, for contexts of c descriptors, where no descriptor counts as one, there are at most c + 1 calls,
whatever the replies say. A pivot relates its class (contexts of one descriptor) to all others, and each further pivot
is taken from a class without one, so classes cost one call each. One more call is for the rest: a first pivot that
turns out irrelevant, or the pairs that are left open, most at once. `next` counts the classes that the replies have
shown to exist and stops when the calls exceed them; pairs that are still open are then derived from the notes.
Repairs of a reply, and a list that is split because its contexts do not fit one prompt, come on top. Nothing here calls
a reader: `relations.py` does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from preflight_rag.corg.agreement import same_answer
from preflight_rag.state.reading import ContextNote, RelationReply
from preflight_rag.state.values import Relation, RelationKind

Mode = Literal["notes", "careful"]
Kinds = frozenset[RelationKind]

ANY_KIND: Kinds = frozenset({"distracting", "ambiguous", "counterfactual", "duplicated", "none"})
_NEEDS_ANSWERS: Kinds = frozenset({"ambiguous", "counterfactual", "duplicated"})
"""Relations that only contexts with an answer have."""
_SAME_DESCRIPTOR: Kinds = frozenset({"counterfactual", "duplicated"})
"""Relations of contexts with the same descriptor, or both without one."""
_ONE_HAS_DESCRIPTOR: Kinds = frozenset({"ambiguous", "none"})
"""Relations of a context with a descriptor and one without."""
_KINDS_BY_PIVOT_RELATIONS: dict[Kinds, tuple[Kinds, Kinds]] = {
    frozenset({"counterfactual"}): (_SAME_DESCRIPTOR, _SAME_DESCRIPTOR),
    frozenset({"counterfactual", "distracting"}): (frozenset({"distracting"}), frozenset()),
    frozenset({"counterfactual", "ambiguous"}): (frozenset({"none"}), frozenset({"none"})),
    frozenset({"counterfactual", "none"}): (_ONE_HAS_DESCRIPTOR, _ONE_HAS_DESCRIPTOR),
    frozenset({"distracting"}): (_SAME_DESCRIPTOR | {"distracting"}, frozenset()),
    frozenset({"distracting", "ambiguous"}): (_ONE_HAS_DESCRIPTOR, frozenset()),
    frozenset({"distracting", "none"}): (_ONE_HAS_DESCRIPTOR, frozenset()),
    frozenset({"ambiguous"}): (frozenset({"duplicated"}), frozenset({"duplicated", "distracting"})),
    frozenset({"ambiguous", "none"}): (frozenset({"counterfactual"}), frozenset({"counterfactual", "distracting"})),
    frozenset({"none"}): (_SAME_DESCRIPTOR, _SAME_DESCRIPTOR | {"distracting"}),
}
"""The relations that are possible between two contexts, by their two relations to a pivot: for a pivot with a
descriptor, and for one without."""


class RelationGraph:
    """The state of Algorithm 1: call `next`, `absorb` the reader's reply, and finally read `relations`.

    Args:
        contexts: The contexts' numbers, best-ranked first.
        mode: "notes" or "careful".

    Attributes:
        notes: The replies' notes on each context.
        pivots: The pivots compared so far, in order.
        relevant: The contexts that have an answer, as far as is known.
    """

    def __init__(self, contexts: Sequence[int], *, mode: Mode = "careful") -> None:
        self.contexts = list(contexts)
        self.mode = mode
        self.notes: dict[int, ContextNote] = {}
        self.pivots: list[int] = []
        self.relevant = list(contexts)
        self._relevant_set = set(contexts)
        self._replied_kinds: dict[int, dict[int, RelationKind]] = {n: {} for n in contexts}
        self._unreadable: set[frozenset[int]] = set()
        self._noted_together: set[frozenset[int]] = set()
        self._has_descriptor: dict[int, bool] = {}

    def next(self) -> tuple[int, list[int]] | None:
        """Return the next pivot and the contexts to compare it with; None when all relations are known."""
        # Algorithm 1 needs one pivot for each descriptor; further comparisons would only confirm.
        if len(self.pivots) > max(1, self._minimum_classes()):
            return None
        return self._pivot_of_new_class() or self._pivot_with_most_open()

    def absorb(
        self, pivot: int, others: Collection[int], reply: RelationReply, parts: Sequence[Sequence[int]] = ()
    ) -> None:
        """Record a reply; a context without a kind is unreadable, and unrequested numbers are ignored.

        A context that relates to another by its answer has an answer, whatever its note says.

        Args:
            pivot: The context that was compared.
            others: The contexts with which it was compared.
            reply: The reply about them.
            parts: The others of each prompt, if there were several: only notes of one prompt use the same words.
        """
        self.pivots.append(pivot)
        kinds = {n: reply.kinds[n] for n in others if n in reply.kinds}
        answered = {n for n, kind in kinds.items() if kind in _NEEDS_ANSWERS}
        if answered:
            # A relation by answers means that both contexts have one.
            answered.add(pivot)
        for n in (pivot, *others):
            note = reply.notes.get(n)
            # The note of a context that relates by its answer but is noted without one contradicts the reply itself.
            if note is not None and (note.answer is not None or n not in answered):
                self.notes.setdefault(n, note)
        for part in parts or [list(others)]:
            # The note of an earlier prompt may word the same descriptor in another way.
            noted = [n for n in (pivot, *part) if n in self.notes and self.notes[n] == reply.notes.get(n)]
            self._noted_together.update(map(frozenset, combinations(noted, 2)))
        for n in others:
            if n in kinds:
                self._replied_kinds[pivot][n] = self._replied_kinds[n][pivot] = kinds[n]
            else:
                self._unreadable.add(frozenset({pivot, n}))
        self.relevant = [n for n in self.contexts if n not in self.notes or self.notes[n].answer is not None]
        self._relevant_set = set(self.relevant)
        self._has_descriptor = self._infer_descriptors()

    def settled(self) -> int:
        """Return the number of contexts that are irrelevant, or have no open relation left."""
        return sum(n not in self._relevant_set or not self._open_relations(n) for n in self.contexts)

    def relations(self, by_rule: Mapping[int, ContextNote]) -> list[Relation[int]]:
        """Return the relation of every pair of relevant contexts.

        Args:
            by_rule: Notes for contexts that no reply has noted.
        """
        return [self._relation(a, b, by_rule) for a, b in combinations(self.relevant, 2)]

    def context(self, n: int, by_rule: Mapping[int, ContextNote]) -> ContextNote:
        """Return the note of a context from the replies, completed by the note by rule.

        It also says whether a reply noted the context (`told`), and whether the context has an answer (`relevant`).
        """
        note, rule_note = self.notes.get(n, by_rule[n]), by_rule[n]
        return replace(
            note,
            rank=n,
            entity=note.entity or rule_note.entity,
            descriptor=(note.descriptor or rule_note.descriptor) if self.described(n, by_rule) else None,
            told=n in self.notes,
            relevant=n in self.relevant,
        )

    def described(self, n: int, by_rule: Mapping[int, ContextNote]) -> bool:
        """Return whether a context has a descriptor: by its reply's note, else by its relations, else by rule."""
        if n in self.notes:
            return self.notes[n].descriptor is not None
        known = self._has_descriptor.get(n)
        return by_rule[n].descriptor is not None if known is None else known

    def _relation(self, a: int, b: int, by_rule: Mapping[int, ContextNote]) -> Relation[int]:
        """Return the relation of two contexts: as a reply states it, else by their notes and the other relations.

        `none` if a reply about the two was unreadable, or nothing restricts their relation and one has no note.
        """
        if b in self._replied_kinds[a]:
            return Relation[int](a=a, b=b, kind=self._replied_kinds[a][b])
        if self._follows_from_notes(a, b):
            return Relation[int](a=a, b=b, kind=related(self.notes[a], self.notes[b]), inferred=True)
        possible = self._possible_kinds(a, b)
        unreadable = frozenset({a, b}) in self._unreadable and len(possible) > 1
        # Notes by rule are guesses: they may choose among the relations that replies leave possible, and decide nothing
        # alone.
        unknown = possible == ANY_KIND and not (a in self.notes and b in self.notes)
        kind = (
            "none"
            if unreadable or unknown
            else _kind_by_notes(possible, self._note_of(a, by_rule), self._note_of(b, by_rule))
        )
        return Relation[int](a=a, b=b, kind=kind, inferred=True)

    def _note_of(self, n: int, by_rule: Mapping[int, ContextNote]) -> ContextNote:
        """Return the reply's note of a context, else its note by rule."""
        return self.notes.get(n) or by_rule[n]

    def _possible_kinds(self, a: int, b: int) -> Kinds:
        """Return the relations that are still possible between two contexts, given how each relates to the pivots."""
        possible, has_descriptor = ANY_KIND, self._has_descriptor
        for pivot in self.pivots:
            to_a, to_b = self._replied_kinds[pivot].get(a), self._replied_kinds[pivot].get(b)
            # Nothing follows from a pivot without an answer: the table is about contexts that answer.
            if to_a is None or to_b is None or pivot not in self._relevant_set:
                continue
            allowed = follows(to_a, to_b, described=has_descriptor.get(pivot))
            # If replies contradict each other and leave nothing possible, those of earlier pivots count.
            possible = possible & allowed or possible
            if len(possible) == 1:
                break
        return possible

    def _open_relations(self, n: int) -> list[int]:
        """Return the contexts whose relation to this one is neither stated in a reply nor inferred."""
        return [
            other
            for other in self.relevant
            if other != n
            and other not in self._replied_kinds[n]
            and frozenset({n, other}) not in self._unreadable
            and not self._follows_from_notes(n, other)
            and len(self._possible_kinds(n, other)) > 1
        ]

    def _follows_from_notes(self, a: int, b: int) -> bool:
        """Return whether the relation of two contexts follows from notes of one prompt, in the mode `notes`."""
        return self.mode == "notes" and frozenset({a, b}) in self._noted_together

    def _pivot_of_new_class(self) -> tuple[int, list[int]] | None:
        """Return a pivot from a class without one, and the contexts of its open relations; None if there is none."""
        class_of = self._classes()
        compared = {class_of[n] for n in self.pivots if n in class_of}
        candidates = [n for n in self.relevant if class_of[n] not in compared]
        # A pivot with a descriptor leaves fewer relations possible between the others (`follows`).
        candidates.sort(key=lambda n: (self._has_descriptor.get(n) is not True, not self._shows_descriptor(n)))
        return next(((n, others) for n in candidates if (others := self._open_relations(n))), None)

    def _pivot_with_most_open(self) -> tuple[int, list[int]] | None:
        """Return the context with most unsettled relations as pivot, and their other contexts; None without any."""

        def unsettled(n: int) -> list[int]:
            """Return the contexts with an open relation to this one, unless replies have noted both."""
            return [other for other in self._open_relations(n) if not (n in self.notes and other in self.notes)]

        best = max(self.relevant, key=lambda n: len(unsettled(n)), default=None)
        return (best, others) if best is not None and (others := unsettled(best)) else None

    def _classes(self) -> dict[int, int]:
        """Return the class of each context, named by its first context; contexts without descriptor form one class."""
        class_of = {n: n for n in self.relevant}
        undescribed = {n for n in self.relevant if self._has_descriptor.get(n) is False}
        for a, b in combinations(self.relevant, 2):
            same_class = self._replied_kinds[a].get(b) in _SAME_DESCRIPTOR or {a, b} <= undescribed
            if same_class and class_of[a] != class_of[b]:
                # Whole classes are joined, as in a union of sets, so that the order of the pairs does not matter.
                old, new = class_of[b], class_of[a]
                class_of = {n: new if root == old else root for n, root in class_of.items()}
        return class_of

    def _minimum_classes(self) -> int:
        """Return a lower bound of the number of classes.

        It is the number of compared classes with a relation that shows a descriptor, plus one if another context shows
        a further one. `none` shows nothing, since it is also said of contexts without an answer.
        """
        class_of = self._classes()
        compared = {class_of[n] for n in self.pivots if n in class_of}
        with_relation = {n for n in self.relevant if set(self._replied_kinds[n].values()) - {"none"}}
        descriptors = {self._descriptor(n) for n in self.relevant if n in self.notes and class_of[n] in compared}
        others = [n for n in self.relevant if class_of[n] not in compared]
        has_further = any(
            n in with_relation or (n in self.notes and self._descriptor(n) not in descriptors) for n in others
        )
        return len({class_of[n] for n in with_relation if class_of[n] in compared}) + has_further

    def _descriptor(self, n: int) -> str | None:
        """Return the descriptor in a context's note, in lower case with single spaces; None if there is none."""
        descriptor = self.notes[n].descriptor if n in self.notes else None
        return " ".join(descriptor.casefold().split()) if descriptor else None

    def _shows_descriptor(self, n: int) -> bool:
        """Return whether a context has a descriptor in its note."""
        return self._descriptor(n) is not None

    def _infer_descriptors(self) -> dict[int, bool]:
        """Return whether contexts have a descriptor, for those whose relations decide it.

        Only two contexts with descriptors are distracting; of two that are ambiguous or none, exactly one has a
        descriptor.
        """
        has_descriptor: dict[int, bool] = {}
        relations = []
        for a in self.relevant:
            relations += [(a, b, kind) for b, kind in self._replied_kinds[a].items() if b in self._relevant_set]
        for a, b, kind in relations:
            if kind == "distracting":
                has_descriptor[a] = has_descriptor[b] = True
        # Knowledge spreads along relations until nothing changes: each step may decide a neighbour.
        changed = bool(has_descriptor)
        while changed:
            changed = False
            for a, b, kind in relations:
                if a in has_descriptor and b not in has_descriptor and kind != "distracting":
                    has_descriptor[b] = has_descriptor[a] if kind in _SAME_DESCRIPTOR else not has_descriptor[a]
                    changed = True
        return has_descriptor


class PrintedGraph(RelationGraph):
    """Algorithm 1 as the paper prints it, except for the edges of two lines.

    `C`, the pivot `C[0]`, and the edges are in its order, until `C` is empty.

    A context that is counterfactual to or duplicated with the pivot takes over the pivot's other relations (lines 8 to
    11); every other context relates to it as to the pivot (lines 13 to 15). All other compared contexts are in the next
    `C` (line 17: for c_j = c_i the condition fails, so no such context is left out). Lines 10 and 15 are printed with
    the pivot's edge in place of the one between c_i and c_j, which the text describes. An existing edge stays. Contexts
    that turn out to have no answer leave `C`: the paper assumes relevant ones only.
    """

    def __init__(self, contexts: Sequence[int]) -> None:
        super().__init__(contexts)
        self._list_c = list(contexts)
        self._edges: dict[int, dict[int, RelationKind]] = {n: {} for n in contexts}

    def next(self) -> tuple[int, list[int]] | None:
        """Return the first context of the paper's list `C` as the pivot, and the other ones; None if there are none."""
        contexts = [n for n in self._list_c if n in self._relevant_set]
        return (contexts[0], contexts[1:]) if len(contexts) > 1 else None

    def absorb(
        self, pivot: int, others: Collection[int], reply: RelationReply, parts: Sequence[Sequence[int]] = ()
    ) -> None:
        """Add one pivot's relations to the graph, and set the next list `C`: one pass of Algorithm 1's outer loop."""
        super().absorb(pivot, others, reply, parts)
        next_list_c = []
        for n in others:
            kind = reply.kinds.get(n, "none")
            self._add_edge(pivot, n, kind)
            for other, to_other in list(self._edges[pivot].items()):
                if kind in _SAME_DESCRIPTOR:
                    self._add_edge(n, other, to_other)
                elif to_other in _SAME_DESCRIPTOR:
                    self._add_edge(n, other, kind)
            if kind not in _SAME_DESCRIPTOR:
                next_list_c.append(n)
        self._list_c = next_list_c

    def settled(self) -> int:
        """Return how many contexts have left `C`."""
        return len(self.contexts) - sum(n in self._relevant_set for n in self._list_c)

    def _add_edge(self, a: int, b: int, kind: RelationKind) -> None:
        """Add an edge between two contexts, unless they have one."""
        if a != b:
            self._edges[a].setdefault(b, kind)
            self._edges[b].setdefault(a, kind)

    def _relation(self, a: int, b: int, by_rule: Mapping[int, ContextNote]) -> Relation[int]:
        """Return the relation of two contexts by their edge; `none` without an edge."""
        return Relation[int](a=a, b=b, kind=self._edges[a].get(b, "none"), inferred=b not in self._replied_kinds[a])


def related(a: ContextNote, b: ContextNote) -> RelationKind:
    """Return the relation of two contexts with answers, by the definitions of section 2.1 and appendix C.1.

    See the table at the top of this file.
    """
    same = same_answer(a.answer or "", b.answer or "")
    if same_descriptor(a.descriptor or "", b.descriptor or ""):
        return "duplicated" if same else "counterfactual"
    if a.descriptor is None or b.descriptor is None:
        return "ambiguous" if same else "none"
    return "distracting"


def same_descriptor(a: str, b: str) -> bool:
    """Return whether two descriptors name the same thing, up to case, spaces and punctuation at their ends."""
    first, second = (" ".join(text.casefold().split()).strip(" .,;()") for text in (a, b))
    return first == second


def follows(to_a: RelationKind, to_b: RelationKind, *, described: bool | None) -> Kinds:
    """Return the possible relations of two contexts by their relations to a pivot.

    Args:
        to_a: The pivot's relation to one context.
        to_b: Its relation to the other context.
        described: Whether the pivot has a descriptor; None if that is unknown.
    """
    # A duplicate of the pivot relates to all others as the pivot does (lines 8 to 11 of Algorithm 1).
    if "duplicated" in (to_a, to_b):
        return frozenset({to_b if to_a == "duplicated" else to_a})
    with_descriptor, without_descriptor = _KINDS_BY_PIVOT_RELATIONS[frozenset({to_a, to_b})]
    if described is None:
        return with_descriptor | without_descriptor
    # An empty set means that no such replies are possible for a pivot without descriptor, so nothing follows from them.
    return with_descriptor if described else without_descriptor or ANY_KIND


def _kind_by_notes(possible: Kinds, a: ContextNote, b: ContextNote) -> RelationKind:
    """Return the only possible relation, else the possible one that fits the notes best; `none` if none does."""
    if len(possible) == 1:
        return next(iter(possible))
    noted_kind = related(a, b)
    if noted_kind in possible:
        return noted_kind
    same = same_answer(a.answer or "", b.answer or "")
    preferred: tuple[RelationKind, ...] = (
        ("duplicated", "ambiguous", "distracting") if same else ("counterfactual", "none", "distracting")
    )
    return next((kind for kind in preferred if kind in possible), "none")
