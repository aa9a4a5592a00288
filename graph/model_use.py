"""How a turn uses its model, and after which errors the turn goes on without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from preflight_rag.models.budget import SharedBudget
from preflight_rag.state.errors import (
    AllPartitionsFailed,
    BadReply,
    BudgetUsedUp,
    LocalModelError,
    ModelAuthError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    PreflightError,
    ReadsTooSlowly,
    UnknownModel,
)
from preflight_rag.state.values import Gap

LOST = (
    *(ModelUnavailable, ModelTimeout, ModelRateLimited, ModelAuthError, UnknownModel, AllPartitionsFailed),
    LocalModelError,
)
"""Errors after which a turn can continue without its model; an error about a single reply is not among them."""
NO_REPLY = "no_reply"
"""Stage named in the gap of a turn whose model answered without a usable reply."""


def is_lost(error: PreflightError) -> bool:
    """Return whether a turn can continue without its model after this error.

    A reply that cannot come from a model server counts as well; a model that reads too slowly does not.
    """
    if isinstance(error, ReadsTooSlowly):
        return False
    return isinstance(error, LOST) or (isinstance(error, BadReply) and error.reason == "malformed")


@dataclass(frozen=True)
class ModelUse:
    """The limits and options with which a turn uses its model.

    Attributes:
        sampling: Options of each call, as LangChain's chat models take them, such as `{"temperature": 0.2}`.
        or_offline: Whether the offline reader replaces a model that cannot be reached.
        missing: Why the turn runs without its model from the start; recorded among the answer's gaps.
        purses: Budgets that the turn's calls count against, besides its own.
    """

    sampling: Mapping[str, Any] = field(default_factory=dict)
    or_offline: bool = False
    missing: Gap | None = None
    purses: Sequence[SharedBudget] = ()

    def lost(self, model: str, error: PreflightError) -> ModelUse:
        """Return a copy for continuing without the model, with the error as the reason."""
        loss = "model" if is_lost(error) else NO_REPLY
        stage = "budget" if isinstance(error, BudgetUsedUp) else loss
        return replace(self, missing=Gap(stage=stage, item=model, error=str(error)))
