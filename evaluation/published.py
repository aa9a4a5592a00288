"""The papers' published figures beside ours.

The figures are data, a JSON file for each paper in `evaluation/papers/`; an experiment that reproduces a table shows
the paper's beside its own with one call:

    tables += beside("corg", compared.estimates, here="RAMDocs, 80 questions, the offline reader")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from evaluation.intervals import Estimate
from evaluation.papers import PublishedTable, tables_of
from evaluation.report import Table, number

PUBLISHED: dict[str, tuple[PublishedTable, ...]] = dict(
    chain.from_iterable(tables_of(paper).items() for paper in ("brief_context", "corg", "cpqa", "diversity"))
)
"""The published tables that each experiment reproduces."""
NOTHING = "–"


def beside(
    experiment: str, ours: Mapping[str, Mapping[str, Estimate]], *, here: str, only: Sequence[str] = ()
) -> tuple[Table, ...]:
    """Return an experiment's published tables, each with our figures in extra columns and a line on the differences.

    Args:
        experiment: Its name on the command line.
        ours: Our figures by row and measure, as in `Comparison.estimates`; missing ones are shown as a dash.
        here: Data, size and model of this run.
        only: Parts of the names of the tables that this run reproduces; all if empty.
    """
    tables = []
    for table in PUBLISHED.get(experiment, ()):
        if not only or any(part in table.where for part in only):
            tables.append(_beside(table, ours, here))
    return tuple(tables)


def _beside(published: PublishedTable, ours: Mapping[str, Mapping[str, Estimate]], here: str) -> Table:
    """Return one published table, with each of our measures once, after the paper's columns."""
    measures = [name for name in dict.fromkeys(published.columns.values()) if name]
    rows = []
    for name, figures in published.rows.items():
        if len(figures) != len(published.columns):
            raise ValueError(
                f"{published.where}, row {name!r}: {len(figures)} figures, {len(published.columns)} columns"
            )
        own = (_own(ours.get(name, {}).get(measure), published, measure) for measure in measures)
        rows.append((name, *map(_printed, figures), *own))
    head = ("", *(f"paper: {column}" for column in published.columns), *(f"here: {measure}" for measure in measures))
    note = f"What differs: the paper's figures are of {published.made_with}; those here of {here.rstrip('.')}."
    return Table(f"Beside {published.where}", head, tuple(rows), note)


def _printed(figure: float | str | None) -> str:
    """Return a published figure as the paper prints it."""
    return NOTHING if figure is None else str(figure)


def _own(estimate: Estimate | None, published: PublishedTable, measure: str) -> str:
    """Return our figure in the paper's unit."""
    share = published.percent is None or measure in published.percent
    return NOTHING if estimate is None else number(estimate, percent=share)
