"""Comparison of two texts: which words both share verbatim, and where they say something different.

Two copies of a document differ in line breaks, hyphens, citation marks, names of sections, and in parts that a format
leaves out, such as tables. Two versions of a document differ in a number, a name or a "not". `compare` distinguishes
these: words count as shared only in runs of `RUN`, and the gaps between two runs are compared on both sides.

Texts worth comparing are found by their fingerprints: of each `SPAN` consecutive runs, the one with the smallest hash
is kept (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003). Texts that share `SPAN + RUN - 1` consecutive words
share one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    import numpy as np

RUN = 8
"""Least number of consecutive words in both texts that count as shared. Set on 19 papers as XML and as plain text."""
SPAN = 16
"""Number of runs of which one is kept as a mark; a guess: the marks of a passage take about 70 bytes."""
REPLACED = 8
"""Most words of a gap, on both sides, that counts as a replacement; longer ones are tables or captions."""
DENIED = 12
"""Most words of a gap in which a "not" on only one side changes the meaning; a guess."""
COUNTED = 16
"""Most words of a gap whose numbers are compared; longer ones are tables, which formats write in other orders."""
ALIKE = 4
"""Greatest ratio of the lengths of a gap's two sides that can replace each other. Set, like the three numbers above, on
the same papers, so that no gap of their formats counts as a difference."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|(?<=[\s(=<>])[-−–](?=\d)|[<>=≤≥±%]")
_CITATIONS = re.compile(r"\[\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,50}\s?\]")
"""Marks such as "[12, 14-16]", which one format keeps and another leaves out."""
_NEGATIONS = frozenset({"no", "not", "never", "none", "neither", "nor", "without", "cannot"})
_SECTIONS = frozenset(
    {"abstract", "body", "title", "background", "introduction", "objective", "objectives", "aims", "methods"}
    | {"materials", "results", "findings", "discussion", "conclusion", "conclusions", "references", "keywords"}
)
"""Names of sections, which some formats repeat above every paragraph."""
_CAPTIONS = frozenset({"table", "figure", "fig", "box", "appendix"})
_HASH_BASE = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class SharedRun:
    """A run of consecutive words in both texts.

    Attributes:
        start: Where it begins in the first text, in words.
        other: Where it begins in the second text.
        length: Its number of words.
    """

    start: int
    other: int
    length: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """The comparison of two texts.

    Attributes:
        runs: The shared runs, in the order of the first text, without overlaps.
        explained: For each word of the first text, whether the second has it in the same place; shape (n,), bool.
        share: Share of the first text's words that are in runs.
        other_share: Share of the second text's words that are in runs.
        differs: Whether one text has another number, name or "not" in the same place: they are versions.
        differs_at_ends: Whether the same holds before the first run and after the last.
    """

    runs: tuple[SharedRun, ...]
    explained: np.ndarray
    share: float
    other_share: float
    differs: bool
    differs_at_ends: bool


def compared_words(text: str) -> list[str]:
    """Return the words, numbers and comparison signs of a text, in a form that does not depend on its file format."""
    return _TOKEN.findall(_CITATIONS.sub(" ", unicodedata.normalize("NFKC", text)).casefold())


def fingerprint(tokens: Sequence[str]) -> np.ndarray:
    """Return a text's fingerprint: the least hash of each window of words, ascending uint32 without repetition."""
    import numpy as np

    runs = _run_hashes(tokens)
    if not len(runs):
        return np.empty(0, np.uint32)
    if len(runs) > SPAN:
        runs = np.lib.stride_tricks.sliding_window_view(runs, SPAN).min(axis=1)
    else:
        runs = runs.min(keepdims=True)
    return np.unique((runs >> np.uint64(32)).astype(np.uint32))


def compare(first: Sequence[str], second: Sequence[str], *, title: Sequence[str] = ()) -> Overlap:
    """Return the overlap of two texts, each given as `compared_words`, with the places where they differ.

    Args:
        first: The text whose words are looked up in the other.
        second: The other text.
        title: The title of the second text, which some formats keep apart from the text and others begin it with.
    """
    import numpy as np

    runs = _shared_runs(first, second)
    explained = np.zeros(len(first), bool)
    in_second = np.zeros(len(second), bool)
    for run in runs:
        explained[run.start : run.start + run.length] = True
        in_second[run.other : run.other + run.length] = True
    share = float(explained.mean()) if len(first) else 0.0
    other_share = float(in_second.mean()) if len(second) else 0.0
    differs = differs_at_ends = False
    ends = [SharedRun(0, 0, 0), *runs, SharedRun(len(first), len(second), 0)]
    for place, (left, right) in enumerate(pairwise(ends)):
        start, end = left.start + left.length, right.start
        # If the second text has the next run elsewhere, nothing in it corresponds to this gap.
        gap, other = first[start:end], second[left.other + left.length : right.other]
        if not place:
            other = [*title, *other]
        if is_said_in(gap, other):
            explained[start:end] = True
        if place in (0, len(runs)):
            differs_at_ends = differs_at_ends or says_other(gap, other)
        else:
            differs = differs or says_other(gap, other)
    return Overlap(tuple(runs), explained, share, other_share, differs, differs_at_ends)


