"""The type of value that a question asks for."""

import pytest

from preflight_rag.text.values import asked_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is the bank's interest rate for a car loan?", "number"),
        ("What's the hourly rate?", "number"),
        ("What interest rate do we pay?", "number"),
        ("At what rate is VAT charged?", "number"),
        ("Who sets the interest rate?", "name"),
        ("Which rates office is near?", "name"),
        ("Which bank has the lowest interest rate for car loans?", "name"),
        ("What determines the exchange rate?", "name"),
        ("How long is the lease?", "number"),
        ("In what year was it built?", "date"),
        ("Is the rate fixed?", "verdict"),
    ],
)
def test_the_type_of_value_that_is_asked_for(question, kind):
    assert asked_kind(question) == kind
