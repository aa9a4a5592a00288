"""Fixtures of the keyless reader's tests."""

from __future__ import annotations

import pytest

from preflight_rag.offline import answers
from preflight_rag.offline.confidence import ConfidenceModel

HAND_MADE = ConfidenceModel(0.0, {"probability": 1.0}, answered=0.7, evidence=0.3)
"""An answer is as probable as the reader says."""


@pytest.fixture
def hand_made(monkeypatch):
    """Weights by which expected values can be worked out by hand, and that stay when others are trained."""
    monkeypatch.setattr(answers, "confidence_model", lambda: HAND_MADE)
