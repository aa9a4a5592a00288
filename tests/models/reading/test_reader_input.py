"""From a question and a passage to the reader's sequences, and back to places in the text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight_rag.models.reading.bundled_reader import TOKENIZER
from preflight_rag.models.reading.extractive_reader import (
    INPUTS,
    MAX_QUESTION,
    MAX_TOKENS,
    STRIDE,
    join_title_and_text,
    load_tokenizer,
    padded,
    windows,
)

TOKENS = load_tokenizer(TOKENIZER)
LONG = " ".join(f"word{i}" for i in range(400))


def test_question_title_and_text_stand_one_after_the_other():
    (window,) = windows([("who flew?", "The kite", "Ada flew it.")], TOKENS)
    assert TOKENS.decode(window.ids, skip_special_tokens=False) == "[CLS] who flew? [SEP] the kite ada flew it. [SEP]"
    assert window.shift == len("The kite\n")
    assert [join_title_and_text("The kite", "Ada flew it.")[a:b] for a, b in window.offsets if a < b][-4:] == [
        "Ada", "flew", "it", ".",
    ]  # fmt: skip
    assert window.offsets[0] == (0, 0)
    assert window.types[0] == 0
    assert window.types[-1] == 1


def test_without_a_title_the_text_begins_at_once():
    (window,) = windows([("who flew?", "", "Ada flew it.")], TOKENS)
    assert window.shift == 0
    assert join_title_and_text("", "Ada") == "Ada"


def test_the_windows_of_a_long_passage_overlap_and_leave_nothing_out():
    found = windows([("who flew?", "A title", LONG)], TOKENS)
    assert all(len(window.ids) <= MAX_TOKENS for window in found)
    pieces = [[offset for offset in window.offsets if offset[0] < offset[1]] for window in found]
    covered = {place for piece in pieces for a, b in piece for place in range(a, b)}
    assert covered == {i for i, character in enumerate(join_title_and_text("A title", LONG)) if not character.isspace()}
    assert all(before[-STRIDE:] == after[:STRIDE] for before, after in pairwise(pieces))
    assert windows([("who flew?", "A title", LONG)], TOKENS, all_windows=False) == found[:1]


def test_each_pair_has_its_windows_in_order():
    found = windows([("a?", "", LONG), ("b?", "", "short"), ("c?", "", LONG)], TOKENS)
    assert [window.pair for window in found] == sorted(window.pair for window in found)
    assert {window.pair for window in found} == {0, 1, 2}


@pytest.mark.parametrize("most", [MAX_QUESTION, 10])
def test_of_a_long_question_the_beginning_is_read(most):
    (window,) = windows([("why " * 2000, "", "Ada flew it.")], TOKENS, most_question=most)
    assert window.types.count(0) == most + 2
    assert len(windows([("why" * 5000, "", "Ada flew it.")], TOKENS, most_question=most)) == 1


def test_nothing_is_still_one_window():
    (window,) = windows([("", "", "")], TOKENS)
    assert all(offset == (0, 0) for offset in window.offsets)


def test_padding_is_masked():
    found = windows([("a?", "", "short"), ("b?", "", "a longer text than that")], TOKENS)
    feed = padded(found)
    assert tuple(feed) == INPUTS
    assert {value.shape for value in feed.values()} == {(2, len(found[1].ids))}
    assert feed["attention_mask"].sum(1).tolist() == [len(window.ids) for window in found]
    assert not np.any(feed["input_ids"][0, len(found[0].ids) :])


@settings(max_examples=40, deadline=None)
@given(question=st.text(max_size=60), title=st.text(max_size=20), text=st.text(max_size=300))
def test_offsets_lie_in_the_passage_whatever_the_characters(question, title, text):
    clean = [part.encode("utf-8", "replace").decode("utf-8") for part in (question, title, text)]
    for window in windows([(clean[0], clean[1], clean[2])], TOKENS):
        assert len(window.ids) == len(window.types) == len(window.offsets) <= MAX_TOKENS
        assert all(0 <= a <= b <= len(join_title_and_text(clean[1], clean[2])) for a, b in window.offsets)
