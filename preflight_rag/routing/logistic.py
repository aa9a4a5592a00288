"""Logistic regression for few features and little data.

Weights are not negative: each feature is defined so that more of it makes the event likelier; if the data say
otherwise, its weight is 0. Every group of rows (a collection) may have an intercept of its own, so that the frequency
of the event in a group does not influence the weights.

scipy minimises the loss; scikit-learn's `LogisticRegression` has neither bounds on weights nor a prior around another
slope than 0. scipy is imported when something is fitted, as it takes a second that no question should pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

INTERCEPT_PENALTY = 1e-6
"""Penalty of squared intercepts. It keeps that of a group finite in which the event always, or never, happened."""
MIN_SLOPE = 0.05
"""Least slope; a smaller one would give every question about the same risk. A guess."""
MINIMISER_OPTIONS = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000, "maxfun": 5000}
"""Tolerances of the minimiser, far below the four decimals that are kept of a weight, and its limits."""


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
        penalty: Penalty of the squared weights (L2).
        balance: 0 gives every row the same weight, 1 every group.
    """
    import numpy as np

    names = sorted(set(groups))
    membership = np.array([[group == name for name in names] for group in groups], dtype=float)
    # A group of n rows weighs n × n^-balance in all: n at a balance of 0, 1 at a balance of 1.
    row_weights = membership @ membership.sum(axis=0) ** -balance
    row_weights *= len(row_weights) / row_weights.sum()
    feature_count = x.shape[1]
    penalties = np.array([penalty] * feature_count + [INTERCEPT_PENALTY] * len(names))
    minima = [0.0] * feature_count + [-np.inf] * len(names)
    return _minimise_loss(np.hstack([x, membership]), y, row_weights, penalties, np.zeros(len(penalties)), minima)[
        :feature_count
    ]


def fit_line(scores: np.ndarray, y: np.ndarray, rows: np.ndarray, *, prior: float) -> tuple[float, float]:
    """Return offset and slope that turn scores into probabilities: P = sigmoid(offset + slope × score) (Platt 1999).

    Args:
        scores: (n,).
        y: 1 where the event happened, else 0; (n,).
        rows: Weights of the rows, (n,).
        prior: Penalty of the slope's squared distance from 1, so that few data change the scores little.
    """
    import numpy as np

    design = np.column_stack([np.ones(len(scores)), scores])
    penalties = np.array([INTERCEPT_PENALTY, prior])
    # The slope is bounded within the fit: if it were raised afterwards, the offset would not belong to it.
    offset, slope = _minimise_loss(design, y, rows, penalties, np.array([0.0, 1.0]), [-np.inf, MIN_SLOPE])
    return float(offset), float(slope)


def _minimise_loss(
    design: np.ndarray, y: np.ndarray, rows: np.ndarray, penalties: np.ndarray, centre: np.ndarray, least: list[float]
) -> np.ndarray:
    """Return the weights (p,) of least loss: the rows' log loss plus the penalised squared distance from `centre`.

    Args:
        design: Features (n, p).
        y: 1 where the event happened, else 0; (n,).
        rows: Weights of the rows, (n,).
        penalties: Penalty of each weight, (p,).
        centre: The weights without a penalty, at which the search starts; (p,).
        least: Lower bound of each weight.
    """
    import numpy as np
    from scipy.optimize import minimize

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss at some weights, and its gradient."""
        scores, distance = design @ weights, weights - centre
        # log(1 + exp(score)), which does not overflow for large scores.
        value = (rows * (np.logaddexp(0, scores) - y * scores)).sum() + (penalties * distance**2).sum() / 2
        return float(value), design.T @ (rows * (sigmoid(scores) - y)) + penalties * distance

    bounds = [(low, None) for low in least]
    result = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=MINIMISER_OPTIONS)
    weights: np.ndarray = result.x
    return weights
