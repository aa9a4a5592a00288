"""Questions for a remedy, and sentences that give one."""

import pytest

from preflight_rag.text.remedies import asks_remedy, gives_remedy


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What can I do about moths?", True),
        ("What should be done against moths?", True),
        ("How do I get rid of moths?", True),
        ("How to prevent rust?", True),
        ("Is there a workaround for the crash?", True),
        ("What is the fix for the crash?", True),
        ("What can I do in Hull?", False),
        ("How do I get to Hull?", False),
        ("Who fixed the crash?", False),
        ("How do I stop the tap from leaking?", True),
        ("How do I stop the engine when it overheats?", True),
        ("How do I stop the car?", False),
        ("Is there a solution to the noise problem?", True),
        ("What is the solution of the equation?", False),
    ],
)
def test_questions_for_a_remedy(question, asks):
    assert asks_remedy(question) is asks


@pytest.mark.parametrize(
    ("sentence", "gives"),
    [
        ("Try another cable.", True),
        ("- Please restart the server.", True),
        ("A new fuse solves this.", True),
        ("This can be avoided with wax.", True),
        ("Clean the filter, which is below the pump.", True),
        ("Check that the valve is open.", True),
        ("Set `speed` to 3.", True),
        ("Switch off the pump.", True),
        ("Use vinegar.", True),
        ("Call charges of the garden advice line are 2 euros.", False),
        ("Clean water is a right of every person.", False),
        ("Open from 9 to 5", False),
        ("Set theory", False),
        ("Place of birth", False),
        ("Push notifications", False),
        ("Use of the hall is free.", False),
        ("Replacement seals and add-ons are in the shop.", False),
        ("Remove buttons are red.", False),
        ("The moths eat the wool.", False),
        ("Users complain of holes.", False),
    ],
)
def test_sentences_that_give_a_remedy(sentence, gives):
    assert gives_remedy(sentence) is gives
