"""The calibrated preflight: the probability that the key passage would be lost, from the retrieval's own numbers.

The key passage is lost if it is retrieved and below the first three in the reader's order. That no passage answers is
another event, against which reading in parts does not help; the risk leaves it out.

The model is logistic, over the features of `risk_features.py`. Its weights are in `risk.json`: one model for use, and
one for each collection that was left out in training. `python -m training.train_preflight` sets them. They hold for the
embedder that they were fitted with; a library's own calibration (`preflight calibrate`) goes before them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.routing.logistic import fit_line, fit_weights
from preflight_rag.routing.risk_features import FEATURES

if TYPE_CHECKING:
    import numpy as np

WEIGHTS = Path(__file__).with_name("risk.json")
RECALL = 0.926
"""Share of issues that the threshold has to find: what BriefContext's preflight found."""
PENALTY = 30.0
"""Penalty of the squared weights. This and the balance were chosen on the development questions of eight
collections."""
BALANCE = 0.8
"""Balance of collections: 0 weighs questions equally, 1 weighs collections equally, whatever their number of
questions."""
PRIOR = 10.0
"""Penalty of the squared distance between a recalibrated slope and the shipped one. Set by hand."""
NO_PRIOR = 1e-3
"""Penalty of that distance for a slope that is fitted freely, but stays finite."""
FULL_REFIT = 300
"""Least number of questions at which a library's own calibration fits all weights. Set by hand."""
LOST, NOT_NEAREST = "lost", "not nearest"
EVENTS = {
    LOST: "the passage that answers stands below the first three",
    NOT_NEAREST: "none of the three passages nearest in meaning answers",
}
"""The event whose risk a model predicts, in words for a reason. A library calibrated before the event was recorded has
the second one, which also counts questions without any answering passage."""
MAX_NAMED_SIGNALS = 2
"""Largest number of signals that a decision's reason names."""


@dataclass(frozen=True)
class RiskTerm:
    """A feature's contribution to the score: `weight` for each `scale` by which its value exceeds `mean`."""

    weight: float
    mean: float
    scale: float

    def contribution(self, value: float) -> float:
        """Return the feature's contribution for this value."""
        return self.weight * (value - self.mean) / self.scale


