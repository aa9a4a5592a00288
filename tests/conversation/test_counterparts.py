"""Groups and seasons that take the place of others."""

import pytest

from preflight_rag.conversation.follow_ups import new_subject, standalone

ADULT = "What does the adult ticket cost in 2025?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (ADULT, "and for children?", "What does the child ticket cost in 2025?"),
        (ADULT, "and children?", "What does the child ticket cost in 2025?"),
        (ADULT, "what about families?", "What does the family ticket cost in 2025?"),
        (ADULT, "and for groups?", "What does the group ticket cost in 2025?"),
        (ADULT, "and for family tickets?", "What does the family ticket cost in 2025?"),
        (ADULT, "and for under 5s?", "What does the under 5 ticket cost in 2025?"),
        ("How much is an adult ticket?", "and for students?", "How much is a student ticket?"),
        ("How much is a child ticket?", "and for adults?", "How much is an adult ticket?"),
        ("What is the members' fee?", "and for non-members?", "What is the non-members' fee?"),
        ("What is the children's fare?", "and for adults?", "What is the adults' fare?"),
        ("What is the member price of the talk?", "and for non-members?", "What is the non-member price of the talk?"),
        ("How much do members pay for the talk?", "and non-members?", "How much do non-members pay for the talk?"),
        ("How much do adults pay?", "and children?", "How much do children pay?"),
        ("What are the adult prices?", "and for seniors?", "What are the senior prices?"),
        ("What is the summer opening time?", "and in winter?", "What is the winter opening time?"),
        ("What is the weekday rate for the hall?", "and at weekends?", "What is the weekend rate for the hall?"),
        ("How much is a single room?", "and a double one?", "How much is a double room?"),
        ("What is the minimum age?", "and the maximum?", "What is the maximum age?"),
        ("When are you open on weekdays?", "and at weekends?", "When are you open on weekends?"),
    ],
)
def test_a_group_takes_the_place_of_the_other_group(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        # What is asked for is no counterpart of anything.
        (ADULT, "and for dogs?", f"{ADULT[:-1]} for dogs?"),
        # The same group again; two seasons; a school that pays for adults.
        ("How long is it between summer and winter?", "and in autumn?", None),
        ("How much does the school pay for lunch?", "and for children?", "How much does the school pay for children?"),
        ("What is the normal heart rate of adults?", "and in children?", "What is the normal heart rate in children?"),
    ],
)
def test_what_is_no_counterpart_stays(question, message, expected):
    found = standalone(message, [question])
    assert found == expected if expected else question[:-1] in found


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("What is the rent in the 2024 tariff?", "And in the 2022 one?", "What is the rent in the 2022 tariff?"),
        ("Who signed the 2019 lease?", "and the 2023 one?", "Who signed the 2023 lease?"),
        (
            "What was paid in 2023 under the 2024 tariff?",
            "And under the 2022 one?",
            "What was paid in 2023 under the 2022 tariff?",
        ),
        # No edition, or two of them.
        ("What does the handbook say?", "And the 2022 one?", "What does the handbook say? And the 2022 one?"),
        (
            "How do the 2019 rules differ from the 2020 rules?",
            "And the 2022 ones?",
            "How do the 2019 rules differ from the 2020 rules? And the 2022 ones?",
        ),
    ],
)
def test_another_years_edition_takes_the_place_of_the_one_that_was_asked_for(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        ("How old must a senator be?", "And of a representative?", "How old must a representative be?"),
        ("How long is the term of a governor?", "What about the mayor?", "How long is the term of the mayor?"),
        ("What is the weight of ring mail?", "What about bone armor?", "What is the weight of bone armor?"),
        ("What is ring mail's weight?", "And bone armor?", "What is bone armor's weight?"),
        ("How much does ring mail weigh?", "And bone armor?", "How much does bone armor weigh?"),
        ("Which bonus does ring mail give?", "And bone armor?", "Which bonus does bone armor give?"),
        ("How much does a first consultation cost?", "and a microchip?", "How much does a microchip cost?"),
        ("How long does felting take?", "and a rug?", "How long does felting take? and a rug?"),
        ("How long does cheese last?", "and a pie?", "How long does a pie last?"),
        ("How much hay does a pony get at night?", "and a donkey?", "How much hay does a donkey get at night?"),
        ("What is the treatment of back pain?", "And neck pain?", "What is the treatment of neck pain?"),
        ("What is the dose of aspirin?", "And ibuprofen?", "What is the dose of ibuprofen?"),
        ("What is the armor class of ring mail?", "And bone armor?", "What is the armor class of bone armor?"),
        ("What does fault E07 mean?", "And E06?", "What does fault E06 mean?"),
        ("When was bleep 3.4.0 released?", "And 3.3.0?", "When was bleep 3.3.0 released?"),
    ],
)
def test_a_thing_or_a_role_takes_the_place_of_the_other(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message"),
    [
        # A quality of the thing; several things for one; people it is for; a part with an article; two versions.
        ("What is the price of ring mail?", "And weight?"),
        ("What is the treatment of dengue?", "And side effects?"),
        ("What is the treatment of dengue?", "And vaccines?"),
        ("What is the dose of aspirin?", "And children?"),
        ("What does the plan cost?", "And the deposit?"),
        ("Did bleep 3.4.0 replace bleep 3.2.0?", "And 3.3.0?"),
        # What is said about a thing, or goes with it, is no other thing of its kind.
        ("What is the treatment of gout?", "And diet?"),
        ("What is the treatment of gout?", "And alcohol?"),
        ("What is the treatment of gout?", "And surgery?"),
        ("What is the treatment of gout?", "And sauna?"),
        ("What is the dose of aspirin?", "And overdose?"),
        ("What is the password for wifi?", "And username?"),
        ("What does gout need?", "And rest?"),
        ("How long does chicken keep?", "And freezer?"),
    ],
)
def test_what_belongs_to_a_thing_does_not_take_its_place(question, message):
    assert standalone(message, [question]) == f"{question} {message}"


def test_a_guest_whom_a_member_pays_for_is_no_other_payer():
    asked = standalone("And for a guest?", ["What does a tenant pay?"])
    assert asked == "What does a tenant pay for a guest?"


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("What about Potato?", "Potato"),
        ("and bone armor?", "bone armor"),
        ("And on Monday?", ""),
        ("And Monday?", ""),
        ("And the price?", ""),
        ("And weight?", ""),
        ("Who made it?", ""),
        ("Potato?", ""),
    ],
)
def test_a_fragment_puts_in_a_new_subject_or_none(message, subject):
    assert new_subject(message) == subject
