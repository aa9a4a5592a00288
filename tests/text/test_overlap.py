"""Whether a text is another one again, or a version of it."""

from __future__ import annotations

import random

import pytest

from preflight_rag.text.overlap import RUN, SPAN, compare, compared_words, fingerprint, holds_words

LETTER = (
    "The committee met on 3 March 2021 in Leeds. It approved the purchase of 14 microscopes for the new laboratory. "
    "The supplier will deliver them before the end of May. Dr Brown was asked to write to the supplier about the "
    "price, which did not include the lenses. The treasurer has 1,250 pounds left, which he keeps for new tools."
)


def compared(a, b):
    return compare(compared_words(a), compared_words(b))


@pytest.mark.parametrize(
    "copy",
    [
        LETTER.upper(),
        LETTER.replace(" ", "\n"),
        LETTER.replace("laboratory.", "laboratory [3, 4]."),
        "RESULTS:\n" + LETTER,
        LETTER.replace(". The", ".\n\nMETHODS\nThe"),
    ],
)
def test_a_copy_has_all_words_and_says_nothing_else(copy):
    found = compared(copy, LETTER)
    assert found.explained.all()
    assert not found.differs
    assert not found.differs_at_ends


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("14 microscopes", "15 microscopes"),
        ("1,250 pounds", "1,520 pounds"),
        ("of May", "of June"),
        ("did not include", "did include"),
        ("It approved", "It rejected"),
        ("Dr Brown", "Dr White"),
    ],
)
def test_a_version_differs_in_one_word(old, new):
    found = compared(LETTER.replace(old, new), LETTER)
    assert found.differs
    if old != "did not include":  # what is left out is explained by a text that has it, and differs all the same
        assert not found.explained.all()


def test_a_changed_date_at_the_beginning_differs_at_the_ends():
    assert compared(LETTER.replace("3 March 2021", "4 April 2022"), LETTER).differs_at_ends


def test_a_missing_table_is_no_difference():
    whole = LETTER.replace("The treasurer", "Table 1 Price Lens 12 40 13 55 14 60 15 75 16 80 Total 310. The treasurer")
    found = compared(LETTER, whole)
    assert found.explained.all()
    assert not found.differs
    assert not compared(whole, LETTER).explained.all()


def test_numbers_keep_their_points_and_signs():
    assert compared_words("a change of -1.5 kg (p<0.05) [12]") == [
        "a",
        "change",
        "of",
        "-",
        "1.5",
        "kg",
        "p",
        "<",
        "0.05",
    ]


def test_order_of_rows_under_other_headings_is_not_the_same():
    a = "Arm A\nnausea was seen in five of the forty people\nArm B\nheadache was seen in nine of the thirty others"
    b = "Arm A\nheadache was seen in nine of the thirty others\nArm B\nnausea was seen in five of the forty people"
    assert not compared(b, a).explained.all()


def test_texts_with_a_long_run_in_common_share_a_mark():
    words = random.Random(4).sample([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)], 400)
    shared = words[: SPAN + RUN - 1]
    for before in (words[50:90], words[100:220]):
        text = [*before, *shared, *words[300:340]]
        assert set(fingerprint(shared).tolist()) & set(fingerprint(text).tolist())


def test_marks_are_the_same_in_every_process():
    # By hand, from the definition: one run of eight words, its hash shortened to 32 bits.
    from zlib import crc32

    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    hash, base, whole = 0, 0x9E3779B97F4A7C15, 2**64
    for word in words:
        hash = (hash + crc32(word.encode())) * base % whole
    hash = (hash ^ (hash >> 29)) * base % whole
    assert fingerprint(words).tolist() == [hash >> 32]
    assert fingerprint(words[:7]).tolist() == []


def test_a_quote_is_found_by_whole_words():
    text = compared_words("It cost 15 pounds in all.")
    assert holds_words(compared_words("15 pounds"), text)
    assert not holds_words(compared_words("5 pounds"), text)
    assert not holds_words([], text)