@dataclass(frozen=True)
class RiskModel:
    """A logistic model of the risk, and the threshold above which the route becomes map/reduce.

    Attributes:
        grounds: The data that it was calibrated on, for a decision's reason.
        embedder: Revision of the embedder with which it was fitted.
        bias: The score if every feature has its mean.
        terms: The terms of the score, by feature.
        threshold: In [0, 1].
        event: The event whose risk it is, a key of `EVENTS`.
    """

    grounds: str
    embedder: str
    bias: float
    terms: Mapping[str, RiskTerm]
    threshold: float
    event: str = LOST

    def score(self, values: Mapping[str, float]) -> float:
        """Return the log odds of a lost key passage, for the features' values by name."""
        return self.bias + sum(term.contribution(values[name]) for name, term in self.terms.items())

    def risk(self, values: Mapping[str, float]) -> float:
        """Return the probability of a lost key passage, to four decimals."""
        return round(0.5 * (1 + math.tanh(0.5 * self.score(values))), 4)

    def flags(self, rows: Iterable[Mapping[str, float]]) -> list[bool]:
        """Return whether each row's risk reaches the threshold."""
        return [self.risk(values) >= self.threshold for values in rows]

    def strongest_signals(self, values: Mapping[str, float], *, risky: bool) -> list[str]:
        """Return the names of the features that contribute most to a high risk (`risky`), or to a low one."""
        sign = 1 if risky else -1
        shares = {name: sign * term.contribution(values[name]) for name, term in self.terms.items()}
        strongest = sorted(shares, key=lambda name: -shares[name])[:MAX_NAMED_SIGNALS]
        return [name for name in strongest if shares[name] > 0]

    def to_json(self) -> dict[str, Any]:
        """Return the model in the form of the weights' file."""
        terms = {
            name: {"weight": term.weight, "mean": term.mean, "scale": term.scale} for name, term in self.terms.items()
        }
        return {
            "grounds": self.grounds,
            "embedder": self.embedder,
            "event": self.event,
            "threshold": self.threshold,
            "bias": self.bias,
            "features": terms,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RiskModel:
        """Return the model in a mapping of the form of `to_json`.

        Raises:
            ValueError: The mapping has another form, an unknown feature or event, or a number out of range.
        """
        try:
            terms = {
                str(name): RiskTerm(float(term["weight"]), float(term["mean"]), float(term["scale"]))
                for name, term in fields["features"].items()
            }
            model = cls(
                str(fields["grounds"]),
                str(fields["embedder"]),
                float(fields["bias"]),
                terms,
                float(fields["threshold"]),
                str(fields.get("event", NOT_NEAREST)),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no {error}") from error
        if unknown := set(model.terms) - set(FEATURES):
            raise ValueError(f"unknown feature {min(unknown)!r}")
        if model.event not in EVENTS:
            raise ValueError(f"unknown event {model.event!r}")
        numbers = (
            model.bias,
            model.threshold,
            *chain.from_iterable((t.weight, t.mean, t.scale) for t in terms.values()),
        )
        if not all(map(math.isfinite, numbers)) or any(term.scale <= 0 for term in terms.values()):
            raise ValueError("a number is out of range")
        return model


def shipped_model() -> RiskModel:
    """Return the shipped model, fitted to all collections."""
    return RiskModel.from_json(_weights()["model"])


def shipped(embedder: str) -> RiskModel | None:
    """Return the shipped model for an embedder, by its revision; None if there is none."""
    model = shipped_model()
    return model if model.embedder == embedder else None


def fold(group: str) -> RiskModel | None:
    """Return the model that was trained without a group of collections; None if there is none."""
    weights = _weights()["without"].get(group)
    return RiskModel.from_json(weights) if weights else None


@lru_cache(maxsize=1)
def _weights() -> dict[str, Any]:
    """Return the content of `risk.json`."""
    weights: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return weights


def fit(
    values: Sequence[Mapping[str, float]],
    issues: Sequence[bool],
    groups: Sequence[str],
    *,
    grounds: str,
    embedder: str,
    recall: float = RECALL,
) -> RiskModel:
    """Return a model with fitted weights, then fitted offset and slope (Platt 1999), then a chosen threshold.

    Args:
        values: The features of each question.
        issues: Whether the first gold passage stood below the reader's first three.
        groups: Each question's collection. Collections weigh the same in offset, slope and threshold.
        grounds: See `RiskModel`.
        embedder: See `RiskModel`.
        recall: Share of the issues that the threshold has to find, on these questions.
    """
    import numpy as np

    x = np.array([[row[name] for name in FEATURES] for row in values])
    y, rows = np.array(issues, dtype=float), evenly(groups)
    # A feature that is equal for all questions has a deviation of 0.
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    weights = fit_weights((x - mean) / scale, y, groups, penalty=PENALTY, balance=BALANCE)
    terms = {
        name: RiskTerm(round(float(w), 4), round(float(m), 4), round(float(s), 4))
        # Rounded to four decimals, a smaller scale would be 0, which `from_json` refuses.
        for name, w, m, s in zip(FEATURES, weights, mean, np.maximum(scale, 1e-4), strict=True)
        if w > 0
    }
    # Offset and threshold are placeholders: `recalibrate` sets both.
    model = RiskModel(grounds, embedder, 0.0, terms, 0.5)
    return recalibrate(model, values, issues, rows, prior=NO_PRIOR, recall=recall)


def recalibrate(
    model: RiskModel,
    values: Sequence[Mapping[str, float]],
    issues: Sequence[bool],
    rows: np.ndarray,
    *,
    prior: float = PRIOR,
    recall: float = RECALL,
) -> RiskModel:
    """Return the model with a new offset, slope and threshold; its weights keep their proportions.

    Args:
        model: The model to start from.
        values: The features of each question.
        issues: Whether the first gold passage was below the reader's first three.
        rows: Weights of the questions, (n,).
        prior: Penalty of the slope's squared distance from 1.
        recall: Share of the issues that the threshold has to find, on these questions.
    """
    import numpy as np

    scores = np.array([model.score(row) for row in values])
    offset, slope = fit_line(scores, np.array(issues, dtype=float), rows, prior=prior)
    terms = {name: replace(term, weight=round(term.weight * slope, 4)) for name, term in model.terms.items()}
    fitted = replace(model, bias=round(offset + slope * model.bias, 4), terms=terms)
    # By the rounded weights, which are the ones that will decide.
    risks = [fitted.risk(row) for row in values]
    return replace(fitted, threshold=choose_threshold(risks, issues, rows.tolist(), recall))


def choose_threshold(risks: Sequence[float], issues: Sequence[bool], rows: Sequence[float], recall: float) -> float:
    """Return the largest threshold, to three decimals, that finds a share of the issues by weight; 0 without issues."""
    issues_by_risk = sorted(
        ((risk, row) for risk, issue, row in zip(risks, issues, rows, strict=True) if issue), reverse=True
    )
    needed_weight, weight = recall * sum(row for _, row in issues_by_risk), 0.0
    for risk, row in issues_by_risk:
        weight += row
        if weight >= needed_weight - 1e-9:
            # Rounded down, so that this issue is still included.
            return math.floor(risk * 1000) / 1000
    return 0.0


def evenly(groups: Sequence[str]) -> np.ndarray:
    """Return weights (n,), of mean 1, that give every group the same total."""
    import numpy as np

    sizes = {group: list(groups).count(group) for group in set(groups)}
    return np.array([len(groups) / len(sizes) / sizes[group] for group in groups])
