"""The experiments by name, what each is given, and how one is run over data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..state.errors import UsageError

if TYPE_CHECKING:
    from .report import Report

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Entry:
    """Where an experiment lives, what it measures, in a few words, and which module's `open_dataset` reads its data."""

    module: str
    summary: str
    datasets: str = ".datasets"


EXPERIMENTS = {
    "retrieval": Entry(".retrieval", "recall, MRR and nDCG of the dense, BM25 and fused rankings"),
    "rewriting": Entry(".rewriting", "spelling by rules on planted slips, and what the ladder of expressions finds"),
    "reranking": Entry(".reranking", "what a second stage adds to the dense, BM25 and fused rankings"),
    "preflight": Entry(".preflight", "how well the preflight predicts that the key passage would be lost"),
    "hsrdr": Entry(".hsrdr", "what semantic search, Boolean search and both find, and where it comes to stand"),
    "calibration": Entry(".calibration", "the calibrated preflight beside the IoU rule, on collections it never saw"),
    "splitting": Entry(
        ".splitting", "how much of an answer's span each splitter's chunks bring in equal budgets", ".span_datasets"
    ),
    "diversity": Entry(
        ".diversity", "how much of what is relevant MMR and FPS bring into a token budget", ".unit_datasets"
    ),
    "summaries": Entry(
        ".summaries", "how near selected sentences come to summaries that people wrote", ".summary_datasets"
    ),
}


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Run:
    """What an experiment is given besides the data.

    Attributes:
        part: test, development or all: which questions.
        limit: How many of them, or None for all.
        seed: Of every random number.
        embedder: As `open_embedder` takes it; None is the default one.
        library_cache: Where libraries of collections are kept; None is the user's cache.
        progress: Called with the stage's name, what is done and what there is to do.
    """

    part: str = "test"
    limit: int | None = None
    seed: int = 0
    embedder: str | None = None
    library_cache: Path | None = None
    progress: Progress = no_progress


def run(experiment: str, data: Path | None, datasets: Sequence[str], settings: Run) -> list[Report]:
    """Run an experiment over data sets, one report each.

    Raises:
        UsageError: The experiment, a data set or a part is unknown, or a file is missing.
        UnreadableDocument: A data file is damaged.
    """
    if experiment not in EXPERIMENTS:
        raise UsageError(f"the experiment {experiment!r} is unknown", help=f"Choose {' or '.join(EXPERIMENTS)}.")
    entry = EXPERIMENTS[experiment]
    open_dataset = import_module(entry.datasets, __package__).open_dataset
    collections = [open_dataset(name, data) for name in dict.fromkeys(datasets)]
    module = import_module(entry.module, __package__)
    return [module.run(collection, settings) for collection in collections]
