"""The lexical analyser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from preflight_rag.text.words import _ASCII_TOKEN, _TOKEN, STOP_WORDS, words

SUFFIXES = ("", "ing", "ed", "edly", "s", "ies", "ational", "fulness", "ization", "ogist", "logi", "ement", "ion", "y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running cells were studied", ["run", "cell", "studi"]),
        ("IL-6 and IL6 and il‑6", ["il6", "il6", "il6"]),
        ("COVID-19", ["covid19", "covid"]),
        ("p53 CYP2D6", ["p53", "cyp2d6"]),
        ("TNF-α TNFα β-catenin", ["tnf", "alpha", "tnf", "alpha", "beta", "catenin"]),
        ("5 μg", ["5", "ug"]),
        ("the U.S. and e.g. i.v.", ["us", "iv"]),
        ("WHO said who", ["who", "said"]),
        ("WHO IS IT", []),
        ("don't John's O'Brien’s", ["john", "obrien"]),
        ("3.5 of 1,200 [1,2] 2020-01-15", ["3.5", "1200", "1", "2", "2020", "01", "15"]),
        ("well-known HIV/AIDS snake_case", ["well", "known", "hiv", "aid", "snake", "case"]),
        ("Sjögren Straße ﬁne", ["sjogren", "strass", "fine"]),
        ("你好世界 猫", ["你好", "好世", "世界", "猫"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Ελλάδα", ["ελλαδα"]),
        ("locksᵃ BMIᵇ 640¹ 12% ¹ (loss)²,³", ["lock", "bmi", "640", "12", "1", "loss"]),
        ("kg/m² Ca²⁺ x¹y", ["kg", "m2", "ca2", "x1y"]),
        ("... — 😀 ?!", []),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_word_without_end_is_bounded() -> None:
    assert words("x" * 50_000) == ["x" * 64]


@given(st.text())
def test_terms_are_deterministic_and_clean(text: str) -> None:
    terms = words(text)
    assert terms == words(text)
    assert all(term and len(term) <= 64 and not any(char.isspace() for char in term) for term in terms)


@given(st.lists(st.sampled_from(sorted(STOP_WORDS))))
def test_stop_words_vanish(stop_words: list[str]) -> None:
    assert words(" ".join(stop_words)) == []


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=12), st.sampled_from(SUFFIXES))
def test_stems_are_those_of_snowballs_own_package(stem, suffix):
    word = stem + suffix
    assert words(word) == ([] if word in STOP_WORDS else [EnglishStemmer().stemWord(word)])


@given(st.text(st.sampled_from("aBz019.,'-_ U.S.\t"), max_size=24))
def test_the_expression_for_ascii_finds_what_the_other_one_does(text):
    assert _ASCII_TOKEN.findall(text) == _TOKEN.findall(text)
