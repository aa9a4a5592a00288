"""What is kept of the groups' answers."""

import pytest

from preflight_rag.corg.group_answers import chosen


def draft(group, ranks, choice):
    return {"group": group, "ranks": ranks, "text": "x", "quotes": [], "status": "answered", "choice": choice}


@pytest.mark.parametrize(
    ("drafts", "sources", "choice"),
    [
        ([draft(1, [1, 2], "few"), draft(2, [3], "many")], {}, "few"),
        ([draft(1, [1], "few"), draft(2, [3], "many")], {"3": [4, 5]}, "many"),
        ([draft(1, [1], "few"), draft(2, [2], "many")], {}, "few"),
        ([draft(1, [1, 2], None), draft(2, [3], "many")], {}, "many"),
        ([draft(1, [1], None)], {}, None),
    ],
)
def test_the_choice_is_that_of_the_groups_with_the_most_contexts(drafts, sources, choice):
    """Counted by hand: a context stands for itself and for those dropped in its favour; of equals the first group."""
    assert chosen(drafts, {"groups": [], "dropped": [], "sources": sources}) == choice
