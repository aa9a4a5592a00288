"""Questions for an amount of money, and answers that are none."""

import pytest

from preflight_rag.text.money import asks_money, is_no_money, is_other_figure


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
