"""Weights of MMR by kind of task."""

from __future__ import annotations

from dataclasses import dataclass

from preflight_rag.state.errors import UsageError


@dataclass(frozen=True)
class Preset:
    """α and w of MMR for a kind of task."""

    alpha: float
    window: int | None


PRESETS = {
    "one-document-qa": Preset(0.5, 2),
    "many-documents-qa": Preset(1.0, None),
    "all-evidence": Preset(1.0, None),
    "meeting-qa": Preset(1.0, None),
}
"""The best (α, w) by kind of task for MMR with cosines of all-MiniLM-L6-v2.

They were searched coarse to fine by the experiment `diversity`, for recall within token budgets, on the development
halves of COVID-QA (sentences), BioASQ, NFCorpus (documents) and QMSum (turns), in this order. They are not the paper's
values, which are for other data. Where no diversity helped, α is 1.
"""


def preset(name: str) -> Preset:
    """A preset by name.

    Raises:
        UsageError: There is none.
    """
    if name not in PRESETS:
        raise UsageError(f"the preset {name!r} is unknown", help=f"Choose {', '.join(PRESETS)}")
    return PRESETS[name]
