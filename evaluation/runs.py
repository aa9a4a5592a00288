"""The options of a run: which questions, which model, which budget, and where progress is reported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from evaluation.harness.budget import Budget

Progress: TypeAlias = Callable[[str, int, int], None]
T = TypeVar("T")
Order = Literal["turn", "dense"]


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def to_stderr(line: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"{line}\n")


@dataclass(frozen=True)
class ExperimentRun:
    """The options of an experiment.

    Attributes:
        part: Which questions: test, development or all.
        limit: How many of them, or None for all.
        seed: Seed of every random number.
        embedder: An argument of `open_embedder`; None is the default one. `pairs` takes several, separated by commas.
        document_embedder: Embedder of CPQA's search for documents; None is `embedder`.
        passage_embedder: Embedder of CPQA's search for passages in them; None is `embedder`. `cpqa-splitters` takes
            two, separated by a comma.
        rerankers: Second stages, as arguments of `open_reranker`: those of `pairs`, the one of `sources` and `cpqa…`;
            empty stands for those that need no other model.
        order: The order of the passages in BriefContext's experiments: a turn's (`turn`), or the dense ranking's alone
            (`dense`), as in the paper.
        repeats: How often each question is asked in BriefContext's experiments.
        fill: Whether the experiments on diversity fill a budget with units that still fit, after the first that does
            not.
        documents: How many documents of a collection are searched: those that answer, and a sample of the others; None
            is all. Selections from a question's own long document use the whole.
        library_cache: Folder of the collections' libraries; None is the user's cache.
        extractive_reader: As the setting of that name; `reading` and `answering` also take a network's `.onnx` file.
        progress: Called with the stage's name, the number done and the total.
        model: `offline`, `provider:name`, or `simulated`; `harness.asking.open_asking` opens it.
        concurrency: Most cases that run at a time.
        budget: The budget for the model, and the spending over all data sets of the run.
        reply_cache: The file of cached replies; None is one in the user's cache.
        warn: Called with problems that did not end the run, in one line.
    """

    part: str = "test"
    limit: int | None = None
    seed: int = 0
    embedder: str | None = None
    document_embedder: str | None = None
    passage_embedder: str | None = None
    rerankers: tuple[str, ...] = ()
    documents: int | None = None
    order: Order = "turn"
    repeats: int = 1
    fill: bool = False
    library_cache: Path | None = None
    extractive_reader: str = "default"
    progress: Progress = no_progress
    model: str = "offline"
    concurrency: int = 16
    budget: Budget = field(default_factory=Budget)
    reply_cache: Path | None = None
    warn: Callable[[str], None] = to_stderr

    def each(self, items: Sequence[T], stage: str) -> Iterator[T]:
        """Yield the items in turn, reporting progress after each."""
        for done, item in enumerate(items, 1):
            yield item
            self.progress(stage, done, len(items))
