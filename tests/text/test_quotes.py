"""Finding quotes and statements in passages."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.server.markdown import render
from preflight_rag.text.citations import quoted
from preflight_rag.text.quotes import is_title, locate, plain, strongest, support, trim_quote, with_ellipses

TEXT = (
    "Aspirin was first sold in 1899. The usual dose for adults is 300 to 600 mg every four hours. "
    "It is “not recommended” for children under 16,\nbecause of Reye's syndrome."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("first sold in 1899", "first sold in 1899"),
        ("FIRST SOLD IN 1899.", "first sold in 1899"),
        (
            'It is "not recommended" for children under 16, because',
            "It is “not recommended” for children under 16,\nbecause",
        ),
        (
            "The usual dose for adult is 300 to 600 mg every four hours",
            "The usual dose for adults is 300 to 600 mg every four hours",
        ),
        ("... not recommended” for children under 16", "not recommended” for children under 16"),
        ("Reye’s syndrome", "Reye's syndrome"),
    ],
)
def test_a_quote_is_found_in_the_passages_own_words(quote, found):
    start, end = locate(quote, TEXT)
    assert TEXT[start:end] == found


@pytest.mark.parametrize(
    "quote",
    [
        "first sold in 1898",
        "The usual dose for adults is 300 to 900 mg every four hours",
        "It cures everything",
        "",
        "…",
        "xyz",
    ],
)
def test_a_quote_that_is_not_there_is_not_found(quote):
    assert locate(quote, TEXT) is None


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("Adults usually take a dose of 300 to 600 mg", "300 to 600 mg"),
        ("Aspirin was sold first in 1899", "1899"),
        ("Children under 16 should not take it because of Reye's syndrome", "Reye"),
    ],
)
def test_a_statement_is_supported_by_its_sentence(statement, holds):
    start, end = support(statement, TEXT)
    assert holds in TEXT[start:end]


@pytest.mark.parametrize("statement", ["Aspirin was first sold in 1901", "Bananas are yellow fruit", "", "…"])
def test_a_statement_with_another_number_or_subject_is_not_supported(statement):
    assert support(statement, TEXT) is None


def test_the_strongest_text_wins_and_none_is_possible():
    assert strongest("Aspirin was first sold in 1899", ["It was sold first in 1899.", TEXT]) == 1
    assert strongest("Bananas are yellow", [TEXT]) is None


@given(st.text(min_size=1, max_size=200), st.data())
def test_every_stretch_of_a_text_is_found_in_it(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = locate(text[start:end], text)
    if found:
        assert 0 <= found[0] < found[1] <= len(text)
    elif "..." not in text[start:end] and "…" not in text[start:end]:
        assert not text[start:end].strip()


LONG = "filler word " * 90 + "the yellow pump delivers 40 litres " + "other stuff " * 90


def test_a_long_quote_is_trimmed_around_the_words_that_it_is_quoted_for():
    start, end = trim_quote(LONG, 0, len(LONG), ["yellow", "pump", "litr"])
    assert "the yellow pump delivers 40 litres" in LONG[start:end]
    assert end - start <= 600
    assert LONG[start - 1] == " "
    assert LONG[end] == " "


def test_a_short_quote_stays_whole():
    assert trim_quote(TEXT, 0, 33, ["dose"]) == (0, 33)


@given(st.text(alphabet="ab .|\n", max_size=1500), st.sets(st.sampled_from(["ab", "b", "aa"])))
def test_a_trimmed_quote_lies_within_the_quote(text, wanted):
    start, end = trim_quote(text, 0, len(text), wanted)
    assert 0 <= start <= end <= len(text)
    assert end - start <= 600


@pytest.mark.parametrize(
    ("text", "title", "alone"),
    [
        ("Aspirin in adults", "Aspirin in Adults: a trial", True),
        ("Aspirin helps adults.", "Aspirin helps adults.", False),
        ("Aspirin", "", False),
    ],
)
def test_a_title_alone_is_recognised(text, title, alone):
    assert is_title(text, title) is alone


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("Zinc melts at 420 °C, which is low.", "Zinc melts at 420 °C, which is low."),
        ("Zinc melts at 420 °C", "Zinc melts at 420 °C …"),
        ("melts at 420 °C, which is low.", "… melts at 420 °C, which is low."),
        ("which is low. Tin melts at 232 °C.", "… which is low. Tin melts at 232 °C."),
        ("Tin melts at 232 °C.", "Tin melts at 232 °C."),
        ("not there", "not there"),
    ],
)
def test_an_ellipsis_stands_where_a_sentence_is_cut(quote, shown):
    assert with_ellipses(quote, "- Zinc melts at 420 °C, which is low. Tin melts at 232 °C.") == shown


@pytest.mark.parametrize(
    ("quote", "shown", "on_the_page"),
    [
        ("``30 4 1,15 * 5'' runs on Fridays", "“‘30 4 1,15 * 5’ runs on Fridays” [1]", None),
        ("the `default' and `tall' sets", "“the ‘default’ and ‘tall’ sets” [1]", None),
        ("Run `make` or don't.", "“Run make or don't.” [1]", None),
        ("5 0 * * * $HOME/bin/daily.job", "“5 0 * * * $HOME/bin/daily.job” [1]", None),
        ("**Note:** use `apt-mark hold`", "“Note: use apt-mark hold” [1]", None),
        ("a bold end that was cut** off", "“a bold end that was cut off” [1]", None),
        ("*p* < 0.05, with *q*", "“p < 0.05, with q” [1]", None),
        ("Members pay **£500** or **(only) half**", "“Members pay £500 or (only) half” [1]", None),
        ("__please__ knock", "“please knock” [1]", None),
        ("cost 5\n+ 3 for tax", "“cost 5 + 3 for tax” [1]", None),
        ("the dog\n- an old one - barked", "“the dog - an old one - barked” [1]", None),
        # Markdown would take these pairs for emphasis.
        ("ls /var/*.log /tmp/*.x", r"“ls /var/\*.log /tmp/\*.x” [1]", "“ls /var/*.log /tmp/*.x”"),
        ("her second collection, *Tidal Arithmetic*.", "“her second collection, Tidal Arithmetic.” [1]", None),
        ("rm *.txt and *.md", "“rm *.txt and *.md” [1]", None),
        ("2**3 and 3**2", r"“2\*\*3 and 3\*\*2” [1]", "“2**3 and 3**2”"),
        ("the __init__ method", r"“the \_\_init\_\_ method” [1]", "“the __init__ method”"),
        ("__Important note__: read it", "“Important note: read it” [1]", None),
    ],
)
def test_a_shown_quote_keeps_the_signs_of_commands_and_loses_those_of_emphasis(quote, shown, on_the_page):
    made = quoted(1, plain(quote))
    assert made == shown
    drawn = unescape(re.sub("<[^>]*>", "", render(made).partition("<button")[0])).strip()
    assert drawn == (on_the_page or shown.removesuffix(" [1]"))


def test_only_what_looks_like_a_title_loses_its_single_asterisks():
    assert plain("the prize for *Tidal Arithmetic*.") == "the prize for Tidal Arithmetic."
    assert plain("files that match *tmp* every night") == "files that match *tmp* every night"
