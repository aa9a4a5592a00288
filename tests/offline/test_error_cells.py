"""A cell in which a spreadsheet shows an error is never an answer."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from preflight_rag import Preflight


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("books")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ("Branch", "Revenue", "Costs", "Margin"),
        ("Ried", 5200, 4100, 0.21),
        ("Perg", 0, 900, "#DIV/0!"),
        ("Enns", "#REF!", 2100, "#VALUE!"),
    ):
        sheet.append(row)
    book.save(folder / "budget.xlsx")
    (folder / "yield.csv").write_text(
        "Orchard,Trees,Per tree\nHillside,120,31\nBrookside,60,#DIV/0!\n", encoding="utf-8"
    )
    with Preflight.open(tmp_path_factory.mktemp("library"), model="offline", create=True) as app:
        app.ingest([folder])
        yield app


@pytest.mark.parametrize(
    "question",
    [
        "What is the margin of Perg?",
        "What is the margin of Enns?",
        "What is the revenue of Enns?",
        "How much is the revenue of the Enns branch?",
        "How much does the orchard Brookside yield per tree?",
    ],
)
def test_an_error_is_never_claimed_and_its_row_is_shown(app, question):
    answer = app.ask(question)
    assert (answer.outcome, answer.short_answer) == ("evidence", None)
    assert "error, no value" in answer.citations[0].quote


@pytest.mark.parametrize(("question", "value"), [("What is the margin of Ried?", "0.21"),
                                                 ("What are the costs of Enns?", "2100")])  # fmt: skip
def test_values_beside_errors_are_found(app, question, value):
    assert app.ask(question).short_answer == value


def test_an_error_is_neither_the_highest_nor_the_lowest(app):
    answer = app.ask("Which branch has the lowest margin?")
    assert answer.short_answer is None
