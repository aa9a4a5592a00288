"""Questions for an amount of money, and answers that are none."""

import pytest

from preflight_rag.text.money import asks_money, asks_price, is_no_money, is_other_figure, is_price, with_currency


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("How much does the hall cost?", True),
        ("How much is the rent for a full plot?", True),
        ("How much did members pay in 2023?", True),
        ("What is the fee for late entries?", True),
        ("How much does the parcel weigh?", False),
        ("How much milk does the recipe take?", False),
        ("How many members pay a fee?", False),
        ("What does the cost centre do?", False),
        ("What does a sponsorship package for the summit in Berlin cost?", True),
    ],
)
def test_whether_an_amount_of_money_is_asked_for(question, asks):
    assert asks_money(question) is asks


@pytest.mark.parametrize(
    ("answer", "none"),
    [
        ("23 people", True),
        ("30 June 2025", True),
        ("12 weeks", True),
        ("£63 a year", False),
        ("63", False),
        ("4.50 each", False),
        ("3.2 million", False),
        ("15 euros", False),
        ("free", False),
        ("5 lira", False),
        ("200 yuan", False),
        ("1.5% a year", False),
    ],
)
def test_whether_an_answer_is_surely_no_amount_of_money(answer, none):
    assert is_no_money(answer) is none


@pytest.mark.parametrize(
    ("question", "answer", "is_other"),
    [
        ("What were net sales in 2021?", "39.0%", True),
        ("What was the net income of Amcor?", "13.9 percent of sales", True),
        ("How much does the course cost?", "23 people", True),
        ("What were Amcor's net sales in 2021?", "gross profit", True),
        ("What is the main source of income?", "rent", False),
        ("What was the income from?", "rent", False),
        ("What were net sales in 2021?", "$8.6 billion, up 18.3%", False),
        ("What was the growth of net sales?", "18.3%", False),
        ("What share of sales was online?", "39.0%", False),
        ("Who buys?", "39.0%", False),
        ("What was the weight loss?", "12%", False),
        ("What is net income?", "sales less costs", False),
        ("What were sales in 2021?", "three million", False),
        ("What were sales in 2021?", "CNY 4 billion, up 3%", False),
    ],
)
def test_whether_an_answer_is_another_kind_of_figure(question, answer, is_other):
    assert is_other_figure(question, answer) is is_other


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is the pay of the night nurse?", True),
        ("What was the night nurse's salary in 2024?", True),
        ("What is the deposit for the kiln?", True),
        ("What is the fee group of Ann?", False),
        ("What is the last day to pay for the kiln?", False),
        ("Who gets the pay of the nurse?", False),
    ],
)
def test_whether_the_subject_is_a_price_or_a_wage(question, asks):
    assert asks_price(question) is asks


@pytest.mark.parametrize(
    ("cell", "labels", "price"),
    [
        ("Ines Vale", "Nurse Salaries", False),
        ("14", "Bed", False),
        ("14", "Per hour (€)", True),
        ("€14", "Nurse", True),
        ("free", "Nurse", True),
        ("none", "Deposit", True),
    ],
)
def test_a_name_or_another_number_is_no_price(cell, labels, price):
    assert is_price(cell, labels) is price


@pytest.mark.parametrize(
    ("cell", "column", "shown"),
    [
        ("1450", "Estimate (£)", "£1450"),
        ("-1,450.50", "Estimate 2025 ($)", "-$1,450.50"),
        ("80", "US$ per tonne", "US$80"),
        ("80", "Price EUR", "80 EUR"),
        ("80", "Price (CHF per night)", "80 CHF"),
        ("€80", "Price (€)", "€80"),
        ("about 80", "Price (€)", "about 80"),
        ("80", "Turnover (£000)", "80"),
        ("80", "Turnover (£ million)", "80"),
        ("80", "Turnover (£m)", "80"),
        ("80", "Turnover ($ '000)", "80"),
        ("80", "Share (% of £)", "80"),
        ("80", "Eurasian teal", "80"),
        ("30", "Shares (No. of £ shares)", "30"),
        ("11.4", "Exchange rate EUR", "11.4"),
        ("80", "Tonnes per €", "80"),
        ("80", "Costs (k€)", "80"),
        ("80", "Rent ('000 €)", "80"),
        ("80", "Turnover (million £)", "80"),
        ("80", "Amount", "80"),
    ],
)
def test_a_figure_is_shown_with_the_currency_of_its_column(cell, column, shown):
    assert with_currency(cell, column) == shown
