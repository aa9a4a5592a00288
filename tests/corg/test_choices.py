"""Replies to the question which of several things is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.corg.choices import chosen
from preflight_rag.state.values import Choice

STATES = ["Nebraska", "Oklahoma", "Texas"]
CHOICES = [Choice(label=f"Broken Bow ({state})", entity="Broken Bow", descriptor=state) for state in STATES]


@pytest.mark.parametrize(
    ("reply", "states"),
    [
        ("1", ["Nebraska"]),
        ("2.", ["Oklahoma"]),
        (3, ["Texas"]),
        ("number 2", ["Oklahoma"]),
        ("the second one", ["Oklahoma"]),
        ("1, 3", ["Nebraska", "Texas"]),
        ("3 and 1", ["Nebraska", "Texas"]),
        ("texas", ["Texas"]),
        ("the one in Texas, please", None),
        ("the one in Texas", ["Texas"]),
        ("I mean Broken Bow (Oklahoma)", ["Oklahoma"]),
        ("Broken Bow, Oklahoma", ["Oklahoma"]),
        (["Texas", "1"], ["Nebraska", "Texas"]),
        ({"choice": "2"}, ["Oklahoma"]),
        ("all", STATES),
        ("Both", STATES),
        ("0", None),
        ("4", None),
        ("", None),
        ([], None),
        (None, None),
        ("Broken Bow", None),
        ("What is the population of Texas?", None),
        ("Texas or Kansas", None),
        (["Texas", "Kansas"], None),
    ],
)
def test_what_a_reply_chooses(reply, states):
    wanted = None if states is None else [f"Broken Bow ({state})" for state in states]
    assert chosen(reply, CHOICES) == wanted


@given(st.one_of(st.text(max_size=40), st.lists(st.text(max_size=10), max_size=4), st.integers(), st.floats()))
def test_any_reply_is_read(reply):
    found = chosen(reply, CHOICES)
    assert found is None or set(found) <= {choice.label for choice in CHOICES}
