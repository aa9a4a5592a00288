"""A question in other words that texts use."""

from preflight_rag.offline.word_variants import variants
from preflight_rag.text.words import words


def known(text):
    return frozenset(words(text))


def test_who_speaks_is_a_speaker():
    assert variants("How long can I speak?", known("Each speaker has three minutes.")) == ["How long can I speaker?"]
    assert variants("Who manages the bar?", known("Bar manager: Ann Hale")) == []


def test_a_study_of_men_says_whether_women_were_in_it():
    assert variants("Were there any women in it?", known("All were male.")) == ["Were there any male in it?"]
    # Only a yes or no follows from who else was meant.
    assert variants("How many women were in it?", known("All were male.")) == []


def test_texts_without_the_other_word_change_nothing():
    assert variants("How long can I speak?", known("You have three minutes.")) == []
