"""Rows that do not list what a question excludes."""

import pytest

from preflight_rag.offline.unlisted_cells import rows_not_listing_any
from preflight_rag.state.reading import Source

BREAD = "Item: Country loaf | Price: 4.60 | Contains: gluten"
KNOT = "Item: Cinnamon knot | Price: 2.70 | Contains: gluten, milk, egg"
TORTE = "Item: Chocolate torte | Price: 32.00 | Contains: milk, egg, nuts"
ROOMS = ("Room: Blue | Equipment: projector, sink", "Room: Red | Equipment: sink", "Room: Green | Equipment: piano")
ORDERS = ("Order: 51 | Status: paid", "Order: 52 | Status: on hold", "Order: 53 | Status: unpaid")
TABLES = ((BREAD, KNOT, TORTE), ROOMS, ORDERS)


def rows_of(question):
    sources = [Source(n, f"p{n}", "Lists", "\n".join(rows), document_id=f"d{n}") for n, rows in enumerate(TABLES, 1)]
    draft = rows_not_listing_any(question, sources)
    return draft and (draft.text.split("\n")[0], [quote for _, quote in draft.quotes], draft.claims)


@pytest.mark.parametrize(
    ("question", "lead", "rows"),
    [
        ("Which items do not contain milk?", "Rows found that do not list “milk” under “Contains”:", [BREAD]),
        ("What is gluten free?", "Rows found that do not list “gluten” under “Contains”:", [TORTE]),
        ("Which cakes are gluten-free?", "Rows found that do not list “gluten” under “Contains”:", [TORTE]),
        ("Which goods have no egg in them?", "Rows found that do not list “egg” under “Contains”:", [BREAD]),
        ("What is free from nuts?", "Rows found that do not list “nuts” under “Contains”:", [BREAD, KNOT]),
        ("Which rooms have no sink?", "Rows found that do not list “sink” under “Equipment”:", [ROOMS[2]]),
        ("Which orders have not been paid yet?", "Rows found that do not list “paid” under “Status”:", ORDERS[1:]),
        ("Which orders are not paid?", "Rows found that do not list “paid” under “Status”:", ORDERS[1:]),
        (
            "Which room doesn't have a projector?",
            "Rows found that do not list “projector” under “Equipment”:",
            ROOMS[1:],
        ),
    ],
)
def test_the_rows_that_do_not_list_it_are_shown(question, lead, rows):
    assert rows_of(question) == (lead, list(rows), False)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("Which items contain milk?", id="asks for those that list it"),
        pytest.param("Which items contain no soya?", id="no row lists it"),
        pytest.param("Why do some items contain no milk?", id="asks why"),
        pytest.param("Is the torte gluten free?", id="asks about one"),
    ],
)
def test_other_questions_are_left_to_others(question):
    assert rows_of(question) is None
