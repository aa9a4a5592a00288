"""Questions for an amount of money, and answers that are none."""

import pytest

from preflight_rag.text.money import asks_money, is_no_money


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
