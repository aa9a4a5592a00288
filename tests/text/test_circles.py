"""Texts that go round in circles, and texts that only look like it."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight_rag.text import circles
from preflight_rag.text.circles import (
    MAX_BLOCK_CHARS,
    MIN_COPIES,
    MIN_REPEATED_CHARS,
    CircleDetector,
    before_circles,
    repeated_block,
)

PLANETS = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
LOOP = "The hottest planet is Venus [2]. "
HONEST = {
    "nothing": "",
    "a list": "\n".join(f"- {name} is a planet of the Sun, and it has been seen from the Earth." for name in PLANETS),
    "relations": "\n".join(f"Context{n} - Duplicated" for n in range(2, 60)),
    "notes": "\n".join(f"Context{n}: The Simpsons | Null | December 17, 1989" for n in range(1, 40)),
    "a table": "| year | cases | deaths |\n|---|---|---|\n"
    + "\n".join(f"| {year} | 0 | 0 |" for year in range(1980, 2026)),
    "a rule of a table": "|" + "-" * 300 + "|\n| a | b |",
    "a refrain": "Row, row, row your boat, gently down the stream. " * 3 + "And that is all there is of it. " * 2,
    "quotes of the same words": "QUOTES\n" + "\n".join(f'[{n}] "Venus is the hottest planet."' for n in range(1, 30)),
    "rows without values": "\n".join(f"| {name} | n/a | n/a | n/a | n/a | n/a |" for name in PLANETS * 3),
    "a paragraph twice": ("Venus is hotter than Mercury, though it is farther from the Sun. " * 1 + LOOP * 2) * 2,
    "numbers": ", ".join(str(n) for n in range(2000)),
}


def circular(text):
    """By the definition, one block after the other."""
    longest = min(MAX_BLOCK_CHARS, len(text) // MIN_COPIES)
    for block in range(1, longest + 1):
        length = max(MIN_REPEATED_CHARS, MIN_COPIES * block)
        if length <= len(text):
            end = text[-length:]
            if all(end[at] == end[at + block] for at in range(length - block)):
                return block
    return 0


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_honest_repetition_is_no_circle(text):
    detector = CircleDetector()
    assert not any(detector.feed(piece) for piece in text)
    assert before_circles(text) == text


@pytest.mark.parametrize(
    "block", ["!", "no ", LOOP, LOOP + "It is hot [1].\n", "x" * 40 + LOOP * 2 + "y", "ab" * 700 + "c"]
)
def test_a_circle_is_noticed_soon_and_what_stood_before_is_kept(block):
    begun, detector, written = "Venus, at 464 degrees [2].\n", CircleDetector(), ""
    for character in begun + block * (10 * MIN_REPEATED_CHARS // len(block) + 10):
        written += character
        if detector.feed(character):
            break
    else:
        pytest.fail("it was not noticed")
    assert len(written) <= len(begun) + max(MIN_REPEATED_CHARS, MIN_COPIES * len(block)) + len(block) + 200
    assert before_circles(written).startswith(begun)
    assert len(before_circles(written)) <= len(begun) + len(block)


@settings(max_examples=150, deadline=None)
@given(
    st.text("ab ", max_size=40), st.text("ab ", min_size=1, max_size=60), st.integers(1, 60), st.text("ab", max_size=3)
)
def test_it_is_what_its_definition_says(before, block, times, after):
    text = before + block * times + after
    assert repeated_block(text) == circular(text)


@settings(max_examples=100, deadline=None)
@given(st.text(string.ascii_lowercase + " \n.", min_size=1, max_size=300), st.integers(3, 8))
def test_what_is_kept_is_the_beginning_up_to_one_copy(block, times):
    text = "Begun. " + block * max(times, MIN_REPEATED_CHARS // len(block) + 2)
    kept = before_circles(text)
    assert text.startswith(kept)
    assert len(kept) <= len("Begun. ") + len(block)
    assert repeated_block(kept) == 0 or len(kept) == len(text)


@pytest.mark.parametrize("line", ["row | n/a | n/a | n/a ", "a", "ab" * 40])
def test_what_is_looked_at_grows_with_the_text_alone(line, monkeypatch):
    """Counted, since a clock would measure the machine: each character is looked at a bounded number of times."""
    looked = []
    monkeypatch.setattr(circles, "repeated_block", lambda text: looked.append(len(text)) or repeated_block(text))
    sums = []
    for size in (100_000, 200_000):
        looked.clear()
        detector, lines = CircleDetector(), size // (len(line) + 6)
        for number in range(lines):
            detector.feed(f"{line}{number:06}")
        sums.append(sum(looked))
    assert sums[1] < 2.2 * sums[0]
