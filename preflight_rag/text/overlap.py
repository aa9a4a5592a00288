"""Comparison of two texts: which words both share, and where they say something different.

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
MAX_REPLACED = 8
"""Most words of a gap, on both sides, that counts as a replacement; longer ones are tables or captions."""
MAX_DENIED = 12
"""Most words of a gap in which a "not" on only one side changes the meaning; a guess."""
MAX_COUNTED = 16
"""Most words of a gap whose numbers are compared; longer ones are tables, which formats write in other orders."""
MAX_LENGTH_RATIO = 4
"""Greatest ratio of the lengths of a gap's two sides that can replace each other. Set, like the three numbers above, on
the same papers, so that no gap of their formats counts as a difference."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|(?<=[\s(=<>])[-−–](?=\d)|[<>=≤≥±%]")
_CITATION_MARK = re.compile(r"\[\s?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,50}\s?\]")
"""Marks such as "[12, 14-16]", which one format keeps and another leaves out."""
_NEGATIONS = frozenset({"no", "not", "never", "none", "neither", "nor", "without", "cannot"})
_SECTION_NAMES = frozenset(
    {"abstract", "body", "title", "background", "introduction", "objective", "objectives", "aims", "methods"}
    | {"materials", "results", "findings", "discussion", "conclusion", "conclusions", "references", "keywords"}
)
"""Names of sections, which some formats repeat above every paragraph."""
_CAPTION_WORDS = frozenset({"table", "figure", "fig", "box", "appendix"})
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
        explained: For each word of the first text, whether the second has it between the same words; shape (n,), bool.
        share: Share of the first text's words that are in runs.
        other_share: Share of the second text's words that are in runs.
        differs: Whether one text has another number, name or "not" between the same runs: they are versions.
        differs_at_ends: Whether that holds before the first run or after the last.
    """

    runs: tuple[SharedRun, ...]
    explained: np.ndarray
    share: float
    other_share: float
    differs: bool
    differs_at_ends: bool


def compared_words(text: str) -> list[str]:
    """Return the words, numbers and comparison signs of a text, in a form that does not depend on its file format."""
    return _TOKEN.findall(_CITATION_MARK.sub(" ", unicodedata.normalize("NFKC", text)).casefold())


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
    runs_and_ends = [SharedRun(0, 0, 0), *runs, SharedRun(len(first), len(second), 0)]
    for index, (left, right) in enumerate(pairwise(runs_and_ends)):
        start, end = left.start + left.length, right.start
        # If the second text has the next run before this one, nothing in it corresponds to the gap.
        gap, other_gap = first[start:end], second[left.other + left.length : right.other]
        if index == 0:
            other_gap = [*title, *other_gap]
        if is_contained(gap, other_gap):
            explained[start:end] = True
        is_at_end = index in (0, len(runs))
        if is_at_end:
            differs_at_ends = differs_at_ends or gaps_differ(gap, other_gap)
        else:
            differs = differs or gaps_differ(gap, other_gap)
    return Overlap(tuple(runs), explained, share, other_share, differs, differs_at_ends)


def is_contained(gap: Sequence[str], other_gap: Sequence[str]) -> bool:
    """Return whether the words between two shared runs are, in their order, also between these in the other text.

    Names of sections do not count; True for a gap without other words.
    """
    tokens, other_tokens = _without_sections(gap), _without_sections(other_gap)
    if not tokens or "".join(tokens) == "".join(other_tokens):  # "non-linear" in one text, "nonlinear" in the other
        return True
    starts = range(len(other_tokens) - len(tokens) + 1)
    return any(other_tokens[start : start + len(tokens)] == tokens for start in starts)


def gaps_differ(gap: Sequence[str], other_gap: Sequence[str]) -> bool:
    """Return whether two texts differ in meaning between two shared runs: in a number, a name, or a negation.

    Words that only one text has are an omission in the other, not a difference, unless they negate.
    """
    tokens, other_tokens = _without_sections(gap), _without_sections(other_gap)
    if is_contained(gap, other_gap) or is_contained(other_gap, gap):
        longer, shorter = sorted((tokens, other_tokens), key=len, reverse=True)
        added = Counter(longer) - Counter(shorter)
        return added.total() <= MAX_DENIED and not _NEGATIONS.isdisjoint(added)
    shorter_length, longer_length = sorted((len(tokens), len(other_tokens)))
    if shorter_length * MAX_LENGTH_RATIO < longer_length:
        return False
    if longer_length <= MAX_REPLACED:
        return True
    if longer_length <= MAX_DENIED and _NEGATIONS.isdisjoint(tokens) != _NEGATIONS.isdisjoint(other_tokens):
        return True
    numbers, other_numbers = _numbers(tokens), _numbers(other_tokens)
    return longer_length <= MAX_COUNTED and bool(numbers - other_numbers) and bool(other_numbers - numbers)


def holds_words(tokens: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether a text contains some words one after the other; both are given as `compared_words`."""
    return bool(tokens) and f" {' '.join(tokens)} " in f" {' '.join(text)} "


def _numbers(tokens: Sequence[str]) -> Counter[str]:
    """Return how often each number is in some words, without those of captions ("table 2")."""
    return Counter(
        token for previous, token in pairwise(("", *tokens)) if token[0].isdigit() and previous not in _CAPTION_WORDS
    )


def _without_sections(tokens: Sequence[str]) -> list[str]:
    """Return the words without names of sections, such as "abstract"."""
    return [token for token in tokens if token not in _SECTION_NAMES]


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
        for offset in range(RUN):
            runs = (runs + words[offset : offset + len(runs)]) * base
        runs ^= runs >> np.uint64(29)
        return runs * base


def _shared_runs(first: Sequence[str], second: Sequence[str]) -> list[SharedRun]:
    """Return the runs of at least `RUN` words that both texts share, as long as possible, in the order of the first."""
    starts_by_hash: dict[int, list[int]] = {}
    for start, run_hash in enumerate(_run_hashes(second).tolist()):
        starts_by_hash.setdefault(run_hash, []).append(start)
    hashes = _run_hashes(first).tolist()
    runs: list[SharedRun] = []
    start, last_end = 0, 0
    while start < len(hashes):
        candidates = starts_by_hash.get(hashes[start])
        if candidates is None:
            start += 1
            continue
        # Of several candidates, the next one behind the last run: copies usually have the same order.
        other = next((candidate for candidate in candidates if candidate >= last_end), candidates[0])
        longest = min(len(first) - start, len(second) - other)
        length = 0
        while length < longest and first[start + length] == second[other + length]:
            length += 1
        if length < RUN:  # different words with the same hash
            start += 1
            continue
        runs.append(SharedRun(start, other, length))
        start, last_end = start + length, other + length
    return runs
