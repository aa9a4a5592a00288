"""Follow-up questions by rule."""

import pytest

from preflight_rag.conversation.follow_ups import standalone

ADULTS = "What is the normal heart rate of adults?"


@pytest.mark.parametrize(
    ("earlier", "message", "expected"),
    [
        ([], "  Why is\nthe sky blue? ", "Why is the sky blue?"),
        ([ADULTS], "and in children?", "What is the normal heart rate in children?"),
        ([ADULTS, "and in children?"], "and in newborns?", "What is the normal heart rate in newborns?"),
        ([ADULTS], "what about infants?", "What is the normal heart rate of infants?"),
        (["How is pneumonia treated?"], "and in children?", "How is pneumonia treated in children?"),
        (["How high is Mount Everest?"], "What about K2?", "How high is K2?"),
        (["What was the mean age in the placebo group?"], "and with naproxen?", "What was the mean age with naproxen?"),
        (["How many recovered in the drug arm?"], "and in the placebo arm?", "How many recovered in the placebo arm?"),
        (
            ["What was the mean age of placebo patients in the etoricoxib trial?"],
            "and with naproxen?",
            "What was the mean age of naproxen patients in the etoricoxib trial?",
        ),
        (["Did pain fall with aspirin?"], "and with placebo?", "Did pain fall with placebo?"),
        (["What are tides?"], "why do they differ?", "What are tides? why do they differ?"),
        (
            ["What are tides?", "why do they differ?"],
            "And why is that?",
            "What are tides? why do they differ? And why is that?",
        ),
        (["What is dengue?"], "What are the symptoms?", "What is dengue? What are the symptoms?"),
        (["What is dengue?"], "side effects", "What is dengue? side effects"),
        (
            ["Does etoricoxib help after surgery?"],
            "And which dose was given?",
            "Does etoricoxib help after surgery? And which dose was given?",
        ),
        (
            ["Does etoricoxib help after surgery?"],
            "How many women were included?",
            "Does etoricoxib help after surgery? How many women were included?",
        ),
        (["What is dengue?"], "How many moons of Saturn were found?", "How many moons of Saturn were found?"),
        (["What is dengue?"], "What year was penicillin discovered?", "What year was penicillin discovered?"),
        (["What is dengue?"], "Which cities were built by the Romans?", "Which cities were built by the Romans?"),
        (["What is dengue?"], "What is IFITM?", "What is IFITM?"),
        (["What is dengue?"], "Who discovered penicillin?", "Who discovered penicillin?"),
        (["What is dengue?"], "How do bats find their way?", "How do bats find their way?"),
        (["What is dengue?"], "How long does it take to boil an egg?", "How long does it take to boil an egg?"),
    ],
)
def test_a_follow_up_is_joined_with_the_question_that_it_leans_on(earlier, message, expected):
    assert standalone(message, earlier) == expected
