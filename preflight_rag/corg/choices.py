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
_ALL = re.compile(r"(?:all|both|any|every(?:thing|one)|all of (?:them|these|those)|each)", re.I)
# A run of spaces is matched from its first one only, so that a reply with thousands of them takes linear time.
_BETWEEN = re.compile(r"(?>(?:(?<!\s)\s++)?)(?:[,;/&+]|\band\b)\s*+", re.I)
_LEAD = re.compile(
    r"^(?>(?:(?:i mean(?:t)?|please|only|just|the ones?|in|of|from|number|no\.?|option|the)\s++)+)", re.I
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def choices_of(organisation: Organisation, contexts: Sequence[ContextNote]) -> list[Choice]:
    """Return the entities that the grouped contexts are about, each once, in the order of the groups."""
    by_rank = {context.rank: context for context in contexts}
    found: dict[str, Choice] = {}
    for rank in chain.from_iterable(organisation["groups"]):
        entity, descriptor = by_rank[rank].entity, by_rank[rank].descriptor
        label = labelled(entity, descriptor)
        found.setdefault(label.casefold(), Choice(label=label, entity=entity, descriptor=descriptor))
    return list(found.values())


def chosen(reply: object, choices: Sequence[Choice]) -> list[str] | None:
    """Return the labels that a reply selects, by label, descriptor, number from 1, or "all".

    None if it selects nothing.

    Args:
        reply: A text that names one or several, a number, or a list of these.
        choices: The offered choices.
    """
    if isinstance(reply, Mapping):
        reply = reply.get("choice")
    if isinstance(reply, str | int):
        return _named(str(reply), choices)
    if not isinstance(reply, Sequence) or not reply:
        return None
    # One part that selects nothing makes the whole reply unclear: half of a selection is not what the user meant.
    each = [_named(str(part), choices) for part in reply]
    if any(labels is None for labels in each):
        return None
    wanted = set(chain.from_iterable(labels for labels in each if labels))
    return [choice.label for choice in choices if choice.label in wanted]


def _named(text: str, choices: Sequence[Choice]) -> list[str] | None:
    """Return the labels of the choices that a reply names; None if a part of it names none."""
    text = " ".join(text.split()).strip(" .!?\"'[]()").casefold()
    if _ALL.fullmatch(text):
        return [choice.label for choice in choices]
    # The whole reply first: "Broken Bow, Oklahoma" is one label, although it has a comma.
    if (label := _one(text, choices)) is not None:
        return [label]
    parts = [part for part in _BETWEEN.split(text) if part]
    labels = [_one(part, choices) for part in parts]
    if not labels or None in labels:
        return None
    return [choice.label for choice in choices if choice.label in labels]


def _one(text: str, choices: Sequence[Choice]) -> str | None:
    """Return the only choice that a text names by words of its own or by number; None if there is no single one."""
    bare = re.sub(r"(?<!\s)\s++ones?$", "", _LEAD.sub("", text)).strip(" .!?\"'[]()")
    places = [str(n) for n in range(1, len(choices) + 1)]
    if bare in places:
        return choices[places.index(bare)].label
    if bare in _ORDINALS[: len(choices)]:
        return choices[_ORDINALS.index(bare)].label
    # Also with its first words, since a label may begin with one of them: "The Who".
    wanted = (_folded(text), _folded(bare))
    for names in (
        [choice.label for choice in choices],
        [choice.descriptor for choice in choices],
        [choice.entity for choice in choices],
    ):
        same = [choice.label for choice, name in zip(choices, names, strict=True) if _folded(name) in wanted]
        # A word that fits several choices selects none of them, so that the user is asked again.
        if len(same) == 1:
            return same[0]
    return None


def _folded(text: object) -> str:
    """Return a text's words in lower case; for an empty text a character that no text contains."""
    return re.sub(r"\W+", " ", str(text or "")).strip().casefold() or "\0"


def narrowed(organisation: Organisation, contexts: Sequence[ContextNote], labels: Collection[str]) -> Organisation:
    """Return the organisation reduced to the contexts with these labels; the others are recorded as dropped."""
    by_rank = {context.rank: context for context in contexts}

    def wanted(rank: int) -> bool:
        """Return whether a context has one of the labels."""
        return labelled(by_rank[rank].entity, by_rank[rank].descriptor).casefold() in folded

    folded = {label.casefold() for label in labels}
    kept = []
    for group in organisation["groups"]:
        kept.append([rank for rank in group if wanted(rank)])
    gone = [rank for rank in chain.from_iterable(organisation["groups"]) if not wanted(rank)]
    dropped = [*organisation["dropped"], *(DroppedContext(rank=rank, why=NOT_CHOSEN, kept=None) for rank in gone)]
    sources = {rank: more for rank, more in organisation["sources"].items() if int(rank) not in gone}
    return Organisation(
        groups=[group for group in kept if group], dropped=sorted(dropped, key=lambda d: d["rank"]), sources=sources
    )


def left_out_note(labels: Sequence[str]) -> str:
    """Return a sentence about the choices that were not selected; "" if there are none."""
    return f"\n\nNote: left out, as you chose: {'; '.join(labels)}." if labels else ""
