"""The reranker that needs no download: a linear model over `rerank_features`, with its weights in a readable file.

The weights in `feature_reranker.json` are set by `python -m training.train_reranker`, with a listwise
softmax loss over the candidates of each question, on the development parts of public collections. Beside the weights
that are used ("all"), the file holds those of each fold: trained without one group of collections, they are what the
published figures of that group come from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.models.reranking.rerank_features import FEATURES, features
from preflight_rag.state.retrieval import Candidate

if TYPE_CHECKING:
    import numpy as np

WEIGHTS = Path(__file__).with_name("feature_reranker.json")
ALL = "all"


@dataclass(frozen=True)
class FeatureReranker:
    """A linear model behind the `Reranker` interface; its scores compare the candidates of one question only.

    Attributes:
        weights: Of the features by name; one that is not there counts 0.
        name: As `open_reranker` takes it.
        batch_size: None: features are relative to all candidates.
    """

    weights: Mapping[str, float]
    name: str = "features"
    batch_size: int | None = field(default=None, init=False)

    @classmethod
    def shipped(cls, fold: str = ALL) -> FeatureReranker:
        """The trained reranker; `fold` names the group of collections that it was trained without."""
        return cls({name: row[fold] for name, row in trained()["weights"].items()})

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Scores (n,) float64."""
        import numpy as np

        weights = np.array([self.weights.get(name, 0.0) for name in FEATURES])
        scores: np.ndarray = features(question, candidates) @ weights
        return scores


@lru_cache(maxsize=1)
def trained() -> dict[str, Any]:
    """What `feature_reranker.json` holds: `weights` by feature and fold, and what they were trained on."""
    found: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return found
