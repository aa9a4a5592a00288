"""Classes of sizes in columns' names, and sizes in questions."""

import pytest

from preflight_rag.text.size_classes import asked_sizes, size_class


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("10-25 kg", (10, 17, 25), (9, 26)),
        ("Up to 10 kg", (1, 10), (11,)),
        ("under 10 kg", (9,), (10,)),
        ("Over 40 kg", (41,), (40,)),
        ("40 kg and over", (40, 90), (39,)),
        ("From 2.5 kg", (2.5, 3), (2,)),
        ("5 to 10 kilos", (5, 10), (4, 11)),
    ],
)
def test_a_class_has_the_sizes_between_its_ends(name, inside, outside):
    found = size_class(name)
    for size in (*inside, *outside):
        ((asked, _),) = asked_sizes(f"What does a dog of {size} kg cost?")
        assert found.overlaps(asked) is (size in inside)
        assert asked.overlaps(found) is (size in inside)


@pytest.mark.parametrize(
    "name", ["Total", "10 kg", "12", "£442", "Rent 2022", "25-10 kg", "2 of 3", "5 EUR", "10-25 EUR"]
)
def test_other_names_are_no_classes(name):
    assert size_class(name) is None


def test_classes_without_a_unit_are_of_none():
    assert [size_class(name).unit for name in ("65+", "18–64", "< 5")] == ["", "", ""]


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("How much does a 30 kg bitch cost to spay?", ["30 kg"]),
        ("What is it for a 30kg dog?", ["30kg"]),
        ("And for a dog over 40 kg?", ["over 40 kg"]),
        ("What is due on 30 May 2025?", []),
        ("What is due for 3 tins?", []),
    ],
)
def test_sizes_of_a_question_have_units(question, written):
    assert [text for _, text in asked_sizes(question)] == written
