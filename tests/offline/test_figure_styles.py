"""Numbers of cells with a decimal point or a decimal comma."""

import pytest

from preflight_rag.offline.figure_styles import has_decimal_comma, number_of


@pytest.mark.parametrize(
    ("cells", "comma"),
    [
        (["1,95", "420"], True),
        (["1.95", "420"], False),
        (["1,250", "80"], False),
        (["1.250,00 EUR", "80"], True),
        (["1,250.00", "80"], False),
        (["1.250.000"], True),
        (["0,125"], True),
        (["1,95", "2.25"], None),
        (["none"], False),
    ],
)
def test_the_style_of_a_table_is_known_by_its_cells(cells, comma):
    assert has_decimal_comma(cells) is comma


@pytest.mark.parametrize(
    ("written", "comma", "number"),
    [("1.250,5", True, 1250.5), ("1,250.5", False, 1250.5), ("−3,2", True, -3.2), ("1.2.3", False, None)],
)
def test_a_number_is_read_in_its_style(written, comma, number):
    assert number_of(written, decimal_comma=comma) == number
