"""Ways to select among the candidates of a question, and the search for their best settings (Diversity, 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.coarse_to_fine import WINDOWS, BestSetting, search
from evaluation.selection_cases import Pick, SelectionCase, SelectionLimit
from preflight_rag.library.search.diversity import fps, in_order, mmr, within_budget
from preflight_rag.library.search.selection import PAPER_PRESETS

SIMILARITY, FUSED = "similarity", "fused ranking"
MMR, FPS = "MMR", "modified FPS"
OWN_PRESETS = {"natural_questions": "nq", "triviaqa": "triviaqa", "narrativeqa": "narrativeqa"}
REPORTED = "the paper's α and w"
SHORT_LIMIT = 10_000
"""T_max up to which the paper has one pair of α and w (GPT-3.5); beyond it another (GPT-4)."""
TUNED_AT = (SelectionLimit(tokens=512), SelectionLimit(tokens=2048))


def by_similarity(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
    """Select the candidates most similar to the query, in that order."""
    order = np.argsort(-_cosines(case), kind="stable")
    picks = within_budget([case.tokens[index] for index in order], budget, k=k, fill=case.fill)
    return [int(order[pick]) for pick in picks]


def by_fusion(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
    """Select from the fused ranking in its order."""
    return within_budget(case.tokens, budget, k=k, fill=case.fill)


def by_mmr(alpha: float, window: int | None, *, fused: bool = False) -> Pick:
    """Return a selection by MMR; for the fused ranking as in a turn: with cosines in the order of the ranking."""

    def pick(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
        relevance = in_order(_cosines(case)) if fused else None
        return mmr(
            case.vectors,
            case.asked,
            alpha=alpha,
            window=window,
            k=k,
            tokens=case.tokens,
            budget=budget,
            relevance=relevance,
            fill=case.fill,
        )

    return pick


def by_fps(alpha: float, window: int | None = None) -> Pick:
    """Return the selector by farthest points (FPS) with the given α and window."""
    return lambda case, k, budget: fps(
        case.vectors, case.asked, alpha=alpha, window=window, k=k, tokens=case.tokens, budget=budget, fill=case.fill
    )


def _cosines(case: SelectionCase) -> Any:
    """Return the cosines of the candidates with the query."""
    scales = np.linalg.norm(case.vectors, axis=1) * np.linalg.norm(case.asked)
    return case.vectors @ case.asked / np.where(scales > 0, scales, 1)


def tuned_on(
    cases: Sequence[SelectionCase], limits: Sequence[SelectionLimit] = TUNED_AT, selectors: Sequence[str] = (MMR, FPS)
) -> dict[str, BestSetting]:
    """Return the best settings of these selectors by mean recall over these limits."""
    most = max(len(case.tokens) for case in cases)
    windows = [window for window in WINDOWS if window is None or window < most]

    def value(pick: Pick) -> float:
        found = [case.recall(pick(case, None, limit.budget(case))) for case in cases for limit in limits]
        return sum(found) / len(found)

    makers: dict[str, Callable[[float, int | None], Pick]] = {MMR: by_mmr, FPS: by_fps}
    tuned = {
        name: search(lambda alpha, window, make=makers[name]: value(make(alpha, window)), windows=windows)  # type: ignore[misc]
        for name in selectors
    }
    if cases[0].fused is not None:
        tuned["MMR, fused"] = search(lambda alpha, window: value(by_mmr(alpha, window, fused=True)), windows=windows)
    return tuned


def presets_of(name: str, one_document: bool) -> tuple[str, ...]:
    """Return the paper's presets for a data set, or else for Natural Questions; for sentences or chunks."""
    own = next((short for known, short in OWN_PRESETS.items() if name.startswith(known)), "nq")
    ends = ("sentences", "sentences-fps") if one_document else ("chunks-to-10k", "chunks-from-20k")
    return tuple(f"paper-{own}-{end}" for end in ends)


def systems_of(
    cases: Sequence[SelectionCase], tuned: Mapping[str, BestSetting], presets: Sequence[str]
) -> dict[str, Pick]:
    """Return the selections by name; those over the fused ranking only where candidates come from a search."""
    best = tuned[MMR]
    systems: dict[str, Pick] = {
        SIMILARITY: by_similarity,
        "MMR α 0.5, w ∞": by_mmr(0.5, None),
        f"MMR {setting(best)}": by_mmr(best.alpha, best.window),
        "FPS": by_fps(0.0),
    }
    if FPS in tuned:
        systems[f"modified FPS, {setting(tuned[FPS])}"] = by_fps(tuned[FPS].alpha, tuned[FPS].window)
    for name in presets:
        preset = PAPER_PRESETS[name]
        pick = (by_mmr if preset.diversity == "mmr" else by_fps)(preset.alpha, preset.window)
        kind = "MMR" if preset.diversity == "mmr" else "modified FPS"
        systems[f"{kind} α {preset.alpha:g}, w {preset.window} ({name})"] = pick
    if cases[0].fused is not None:
        best = tuned["MMR, fused"]
        systems[FUSED] = by_fusion
        systems[f"MMR in the fused order, {setting(best)}"] = by_mmr(best.alpha, best.window, fused=True)
    return systems


