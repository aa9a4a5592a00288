"""Questions for cells of tables: the marked value is the one of the row and the column that are asked for."""

from __future__ import annotations

import random

import pytest

from preflight_rag.text.tables import parse_row, table_lines
from training.reader_tables import BY_TREATMENT, _example, _place, tables


@pytest.fixture(scope="module")
def made(reader_data):
    return list(tables(reader_data, 300, random.Random(1)))


def test_a_marked_value_is_a_cell_of_the_row_that_is_asked_for(made):
    found = [example for example in made if example.answerable]
    assert len(found) > 100
    for example in found:
        ((start, end),) = example.passage.spans
        text = example.passage.text
        line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
        row = parse_row(line)
        (cell,) = [cell for cell in row.cells[1:] if cell.text == text[start:end] and cell.column in example.question]
        assert row.cells[0].text.casefold() in example.question.casefold()
        assert example.names == (cell.text,)


def test_some_ask_for_what_the_table_does_not_have(made):
    absent = [example for example in made if not example.answerable]
    # Tests have one outcome alone, so only accounts can be asked for a row that their table lacks.
    assert 0.05 < len(absent) / len(made) < 0.45
    for example in absent:
        assert example.passage.spans == ()
        for line in example.passage.text.splitlines():
            row = parse_row(line)
            for cell in row.cells[1:]:
                named = row.cells[0].text.casefold(), cell.column.casefold()
                assert not all(name in example.question.casefold().split() for name in named)


def test_the_same_seed_makes_the_same_tables(reader_data, made):
    assert list(tables(reader_data, 300, random.Random(1))) == made


def test_a_dose_that_the_table_lacks_is_not_answered():
    columns = ["kelorin 10 mg", "kelorin 20 mg", "placebo"]
    rng, found = random.Random(3), []
    for _ in range(200):
        example = _example(["pain", "fever", "sleep"], columns, BY_TREATMENT, "Outcomes", "", rng)
        if example is not None and not example.answerable and "placebo" in example.question:
            found.append(example)
    assert found
    assert all("placebo" not in example.passage.text for example in found)


def test_the_place_of_a_cell():
    lines = table_lines([["", "2019", "2020"], ["Sales", "5", "7"], ["Costs", "7", "5"]], header_rows=1)
    start, end = _place(lines, "Costs", "2020", "5")
    assert "\n".join(lines)[:end].endswith("2020: 5")
    assert "\n".join(lines)[start:end] == "5"
    assert "Costs" in "\n".join(lines)[:start]
    assert _place(lines, "Costs", "2021", "5") is None


def test_a_cell_that_stands_twice_has_no_place():
    lines = table_lines([["", "2019"], ["Sales", "5"], ["Sales", "5"]], header_rows=1)
    assert _place(lines, "Sales", "2019", "5") is None
