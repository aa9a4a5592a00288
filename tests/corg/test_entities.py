"""What a context is about, by rule: its entity, descriptor and answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.corg.entities import leading_names, named_entity, nearest_sentence, note_by_rule, own_name
from preflight_rag.state.reading import Source
from preflight_rag.text.names import tokens

QUESTION = "How many people live in Broken Bow?"


@pytest.mark.parametrize(
    ("title", "text", "entity", "descriptor", "answer"),
    [
        ("Broken Bow, Nebraska", "The city has 3,559 residents.", "Broken Bow", "Nebraska", "3,559 residents"),
        ("Broken Bow (Oklahoma)", "It lies in a valley. 4,120 live there.", "Broken Bow", "Oklahoma", "4,120"),
        ("Rhubarb", "A plant.", "Rhubarb", None, "A plant."),
        ("", "Nothing at all.", "Broken Bow", None, "Nothing at all."),
    ],
)
def test_a_note_by_rule(title, text, entity, descriptor, answer):
    note = note_by_rule(QUESTION, Source(4, "id", title, text))
    assert (note.rank, note.entity, note.descriptor) == (4, entity, descriptor)
    assert note.answer.startswith(answer[:5])


@pytest.mark.parametrize(
    ("name", "heading", "own"),
    [
        ("Broken Bow, Nebraska", "Broken Bow, Nebraska", "Broken Bow, Nebraska"),
        ("Broken Bow, Nebraska", "Broken Bow, Oklahoma", "Broken Bow"),
        ("Broken Bow, Nebraska", "Broken Bow", "Broken Bow"),
        ("Broken Bow, Nebraska", "Cities of Nebraska", "Broken Bow, Nebraska"),
        ("Broken Bow, Nebraska", "History of Broken Bow, Nebraska", "Broken Bow, Nebraska"),
        ("Broken Bow", "Broken Bow, Oklahoma", "Broken Bow"),
        ("Mercury (planet)", "Mercury (element)", "Mercury"),
        ("", "Bread", ""),
    ],
)
def test_a_namesake_is_not_given_the_name_that_was_asked_for(name, heading, own):
    assert own_name(name, heading) == own


def test_a_note_on_a_namesake_that_speaks_of_what_was_asked_for():
    text = "Broken Bow is a city in Oklahoma, named after Broken Bow, Nebraska. 4,228 live there."
    note = note_by_rule("How many live in Broken Bow, Nebraska?", Source(1, "id", "Broken Bow, Oklahoma", text))
    assert (note.entity, note.descriptor) == ("Broken Bow", "Oklahoma")


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_a_note_with_an_answer(question, title, text):
    note = note_by_rule(question, Source(1, "id", title, text))
    assert note.entity
    assert note.answer is not None
    assert nearest_sentence(question, text) in text


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
def test_a_title_or_what_stands_by_a_name_describes_its_entity(title, text, descriptor):
    found = named_entity(("broken", "bow"), title, text, frozenset({"live", "peopl"}))
    assert (set(found.words) if found else None) == descriptor


def test_titles_name_what_a_question_in_lower_case_asks_for():
    question = tokens("how many people live in broken bow")
    assert leading_names("Broken Bow, Oklahoma", "The city", question) == [("broken", "bow")]
    assert leading_names("", "Broken Bow is a city", question) == [("broken", "bow")]
