"""Whether a cell of a table is of the type that a question asks for."""

import pytest

from preflight_rag.offline.cell_types import is_of_asked_type
from preflight_rag.offline.tables import table_answer
from preflight_rag.state.reading import Source
from preflight_rag.text.values import asked_kind


@pytest.mark.parametrize(
    ("question", "column", "cell", "fits"),
    [
        ("How much does Margaret pay for her plot?", "Plot", "11", False),
        ("How much does Margaret pay for her plot?", "Rent 2025", "48", True),
        ("How much does Margaret pay for her plot?", "Plot", "£48", True),
        ("How much did Ewa pay?", "Paid on", "2 April 2025", False),
        ("How much does the torte cost?", "Portions", "12 slices", False),
        ("How much did Amcor spend on dividends?", "2023", "723", True),
        ("How much does a single to Leeds cost?", "Single", "3.50", True),
        ("How much is the management fee?", "Management fee", "1.5% a year", True),
        ("Where is B1 kept?", "Kept at", "Shed", True),
        ("Where is Olga Strand buried?", "Cemetery", "Skogskyrkogarden", True),
        ("When was Red Fox aired?", "Aired", "Week 34", True),
        ("How much does the parcel weigh?", "Weight", "3 kg", True),
        ("When did Gareth pay his rent?", "Rent 2025", "34", False),
        ("When did Gareth pay his rent?", "Paid on", "2025-04-19", True),
        ("When is knife skills taught?", "Week", "34", True),
        ("When may women use the sauna?", "Women", "18–22", True),
        ("When does the library open?", "Opening", "9 am", True),
        ("Where is the silver arrow kept?", "Kept by", "Hester Vane", False),
        ("Where is the silver arrow kept?", "Where", "Safe", True),
        ("Where was the final played?", "Host city", "Oslo", True),
        ("Who keeps the silver arrow?", "Kept by", "Hester Vane", True),
        ("Who keeps the silver arrow?", "Since", "2019", False),
        ("Against what are rabbits vaccinated?", "Vaccine", "RHD", True),
    ],
)
def test_a_cell_is_of_the_type_that_is_asked_for(question, column, cell, fits):
    labels = f"{column} Dividends paid" if "dividends" in question else column
    assert is_of_asked_type(question, asked_kind(question), cell, column=column, labels=labels) is fits


def test_the_number_of_a_plot_is_no_price_of_it():
    row = "Plots. | Plot: 11 | Member: Okafor, Margaret | Size m2: 250 | Since: 2008 | Rent 2025: 48"
    sources = [Source(1, "p1", "Register", row, document_id="d1")]
    assert table_answer("How much does Margaret Okafor pay for her plot?", sources) is None
    plot = table_answer("Which plot has Margaret Okafor?", sources)
    assert plot is not None
    assert plot.cell == "11"
