"""Examples made from tables: a question for a cell, asked of rows as the loaders write them (`text/tables.py`).

Labels come from Evidence Inference's prompts (training part): outcomes as rows, treatments as columns, or the other way
round, some treatments in two doses; there are also tables of accounts by year. The figures are made up: the reader is
to learn to find the row and the column that a question names, not facts. For every third table the question names a row
or a column that it does not have.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.datasets import evidence_inference
from evaluation.datasets.files import find, json_lines
from evaluation.datasets.pairs import pair
from evaluation.samples import Sample, reader_part_of
from preflight_rag.text.tables import parse_row, table_lines

LONGEST_LABEL = 8
"""Most words of a row's or a column's label."""
ABSENT = 1 / 3
"""Share of the questions for a cell that the table does not have."""
ACCOUNTS = 0.3
"""Share of the tables that are accounts by year."""
CAPTIONS = (
    "Primary and secondary outcomes", "Adverse events by group", "Results at follow-up", "Outcomes at week 12",
    "Changes from baseline", "Efficacy in the intention-to-treat population", "Summary of findings",
)  # fmt: skip
ITEMS = (
    "Revenue", "Net sales", "Cost of sales", "Gross profit", "Operating expenses", "Research and development",
    "Selling, general and administrative", "Operating income", "Interest expense", "Income taxes", "Net income",
    "Total assets", "Total liabilities", "Shareholders' equity", "Cash and cash equivalents", "Inventories",
    "Accounts receivable", "Goodwill", "Long-term debt", "Capital expenditures", "Depreciation and amortization",
    "Dividends paid", "Employees", "Stores at year end",
)  # fmt: skip
BY_TREATMENT: tuple[str, ...] = (
    "What was {row} with {column}?", "What was the {row} in the {column} group?", "How high was {row} for {column}?",
    "{row} {column}", "what is {row} under {column}", "How many had {row} with {column}?",
    "Which value does the table give for {row} and {column}?",
)  # fmt: skip
BY_YEAR: tuple[str, ...] = (
    "What was {row} in {column}?", "How much was {row} in {column}?", "{row} {column}",
    "What {row} did the company report for {column}?", "what were {row} in {column}",
)  # fmt: skip


def tables(data: Path, count: int, rng: random.Random) -> Iterator[Sample]:
    """Yield questions for cells, one for each table."""
    trials = _trials(data)
    outcomes = sorted({outcome for _, found in trials for outcome in found})
    forms: Sequence[str]
    for _ in range(count):
        if not trials or rng.random() < ACCOUNTS:
            years = [str(year) for year in range(rng.randint(1998, 2020), 2024)][: rng.randint(2, 4)]
            rows, columns, forms, caption, corner = list(ITEMS), years[:: rng.choice((1, -1))], BY_YEAR, "", ""
            if len(columns) < 2:
                continue
        else:
            (arms, own), caption, corner = rng.choice(trials), rng.choice(CAPTIONS), rng.choice(("", "Outcome"))
            rows = list(dict.fromkeys([*own, *rng.sample(outcomes, min(10, len(outcomes)))]))
            columns, forms = _arms(arms, rng), BY_TREATMENT
        caption = f"Table {rng.randint(1, 9)}. {caption}" if caption and rng.random() < 0.8 else caption
        made = _example(rows, columns, forms, caption, corner, rng)
        if made is not None:
            yield made


def _trials(data: Path) -> list[tuple[tuple[str, str], list[str]]]:
    """Return the two arms of each trial, and its outcomes."""
    found: dict[tuple[str, str], list[str]] = {}
    path = find(data / "evidence_inference", "prompts_annotated_v2.jsonl", origin=evidence_inference.SOURCE)
    for _, row in json_lines(path):
        arms, outcome = (_label(row["intervention"]), _label(row["comparator"])), _label(row["outcome"])
        short = all(text and len(text.split()) <= LONGEST_LABEL for text in (*arms, outcome))
        if short and arms[0] != arms[1] and reader_part_of(row["pmcid"]) == "train":
            found.setdefault(arms, []).append(outcome)
    return [(arms, list(dict.fromkeys(outcomes))) for arms, outcomes in sorted(found.items())]


def _label(text: str) -> str:
    """Return a text as a label, without the characters that separate cells."""
    return " ".join(text.replace("|", " ").replace(":", " ").split()).strip(" .")


def _arms(arms: tuple[str, str], rng: random.Random) -> list[str]:
    """Return the columns: both arms, or the first in several doses."""
    if rng.random() < 0.3:
        first = rng.choice((5, 10, 20, 50, 100))
        return [f"{arms[0]} {first} mg", f"{arms[0]} {2 * first} mg", arms[1]]
    return list(arms)


def _example(
    rows: Sequence[str], columns: Sequence[str], forms: Sequence[str], caption: str, corner: str, rng: random.Random
) -> Sample | None:
    """Return a made table with a question for a cell, or for one it lacks; None if the cell's place is not unique."""
    shown = rng.sample(list(rows), min(len(rows), rng.randint(3, 8)))
    spare_rows = [row for row in rows if row not in shown]
    spare_columns = columns[2:] if len(columns) > 2 else []
    columns = list(columns[:2] if spare_columns and rng.random() < 0.3 else columns)
    spare_columns = [column for column in spare_columns if column not in columns]
    figures = [[_figure(rng) for _ in columns] for _ in shown]
    at = rng.randrange(len(shown)), rng.randrange(len(columns))
    row, column = shown[at[0]], columns[at[1]]
    absent = rng.random() < ABSENT and (spare_rows or spare_columns)
    if absent and spare_columns and (not spare_rows or rng.random() < 0.5):
        column = rng.choice(spare_columns)
    elif absent:
        row = rng.choice(spare_rows)
    grid = [[corner, *columns], *([label, *cells] for label, cells in zip(shown, figures, strict=True))]
    if forms is BY_TREATMENT and rng.random() < 0.35 and len(shown) <= 5:
        grid = [list(cells) for cells in zip(*grid, strict=True)]
    lines = table_lines(grid, caption=caption, header_rows=1)
    text, value = "\n".join(lines), figures[at[0]][at[1]]
    question = rng.choice(forms).format(row=_worded(row, rng), column=column)
    if absent:
        return pair(row, question, "", text, (), False, False)
    found = _place(lines, row, column, value)
    return None if found is None else pair(row, question, "", text, (found,), True, True, gold=(value,))


