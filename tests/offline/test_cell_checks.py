"""Which cells of tables may be claimed. The tables are like those of filings; gold is read off them."""

from __future__ import annotations

import pytest

from preflight_rag.offline.tables import table_answer
from preflight_rag.state.reading import Source

EARNINGS = """Statements of Operations. | Years ended December 31,: Sales of products | 2022: 55,893 | 2021: 51,386
Years ended December 31,: Other income, net | 2022: 1,058 | 2021: 551
Years ended December 31,: Income before income taxes | 2022: 5,022 | 2021: 5,033
Operating income | 2022: 3,547 | 2021: 2,902"""
_COLUMNS = "Three months ended December 31, 2022: {} | Twelve months ended December 31, 2022: {}"
QUARTERS = f"""Segments. | Strip Resorts net revenues | {_COLUMNS.format("2,297", "8,398")}
Effective tax rate | {_COLUMNS.format("21.0%", "19.0%")}"""
WEEKS = "Income. | Gross profit | 52 Weeks Ended January 28, 2023: 4,044 | 52 Weeks Ended January 29, 2022: 3,368"
DEBT = """Balance Sheets. | Current liabilities, Current portion of long-term debt | 2023: $13 | 2022: $14
Diluted shares, average | 2023: 2,674 | 2022: 2,663"""


GROWTH = """Adjusted results. | % growth - Adjusted EBIT | 2022: (3) | 2023: (5)
Adjusted EBIT / sales% | 2022: 11.7 | 2023: 10.9
Adjusted EBIT margin | 2022: 11.8 | 2023: 11.0"""


def of(text: str, title: str = "NORDWIND_2022_10K", source: str = "NORDWIND_2022_10K.pdf") -> list[Source]:
    return [Source(1, "p", title, text, source=source)]


@pytest.mark.parametrize(
    ("text", "question", "cell"),
    [
        (EARNINGS, "What was Nordwind's operating income in 2022?", "3,547"),
        (EARNINGS, "What was Nordwind's operating income in FY2021?", "2,902"),
        (EARNINGS, "What were Nordwind's sales of products in 2021?", "51,386"),
        (EARNINGS, "What was Nordwind's income before income taxes in 2021?", "5,033"),
        (QUARTERS, "What was Nordwind's effective tax rate in 2022?", "19.0%"),
        (QUARTERS, "What were Nordwind's Strip Resorts net revenues in 2022?", "8,398"),
        (WEEKS, "What was Nordwind's gross profit in the 52 weeks ended January 29, 2022?", "3,368"),
        (DEBT, "What was Nordwind's current portion of long-term debt in 2022?", "$14"),
        (GROWTH, "What was Nordwind's adjusted EBIT margin in 2023?", "11.0"),
    ],
)
def test_a_cell_with_all_that_is_asked_is_claimed(text: str, question: str, cell: str) -> None:
    found = table_answer(question, of(text))
    assert found is not None
    assert found.cell == cell


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (EARNINGS, "What was Nordwind's net income in 2022?"),  # other income is not it
        (EARNINGS, "What were Nordwind's income taxes in 2022?"),  # what there was before them is not it
        (EARNINGS, "How many stores did Nordwind operate in 2022?"),  # an operating income is no store
        (EARNINGS, "What was Suedwind's operating income in 2022?"),  # another company's
        (EARNINGS, "What was Nordwind's operating income in 2015?"),
        (EARNINGS, "What was Nordwind's operating income in the fourth quarter of 2022?"),
        (QUARTERS, "What were Nordwind's net revenues in 2022?"),  # of a segment alone
        (WEEKS, "What was Nordwind's gross profit in 2022?"),  # fiscal 2022 ended in 2023
        (WEEKS, "What was Nordwind's gross profit in 2023?"),
        (DEBT, "What was Nordwind's long-term debt in 2023?"),  # its current portion alone
        (DEBT, "What were Nordwind's diluted earnings per share in 2022?"),
        (GROWTH, "What was Nordwind's adjusted EBIT in 2023?"),  # by how much it grew, and its share of sales
    ],
)
def test_a_cell_of_something_else_is_not_claimed(text: str, question: str) -> None:
    assert table_answer(question, of(text)) is None


def test_a_quarter_is_claimed_of_its_own_table_alone() -> None:
    question = "What was Nordwind's effective tax rate in the fourth quarter of 2022?"
    found = table_answer(question, of(QUARTERS, title="Nordwind, results of the fourth quarter of 2022"))
    assert found is not None
    assert found.cell == "21.0%"
    assert table_answer(question, of(QUARTERS, title="Nordwind, results of the third quarter of 2022")) is None


