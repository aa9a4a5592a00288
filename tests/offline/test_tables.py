"""Answers out of tables: the cell that a question names by row and column, or none. Gold was read in the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.offline.tables import table_answer
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

CUPS = "Stanley Cups,,\nTeam,Location,Stanley Cups\nBlues,STL,1\nFlyers,PHI,2\nMaple Leafs,TOR,13\n"
PRICES = "product;price;stock;supplier\nKettle;24.90;14;Hansen\nToaster;31.50;0;Meier\nKettle XL;39.00;3;Hansen\n"


def document(path: Path) -> Document:
    (found,) = load(path)
    assert isinstance(found, Document)
    return found


def sources(path: Path) -> list[Source]:
    read = document(path)
    return [Source(1, "p", read.title, read.text)]


@pytest.fixture
def cups(tmp_path: Path) -> list[Source]:
    path = tmp_path / "cups.csv"
    path.write_text(CUPS)
    return sources(path)


@pytest.fixture
def prices(tmp_path: Path) -> list[Source]:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES)
    return sources(path)


@pytest.mark.parametrize(
    ("question", "cell", "row", "column"),
    [
        ("How many Stanley Cups do the Maple Leafs have?", "13", "Maple Leafs", "Stanley Cups"),
        ("What is the location of the Flyers?", "PHI", "Flyers", "Location"),
        ("Which team is in STL?", "Blues", "STL", "Team"),
        ("How many Stanley Cups have the Blues won?", "1", "Blues", "Stanley Cups"),
    ],
)
def test_cell_of_a_row_and_a_column(cups: list[Source], question: str, cell: str, row: str, column: str) -> None:
    answer = table_answer(question, cups)
    assert answer is not None
    assert (answer.cell, answer.row, answer.column) == (cell, row, column)
    assert answer.quote in cups[0].text
    assert cell in answer.quote
    assert 0.5 <= answer.share <= 1
    assert answer.margin > 0


@pytest.mark.parametrize(
    "question",
    [
        "How many Stanley Cups do the Rangers have?",
        "Which team has the most Stanley Cups?",
        "What is the population of Toronto?",
        "Do the Blues have a Stanley Cup?",
        "Who coached the Maple Leafs in 1967?",
        "What are the teams?",
        "When did the Flyers win?",
    ],
)
def test_no_claim_without_a_row_and_a_column(cups: list[Source], question: str) -> None:
    assert table_answer(question, cups) is None


def test_longer_label_is_another_row(prices: list[Source]) -> None:
    whole = table_answer("What is the price of the Kettle XL?", prices)
    assert whole is not None
    assert whole.cell == "39.00"
    supplier = table_answer("Who is the supplier of the toaster?", prices)
    assert supplier is not None
    assert supplier.cell == "Meier"
    assert table_answer("What is the price of the microwave?", prices) is None


def test_a_date_is_nobody(tmp_path: Path) -> None:
    """A column "Founded" has the question's word, and says when."""
    path = tmp_path / "companies.csv"
    path.write_text("Company,Founded,Founder\nNordwind,4 April 1975 in Oslo,Ida Holm\nSuedwind,1980,Jan Berg\n")
    assert table_answer("Who founded Nordwind?", sources(path)) is None
    when, where = (table_answer(f"{word} was Nordwind founded?", sources(path)) for word in ("When", "Where"))
    assert when is not None
    assert where is not None
    assert when.cell == where.cell == "4 April 1975 in Oslo"
    founder = table_answer("Who is the founder of Nordwind?", sources(path))
    assert founder is None or founder.cell == "Ida Holm"


def test_two_rows_that_fit_alike_are_no_answer(prices: list[Source]) -> None:
    assert table_answer("Which product is from the supplier Hansen?", prices) is None


@pytest.mark.parametrize(
    ("name", "question", "cell"),
    [
        ("PMC115849", "What was the mean age in the placebo group?", "52 (12)"),
        ("PMC115849", "What percentage of women were in the etoricoxib group?", "81"),
        ("PMC115849", "How many tender joints on average did the naproxen group have at baseline?", "28 (15)"),
        ("PMC5762805", "What was the preoperative TSH in the BST group?", "1.80 ± 0.91"),
        ("PMC5762805", "How many patients had recurrent goiter after DO?", "15 (8.6)"),
        ("PMC5438446", "How many participants of standard care were male?", "34 (60.7)"),
    ],
)
def test_cells_of_published_tables(data_dir: Path, name: str, question: str, cell: str) -> None:
    answer = table_answer(question, sources(data_dir / "ingest_docs" / "pmc_pairs" / f"{name}.nxml"))
    assert answer is not None
    assert answer.cell == cell


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("PMC115849", "What was the mean age in the celecoxib group?"),
        ("PMC115849", "What dose of warfarin did women of the placebo group take?"),
        ("PMC5762805", "What was the preoperative calcium in the BST group?"),
        ("PMC5438446", "How many participants of standard care died?"),
    ],
)
def test_rows_and_columns_that_are_not_there(data_dir: Path, name: str, question: str) -> None:
    assert table_answer(question, sources(data_dir / "ingest_docs" / "pmc_pairs" / f"{name}.nxml")) is None


