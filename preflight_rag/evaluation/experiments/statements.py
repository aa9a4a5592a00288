"""Experiment `statements`: does the reader tell statements that a passage supports from those that it does not?

It is the check that a language model's answer goes through (`models.statements`), here on statements of which it is
known. Beside it stands the check by words that a citation's verification falls back on: whether a sentence of the
passage holds most of the statement's words and all of its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.experiments.reading import open_named
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean_difference, wilson
from preflight_rag.evaluation.metrics import roc_area
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.support_sets import Case, StatementSet
from preflight_rag.models.reading.bundled_reader import settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.reading.statements import check, pair
from preflight_rag.state.errors import UsageError
from preflight_rag.text.quotes import support

if TYPE_CHECKING:
    from preflight_rag.state.values import Statement

SHOWN_AT_A_TIME = 16
USED = "as used"
FORMS = ("alone", "behind the question", USED)
"""Ways to put a statement to the reader: as it is, always behind its question, and only where it is short."""
GRID = tuple(round(0.02 * step, 2) for step in range(1, 50))
"""Thresholds that are tried."""
CLEAR = 0.7
"""Least share of statements shown as contradicted that are to be so."""


@dataclass(frozen=True)
class Judged:
    """A case with what the check says.

    Attributes:
        scores: Probability of support by `FORMS`.
        against: Probability of contradiction, of the statement as used.
        statement: What the check shows for it.
        by_words: Whether a sentence of the passage holds the statement's words and numbers.
    """

    case: Case
    scores: dict[str, float]
    against: float
    statement: Statement
    by_words: bool

    @property
    def known(self) -> bool:
        """Whether the passage supports the statement."""
        return self.case.verdict == "yes"


def run(dataset: StatementSet, run: Run) -> Report:
    """Check the statements of a part and count how often the check is right."""
    reader = open_named(run.extractive_reader)
    cases = dataset.select(run.part, run.limit)
    found: list[Judged] = []
    for start in range(0, len(cases), SHOWN_AT_A_TIME):
        found += judge(reader, cases[start : start + SHOWN_AT_A_TIME])
        run.progress(f"{dataset.name}: statements", len(found), len(cases))
    threshold = float(settings()["support"]["threshold"])
    tables, known_figures = _checks(found, threshold, run.seed)
    return Report(
        experiment="statements",
        dataset=dataset.title,
        about=f"{len(found):,} statements with a passage each ({run.part} part); supported from {threshold:g}.",
        tables=(tables, _forms(found, dataset, run.seed)),
        rows=tuple(_row(item) for item in found),
        figures=known_figures,
        inputs={"source": dataset.source, "settings": {"threshold": threshold}},
    )


def judge(reader: ExtractiveReader, cases: Sequence[Case]) -> list[Judged]:
    """What the check says of cases, and the scores in all forms.

    Raises:
        UsageError: The reader has no verdict.
    """
    shown = [statement for case in cases for statement in check(reader, case.question, [case.claim], {1: case.passage})]
    if len(shown) < len(cases):
        raise UsageError(f"the extractive reader {reader.name!r} has no verdict", help="Choose default.")
    asked = [_forms_of(case) for case in cases]
    readings = reader.read([item for forms in asked for item in forms.values()])
    verdicts = iter([reading.verdict or (0.0, 0.0, 1.0) for reading in readings])
    found = []
    for case, forms, statement in zip(cases, asked, shown, strict=True):
        told = {form: next(verdicts) for form in forms}
        scores = {form: yes for form, (yes, _, _) in told.items()}
        by_words = support(case.statement, case.passage.text) is not None
        found.append(Judged(case, scores, told[USED][1], statement, by_words))
    return found


def _forms_of(case: Case) -> dict[str, tuple[str, str, str]]:
    passage = (case.passage.title, case.passage.text)
    behind = f"{case.question} {case.statement}".strip()
    return {
        "alone": (case.statement, *passage),
        "behind the question": (behind, *passage),
        USED: pair(case.question, case.statement, case.passage),
    }


def _checks(found: Sequence[Judged], threshold: float, seed: int) -> tuple[Table, dict[str, Any]]:
    """How often each check is right, on supported statements, on the others, and in all."""
    told = {
        "the reader": [item.scores[USED] >= threshold for item in found],
        "shared words and numbers": [item.by_words for item in found],
    }
    known = [item.known for item in found]
    columns = ("check", "right", "of supported, shown as such", "of contradicted, flagged", "of neither, flagged")
    rows, named = [], {}
    for name, says in told.items():
        estimates = {
            "right": wilson(sum(a == b for a, b in zip(says, known, strict=True)), len(found)),
            **{verdict: _share(found, says, verdict) for verdict in ("yes", "no", "neither")},
        }
        named[name] = figures(estimates)
        rows.append((name, *(number(estimate, percent=True) for estimate in estimates.values())))
    reader, words = ([float(a == b) for a, b in zip(says, known, strict=True)] for says in told.values())
    gain = bootstrap(mean_difference, reader, words, seed=seed)
    rows.append(("difference", number(gain, percent=True, signed=True), "", "", ""))
    against = [item for item in found if item.statement.contradicted]
    right = sum(item.case.verdict == "no" for item in against)
    note = (
        "Percent [95 % interval, the difference paired]. Flagged: shown as not supported. "
        f"Of {len(against)} statements shown as contradicted {right} are."
    )
    figure = {**named, "difference": gain.as_json(), "contradicted": wilson(right, len(against)).as_json()}
    return Table("Check of statements", columns, tuple(rows), note), figure


def _share(found: Sequence[Judged], says: Sequence[bool], verdict: str) -> Estimate:
    """Of the statements of a verdict, the share on which a check says what it should."""
    mine = [said == item.known for item, said in zip(found, says, strict=True) if item.case.verdict == verdict]
    return wilson(sum(mine), len(mine))


def _forms(found: Sequence[Judged], dataset: StatementSet, seed: int) -> Table:
    """How well the score tells supported statements from others, by how they are put to the reader."""
    known = [item.known for item in found]
    forms = FORMS if dataset.asked else FORMS[:1]
    rows = [(form, number(roc_area([item.scores[form] for item in found], known, seed=seed))) for form in forms]
    note = "As used: the question is put before statements of few words only." if dataset.asked else ""
    return Table("Area under ROC of support", ("statement put to the reader", "area"), tuple(rows), note)


def _row(item: Judged) -> dict[str, Any]:
    return {
        "id": item.case.id,
        "question": item.case.question,
        "statement": item.case.statement,
        "verdict": item.case.verdict,
        "scores": item.scores,
        "against": item.against,
        "supported": item.statement.supported,
        "contradicted": item.statement.contradicted,
        "by_words": item.by_words,
    }


def best_threshold(found: Sequence[Sequence[Judged]]) -> float:
    """The threshold with the highest balanced accuracy, averaged over several sets; of equals the lowest."""

    def quality(threshold: float) -> float:
        total = 0.0
        for judged in found:
            for known in (True, False):
                mine = [item.scores[USED] >= threshold for item in judged if item.known == known]
                total += mine.count(known) / max(len(mine), 1)
        return round(total / (2 * len(found)), 6)

    return max(GRID, key=lambda threshold: (quality(threshold), -threshold))


def clear_level(found: Sequence[Sequence[Judged]], threshold: float) -> float:
    """The lowest probability of no from which `CLEAR` of what is shown as contradicted is so; 1 where none is.

    The share is averaged over the sets in which something is shown.
    """
    for level in GRID:
        shown = [[item for item in each if item.scores[USED] < threshold and item.against >= level] for each in found]
        shares = [sum(item.case.verdict == "no" for item in each) / len(each) for each in shown if each]
        if shares and round(sum(shares) / len(shares), 6) >= CLEAR:
            return level
    return 1.0
