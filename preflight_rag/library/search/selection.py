"""Selection: which candidates are passed to the model, within which budget, and in which order they are in the prompt.

Models use the two ends of a long prompt best and lose the middle (Liu et al. 2024, "Lost in the Middle"). "Diversity
Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017) compares orders of the selected
passages: by score, by place in the document, and m:n, where of each m + n passages m go to the front and n to the
back. How diverse passages are picked is in `diversity.py`.

`select` serves a turn; `compressors.py` has the same steps for LangChain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from preflight_rag.library.search.diversity import fps, mmr, token_budget, within_budget
from preflight_rag.state.context import Diversity, Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import AnyCandidate

if TYPE_CHECKING:
    import numpy as np

Item = TypeVar("Item")
C = TypeVar("C", bound=AnyCandidate)

_FRONT_TO_BACK = re.compile(r"([1-9]\d{0,2}):(0|[1-9]\d{0,2})")


def select(
    candidates: Sequence[C],
    vectors: np.ndarray | None = None,
    query_vector: np.ndarray | None = None,
    *,
    k: int | None = None,
    diversity: Diversity = "none",
    alpha: float = 0.5,
    window: int | None = None,
    budget_tokens: int | None = None,
    compression: float | None = None,
    ordering: str = "score",
    relevance: Sequence[float] | None = None,
) -> list[C]:
    """Return the candidates to pass to the model, in prompt order.

    Without diversity, a budget and another order, these are the first `k` unchanged.

    Args:
        candidates: Best first.
        vectors: The candidates' vectors, shape (n, d); not needed if diversity is none.
        query_vector: Shape (d,); not needed if diversity is none or `relevance` is given.
        k: Most passages.
        diversity: none, mmr, fps or modified-fps; see `diversity`.
        alpha: Weight of relevance in mmr and modified-fps.
        window: Number of last picks that count for redundancy; None: all.
        budget_tokens: Most tokens of all passages together, as counted by the library (T_max).
        compression: Most tokens as a share of all candidates' (c_r); if both are given, the smaller limit holds.
        ordering: "score" is the order in which they were picked, without diversity the candidates' own; m:n puts the
            first picks at both ends (`arrange`); "index" sorts documents by their best passage and each one's passages
            by their place in the text.
        relevance: One number per candidate instead of the cosine with the query, on the scale of cosines.

    Raises:
        UsageError: A setting is out of range, the budget is smaller than every candidate, or vectors are missing.
    """
    if diversity not in get_args(Diversity):
        raise UsageError(f"diversity is {diversity!r}", help=f"Choose {', '.join(get_args(Diversity))}")
    tokens = [candidate.passage.tokens for candidate in candidates]
    budget = token_budget(tokens, budget=budget_tokens, compression=compression)
    if diversity == "none" or not candidates:
        chosen = within_budget(tokens, budget, k=k)
    elif vectors is None:
        raise UsageError(f"diversity {diversity} needs vectors", help="Give one row a candidate")
    else:
        limits = {"window": window, "k": k, "tokens": tokens, "budget": budget, "relevance": relevance}
        if diversity == "mmr":
            chosen = mmr(vectors, query_vector, alpha=alpha, **limits)  # type: ignore[arg-type]
        else:
            weight = alpha if diversity == "modified-fps" else 0.0
            chosen = fps(vectors, query_vector, alpha=weight, **limits)  # type: ignore[arg-type]
    best_index: dict[str, int] = {}
    for index in sorted(chosen):
        best_index.setdefault(candidates[index].passage.document_id, index)
    selected = [candidates[index] for index in chosen]

    def place(candidate: C) -> tuple[int, int]:
        """Return the sort key for the ordering "index": the document by its best passage, then the offset in it."""
        return best_index[candidate.passage.document_id], candidate.passage.start

    return [selected[index] for index in arrange(selected, ordering, place=place)]


def arrange(
    items: Sequence[Item],
    ordering: str,
    *,
    score: Callable[[Item], Any] | None = None,
    place: Callable[[Item], Any] | None = None,
) -> list[int]:
    """Return the indices of the items in prompt order; each index once.

    Args:
        items: Any sequence.
        ordering: "score": best first; "index": by `place`; "m:n", such as "2:1": of each m + n items, best first, m go
            to the front and n to the back, so that the best are at both ends and the worst near the middle; 1:0 is
            "score", as in the paper.
        score: Higher is better; None: the items are given best first. Equal ones keep the given order.
        place: Sorts ascending for "index", such as (document, offset); None: the given order. Equal ones keep it.

    Raises:
        UsageError: The ordering is unknown.
    """
    ratio = _FRONT_TO_BACK.fullmatch(ordering)
    if ratio is None and ordering not in ("score", "index"):
        raise UsageError(
            f"the ordering {ordering!r} is unknown", help="Choose score, index, or m:n such as 1:1, 2:1 or 3:1"
        )
    indices = list(range(len(items)))
    if ordering == "index":
        return indices if place is None else sorted(indices, key=lambda index: place(items[index]))
    if score is not None:
        indices.sort(key=lambda index: score(items[index]), reverse=True)
    if ratio is None:
        return indices
    front, back = int(ratio[1]), int(ratio[2])
    head = [index for rank, index in enumerate(indices) if rank % (front + back) < front]
    tail = [index for rank, index in enumerate(indices) if rank % (front + back) >= front]
    return head + tail[::-1]


def distance_to_end(position: int, count: int) -> int:
    """Return the number of passages between one at `position`, from 0, and the nearer end of `count` passages."""
    return min(position, count - 1 - position)


@dataclass(frozen=True)
class Preset:
    """A selector's α and w for a kind of task."""

    alpha: float
    window: int | None
    diversity: Diversity = "mmr"


