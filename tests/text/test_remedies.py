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
        ("The moths eat the wool.", False),
        ("Users complain of holes.", False),
    ],
)
def test_sentences_that_give_a_remedy(sentence, gives):
    assert gives_remedy(sentence) is gives
