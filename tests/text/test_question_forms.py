"""Forms of answers that questions ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.text.question_forms import asks_what_exists, asks_why, form_of, is_list, may_answer


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Why is the sky blue?", "explanation"),
        ("How do bats find their way?", "explanation"),
        ("how is pneumonia treated in children", "explanation"),
        ("What causes tides?", "explanation"),
        ("What can I do about a lost train?", "explanation"),
        ("What should members do if the gate is shut?", "explanation"),
        ("What are the symptoms of dengue fever?", "explanation"),
        ("What is the mechanism of action of aspirin?", "explanation"),
        ("What is dengue?", "explanation"),
        ("what are tides", "explanation"),
        ("What is an emperor penguin?", "explanation"),
        ("Who was Robert Fortune?", "explanation"),
        ("Describe the life of an octopus", "explanation"),
        ("Please explain rust.", "explanation"),
        ("Can you tell me why iron rusts?", "explanation"),
        ("How many people live in Broken Bow?", "value"),
        ("How hot is the planet Venus?", "value"),
        ("What is the capital of France?", "value"),
        ("What is the hottest planet?", "value"),
        ("What is dark matter made of?", "value"),
        ("Who discovered penicillin?", "value"),
        ("Could you tell me who discovered penicillin?", "value"),
        ("When was the Eiffel Tower built?", "value"),
        ("Which virus causes measles?", "value"),
        ("What was discovered by accident?", "value"),
        ("Is it Titan or Rhea?", "value"),
        ("boiling point of water", "value"),
        ("Which genes are associated with obesity?", "list"),
        ("What are the largest moons of Saturn?", "list"),
        ("Name the planets with rings.", "list"),
        ("List three kinds of bats", "list"),
        ("Which human genes are linked to obesity?", "list"),
        ("Which gas do yeasts give off?", "value"),
        ("Which gene encodes insulin?", "value"),
        ("Does aspirin prevent strokes?", "verdict"),
        ("is the sky blue", "verdict"),
        ("Neck pain treatment with acupuncture: does the number of needles matter?", "verdict"),
        ("In adults with asthma, does budesonide help?", "verdict"),
        ("Was the percentage of women higher than that of men?", "verdict"),
        ("What is the dose, is it known?", "value"),
        ("Of the two drugs, which is safer?", "value"),
        ("Percentage of women, men and children", "value"),
        ("Does aspirin prevent strokes? And which dose was given?", "value"),
        ("Does aspirin prevent strokes? how many women were included", "value"),
        ("What is aspirin? Does it prevent strokes?", "verdict"),
        ("Does aspirin prevent strokes? and why?", "explanation"),
        ("Does aspirin prevent strokes? Please answer briefly.", "verdict"),
        ("Can honeybees count?", "verdict"),
        ("", "value"),
        ("?!", "value"),
        ("Was ist die Hauptstadt von Frankreich?", "value"),
    ],
)
def test_a_question_asks_for_a_form(question, form):
    assert form_of(question) == form


@pytest.mark.parametrize(("question", "form"), [("Who is doing the roof?", "value"), ("Who is Ann?", "explanation")])
def test_who_does_something_is_a_name(question, form):
    assert form_of(question) == form


@given(st.text(max_size=120))
def test_any_text_has_a_form(question):
    assert form_of(question) in {"value", "list", "verdict", "explanation"}


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Why was the ferry late?", True),
        ("Please, why was the ferry late?", True),
        ("For what reason did it leave late?", True),
        ("What is the reason for the delay?", True),
        ("What made the engine fail?", True),
        ("What caused the delay of the ferry?", True),
        ("How was the ferry repaired?", False),
        ("When was the ferry late?", False),
    ],
)
def test_a_reason_is_asked_for(question, asks):
    assert asks_why(question) is asks


@pytest.mark.parametrize(
    ("row", "gives"),
    [
        ("Ferry: Astrid | Notes: Late because of fog", True),
        ("Ferry: Astrid | Reason: fog", True),
        ("The delay was caused by fog.", True),
        ("Nobody could steer as there was fog.", True),
        ("The ferry left as usual.", False),
        ("Ferry: Astrid | Built: 1998 | State: good", False),
    ],
)
def test_a_row_answers_why_only_with_a_reason(row, gives):
    assert may_answer("Why was the ferry late?", row) is gives
    assert may_answer("Which ferry was late?", row)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Which boats are there in the harbour?", True),
        ("What colours are available?", True),
        ("Which boats were sold?", False),
        ("Which boat is there?", False),
        ("How many boats are there?", False),
    ],
)
def test_all_things_of_a_kind_are_asked_for(question, asks):
    assert asks_what_exists(question) is asks


@pytest.mark.parametrize(("text", "several"), [("skiff", False), ("skiff, yawl", True), ("skiffs and yawls", True)])
def test_an_answer_names_several_things(text, several):
    assert is_list(text) is several
