"""Rows that say in cells what a question says in a sentence."""

import pytest

from preflight_rag.offline.table_rows import rows_in_other_words
from preflight_rag.state.reading import Source

GATE = "Motion: Second gate at Mill Lane | For: 27 | Against: 27 | Result: lost"
BEES = "Motion: Bees on plots 31 to 36 | For: 40 | Against: 12 | Result: carried"
BEAN = "Item: Broad bean Karmazyn | Pack: 250 g | Member price: £3.60 | Non-member price: £4.50"
ONION = "Item: Onion sets | Pack: 500 g | Member price: £2.60 | Non-member price: £3.30"
LEEK = "Item: Leek | Pack: 2 g | Member price: £1.60 | Non-member price: £2.30"


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Was the second gate approved?", [GATE]),
        ("What does a pack of Karmazyn cost for someone who is not a member?", [BEAN]),
        ("What does a pack cost a member?", []),
        ("Was the second bridge approved by the council?", []),
        ("What is the capital of Australia?", []),
    ],
)
def test_the_rows_with_most_words_of_a_question_and_one_of_their_own_are_found(question, rows):
    sources = [Source(1, "p1", "Minutes", f"{GATE}\n{BEES}"), Source(2, "p2", "Prices", f"{BEAN}\n{ONION}\n{LEEK}")]
    assert [row for _, row in rows_in_other_words(question, sources)] == rows
