"""Two words of a question that the passages write as one."""

import pytest

from preflight_rag.offline.joined_words import with_joined_words
from preflight_rag.state.reading import Source


@pytest.mark.parametrize(
    ("question", "text", "spelled"),
    [
        ("How much were pet care sales?", "PetCare | 9,373", "How much were petcare sales?"),
        (
            "Which function counts working days?",
            "WORKDAY gives a date. NETWORKDAYS gives the number of whole workdays.",
            "Which function counts workdays?",
        ),
        ("Where is the bath room?", "The bathroom is upstairs.", "Where is the bathroom?"),
        # The texts have the two words as well.
        ("How much were pet care sales?", "PetCare: pet care and pet food", "How much were pet care sales?"),
        # Words of two letters join to other words.
        ("What is it to do?", "A todo list.", "What is it to do?"),
        ("When is the hall free?", "The town house is free.", "When is the hall free?"),
    ],
)
def test_two_words_are_one_where_the_texts_write_them_so(question, text, spelled):
    assert with_joined_words(question, [Source(1, "a", "", text)]) == spelled
