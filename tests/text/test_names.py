"""Names of a question."""

import pytest

from preflight_rag.text.names import mentions, only_subject, subject_of, surface_name, surface_names


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
    ("question", "subject"),
    [
        ("What is the dose of ibuprofen?", "ibuprofen"),
        ("what is the usual daily dose of ibuprofen for adults", "ibuprofen"),
        ("How much metformin should an adult take?", "metformin"),
        ("How many people live in Broken Bow?", "Broken Bow"),
        ("What is the capital of France?", "France"),
        ("Why is the sky blue?", ""),
        ("how many people live here", ""),
    ],
)
def test_the_subject_of_a_question(question, subject):
    assert subject_of(question) == subject


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Who is Mara Lindqvist?", "Mara Lindqvist"),
        ("Who is Maolin He?", "Maolin He"),
        ("What does GX-2290 mean?", "GX-2290"),
        ("Tell me about SEOS", "SEOS"),
        ("What is the capital of France?", ""),
        ("Who painted the Mona Lisa?", ""),
        ("When did he die?", ""),
        ("Is it true?", ""),
    ],
)
def test_some_questions_ask_about_a_name_and_nothing_else(question, subject):
    assert only_subject(question) == subject


@pytest.mark.parametrize(
    ("name", "there"), [("Love", False), ("SEOS", True), ("seos", True), ("EOS", False), ("lamp", False)]
)
def test_a_name_is_mentioned_in_its_own_letters(name, there):
    assert mentions("For the love of SEOS, light the lamp.", name) is there


def test_the_first_word_of_a_follow_up_is_no_name():
    assert surface_name("And what did it cost in 2024?") == ""
    assert surface_name("And what did Mara Lind say?") == "Mara Lind"