Lengths = dict[str, dict[str, BestSetting]]
"""The best setting for all limits of a length by selector, by the name of a limit."""


def lengths_of(limits: Sequence[SelectionLimit]) -> list[tuple[SelectionLimit, ...]]:
    """Return the limits by groups that share α and w: shares of a document, T_max up to 10,000, and T_max beyond."""
    groups = (
        tuple(limit for limit in limits if limit.tokens is None),
        tuple(limit for limit in limits if limit.tokens is not None and limit.tokens <= SHORT_LIMIT),
        tuple(limit for limit in limits if limit.tokens is not None and limit.tokens > SHORT_LIMIT),
    )
    return [group for group in groups if group]


def tuned_for_answers(
    cases: Sequence[SelectionCase], limits: Sequence[SelectionLimit], selectors: Sequence[str] = (MMR, FPS)
) -> Lengths:
    """Return, by length, the settings that select an answer most often over its limits (Diversity, section 3.1)."""
    most = max(len(case.tokens) for case in cases)
    windows = [window for window in WINDOWS if window is None or window < most]
    makers: dict[str, Callable[[float, int | None], Pick]] = {MMR: by_mmr, FPS: by_fps}
    found: Lengths = {}
    for group in lengths_of(limits):

        def value(pick: Pick, group: tuple[SelectionLimit, ...] = group) -> float:
            shares = [case.present(cut) for case in cases for cut in cuts(case, pick, group)]
            return sum(shares) / len(shares)

        best = {
            name: search(lambda alpha, window, make=makers[name]: value(make(alpha, window)), windows=windows)  # type: ignore[misc]
            for name in selectors
        }
        found |= {limit.name: best for limit in group}
    return found


def cuts(case: SelectionCase, pick: Pick, limits: Sequence[SelectionLimit]) -> list[list[int]]:
    """Return the picks for each limit; without filling, a smaller limit's picks are the first of a larger one's."""
    budgets = [limit.budget(case) for limit in limits]
    shortest = min(budgets)
    if case.fill or any(length > shortest for length in case.tokens):
        return [pick(case, None, budget) for budget in budgets]
    longest = pick(case, None, max(budgets))
    lengths = np.cumsum([case.tokens[index] for index in longest])
    return [longest[: int(np.searchsorted(lengths, budget, side="right"))] for budget in budgets]


def selections(tuned: Lengths) -> dict[str, Callable[[SelectionLimit], Pick]]:
    """Return the selections that the paper's tables compare, by name, for a limit: similarity, and the tuned ones."""
    found: dict[str, Callable[[SelectionLimit], Pick]] = {"SB": lambda _: by_similarity}
    makers: dict[str, tuple[str, Callable[[float, int | None], Pick]]] = {
        "SB+MMR": (MMR, by_mmr), "SB+FPS": (FPS, by_fps),
    }  # fmt: skip
    for paper, (selector, make) in makers.items():
        if all(selector in best for best in tuned.values()):

            def of(limit: SelectionLimit, selector: str = selector, make: Callable[..., Pick] = make) -> Pick:
                best = tuned[limit.name][selector]
                return make(best.alpha, best.window)

            found[paper] = of
    return found


def as_reported(presets: Sequence[str]) -> dict[str, Callable[[SelectionLimit], Pick]]:
    """Return the selections with the α and w that the paper reports, by name and for a limit.

    Args:
        presets: Names of `PAPER_PRESETS`, for one kind of units: one for each selector, or one up to 10,000 tokens and
            another from 20,000.
    """
    found: dict[str, Callable[[SelectionLimit], Pick]] = {}
    makers: dict[str, tuple[str, Callable[[float, int | None], Pick]]] = {
        "mmr": ("SB+MMR", by_mmr), "modified-fps": ("SB+FPS", by_fps),
    }  # fmt: skip
    for selector, (paper, make) in makers.items():
        own = [name for name in presets if PAPER_PRESETS[name].diversity == selector]
        if own:

            def of(limit: SelectionLimit, own: Sequence[str] = own, make: Callable[..., Pick] = make) -> Pick:
                preset = PAPER_PRESETS[preset_at(own, limit)]
                return make(preset.alpha, preset.window)

            found[f"{paper}, {REPORTED}"] = of
    return found


def preset_at(presets: Sequence[str], limit: SelectionLimit) -> str:
    """Return the preset of one selector that applies to limits of this length."""
    is_long = limit.tokens is not None and limit.tokens > SHORT_LIMIT
    return next((name for name in presets if name.endswith("from-20k") == is_long), presets[0])


def setting(best: BestSetting) -> str:
    """Return a setting in words, e.g. `α 0.7, w ∞`."""
    return f"α {best.alpha:g}, w {best.window or '∞'}"