@pytest.mark.parametrize(
    ("title", "source", "claimed"),
    [
        ("Ulta Beauty announces results", "a.pdf", True),
        ("10-K", "ULTABEAUTY_2022_10K.pdf", True),
        ("Annual report", "report.pdf", False),
        ("Best Buy announces results", "BESTBUY_2022.pdf", False),
    ],
)
def test_whose_table_it_is_is_said_by_the_title_or_the_file(title: str, source: str, claimed: bool) -> None:
    found = table_answer("What was Ulta Beauty's operating income in 2022?", of(EARNINGS, title, source))
    assert (found is not None) is claimed


def test_of_two_companies_the_asked_ones_figure_is_claimed() -> None:
    other = EARNINGS.replace("3,547", "9,999")
    sources = [Source(1, "p", "Suedwind 10-K", other), Source(2, "q", "Nordwind 10-K", EARNINGS)]
    found = table_answer("What was Nordwind's operating income in 2022?", sources)
    assert found is not None
    assert (found.n, found.cell) == (2, "3,547")


TOMATOES = """Seeds. | crop: tomato | variety: Gelbe Perle | days to harvest: 64
crop: tomato | variety: Roma | days to harvest: 78
crop: bean | variety: Blauhilde | days to harvest: 78"""


def test_a_name_that_another_row_has_is_not_this_rows() -> None:
    found = table_answer(
        "How many days to harvest does the tomato Gelbe Perle take?", of(TOMATOES, "seeds", "seeds.csv")
    )
    assert found is not None
    assert found.cell == "64"
    assert table_answer("How many days to harvest does the tomato Berner Rose take?", of(TOMATOES, "seeds")) is None


@pytest.mark.parametrize(
    "question",
    [
        "What is the dividend yield of Nordwind Sports?",
        "What is the level of the dividend yield of Nordwind Sports?",
    ],
)
def test_legal_forms_and_brackets_are_no_part_of_a_name(question: str) -> None:
    text = (
        "Shares. | Company: Nordwind Sports Corp (NWSP) | Dividend yield: 21.6%\nCompany: Suedwind | Dividend yield: 3"
    )
    found = table_answer(question, of(text, "Shares to buy", "shares.html"))
    assert found is not None
    assert found.cell == "21.6%"


@pytest.mark.parametrize(
    ("text", "question", "scale"),
    [
        ("Income (In thousands). | Gross profit | 2022: 4,044 | 2021: 3,368", "gross profit", "in thousands"),
        ("($ in millions): Gross profit | 2022: 4,044 | 2021: 3,368", "gross profit", "in millions"),
        ("(MILLIONS, EXCEPT PER SHARE DATA): Gross profit | 2022: 4,044 | 2021: 3,368", "gross profit", "in millions"),
        ("Dollars in billions\nGross profit | 2022: 4.0 | 2021: 3.3", "gross profit", "in billions"),
        ("It sold in thousands of shops.\nGross profit | 2022: 4,044 | 2021: 3,368", "gross profit", ""),
        ("($ in millions): Gross margin | 2022: 40.4% | 2021: 33.6%", "gross margin", ""),
        ("($ in millions): Earnings per share | 2022: 4.04 | 2021: 3.36", "earnings per share", ""),
        ("Gross profit | 2022: $4 million | 2021: $3 million", "gross profit", ""),
    ],
)
def test_an_amount_is_said_with_what_it_is_counted_in(text: str, question: str, scale: str) -> None:
    found = table_answer(f"What was Nordwind's {question} in 2022?", of(text))
    assert found is not None
    assert found.scale == scale


STAFF = """Rooms. | Gallery: Head office | Gardener: Ola Lind | Cook: Jan Brandt
Gallery: Orangery | Gardener: Ines Vale | Cook: Ana Roth"""


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("Who is the Head Gardener?", None),
        ("What is the pay of the gardener of the orangery?", None),
        ("What is the gardener's allowance at the orangery?", None),
        ("What is the need of the gardener of the orangery?", None),
        ("Who is the gardener of the orangery?", "Ines Vale"),
    ],
)
def test_a_name_is_not_taken_apart_and_the_noun_that_is_asked_for_not_ignored(question: str, cell: str | None) -> None:
    found = table_answer(question, of(STAFF, "Estate", "estate.csv"))
    assert (found.cell if found else None) == cell
