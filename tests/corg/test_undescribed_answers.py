"""Answers of which only some say which entity they mean stand side by side."""

import pytest

from preflight_rag.corg.undescribed import undescribed, undescribed_answers
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.values import Relation
from preflight_rag.text.headers import UNDESCRIBED


def context(rank, answer, descriptor=None, entity="Broken Bow", **more):
    return ContextNote(rank, entity, descriptor, answer, **more)


def relation(a, b, kind):
    return Relation[int](a=a, b=b, kind=kind)


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (("3,491", "Nebraska"), ("9,000", None), True),
        (("3,491", None), ("9,000", None), False),
        (("3,491", "Nebraska"), ("3491 people", None), False),
        (("3,491", "Nebraska"), ("4,228", "Oklahoma"), False),
        (("3,491", None), (None, None), False),
    ],
)
def test_answers_are_undescribed_where_one_descriptor_is_missing(a, b, found):
    first, second = (ContextNote(n, "Broken Bow", side[1], side[0]) for n, side in enumerate((a, b), 1))
    assert undescribed(first, second) is undescribed(second, first) is found


def test_all_answers_of_the_name_stand_in_one_paragraph():
    contexts = {1: context(1, "3,491", "Nebraska"), 2: context(2, "9,000"), 3: context(3, "9,000"), 4: context(4, "5")}
    relations = [relation(1, 2, "none"), relation(2, 3, "duplicated"), relation(1, 3, "none")]
    relations += [relation(1, 4, "counterfactual")]
    (paragraph,) = undescribed_answers(contexts, relations)
    assert paragraph == f"**Broken Bow**: {UNDESCRIBED} 3,491 (Nebraska) [1]; 9,000 [2][3]; 5 [4]."


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (context(2, "9,000", "Oklahoma"), "distracting"),
        (context(2, "9,000", "Nebraska"), "counterfactual"),
        (context(2, "9,000", entity="Marlow"), "none"),
        (context(2, "9,000", told=False), "none"),
        (context(2, "9,000", relevant=False), "none"),
    ],
)
def test_nothing_is_added_where_the_relation_says_it_or_no_reader_said_it(other, kind):
    assert undescribed_answers({1: context(1, "3,491", "Nebraska"), 2: other}, [relation(1, 2, kind)]) == []
