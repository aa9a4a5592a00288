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
    """Where an experiment lives, what it measures, in a few words, and which module's `open_dataset` reads its data.

    `usual` are the data sets that it is run on when none is named.
    """

    module: str
    summary: str
    datasets: str = ".datasets"
    usual: tuple[str, ...] = ("bioasq",)


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
    "pruning": Entry(
        ".pruning", "which tokens a language model is spared by the reader, and which answers are lost", ".pruning_sets"
    ),
    "statements": Entry(".support", "whether the reader tells supported statements from others", ".support_sets"),
    "summaries": Entry(
        ".summaries", "how near selected sentences come to summaries that people wrote", ".summary_datasets"
    ),
    "reading": Entry(
        ".reading",
        "the extractive reader's spans, answerability and verdicts on given passages",
        ".reading_sets",
        ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "clapnq", "bioasq", "pubmedqa", "scifact"),
    ),
    "answering": Entry(
        ".answering",
        "right answers shown with a right passage cited, by the whole pipeline",
        ".answering_sets",
        ("biomix-bioasq", "ramdocs"),
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
        extractive_reader: As the setting of that name; `reading` and `answering` also take a network's `.onnx` file.
        progress: Called with the stage's name, what is done and what there is to do.
    """

    part: str = "test"
    limit: int | None = None
    seed: int = 0
    embedder: str | None = None
    library_cache: Path | None = None
    extractive_reader: str = "default"
    progress: Progress = no_progress


def run(experiment: str, data: Path | None, datasets: Sequence[str], settings: Run) -> list[Report]:
    """Run an experiment over data sets, or its usual ones where none is named, one report each.

    Raises:
        UsageError: The experiment, a data set or a part is unknown, or a file is missing.
        UnreadableDocument: A data file is damaged.
    """
    if experiment not in EXPERIMENTS:
        raise UsageError(f"the experiment {experiment!r} is unknown", help=f"Choose {' or '.join(EXPERIMENTS)}.")
    entry = EXPERIMENTS[experiment]
    open_dataset = import_module(entry.datasets, __package__).open_dataset
    collections = [open_dataset(name, data) for name in dict.fromkeys(datasets or entry.usual)]
    module = import_module(entry.module, __package__)
    return [module.run(collection, settings) for collection in collections]
