"""What "one" of a follow-up stands for, and the things and relatives that fragments put in."""

import pytest

from preflight_rag.conversation.follow_ups import is_unresolved, new_subject_spelled, standalone

BOILER = "What is wrong with the boiler?"
OFFER = "Who made an offer for the slipway?"
NYLON = "When was nylon patented?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (BOILER, "How much would a new one cost?", "How much would a new boiler cost?"),
        (BOILER, "Is there another one?", "Is there another boiler?"),
        ("Does the ferry run in winter?", "Is there a new one?", "Is there a new ferry?"),
        (OFFER, "Which one did the meeting choose?", "Which offer for the slipway did the meeting choose?"),
        ("Who drew the plans?", "Which of them won?", "Which plan won?"),
        (
            "What is the code of the Swedish krona?",
            "And the Norwegian one?",
            "What is the code of the Norwegian krona?",
        ),
        ("What is the price of the small boat?", "And of the red one?", "What is the price of the red boat?"),
        ("Where is the key kept?", "And the spare one?", "Where is the spare key kept?"),
    ],
)
def test_one_is_a_thing_of_the_kind_that_was_spoken_of(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("How much is it?", "How much would a new one cost?"),
        ("Who is Ada Byron?", "Where can I buy a new one?"),
        (BOILER, "Which one did they choose?"),
        ("How much does the boat cost?", "And the red one?"),
    ],
)
def test_one_stays_where_nothing_says_of_what_kind_it_is(question, message):
    assert standalone(message, [question]) == f"{question} {message}"


def test_one_hour_is_no_thing():
    assert standalone("Is a full one hour lesson possible?", [BOILER]) == "Is a full one hour lesson possible?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (NYLON, "And the zipper?", "When was the zipper patented?"),
        ("Who repaired the roof?", "And the boiler?", "Who repaired the boiler?"),
        ("When was the roof repaired in 2024?", "And the boiler?", "When was the boiler repaired in 2024?"),
        ("Which format does the Kobo prefer?", "And the Kindle?", "Which format does the Kindle prefer?"),
        ("When was the zipper patented?", "By whom?", "By whom was the zipper patented?"),
    ],
)
def test_another_thing_takes_the_place_of_what_something_was_done_to(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize("message", ["And the reason?", "And the cost?", "And the builder?", "And the architect?"])
def test_what_belongs_to_a_thing_takes_no_place_of_it(message):
    asked = "When was the roof repaired?"
    assert standalone(message, [asked]) == f"{asked} {message}"


def test_the_thing_put_in_is_the_new_subject():
    assert new_subject_spelled("And the zipper?", NYLON) == ("zipper",)
    assert new_subject_spelled("And the Norwegian one?", "What is the code of the Swedish krona?") == ("Norwegian",)
    assert new_subject_spelled("And the stone?", "What is the birth flower of August?") == ()


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("What happened to Mina Lyle?", "And her father?", "What happened to Mina Lyle’s father?"),
        ("When was David Bowie born?", "And his first wife?", "When was David Bowie’s first wife born?"),
        ("What did Mina Lyle say?", "And her salary?", "And Mina Lyle’s salary?"),
    ],
)
def test_a_relative_is_asked_the_question_before(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("When does the policy run out?", "What will it cost to renew?", "What will the policy cost to renew?"),
        ("What is the deposit for?", "When is it due?", "When is the deposit due?"),
        ("Who is the curator?", "What is his phone number?", "What is the curator’s phone number?"),
    ],
)
def test_a_particle_or_an_unnamed_holder_hides_nothing(question, message, expected):
    assert standalone(message, [question]) == expected


def test_what_costs_something_to_renew_may_be_named_behind():
    message = "What does it cost to renew a licence?"
    assert standalone(message, ["When does the policy run out?"]) == message


@pytest.mark.parametrize(
    ("message", "unresolved"),
    [("Which one did they choose?", True), ("Why did they?", True), ("Does the dog need a diet for it?", False)],
)
def test_a_message_behind_another_question_is_unresolved_by_its_own_pronoun(message, unresolved):
    assert is_unresolved(message, f"{BOILER} {message}") is unresolved
