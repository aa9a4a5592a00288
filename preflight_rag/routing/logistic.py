"""Logistic regression for few features and little data.

Weights are kept from being negative: each feature is taken so that more of it speaks for the event, and where the data
say otherwise it is left out. Every group of rows (a collection) may have an intercept of its own, so that how often the
event happens in a group teaches nothing about the features.

scipy minimises; scikit-learn's `LogisticRegression` has neither bounds on weights nor a prior around another slope than
0. scipy is imported when something is fitted, as it takes a second that no question should pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

INTERCEPT_PENALTY = 1e-6
"""Keeps the intercept of a group finite in which the event always, or never, happened."""
LEAST_SLOPE = 0.05
"""A slope below it would make every question's risk the same; a guess."""
SETTLED = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000, "maxfun": 5000}
"""Far below the four decimals that are kept of a weight."""


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-score)), without overflow."""
    import numpy as np

    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)))


def fit_weights(x: np.ndarray, y: np.ndarray, groups: Sequence[str], *, penalty: float, balance: float) -> np.ndarray:
    """Return the non-negative weights (p,) of standardised features.

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
    # A group of n rows weighs n × n^-balance in all: n at a balance of 0, 1 at a balance of 1.
    rows = member @ member.sum(axis=0) ** -balance
    rows *= len(rows) / rows.sum()
    features = x.shape[1]
    penalties = np.array([penalty] * features + [INTERCEPT_PENALTY] * len(names))
    least = [0.0] * features + [-np.inf] * len(names)
    return _fitted(np.hstack([x, member]), y, rows, penalties, np.zeros(len(penalties)), least)[:features]


def fit_line(scores: np.ndarray, y: np.ndarray, rows: np.ndarray, *, prior: float) -> tuple[float, float]:
    """Return offset and slope that turn scores into probabilities: P = sigmoid(offset + slope × score) (Platt 1999).

    Args:
        scores: (n,).
        y: 1 where the event happened, else 0; (n,).
        rows: Weights of the rows, (n,).
        prior: Penalty of the slope's squared distance from 1, which holds few data back from leaving the scores' own.
    """
    import numpy as np

    design = np.column_stack([np.ones(len(scores)), scores])
    penalties = np.array([INTERCEPT_PENALTY, prior])
    # Bounded in the fit: a slope that is raised behind it leaves an offset that was made for another one.
    offset, slope = _fitted(design, y, rows, penalties, np.array([0.0, 1.0]), [-np.inf, LEAST_SLOPE])
    return float(offset), float(slope)


def _fitted(
    design: np.ndarray, y: np.ndarray, rows: np.ndarray, penalties: np.ndarray, centre: np.ndarray, least: list[float]
) -> np.ndarray:
    """Return the weights with the least loss: that of the rows plus their penalised distance from `centre`."""
    import numpy as np
    from scipy.optimize import minimize

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss at some weights, and its gradient."""
        scores, away = design @ at, at - centre
        # log(1 + exp(score)), which does not overflow for large scores.
        value = (rows * (np.logaddexp(0, scores) - y * scores)).sum() + (penalties * away**2).sum() / 2
        return float(value), design.T @ (rows * (sigmoid(scores) - y)) + penalties * away

    bounds = [(low, None) for low in least]
    found: np.ndarray = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=SETTLED).x
    return found
