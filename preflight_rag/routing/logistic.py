"""Logistic regression for few features and little data, with numpy alone.

Weights are kept from being negative: each feature is taken so that more of it speaks for the event, and where the data
say otherwise it is left out. Every group of rows (a collection) may have an intercept of its own, so that how often the
event happens in a group teaches nothing about the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

STEPS = 50
SETTLED = 1e-8


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-score)), without overflow."""
    import numpy as np

    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)))


def fit_weights(x: np.ndarray, y: np.ndarray, groups: Sequence[str], *, penalty: float, balance: float) -> np.ndarray:
    """Weights (p,), none negative, of standardised features.

    Args:
        x: Features (n, p), each column of mean 0 and deviation 1.
        y: 1 where the event happened, else 0; (n,).
        groups: Each row's group; a group has its own intercept.
        penalty: Of the squared weights (L2); intercepts have none.
        balance: 0 weighs every row the same, 1 every group.
    """
    import numpy as np

    names = sorted(set(groups))
    member = np.array([[group == name for name in names] for group in groups], dtype=float)
    rows = member @ member.sum(axis=0) ** -balance
    rows *= len(rows) / rows.sum()
    used = list(range(x.shape[1]))
    while True:
        design = np.hstack([x[:, used], member])
        penalties = np.array([penalty] * len(used) + [1e-6] * len(names))
        found = _newton(design, y, rows, penalties, np.zeros(len(penalties)))[: len(used)]
        if not used or found.min() >= 0:
            weights = np.zeros(x.shape[1])
            weights[used] = found
            return weights
        used.pop(int(found.argmin()))


def fit_line(scores: np.ndarray, y: np.ndarray, rows: np.ndarray, *, prior: float) -> tuple[float, float]:
    """Offset and slope that make probabilities of scores: P = sigmoid(offset + slope × score) (Platt 1999).

    Args:
        scores: (n,).
        y: 1 where the event happened, else 0; (n,).
        rows: Weights of the rows, (n,).
        prior: Penalty of the slope's squared distance from 1, which holds few data back from leaving the scores' own.
    """
    import numpy as np

    design = np.column_stack([np.ones(len(scores)), scores])
    centre = np.array([0.0, 1.0])
    offset, slope = _newton(design, y, rows, np.array([1e-6, prior]), centre)
    return float(offset), max(float(slope), 0.05)


def _newton(
    design: np.ndarray, y: np.ndarray, rows: np.ndarray, penalties: np.ndarray, centre: np.ndarray
) -> np.ndarray:
    """Newton's method, each step halved until the loss does not grow."""
    import numpy as np

    def loss(at: np.ndarray) -> float:
        scores = design @ at
        return float((rows * (np.logaddexp(0, scores) - y * scores)).sum() + (penalties * (at - centre) ** 2).sum() / 2)

    weights = centre.copy()
    for _ in range(STEPS):
        chance = sigmoid(design @ weights)
        slope = design.T @ (rows * (y - chance)) - penalties * (weights - centre)
        curve = (design.T * (rows * chance * (1 - chance))) @ design + np.diag(penalties)
        step = np.linalg.solve(curve, slope)
        before = loss(weights)
        while loss(weights + step) > before and abs(step).max() > SETTLED:
            step = step / 2
        weights = weights + step
        if abs(step).max() < SETTLED:
            break
    return weights