def is_said_in(gap: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether the words of a gap are also in the other text's gap, except for names of sections."""
    mine, theirs = _without_sections(gap), _without_sections(other)
    if not mine or "".join(mine) == "".join(theirs):
        return True
    return any(theirs[at : at + len(mine)] == mine for at in range(len(theirs) - len(mine) + 1))


def says_other(gap: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two texts differ in meaning between two shared runs: in a number, a name, or a negation.

    Words that only one text has are an omission in the other, not a difference, unless they negate.
    """
    mine, theirs = _without_sections(gap), _without_sections(other)
    if is_said_in(gap, other) or is_said_in(other, gap):
        longer, shorter = sorted((mine, theirs), key=len, reverse=True)
        added = Counter(longer) - Counter(shorter)
        return added.total() <= DENIED and not _NEGATIONS.isdisjoint(added)
    most, least = max(len(mine), len(theirs)), min(len(mine), len(theirs))
    if least * ALIKE < most:
        return False
    if most <= REPLACED:
        return True
    if most <= DENIED and _NEGATIONS.isdisjoint(mine) != _NEGATIONS.isdisjoint(theirs):
        return True
    numbers, others = _numbers(mine), _numbers(theirs)
    return most <= COUNTED and bool(numbers - others) and bool(others - numbers)


def holds_words(tokens: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether words, as returned by `compared_words`, are consecutive somewhere in a text."""
    return bool(tokens) and f" {' '.join(tokens)} " in f" {' '.join(text)} "


def _numbers(tokens: Sequence[str]) -> Counter[str]:
    """Return the numbers of a gap, without those of numbered captions."""
    before = ("", *tokens)
    return Counter(
        token for last, token in zip(before, tokens, strict=False) if token[0].isdigit() and last not in _CAPTIONS
    )


def _without_sections(tokens: Sequence[str]) -> list[str]:
    """Return the words without names of sections, such as "abstract"."""
    return [token for token in tokens if token not in _SECTIONS]


def _run_hashes(tokens: Sequence[str]) -> np.ndarray:
    """Return a hash of each `RUN` consecutive words, (n - RUN + 1,) uint64; the same in every process."""
    import numpy as np

    if len(tokens) < RUN:
        return np.empty(0, np.uint64)
    known = {token: crc32(token.encode("utf-8", "surrogatepass")) for token in set(tokens)}
    words = np.array([known[token] for token in tokens], np.uint64)
    with np.errstate(over="ignore"):
        base = np.uint64(_HASH_BASE)
        runs = np.zeros(len(tokens) - RUN + 1, np.uint64)
        for place in range(RUN):
            runs = (runs + words[place : place + len(runs)]) * base
        runs ^= runs >> np.uint64(29)
        return runs * base


def _shared_runs(first: Sequence[str], second: Sequence[str]) -> list[SharedRun]:
    """Return the runs of at least `RUN` words that both texts share, as long as possible, in the order of the first."""
    places: dict[int, list[int]] = {}
    for at, hash in enumerate(_run_hashes(second).tolist()):
        places.setdefault(hash, []).append(at)
    hashes = _run_hashes(first).tolist()
    found: list[SharedRun] = []
    at, behind = 0, 0
    while at < len(hashes):
        candidates = places.get(hashes[at])
        if candidates is None:
            at += 1
            continue
        # Of several places the next one: copies usually have the same order.
        other = next((place for place in candidates if place >= behind), candidates[0])
        length = 0
        while (
            at + length < len(first) and other + length < len(second) and first[at + length] == second[other + length]
        ):
            length += 1
        if length < RUN:  # two runs with the same hash
            at += 1
            continue
        found.append(SharedRun(at, other, length))
        at, behind = at + length, other + length
    return found
