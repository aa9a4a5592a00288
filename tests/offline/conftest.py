"""Fixtures of the keyless reader's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from preflight_rag import Preflight
from preflight_rag.offline import answers
from preflight_rag.offline.confidence import ConfidenceModel

HAND_MADE = ConfidenceModel(0.0, {"probability": 1.0}, answered=0.7, evidence=0.3)
"""An answer is as probable as the reader says."""


@pytest.fixture
def hand_made(monkeypatch):
    """Weights by which expected values can be worked out by hand, and that stay when others are trained."""
    monkeypatch.setattr(answers, "confidence_model", lambda: HAND_MADE)


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preflight]:
    """An application without a model over the files that a module gives as `DOCUMENTS`, by their names."""
    folder = tmp_path_factory.mktemp("documents")
    for name, text in request.module.DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as opened:
        assert opened.ingest([folder]).added == len(request.module.DOCUMENTS)
        yield opened