OUR_PRESETS = {
    "one-document-qa": Preset(0.5, 2),
    "many-documents-qa": Preset(1.0, None),
    "all-evidence": Preset(1.0, None),
    "meeting-qa": Preset(1.0, None),
}
"""The best (α, w) by kind of task for MMR with cosines of all-MiniLM-L6-v2.

They were searched coarse to fine by the experiment `diversity`, for recall within token budgets, on the development
halves of COVID-QA (sentences), BioASQ, NFCorpus (documents) and QMSum (turns), in this order. Where no diversity
helped, α is 1.
"""
PAPER_PRESETS = {
    "paper-nq-sentences": Preset(0.55, 1),
    "paper-nq-sentences-fps": Preset(0.5, 1, "modified-fps"),
    "paper-triviaqa-sentences": Preset(0.6, 3),
    "paper-triviaqa-sentences-fps": Preset(0.7, 1, "modified-fps"),
    "paper-narrativeqa-sentences": Preset(0.55, 5),
    "paper-narrativeqa-sentences-fps": Preset(0.55, 5, "modified-fps"),
    "paper-nq-chunks-to-10k": Preset(0.9, 5),
    "paper-nq-chunks-from-20k": Preset(0.7, 5),
    "paper-narrativeqa-chunks-to-10k": Preset(0.8, 30),
    "paper-narrativeqa-chunks-from-20k": Preset(0.7, 300),
    "paper-triviaqa-chunks-to-10k": Preset(0.7, 20),
    "paper-triviaqa-chunks-from-20k": Preset(0.8, 300),
    "paper-squad-sentences": Preset(0.25, 1000),
    "paper-squad-256": Preset(0.5, 300),
    "paper-squad-512": Preset(0.3, 300),
    "paper-gov-report": Preset(0.9, 10),
    "paper-legal": Preset(0.925, 300),
}
"""The best settings reported by Diversity: sentences of one document by SentenceBERT (section 3.1), chunks of many
documents by E5 for budgets up to 10,000 and from 20,000 tokens (3.2), SQuAD by unit (3.3), sentences to summarise
(3.4)."""
PRESETS = OUR_PRESETS | PAPER_PRESETS


def preset(name: str) -> Preset:
    """Return the preset of a name.

    Raises:
        UsageError: There is no such preset.
    """
    if name not in PRESETS:
        raise UsageError(f"the preset {name!r} is unknown", help=f"Give --preset one of {', '.join(PRESETS)}")
    return PRESETS[name]


def check_choice(settings: Settings) -> None:
    """Raise an error if `alpha`, `window` or `preset` is set but has no effect with the chosen selector.

    Raises:
        UsageError: There is such a setting; the message says why, and what to do.
    """
    chosen, weighted = settings.diversity, ("mmr", "modified-fps")
    sets_alpha = settings.alpha != Settings.model_fields["alpha"].default
    set_names = (["alpha"] if sets_alpha else []) + (["window"] if settings.window is not None else [])
    if settings.preset is not None:
        preset_diversity = preset(settings.preset).diversity
        if chosen not in ("none", preset_diversity):
            raise UsageError(
                f"the preset {settings.preset!r} is of {preset_diversity}: diversity = {chosen!r} has no part in it",
                help=f"Leave --diversity out, or give --alpha and --window with --diversity {chosen}.",
            )
        if set_names:
            raise UsageError(
                f"{set_names[0]} changes nothing: the preset {settings.preset!r} sets α and w",
                help=f"Leave --{set_names[0]} out, or give --diversity {preset_diversity} in place of --preset.",
            )
    elif chosen == "none" and set_names:
        raise UsageError(
            f"{set_names[0]} changes nothing without a selector: diversity is 'none'",
            help=f"Give --diversity {' or '.join(weighted)} with it.",
        )
    elif chosen == "fps" and sets_alpha:
        raise UsageError(
            "alpha changes nothing with plain fps, which weighs no relevance",
            help=f"Give --diversity {' or '.join(weighted)} with it.",
        )
    elif chosen in weighted and settings.alpha == 1 and settings.window is not None:
        raise UsageError(
            "window changes nothing with alpha = 1, where relevance alone decides", help="Give a smaller --alpha."
        )
