"""Names of a question, and what tells their bearers apart."""

import pytest

from preflight_rag.corg.descriptors import bearer, leading_names
from preflight_rag.text.names import surface_names, tokens


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How many people live in Broken Bow?", ["broken bow"]),
        ('Who is the director of the film "Stranger than Fiction"?', ["stranger than fiction"]),
        ("Araki Station was opened when?", ["araki station"]),
        ("64th Division was formed in which year?", ["64th division"]),
        ("When did the Battle of Cancha Rayada take place?", ["battle of cancha rayada"]),
        ("What is Terry McDonald's profession?", ["terry mcdonald"]),
        ("Is Paris in France or in Texas?", ["france", "paris", "texas"]),
        ("who got the first nobel prize in physics", []),
        ("?!", []),
    ],
)
def test_names_are_quoted_or_capitalised(question, names):
    assert sorted(" ".join(name) for name in surface_names(question)) == sorted(names)


@pytest.mark.parametrize(
    ("title", "text", "descriptor"),
    [
        ("Broken Bow, Oklahoma", "", {"oklahoma"}),
        ("Broken Bow (Nebraska) - Wikipedia", "", {"nebraska"}),
        ("New Broken Bow", "", {"new"}),
        ("How many people live in Broken Bow", "", None),
        ("A guide to Broken Bow for visitors", "", None),
        ("", "First Broken Bow was a town.", {"first"}),
        ("", "Background: Broken Bow was a town.", None),
        ("", "Broken Bow (Star Trek) is an episode", {"star", "trek"}),
        ("", "Broken Bow , Nebraska , lies in the middle", {"nebraska"}),
        ("", "The story of Broken Bow (1958 film) begins", {"1958", "film"}),
        ("", "Broken Bow (1882–1911) was a small settlement", None),
        ("", "Broken Bow (formerly Bent Arrow) was a small settlement", None),
        ("", "Broken Bow (BB) was a small settlement", None),
        ("", "A day in Broken Bow", None),
        ("", "", None),
    ],
)
def test_a_title_or_what_stands_by_a_name_describes_its_bearer(title, text, descriptor):
    found = bearer(("broken", "bow"), title, text, frozenset({"live", "peopl"}))
    assert (set(found.words) if found else None) == descriptor


def test_titles_name_what_a_question_in_lower_case_asks_for():
    question = tokens("how many people live in broken bow")
    assert leading_names("Broken Bow, Oklahoma", "The city", question) == [("broken", "bow")]
    assert leading_names("", "Broken Bow is a city", question) == [("broken", "bow")]
