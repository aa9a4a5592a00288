"""Calibration of the preflight for one library: fitting its own model of the risk (`risk.py` stores it)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from preflight_rag.routing.known_questions import KnownQuestion
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.risk import FULL_REFIT, LOST, RECALL, RiskModel, evenly, fit, recalibrate, shipped_model
from preflight_rag.routing.risk_features import TOP, risk_features
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.schema import PassageRef

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.collection import Collection

MIN_QUESTIONS = 30
"""Least number of questions; a guess."""
MIN_OF_EACH_KIND = 5
"""Least number of issues, and of questions that are none; a guess."""
USUAL_ISSUES = 0.14
"""Share of issues that made questions are weighed to have: the mean of the five collections that the shipped model was
calibrated on (1.6 % of BioASQ's development questions to 21 % of Cranfield's)."""
FOLDS = 5
"""Number of parts of the questions, each judged by a model that is fitted on the others (cross-validation)."""

Retrieved: TypeAlias = tuple[list[PassageRef], list[Source]]
Retrieve: TypeAlias = Callable[[str], Retrieved]
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class CalibrationCase:
    """A question's features, and whether its key passage was at risk.

    Attributes:
        values: The features by name.
        issue: Whether passages of its documents were retrieved, but all below the reader's first three.
        absent: Whether no such passage was retrieved; that is no issue, because reading in parts would not help.
    """

    values: Mapping[str, float]
    issue: bool
    absent: bool = False


@dataclass(frozen=True)
class Operation:
    """A model's performance on questions, by their weights: shares in [0, 1]; None if they cannot be computed."""

    threshold: float
    flagged: float
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class Calibration:
    """A library's own model, compared with the one used before.

    Attributes:
        model: The fitted model.
        questions: Number of questions.
        issues: Number of questions that were issues.
        made: Whether the questions were made from the library's own passages.
        before: The performance of the former model.
        after: The performance of the fitted model.
    """

    model: RiskModel
    questions: int
    issues: int
    made: bool
    before: Operation | None
    after: Operation

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as `preflight calibrate --json` prints it."""
        return {**asdict(self), "model": self.model.to_json()}


def calibrate(
    library: Collection,
    questions: Sequence[KnownQuestion],
    *,
    made: bool = False,
    retrieve: Retrieve | None = None,
    start: RiskModel | None = None,
    recall: float = RECALL,
    progress: Progress = lambda done, total: None,
) -> Calibration:
    """Fit a library's own model to questions with known documents; nothing is written.

    Of fewer than `FULL_REFIT` questions, and of made ones, only offset and slope over the shipped weights are learned.
    Made questions are weighed so that `USUAL_ISSUES` of them are issues, and leave the threshold as it was: the issues
    among them are easier to predict than those of real questions.

    Args:
        library: The library.
        questions: The questions to learn from.
        made: Whether they were made of the library's own passages.
        retrieve: Returns the passages of a question; by default `turn_passages` with default settings.
        start: The model whose weights are kept if only offset and slope are learned; by default the shipped model.
        recall: Share of the issues that the threshold has to find.
        progress: Called with the number of questions done, and of all.

    Raises:
        UsageError: Too few questions, or too few that are issues or none; a document is not in the library.
    """
    check_questions(library, questions)
    cases = measure(questions, retrieve or turn_passages(library, Settings()), progress)
    issues = sum(case.issue for case in cases)
    if min(issues, len(cases) - issues) < MIN_OF_EACH_KIND:
        raise UsageError(
            f"of {len(cases)} questions {issues} have their first known passage below the first {TOP} of those "
            f"retrieved: at least {MIN_OF_EACH_KIND} must and {MIN_OF_EACH_KIND} must not",
            help="Give more questions, or more varied ones.",
        )
    revision = library.embedder.revision
    grounds = f"calibrated on {len(cases)} questions {'made of' if made else 'asked of'} this library"
    # The questions say whether the key passage was lost, whatever event the first model was fitted to.
    initial_model = replace(start or shipped_model(), grounds=grounds, embedder=revision, event=LOST)
    fits_all_weights = not made and len(cases) >= FULL_REFIT

    def weights_of(some_cases: Sequence[CalibrationCase]) -> np.ndarray:
        """Return the weights of cases, (n,), of mean 1."""
        return weights_of_made_questions(some_cases) if made else evenly([""] * len(some_cases))

    def fit_model(some_cases: Sequence[CalibrationCase]) -> RiskModel:
        """Return the model fitted to some of the cases."""
        values, truth = [case.values for case in some_cases], [case.issue for case in some_cases]
        weights = weights_of(some_cases)
        if fits_all_weights:
            return fit(values, truth, [""] * len(some_cases), grounds=grounds, embedder=revision, recall=recall)
        if made:
            return replace(recalibrate(initial_model, values, truth, weights), threshold=initial_model.threshold)
        return recalibrate(initial_model, values, truth, weights, recall=recall)

    flags = [False] * len(cases)
    # Made questions come in a cycle of lengths; shifted by one each round, every fold has all of them.
    folds = [(i + i // FOLDS) % FOLDS for i in range(len(cases))]
    for fold in range(FOLDS):
        fold_model = fit_model([case for case, own_fold in zip(cases, folds, strict=True) if own_fold != fold])
        for i, case in enumerate(cases):
            if folds[i] == fold:
                flags[i] = fold_model.risk(case.values) >= fold_model.threshold
    model, former, weights = fit_model(cases), risk_model_of(library), weights_of(cases)
    before = None
    if former is not None:
        before = _performance(former.flags(case.values for case in cases), cases, weights, former.threshold)
    return Calibration(model, len(cases), issues, made, before, _performance(flags, cases, weights, model.threshold))


def check_questions(library: Collection, questions: Sequence[KnownQuestion]) -> None:
    """Raise an error if there are too few questions, or a document of them is not in the library.

    Raises:
        UsageError: Either is the case.
    """
    if len(questions) < MIN_QUESTIONS:
        raise UsageError(
            f"{len(questions)} questions are too few to calibrate on",
            help=f"Give {MIN_QUESTIONS} or more, in --questions or by --count.",
        )
    known = {row["id"] for row in library.documents()}
    unknown = sorted(set(chain.from_iterable(question.documents for question in questions)) - known)
    if unknown:
        raise UsageError(
            f"{len(unknown)} documents of the questions are not in the library, first {unknown[0]!r}",
            help="Document ids are a record's own id, else the file's absolute path: see `preflight search --json`.",
        )


def measure(
    questions: Sequence[KnownQuestion], retrieve: Retrieve, progress: Progress = lambda done, total: None
) -> list[CalibrationCase]:
    """Return a case for each question: its features, and whether it was an issue."""
    cases = []
    for done, known in enumerate(questions, 1):
        refs, sources = retrieve(known.question)
        values = risk_features(known.question, refs, sources)
        cases.append(CalibrationCase(values, is_issue(refs, known.documents), is_absent(refs, known.documents)))
        progress(done, len(questions))
    return cases


def is_issue(refs: Sequence[PassageRef], documents: frozenset[str]) -> bool:
    """Return whether passages of the documents were retrieved, the best of them below the reader's first three.

    BriefContext (section 5.3) asks this of the dense ranking. A model loses passages by their place in the
    prompt, so here the order of the prompt is used.
    """
    return min(_ranks_of(refs, documents), default=0) > TOP


def is_absent(refs: Sequence[PassageRef], documents: frozenset[str]) -> bool:
    """Return whether no passage of the documents is among the passages."""
    return not _ranks_of(refs, documents)


def _ranks_of(refs: Sequence[PassageRef], documents: frozenset[str]) -> list[int]:
    """Return the ranks, from 1, at which passages of the documents were retrieved."""
    return [ref["rank"] for ref in refs if ref["document_id"] in documents]


def turn_passages(library: Collection, settings: Settings) -> Retrieve:
    """Return the retrieval function of a turn with these settings, for standalone questions without parts."""
    from preflight_rag.library.search.retrieval import retrieve_passages

    def retrieve(question: str) -> Retrieved:
        """Return the passages for a question, as a turn retrieves them."""
        result = retrieve_passages(library, [question], settings)
        return result.references(), result.sources()

    return retrieve


def weights_of_made_questions(cases: Sequence[CalibrationCase]) -> np.ndarray:
    """Return weights (n,), of mean 1, under which `USUAL_ISSUES` of the cases are issues."""
    import numpy as np

    issues = np.array([case.issue for case in cases], dtype=float)
    issue_share = issues.mean()
    # Without the questions of one fold there may be no issue at all.
    issue_weight, other_weight = USUAL_ISSUES / max(issue_share, 1e-9), (1 - USUAL_ISSUES) / max(1 - issue_share, 1e-9)
    weights: np.ndarray = np.where(issues > 0, issue_weight, other_weight)
    return weights


def _performance(
    flags: Sequence[bool], cases: Sequence[CalibrationCase], weights: np.ndarray, threshold: float
) -> Operation:
    """Return the performance of a model's flags on cases, weighted by `weights` (n,)."""
    issues = found_issues = flagged = 0.0
    for flag, case, weight in zip(flags, cases, weights.tolist(), strict=True):
        issues += weight * case.issue
        flagged += weight * flag
        found_issues += weight * (flag and case.issue)
    return Operation(
        threshold=threshold,
        flagged=round(flagged / float(weights.sum()), 4),
        recall=round(found_issues / issues, 4) if issues else None,
        precision=round(found_issues / flagged, 4) if flagged else None,
    )
