"""Experiment `statements`: does the reader distinguish statements that a passage supports from others?

It tests the check of a language model's answer (`models.statements`), here on statements with known labels. It is
compared with the check by words that verification of a citation falls back on: whether a sentence of the passage
contains most of the statement's words and all of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluation.compare import compare
from evaluation.experiments.reading import open_named
from evaluation.intervals import wilson
from evaluation.metrics import roc_area
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, digest
from preflight_rag.models.reading.bundled_reader import reader_settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.reading.statements import check, pair
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Passage, Statement
from preflight_rag.text.citations import Claim
from preflight_rag.text.quotes import support

SHOWN_AT_A_TIME = 16
CHECKS = ("as shown", "the reader", "shared words and numbers")
"""As shown: a statement is flagged unless the reader supports it, or a passage has it nearly in its words."""
COLUMNS = {
    "right": ("yes", "no", "neither"),
    "of supported, shown as such": ("yes",),
    "of contradicted, flagged": ("no",),
    "of neither, flagged": ("neither",),
}
"""The verdicts over which each column is counted."""
USED = "as used"
FORMS = ("alone", "behind the question", USED)
"""Ways to present a statement to the reader: alone, always after its question, and only after it if it is short."""


@dataclass(frozen=True)
class CheckedStatement:
    """A case with the results of the checks.

    Attributes:
        scores: Probability of support by `FORMS`.
        against: Probability of contradiction, of the statement as used.
        statement: The check's result.
        by_words: Whether a sentence of the passage contains the statement's words and numbers.
    """

    case: Sample
    scores: dict[str, float]
    against: float
    statement: Statement
    by_words: bool

    @property
    def known(self) -> bool:
        """Whether the passage supports the statement."""
        return self.case.passage.verdict == "yes"


def run(dataset: DataSet, run: ExperimentRun) -> Report:
    """Check the statements of a part and count how often the check is right."""
    reader = open_named(run.extractive_reader)
    cases = dataset.select(run.part, run.limit)
    found: list[CheckedStatement] = []
    for start in range(0, len(cases), SHOWN_AT_A_TIME):
        found += judge(reader, cases[start : start + SHOWN_AT_A_TIME])
        run.progress(f"{dataset.name}: statements", len(found), len(cases))
    threshold = reader_settings().supports
    rows = [row for item in found for row in _rows(item, threshold)]
    shown, *others = CHECKS
    pairs = {f"{shown} − {other}": ((shown, "right"), (other, "right")) for other in others}
    checks = compare(rows, columns=COLUMNS, lines=CHECKS, pairs=pairs, seed=run.seed)
    against = [item for item in found if item.statement.contradicted]
    right = sum(item.case.passage.verdict == "no" for item in against)
    note = (
        "Percent [95 % interval, the difference paired]. Flagged: shown as not supported. "
        f"Of {len(against)} statements shown as contradicted {right} are."
    )
    return Report(
        experiment="statements",
        dataset=dataset.title,
        about=f"{len(found):,} statements with a passage each ({run.part} part); supported from {threshold:g}.",
        tables=(
            checks.means("Check of statements", note, head="check", intervals="", differences=True),
            _forms(found, run.seed),
        ),
        rows=tuple(rows),
        figures={**checks.figures, "contradicted": wilson(right, len(against)).as_json()},
        inputs={"source": dataset.source, "settings": {"threshold": threshold}},
    )


def _rows(item: CheckedStatement, threshold: float) -> Iterator[ScoreRow]:
    """Yield whether each check gives the right result for a statement."""
    shown = item.statement.supported is not False
    says = dict(zip(CHECKS, (shown, item.scores[USED] >= threshold, item.by_words), strict=True))
    details = {
        "question": item.case.question,
        "statement": item.case.names[0],
        "scores": item.scores,
        "against": item.against,
        "contradicted": item.statement.contradicted,
    }
    for check_name, says_so in says.items():
        yield ScoreRow(
            digest(item.case.id).hex()[:16],
            item.case.passage.verdict or "",
            check_name,
            float(says_so == item.known),
            details=details,
        )


def judge(reader: ExtractiveReader, cases: Sequence[Sample]) -> list[CheckedStatement]:
    """Return the check's results on cases, and the scores in all forms.

    Raises:
        UsageError: The reader has no verdict.
    """
    shown = [
        statement
        for case in cases
        for statement in check(reader, case.question, [Claim(case.names[0], (1,))], {1: _passage(case)})
    ]
    if len(shown) < len(cases):
        raise UsageError(f"the extractive reader {reader.name!r} has no verdict", help="Choose default.")
    asked = [_forms_of(case) for case in cases]
    readings = reader.read([item for forms in asked for item in forms.values()])
    verdicts = iter([reading.verdict or (0.0, 0.0, 1.0) for reading in readings])
    found = []
    for case, forms, statement in zip(cases, asked, shown, strict=True):
        by_form = {form: next(verdicts) for form in forms}
        scores = {form: yes for form, (yes, _, _) in by_form.items()}
        by_words = support(case.names[0], case.passage.text) is not None
        found.append(CheckedStatement(case, scores, by_form[USED][1], statement, by_words))
    return found


def _passage(case: Sample) -> Passage:
    """Return a case's passage as the library stores passages."""
    given = case.passage
    return Passage(id=given.id, document_id=given.id, title=given.title, text=given.text)


def _forms_of(case: Sample) -> dict[str, tuple[str, str, str]]:
    """Return the ways to present a statement to the reader, by name: question, title and text of the passage."""
    passage = (case.passage.title, case.passage.text)
    behind = f"{case.question} {case.names[0]}".strip()
    return {
        "alone": (case.names[0], *passage),
        "behind the question": (behind, *passage),
        USED: pair(case.question, case.names[0], _passage(case)),
    }


def _forms(found: Sequence[CheckedStatement], seed: int) -> Table:
    """Return a table of how well the score recognises supported statements, by how they are presented."""
    known = [item.known for item in found]
    asked = any(item.case.question for item in found)
    forms = FORMS if asked else FORMS[:1]
    rows = []
    for form in forms:
        scores = [item.scores[form] for item in found]
        rows.append((form, number(roc_area(scores, known, seed=seed))))
    note = "As used: the question is put before statements of few words only." if asked else ""
    return Table("Area under ROC of support", ("statement put to the reader", "area"), tuple(rows), note)
