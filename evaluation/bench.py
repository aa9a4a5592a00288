"""The common parts of experiments with arms: the questions, the run's model, and the library that is searched.

The rest of an experiment is then:

    with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
        passages = bench.retrieved()
        rows = bench.ask([plain(bench.reader), map_reduce(bench.reader)], lambda sample: passages[sample.id])
    return bench.report("name", compare(rows, baseline=RAG).tables(), rows, ...)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

from evaluation.harness.arms import Arm, run_arms
from evaluation.harness.asking import Asking, open_asking
from evaluation.harness.replies import REPEAT
from evaluation.plots import Plot
from evaluation.report import Report, Table, checksums
from evaluation.rows import ScoreRow, complete, samples_of
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, check_selection
from evaluation.searched import SETTINGS, SearchedLibrary, open_searched
from evaluation.stages import Turns
from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

SCORED = ("choice", "yes/no", "claim", "short", "list")
"""Kinds of questions whose answers can be scored by rule."""


@dataclass(frozen=True)
class Bench:
    """A run's questions, model and reader.

    Attributes:
        found: The data set.
        run: The options of the run.
        questions: The questions to ask.
        asking: The model, with its concurrency and budget.
        reader: The model's reader, or the offline one.
        inputs: Everything that the numbers depend on, for the manifest.
    """

    found: DataSet
    run: ExperimentRun
    questions: tuple[Sample, ...]
    asking: Asking
    reader: Reader
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name in tables."""
        return self.asking.name

    @property
    def offline(self) -> bool:
        """Whether there is no language model."""
        return self.asking.chat_model is None

    def ask(
        self,
        arms: Sequence[Arm],
        passages: Callable[[Sample], Sequence[Source] | Mapping[str, Sequence[Source]]],
        questions: Sequence[Sample] | None = None,
    ) -> list[ScoreRow]:
        """Ask the arms the questions, under each condition with the same passages; return one row for each answer.

        With `repeats` of the run, all of it is repeated, with a model that may answer differently; each row's details
        have the number of the repetition, and measures use the mean of a question's rows.

        Raises:
            UsageError: Repeats are requested without a language model, which always gives the same answers.
        """
        chosen = self.questions if questions is None else questions
        if self.run.repeats > 1 and self.offline:
            raise UsageError(
                f"{self.run.repeats} repeats of a reader without a model would be the same",
                help="Name a model (--model), or leave --repeats out.",
            )
        rows: list[ScoreRow] = []
        for repeat in range(self.run.repeats):
            mark = REPEAT.set(repeat)
            try:
                asked = run_arms(arms, chosen, passages, self.asking, f"{self.found.name}: questions")
                made = asyncio.run(asked)
            finally:
                REPEAT.reset(mark)
            rows += [replace(row, details={**row.details, "repeat": repeat + 1}) if repeat else row for row in made]
        return rows

    def over_repeats(
        self, rows: Sequence[ScoreRow], named: Callable[[ScoreRow], str], title: str = "Over repeated runs"
    ) -> tuple[tuple[Table, ...], dict[str, Any]]:
        """Return mean and standard deviation of the share of right answers over the repetitions, by `named(row)`.

        Empty without repetitions.
        """
        if self.run.repeats < 2:
            return (), {}
        scores: dict[str, dict[int, list[float]]] = {}
        for row in complete(rows):
            by_repeat = scores.setdefault(named(row), {})
            by_repeat.setdefault(int(row.details.get("repeat", 1)), []).append(row.score or 0.0)
        numbers: dict[str, dict[str, Any]] = {}
        lines = []
        for name, by_repeat in scores.items():
            runs = [fmean(values) for _, values in sorted(by_repeat.items())]
            spread = stdev(runs) if len(runs) > 1 else None
            numbers[name] = {"mean": fmean(runs), "sd": spread, "runs": runs}
            shown = "–" if spread is None else f"{100 * spread:.2f}"
            each = " / ".join(f"{100 * share:.2f}" for share in runs)
            lines.append((name, f"{100 * fmean(runs):.2f}", shown, each))
        note = f"Standard deviation (n − 1) over {self.run.repeats} runs of the model over the same questions."
        return (Table(title, ("", "right %", "SD", "each run"), tuple(lines), note),), numbers

    def report(
        self,
        experiment: str,
        tables: Sequence[Table],
        rows: Sequence[ScoreRow],
        figures: Mapping[str, Any],
        plots: Sequence[Plot] = (),
        *,
        about: str = "",
        more: str = "",
        **settings: Any,
    ) -> Report:
        """Return the report of an experiment.

        Args:
            experiment: Its name.
            tables: Its tables.
            rows: The rows of all answers.
            figures: The tables' numbers.
            plots: Its plots.
            about: What was measured, in one line; without it, the number of questions and the model.
            more: A further sentence.
            **settings: Further settings that the numbers depend on, for the manifest.
        """
        asked = len(samples_of(complete(rows)))
        line = about or f"{asked:,} questions ({self.run.part} part), {self.model}."
        return Report(
            experiment=experiment,
            dataset=self.found.title,
            about=f"{line} {more}".strip(),
            tables=tuple(tables),
            rows=tuple(rows),
            figures=dict(figures),
            inputs={**self.inputs, "model": self.model, **settings},
            plots=tuple(plots),
        )