def _place(lines: Sequence[str], row: str, column: str, value: str) -> tuple[int, int] | None:
    """Return the cell's span in the joined lines; None if more than one line or cell would do."""
    places, begin = [], 0
    for line in lines:
        parsed = parse_row(line)
        label = parsed.cells[0].text if parsed else ""
        for cell in parsed.cells[1:] if parsed else ():
            if cell.text == value and {label, cell.column} == {row, column}:
                places.append((begin + cell.start, begin + cell.end))
        begin += len(line) + 1
    return places[0] if len(places) == 1 else None


def _figure(rng: random.Random) -> str:
    """Return a random figure, in one of the forms that tables of trials have."""
    whole, part = rng.randint(1, 400), rng.uniform(0.1, 99)
    return rng.choice(
        (
            str(whole), f"{part:.1f}", f"{whole} ({part:.1f}%)", f"{part:.1f} ± {part / 4:.1f}", f"{part:.1f}%",
            f"{part / 50:.2f} ({part / 80:.2f} to {part / 30:.2f})", f"{whole * 137:,}", f"${whole * 11:,}",
        )
    )  # fmt: skip


def _worded(row: str, rng: random.Random) -> str:
    """Return a label in the wording of a question."""
    return row[0].lower() + row[1:] if len(row) > 1 and row[1].islower() and rng.random() < 0.8 else row