def test_abbreviated_column_is_found_by_what_its_document_says_it_stands_for() -> None:
    text = (
        "The mean lysis time (MLT) was counted.\nTable 1. Strains. | Strain: IN66 | n: 189 | MLT (min): 82.2 | SD: 5.87"
    )
    found = table_answer("What is the mean lysis time of strain IN66?", [Source(1, "p", "Phages", text)])
    assert found is not None
    assert (found.cell, found.row, found.column) == ("82.2", "IN66", "MLT (min)")


def test_the_column_that_has_the_words_itself_goes_before_one_of_a_table_whose_caption_has_them() -> None:
    row = (
        "Table 1. Seroprevalence in 2007. | District: Mopeia | Goats, n: 53 | Sheep, n: 60"
        " | Sheep, Seroprevalence (%): 93.3"
    )
    found = table_answer("What was the seroprevalence in sheep in Mopeia in 2007?", [Source(1, "p", "Fever", row)])
    assert found is not None
    assert found.cell == "93.3"


def test_the_letter_of_a_group_names_its_column_behind_which_a_footnote_stands() -> None:
    rows = "Table 1. Waters. | Minerals/mg L: Magnesium | A1: 2 | B2: 82 | C3: 84"
    found = table_answer("How much magnesium did water C contain?", [Source(1, "p", "Mineral water", rows)])
    assert found is not None
    assert (found.cell, found.column) == ("84", "C3")


RAIN = "date: 2024-04-01 | rain: 3.2\ndate: 2024-04-04 | rain: 12.8\ndate: 2024-05-04 | rain: 0.4"
HOURS = "Day: Mon | Men: 17–19 | Women: 19–21\nDay: Tue | Men: closed | Women: 18–22"


@pytest.mark.parametrize(
    ("question", "text", "cell"),
    [
        ("How much rain fell on 4 April 2024?", RAIN, "12.8"),
        ("What was the rain on April 4, 2024?", RAIN, "12.8"),
        ("What was the rain on 2024-05-04?", RAIN, "0.4"),
        ("When can women use the sauna on Tuesday?", HOURS, "18–22"),
        ("When are men in the sauna on Monday?", HOURS, "17–19"),
    ],
)
def test_day_names_its_row_however_it_is_written(question: str, text: str, cell: str) -> None:
    found = table_answer(question, [Source(1, "p", "Sauna and rain", text)])
    assert found is not None
    assert found.cell == cell


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the rain on 5 April 2024?", RAIN),
        ("What was the rain on 4 April 2023?", RAIN),
        ("When can women use the sauna on Wednesday?", HOURS),
    ],
)
def test_day_that_no_row_has_names_none(question: str, text: str) -> None:
    assert table_answer(question, [Source(1, "p", "Sauna and rain", text)]) is None


BATHS = (
    "Service: Locker near the door | Fee (£): free\nService: Towel and robe | Fee (£): 8.50\n"
    "Service: Parking | Fee (£): 2.00 | Hours: 3"
)


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("How much was a towel and robe in 2023?", "8.50"),
        ("What was a towel and robe in 2023?", "8.50"),
        ("How many towels and robes are there?", None),
        ("What is the colour of the towel and robe?", None),
        ("What is parking?", None),
    ],
)
def test_the_amount_beside_a_label_needs_no_word_for_its_column(question, cell):
    found = table_answer(question, [Source(1, "a", "Bath fees 2023", BATHS)])
    assert (found.cell if found else None) == cell


@pytest.mark.parametrize(("whose", "cell"), [("members", "£55"), ("others", "£95")])
def test_a_name_above_all_columns_names_none_of_them(whose, cell):
    rows = (
        "When: Morning | Charge, Members: £30 | Charge, Others: £50",
        "When: Evening | Charge, Members: £55 | Charge, Others: £95",
    )
    hall = Source(1, "p", "Hiring the hall", "\n".join(rows))
    found = table_answer(f"How much is the hall for an evening for {whose}?", [hall])
    assert found is not None
    assert found.cell == cell


@pytest.mark.parametrize(
    ("question", "header"),
    [
        ("How much is a canoe for a day?", ("Summer, Day", "Summer, Week", "Winter")),
        ("How many adults are in the canoe?", ("Price, Adults", "Price, Children", "Price, Members")),
    ],
)
def test_a_name_above_columns_that_says_what_they_count_stays(question, header):
    row = " | ".join(["Boat: Canoe", *(f"{name}: {15 * n}" for n, name in enumerate(header, 1))])
    other = " | ".join(["Boat: Dinghy", *(f"{name}: {40 * n}" for n, name in enumerate(header, 1))])
    assert table_answer(question, [Source(1, "p", "Boats", f"{row}\n{other}")]) is None
