"""What tests of experiments share: small parts of published sets, sets made by hand, and a scripted server as model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paper_files import small_sets

from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.testing.scripted_server import ScriptedServer


@pytest.fixture(scope="session")
def small(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_sets(data_dir, tmp_path_factory.getbasetemp() / "paper-files")


@pytest.fixture
def as_set(tmp_path: Path) -> Callable[..., DataSet]:
    """Makes a data set of samples."""
    path = tmp_path / "made.jsonl"
    path.write_text("{}\n", encoding="utf-8")

    def make(*samples: Sample) -> DataSet:
        return DataSet("made", "Made", "here", "none", (path,), samples)

    return make


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ExperimentRun]:
    """A run whose model is a scripted server's."""

    def make(server: ScriptedServer, **settings: Any) -> ExperimentRun:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        given = {"part": "all", "model": "openai:scripted", "reply_cache": tmp_path / "replies.db", **settings}
        return ExperimentRun(**given)

    return make
