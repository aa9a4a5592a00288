"""Answers out of a part of a sentence that says how it is with something else."""

import pytest

from preflight_rag.models.reading.extractive_reader import Span
from preflight_rag.offline.contrasts import stands_in_contrast
from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.state.reading import Source

SHOGI = (
    "The two players move in turn, with Black moving first (unlike in international chess, where White moves first). "
    "The pieces are of wood."
)
ROOF = "It was resolved to engage Haldane & Sons instead of Peverell Roofing, at 18,400 pounds."


@pytest.mark.parametrize(
    ("question", "text", "answer", "expected"),
    [
        ("Who moves first in shogi?", SHOGI, "White", True),
        ("Who moves first in shogi?", SHOGI, "Black", False),
        ("Who moves first in international chess?", SHOGI, "White", False),
        ("Who moves first in shogi?", SHOGI, "first", False),
        ("Which firm mends the roof?", ROOF, "Peverell Roofing", True),
        ("Which firm mends the roof?", ROOF, "Haldane & Sons", False),
        ("What does it cost to mend the roof?", ROOF, "18,400 pounds", False),
        ("Who moves first in shogi?", "Unlike chess, Black moves first.", "Black", False),
        ("Who moves first in shogi?", "Unlike chess, in which White moves first, it begins with Black.", "White", True),
        ("Who moved first before Black?", "Black moves first instead of White.", "White", False),
        ("What are the pieces made of?", SHOGI, "wood", False),
    ],
)
def test_what_is_so_of_something_else_is_no_answer(question, text, answer, expected):
    start = text.index(answer)
    span = Span(start, start + len(answer), answer, 5.0)
    found = PassageAnswer(Source(1, "p", "", text), span, 0.9)
    assert stands_in_contrast(question, found) is expected
