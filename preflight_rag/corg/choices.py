"""The choices for an ambiguous name, and which of them a user's reply selects."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from preflight_rag.state.reading import ContextNote
from preflight_rag.state.schema import DroppedContext, Organisation
from preflight_rag.state.values import Choice
from preflight_rag.text.citations import labelled

NOT_CHOSEN = "another one was meant"
"""Reason that is recorded for a context of a choice that the user did not select."""
_SELECTS_ALL = re.compile(r"(?:all|both|any|every(?:thing|one)|all of (?:them|these|those)|each)", re.I)
# A run of spaces is matched from its first one only, so that a reply with thousands of them takes linear time.
_BETWEEN_CHOICES = re.compile(r"(?>(?:(?<!\s)\s++)?)(?:[,;/&+]|\band\b)\s*+", re.I)
_LEADING_WORDS = re.compile(
    r"^(?>(?:(?:i mean(?:t)?|please|only|just|the ones?|in|of|from|number|no\.?|option|the)\s++)+)", re.I
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def choices_of(organisation: Organisation, contexts: Sequence[ContextNote]) -> list[Choice]:
    """Return a choice for each entity of the grouped contexts, in the order of the groups."""
    by_rank = {context.rank: context for context in contexts}
    choices: dict[str, Choice] = {}
    for rank in chain.from_iterable(organisation["groups"]):
        entity, descriptor = by_rank[rank].entity, by_rank[rank].descriptor
        label = labelled(entity, descriptor)
        choices.setdefault(label.casefold(), Choice(label=label, entity=entity, descriptor=descriptor))
    return list(choices.values())


def chosen(reply: object, choices: Sequence[Choice]) -> list[str] | None:
    """Return the labels of the choices that a reply selects, in their order; None if it is unclear or selects nothing.

    A choice is selected by its label, descriptor or entity, by its number from 1, or with "all".

    Args:
        reply: A text that names one or several, a number, a list of these, or a mapping with one of them as "choice".
        choices: The offered choices.
    """
    if isinstance(reply, Mapping):
        reply = reply.get("choice")
    if isinstance(reply, str | int):
        return _labels_in_text(str(reply), choices)
    if not isinstance(reply, Sequence) or not reply:
        return None
    # One part that selects nothing makes the whole reply unclear: half of a selection is not what the user meant.
    selected: set[str] = set()
    for part in reply:
        labels = _labels_in_text(str(part), choices)
        if labels is None:
            return None
        selected.update(labels)
    return [choice.label for choice in choices if choice.label in selected]


def _labels_in_text(text: str, choices: Sequence[Choice]) -> list[str] | None:
    """Return the labels of the choices that a text names, in their order; None if a part of it names no single one."""
    text = " ".join(text.split()).strip(" .!?\"'[]()").casefold()
    if _SELECTS_ALL.fullmatch(text):
        return [choice.label for choice in choices]
    # The whole reply first: "Broken Bow, Oklahoma" is one label, although it has a comma.
    if (label := _label_named_by(text, choices)) is not None:
        return [label]
    parts = [part for part in _BETWEEN_CHOICES.split(text) if part]
    labels = [_label_named_by(part, choices) for part in parts]
    if not labels or None in labels:
        return None
    return [choice.label for choice in choices if choice.label in labels]


def _label_named_by(text: str, choices: Sequence[Choice]) -> str | None:
    """Return the label of the only choice that a text names, by number, label, descriptor or entity; else None."""
    # "the second one" is "second" without its leading words and "one".
    bare = re.sub(r"(?<!\s)\s++ones?$", "", _LEADING_WORDS.sub("", text)).strip(" .!?\"'[]()")
    numbers = [str(n) for n in range(1, len(choices) + 1)]
    if bare in numbers:
        return choices[numbers.index(bare)].label
    if bare in _ORDINALS[: len(choices)]:
        return choices[_ORDINALS.index(bare)].label
    # Also with its first words, since a label may begin with one of them: "The Who".
    texts = (_comparable_text(text), _comparable_text(bare))
    for names in (
        [choice.label for choice in choices],
        [choice.descriptor for choice in choices],
        [choice.entity for choice in choices],
    ):
        labels = [c.label for c, name in zip(choices, names, strict=True) if _comparable_text(name) in texts]
        # A word that fits several choices selects none of them, so that the user is asked again.
        if len(labels) == 1:
            return labels[0]
    return None


def _comparable_text(text: object) -> str:
    """Return a text's words in lower case; for a text without words a character that equals no other text."""
    return re.sub(r"\W+", " ", str(text or "")).strip().casefold() or "\0"


def narrowed(organisation: Organisation, contexts: Sequence[ContextNote], labels: Collection[str]) -> Organisation:
    """Return the organisation reduced to the contexts with some labels; its other contexts are recorded as dropped."""
    folded_labels = {label.casefold() for label in labels}
    by_rank = {context.rank: context for context in contexts}
    selected: set[int] = set()
    for rank in chain.from_iterable(organisation["groups"]):
        label = labelled(by_rank[rank].entity, by_rank[rank].descriptor)
        if label.casefold() in folded_labels:
            selected.add(rank)
    groups = []
    for group in organisation["groups"]:
        groups.append([rank for rank in group if rank in selected])
    removed = [rank for rank in chain.from_iterable(organisation["groups"]) if rank not in selected]
    dropped = [*organisation["dropped"], *(DroppedContext(rank=rank, why=NOT_CHOSEN, kept=None) for rank in removed)]
    sources = {rank: further for rank, further in organisation["sources"].items() if int(rank) not in removed}
    return Organisation(
        groups=[group for group in groups if group],
        dropped=sorted(dropped, key=lambda context: context["rank"]),
        sources=sources,
    )


def left_out_note(labels: Sequence[str]) -> str:
    """Return a sentence about the choices that were not selected; "" if there are none."""
    return f"\n\nNote: left out, as you chose: {'; '.join(labels)}." if labels else ""
