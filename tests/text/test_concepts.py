"""Key concepts, parts and expressions by rule; what a rewrite must keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.text.boolean import parse
from preflight_rag.text.concepts import expressions, key_concepts, rewrite_by_rules, subquestions
from preflight_rag.text.survival import corrections, lost


@pytest.mark.parametrize(
    ("question", "concepts"),
    [
        ("Do statins cause muscle pain in older patients?", ("muscle pain", "older patients", "statins")),
        ("What is the role of BRCA1 in breast cancer?", ("BRCA1", "breast cancer", "role")),
        ('Is "immune checkpoint" therapy safe in rats?', ("immune checkpoint", "rats", "therapy")),
        ("How does type 2 diabetes differ from type 1 diabetes?", ("type 2 diabetes", "type 1 diabetes")),
        ("What is it?", ()),
    ],
)
def test_key_concepts(question, concepts):
    assert key_concepts(question) == concepts


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What causes dengue and how is it treated?", ("What causes dengue?", "How is dengue treated?")),
        ("What is dengue? What are its symptoms?", ("What is dengue?", "What are dengue's symptoms?")),
        ("What is dengue and what are the symptoms?", ("What is dengue?", "What are the symptoms of dengue?")),
        ("Who found insulin; when was it found?", ("Who found insulin?", "When was insulin found?")),
        (
            "About metformin: 1) what is the dose? 2) what are the side effects?",
            ("What is the dose of metformin?", "What are the side effects of metformin?"),
        ),
        ("What is the capital of France and who is its president?",
         ("What is the capital of France?", "Who is France's president?")),
    ],
)  # fmt: skip
def test_parts_stand_alone(question, parts):
    assert subquestions(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "What causes dengue?",
        "Which genes are involved in Parkinson's disease and Alzheimer's disease?",
        "When and how does dengue spread?",
        "Do we know what causes gout and how it is treated?",
        "I have asthma. Can I take ibuprofen?",
        "Is aspirin safe in pregnancy and which dose is used?",
        "Is vitamin B 12) enough?",
        "Really??",
    ],
)
def test_a_question_with_one_part_has_none(question):
    assert subquestions(question) == ()


def test_the_ladder_goes_from_all_to_any():
    assert expressions(["muscle pain", "statins", "IL-6"]) == (
        '"muscle pain" AND statins AND IL-6',
        '"muscle pain" AND statins',
        '"muscle pain"',
        '"muscle pain" OR statins OR IL-6',
    )
    assert expressions(["statins"]) == ("statins",)
    assert expressions([]) == ()


@given(st.text(max_size=200))
def test_any_question_gives_expressions_that_can_be_read(question):
    made = rewrite_by_rules(question)
    assert made.question == question
    for expression in made.expressions:
        parse(expression)


@pytest.mark.parametrize(
    ("message", "rewritten", "missing"),
    [
        ("Is 1,000 mg of IL-6 safe?", "is IL6 safe at 1000 mg?", []),
        ("Is 5 mg safe?", "Is 50 mg safe?", ["5"]),
        ("EGFR or mTOR?", "Which receptor?", ["EGFR", "mTOR"]),
        ("patients who dont respond", "patients who do not respond", []),
        ("without fever", "with fever", ["a negation"]),
        ("DOES ASPIRIN HELP", "Does it?", []),
        ("present treatment", "current therapy", []),
    ],
)
def test_what_a_rewrite_lost(message, rewritten, missing):
    assert lost(message, rewritten) == missing


def test_corrections_are_words_of_much_the_same_letters():
    said = corrections("waht is diabtes in kids", "What is diabetes in children?")
    assert said == (("waht", "What"), ("diabtes", "diabetes"))
