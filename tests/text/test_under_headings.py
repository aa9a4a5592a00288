"""The sentences of a passage with the words of the heading above them."""

from preflight_rag.state.reading import Source
from preflight_rag.text.under_headings import under_headings
from preflight_rag.text.words import words

TEXT = """The choir sang twice.

Harvest supper

Saturday 5 October at the Swan. Two courses are £18.

Article 7

Dogs stay outside."""


def test_a_sentence_has_the_words_of_its_own_heading_alone():
    found = under_headings(Source(1, "a", "Newsletter", TEXT, heading="Music"))
    assert found["The choir sang twice."] == frozenset(words("Music"))
    assert found["Two courses are £18."] == frozenset(words("Harvest supper"))


def test_a_marked_heading_is_one():
    text = "# News\n\n## May I bring my dog?\n\nNot in the hall.\n\nHours\n=====\n\nFrom six to ten.\n"
    found = under_headings(Source(1, "a", "News", text))
    assert found["Not in the hall."] == frozenset(words("May I bring my dog?"))
    assert found["From six to ten."] == frozenset(words("Hours"))


def test_the_number_of_a_part_says_nothing():
    assert under_headings(Source(1, "a", "Newsletter", TEXT))["Dogs stay outside."] == frozenset()
