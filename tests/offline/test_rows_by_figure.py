"""Rows of a table whose figure is above or below a bound of the question."""

import pytest

from preflight_rag.offline.rows_by_figure import rows_with_such_figures
from preflight_rag.state.reading import Source

LEAD = "Closest in the documents:"
TOURER = "Bikes. | No.: 201 | Bike: Galaxy tourer | Frame size (cm): 56 | Asking price: £185"
SHOPPER = "Bikes. | No.: 202 | Bike: Shopper | Frame size (cm): 48 | Asking price: £60"
FOLDING = "No.: 204 | Bike: Folding one | Asking price: £540 | Reserved for: Callum"
BIKES = (TOURER, SHOPPER, FOLDING)
JORIN = "Volunteers. | Name: Jorin | Hours Q1: 31 | Hours Q2: 28 | Total: 59"
HABIBA = "Volunteers. | Name: Habiba | Hours Q1: 44 | Hours Q2: 86 | Total: 130"
HUTS = ("Hut: Alder | Altitude (m): 1,890 | Beds: 24", "Hut: Birch | Altitude (m): 2,340 | Beds: 8")
CAKES = ("Cake: Torte | Shop price (EUR): 4,60 | Trade price (EUR): 3,40", "Cake: Roll | Shop price (EUR): 2,50 |")
BOATS = ("Boat: Ara | Load (t): 2.5 | Hired for (days): 9", "Boat: Bell | Load (t): 0.3 | Hired for (days): 30")
TABLES = (BIKES, (JORIN, HABIBA), HUTS, CAKES, BOATS)


def rows_of(question):
    sources = [Source(n, f"p{n}", "Lists", "\n".join(rows), document_id=f"d{n}") for n, rows in enumerate(TABLES, 1)]
    draft = rows_with_such_figures(question, sources, LEAD)
    return draft and (draft.text.split("\n")[0], [quote for _, quote in draft.quotes], draft.claims)


@pytest.mark.parametrize(
    ("question", "lead", "rows"),
    [
        ("Which bikes cost more than 150 pounds?", "Rows found by “Asking price”, more than 150 pounds:", BIKES[::2]),
        ("Which bikes cost more than £185?", "Rows found by “Asking price”, more than £185:", [FOLDING]),
        ("Which bikes are priced at least £185?", "Rows found by “Asking price”, at least £185:", BIKES[::2]),
        ("What bikes are under 100 quid?", "Rows found by “Asking price”, under 100 quid:", [SHOPPER]),
        (
            "Which bikes cost between £50 and £200?",
            "Rows found by “Asking price”, between £50 and £200:",
            [TOURER, SHOPPER],
        ),
        ("Which bikes have a frame of at most 48 cm?", "Rows found by “Frame size (cm)”, at most 48 cm:", [SHOPPER]),
        (
            "Which volunteers did more than 100 hours in total?",
            "Rows found by “Total”, more than 100 hours in total:",
            [HABIBA],
        ),
        ("Which huts lie above 2,000 m?", "Rows found by “Altitude (m)”, above 2,000 m:", HUTS[1:]),
        ("Show me the huts with no more than 10 beds", "Rows found by “Beds”, no more than 10 beds:", HUTS[1:]),
        ("Which huts lie above 2 thousand m?", "Rows found by “Altitude (m)”, above 2 thousand m:", HUTS[1:]),
        ("How many huts have over 5 beds?", "Rows found by “Beds”, over 5 beds:", HUTS),
    ],
)
def test_the_rows_within_the_bound_are_shown_and_nothing_is_claimed(question, lead, rows):
    assert rows_of(question) == (lead, list(rows), False)


def test_where_no_row_is_within_the_bound_the_rows_are_shown_under_a_line_that_says_so():
    assert rows_of("Which huts have more than 30 beds?") == (
        "None of the rows found has more than 30 beds under “Beds”:",
        list(HUTS),
        False,
    )


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("Which cakes cost more than 3 euros?", id="two prices"),
        pytest.param("Which volunteers did more than 30 hours?", id="hours of each quarter"),
    ],
)
def test_where_several_columns_fit_all_rows_are_shown(question):
    lead, rows, claims = rows_of(question)
    assert (lead, len(rows), claims) == (LEAD, 2, False)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("Which bikes cost more than 150 euros?", id="another currency"),
        pytest.param("Which huts lie above 2 km?", id="another unit"),
        pytest.param("Which huts have more than 3 showers?", id="no such column"),
        pytest.param("Which ponies cost more than 150 pounds?", id="no such rows"),
        pytest.param("Which bike is the dearest?", id="no bound"),
        pytest.param("Which bikes do not cost more than 150 pounds?", id="negated"),
        pytest.param("Which bikes cost more than 100 pounds and weigh less than 15 kg?", id="two bounds"),
        pytest.param("Which huts have at least 5 and at most 11 beds?", id="two bounds of one column"),
        pytest.param("Which bikes have a price above 150 pounds in 2024?", id="of a year"),
        pytest.param("Which bikes weigh more than 10 pounds?", id="pounds of weight"),
        pytest.param("Which boats have a load of more than 500 kg?", id="a unit that the column does not have"),
        pytest.param("Which boats are hired for more than 2 weeks?", id="another unit of time"),
        pytest.param("Do the bikes cost more than 150 pounds?", id="asks whether"),
        pytest.param("Why do huts above 2,000 m close?", id="asks why"),
    ],
)
def test_other_questions_are_left_to_others(question):
    assert rows_of(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "Which drug is down to a single pack?",
        "Which drugs are down to the last box?",
        "Which drug has only one pack left?",
    ],
)
def test_what_only_one_is_left_of_has_a_one_below_the_stock(question):
    rows = [f"drug: {name} | pack: {pack} | in_stock: {stock} | shelf: 1" for name, pack, stock in
            (("Doxy", 30, 1), ("Keta", 1, 3), ("Meda", 10, 11))]  # fmt: skip
    draft = rows_with_such_figures(question, [Source(1, "p", "Stock", "\n".join(rows), document_id="d")], "LEAD")
    assert [quote for _, quote in draft.quotes] == rows[:1]
    assert not draft.claims


def test_without_a_column_of_the_stock_one_of_something_is_nothing():
    rows = ["drug: Doxy | pack: 1 | shelf: 1", "drug: Keta | pack: 2 | shelf: 2"]
    source = Source(1, "p", "Stock", "\n".join(rows), document_id="d")
    assert rows_with_such_figures("Which drug is down to a single pack?", [source], "LEAD") is None
