"""Questions in the plural."""

import pytest

from preflight_rag.text.plural import plural_question

PAPER = "2019 World Ice Hockey Championships host country?", "2019 World Ice Hockey Championships host countries?"


@pytest.mark.parametrize(
    ("question", "plural"),
    [
        PAPER,
        ("What is the population of Springfield?", "What are the populations of Springfield?"),
        ("Who is the director of the film \"Emma\"?", "Who are the directors of the film \"Emma\"?"),
        ("What's the birth date of John Smith?", "What are the birth dates of John Smith?"),
        ("What is the instrument played by Rakha?", "What are the instruments played by Rakha?"),
        ("In which city did Conry practice law?", "In which cities did Conry practice law?"),
        ("What sport is Bobby Carpenter associated with?", "What sports is Bobby Carpenter associated with?"),
        ("Which person was elected?", "Which people were elected?"),
        ("What type of music is associated with Doak?", "What types of music are associated with Doak?"),
        ("When was the Bonner House built?", "When were the Bonner Houses built?"),
        ("When was the album \"Heat\" released?", "When were the albums \"Heat\" released?"),
        ("How many people live in Broken Bow?", "How many people live in the Broken Bows?"),
        ("When was the Hobbit film released?", "When were the Hobbit films released?"),
        ("When was The Simpsons game released?", "When were the Simpsons games released?"),
        ("When was The Simpsons released?", "When were the Simpsons released?"),
        ("When was Springfield founded?", "When were the Springfields founded?"),
        ("Where does Mercury orbit?", "Where do the Mercurys orbit?"),
        ("When did Georgia join the union?", "When did the Georgias join the union?"),
        ("Who wrote The Jungle Book?", "Who wrote the Jungle Books?"),
    ],
)  # fmt: skip
def test_a_question_is_put_in_the_plural(question, plural):
    assert plural_question(question) == plural


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What is mercury?",
        "Does aspirin help?",
        "where is the tower",
        "Aspirin",
        'Who directed "Heat"?',
        "When did Springfield's mayor die?",
    ],
)
def test_what_no_rule_fits_is_left_to_the_model(question):
    assert plural_question(question) is None
