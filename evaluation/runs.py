"""What a run is given besides the data: which questions, which model, what may be spent, and whom to tell."""

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
    """What an experiment is given besides the data.

    Attributes:
        part: test, development or all: which questions.
        limit: How many of them, or None for all.
        seed: Of every random number.
        embedder: As `open_embedder` takes it; None is the default one. `pairs` takes several, with commas between.
        document_embedder: Of CPQA's search for documents; None is `embedder`.
        passage_embedder: Of CPQA's search for passages in them; None is `embedder`. `cpqa-splitters` takes two, with a
            comma between.
        rerankers: Second stages, as `open_reranker` takes them: those of `pairs`, the one of `sources` and `cpqa…`;
            none stands for those that need no other model.
        order: Which order the passages of BriefContext's experiments come in: a turn's (`turn`), or the dense ranking's
            alone (`dense`), as the paper has it.
        repeats: How often each question is put to a language model by BriefContext's experiments.
        fill: Whether the experiments on diversity fill a budget with units that still fit, behind the first that does
            not.
        documents: How many documents of a collection are searched: those that answer, and a sample of the others; None
            is all. Selections from a long document of the question's own are made from the whole.
        library_cache: Where libraries of collections are kept; None is the user's cache.
        extractive_reader: As the setting of that name; `reading` and `answering` also take a network's `.onnx` file.
        progress: Called with the stage's name, what is done and what there is to do.
        model: `offline`, `provider:name`, or `simulated`; `harness.asking.open_asking` opens it.
        concurrency: Most cases that are put to the model at a time.
        budget: What may be spent on the model, and what was, over all data sets of the run.
        reply_cache: The file in which its replies are kept; None is one in the user's cache.
        warn: Called with what went wrong on the way and did not end the run, in one line.
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
        """Yield the items in turn, with progress behind each."""
        for done, item in enumerate(items, 1):
            yield item
            self.progress(stage, done, len(items))