@dataclass(frozen=True, kw_only=True)
class SearchBench(Bench):
    """A bench over the library of the data set's own corpus; `searched` is that library."""

    searched: SearchedLibrary

    @property
    def turns(self) -> Turns:
        """Return whole turns over the library."""
        return Turns(
            self.reader, self.searched.library, turn_settings(self.run).extractive_reader, self.searched.reranker
        )

    def retrieved(self, k: int = SETTINGS.k) -> dict[str, tuple[Source, ...]]:
        """Return the k passages that a turn retrieves, best first, by sample id."""
        return {question.id: self.searched.retrieved(question, k) for question in self.in_turn()}

    def in_turn(self) -> Iterator[Sample]:
        """Yield the questions, reporting progress of their searches."""
        return self.run.each(self.questions, f"{self.found.name}: searches")


@contextmanager
def open_bench(
    found: DataSet, run: ExperimentRun, questions: Callable[[SearchedLibrary], Sequence[Sample]]
) -> Iterator[SearchBench]:
    """Yield a bench over the library of a data set's corpus and the run's model, for the selected questions.

    Raises:
        UsageError: The set has nothing to search, or no such question.
    """
    with open_searched(found, run) as searched:
        chosen = tuple(questions(searched))
        with open_asking(run, chosen, searched.gold_texts(chosen)) as asking:
            reader = asking.reader(searched.library.embedder)
            yield SearchBench(found, run, chosen, asking, reader, dict(searched.inputs), searched=searched)


def given_sources(question: Sample) -> list[Source]:
    """Return the passages that come with a question, numbered from 1."""
    return [
        Source(n, given.id, given.title, given.text, given.source, given.date or None)
        for n, given in enumerate(question.given, 1)
    ]


def data_inputs(found: DataSet) -> dict[str, Any]:
    """Return the settings that numbers depend on if they come from a data set alone, for the manifest."""
    return {"source": found.source, "licence": found.licence, "sha256": checksums(found.files)}


def of_kinds(found: DataSet, run: ExperimentRun, kinds: Sequence[str] = SCORED) -> tuple[Sample, ...]:
    """Return those questions of the run's part and limit that are of these kinds and have an answer for comparison.

    Raises:
        UsageError: As `DataSet.select`, or there is no such question.
    """
    check_selection(run.part, run.limit)
    chosen = [q for q in found.select(run.part) if q.kind in kinds and (q.options or q.answers or "long" in kinds)]
    if not chosen:
        raise UsageError(
            f"{found.name} has no question of the kinds {', '.join(kinds)} in its {run.part} part",
            help="Choose another data set, or --part all.",
        )
    return tuple(chosen[: run.limit])


def turn_settings(run: ExperimentRun) -> Settings:
    """Return the settings of whole turns: `SETTINGS` with the run's extractive reader, if a turn can use it."""
    own = "default" if run.extractive_reader.endswith(".onnx") else run.extractive_reader
    return SETTINGS.model_copy(update={"extractive_reader": own})
