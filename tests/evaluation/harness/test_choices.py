"""Which option a free reply names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.harness.arms import read_choice

OPTIONS = ("aspirin", "ibuprofen", "paracetamol", "morphine")


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("B", "ibuprofen"),
        ("(B)", "ibuprofen"),
        ("B. ibuprofen", "ibuprofen"),
        ("B) it lowers fever", "ibuprofen"),
        ("Reasons.\nCHOICE: B", "ibuprofen"),
        ("**Answer:** C", "paracetamol"),
        ("Answer: A\nOn second thought.\nFinal answer: D", "morphine"),
        ("The answer is (D).", "morphine"),
        ("The answer is B because it says so [1].", "ibuprofen"),
        ("The correct option is **C**", "paracetamol"),
        ('{"step_by_step_thinking": "It is A drug.", "answer_choice": "C"}', "paracetamol"),
        ("So \\boxed{\\text{D}}", "morphine"),
        ("<think>A or B?</think>C", "paracetamol"),
        ("It is paracetamol.", "paracetamol"),
        ('CHOICE: B\nQUOTES\n[1] "Answer: C"', "ibuprofen"),
        ("I am sorry for the delay. Answer: B", "ibuprofen"),
    ],
)
def test_an_option_is_read(reply: str, option: str) -> None:
    choice = read_choice(reply, OPTIONS)
    assert (choice.option, choice.refused) == (option, False)


@pytest.mark.parametrize(
    "reply",
    ["", "qqq 17 %%", "Answer: A and C", "A or B", "Either aspirin or morphine.", "The answer is a drug.", "Answer: Z",
     "Answer: A drug for pain", "The answer is A. No, the answer is B."],
)  # fmt: skip
def test_garbage_names_no_option(reply: str) -> None:
    choice = read_choice(reply, OPTIONS)
    assert (choice.option, choice.refused) == (None, False)


@pytest.mark.parametrize(
    "reply", ["NOT IN THE PASSAGES", "I'm sorry, I cannot help with that.", "I cannot answer medical questions.",
              "I don't know."],
)  # fmt: skip
def test_a_refusal_is_no_choice(reply: str) -> None:
    choice = read_choice(reply, OPTIONS)
    assert (choice.option, choice.refused) == (None, True)


@pytest.mark.parametrize(("reply", "option"), [("Yes, it does.", "yes"), ("no", "no"), ("**Maybe**", "maybe")])
def test_yes_and_no_are_read_from_the_first_word(reply: str, option: str) -> None:
    assert read_choice(reply, ("yes", "no", "maybe")).option == option


@given(st.text())
def test_any_text_gives_one_verdict(reply: str) -> None:
    choice = read_choice(reply, OPTIONS)
    assert choice.option in (*OPTIONS, None)
    assert choice.option is None or not choice.refused
