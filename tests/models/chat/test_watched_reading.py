"""A prompt that a model on this machine reads too slowly, seen while it reads; the clock is set by hand."""

import pytest

from preflight_rag.models.chat import watched_reading
from preflight_rag.models.chat.watched_reading import WatchedReading


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(watched_reading, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def given_up():
    return []


async def test_a_model_that_would_need_too_long_is_given_up_after_two_seconds(clock, given_up):
    """By hand: 128 tokens in 2 s are 64 a second; 3,072 more take 48 s, and half of 60 s are 30."""
    watch = WatchedReading(3_200, 60.0, lambda: given_up.append(True))
    watch.progress(0, 3_200)
    clock[0] += 2
    watch.progress(128, 3_200)
    assert given_up == [True]
    assert watch.has_read == (128, 2.0)
    assert watch.room() == 64 * (60 - 2) // 2


async def test_a_model_that_reads_in_time_is_let_go_on(clock, given_up):
    watch = WatchedReading(3_200, 60.0, lambda: given_up.append(True))
    watch.progress(0, 3_200)
    for read in range(256, 3_200, 256):
        clock[0] += 2
        watch.progress(read, 3_200)
    watch.ended()
    assert given_up == []


async def test_what_was_read_for_a_call_before_says_nothing_of_the_speed(clock, given_up):
    watch = WatchedReading(3_200, 60.0, lambda: given_up.append(True))
    watch.progress(3_000, 3_200)
    clock[0] += 2
    watch.progress(3_064, 3_200)
    assert watch.has_read == (64, 2.0)
    assert given_up == [], "136 tokens at 32 a second take four seconds"


async def test_a_moment_says_nothing(clock, given_up):
    watch = WatchedReading(3_200, 60.0, lambda: given_up.append(True))
    watch.progress(0, 3_200)
    clock[0] += 1.5
    watch.progress(64, 3_200)
    assert (watch.has_read, given_up) == (None, [])
    watch.ended()


async def test_a_silent_model_is_given_up_and_given_less(clock, given_up):
    """By hand: a third of 3,300 tokens in 24 s are 45 a second, and half of the 36 s that are left takes 816."""
    watch = WatchedReading(3_300, 60.0, lambda: given_up.append(True))
    clock[0] += 24
    watch._on_silence()
    assert given_up == [True]
    assert watch.room() == pytest.approx(816, abs=10)


async def test_a_model_that_has_begun_to_write_is_not_given_up(clock, given_up):
    watch = WatchedReading(3_300, 60.0, lambda: given_up.append(True))
    watch.ended()
    watch._on_silence()
    assert given_up == []


async def test_a_prompt_of_which_nothing_can_be_left_out_may_take_most_of_the_time(clock, given_up):
    """By hand: 64 tokens in 2 s are 32 a second; 1,216 more take 38 s, 1,600 more 50 s, and 0.8 of 60 s are 48."""
    for tokens, ends in ((1_280, []), (1_664, [True])):
        watch = WatchedReading(tokens, 60.0, lambda: given_up.append(True), divisible=False)
        watch.progress(0, tokens)
        clock[0] += 2
        watch.progress(64, tokens)
        watch.ended()
        assert given_up == ends
    assert watch.expected_seconds() == 52
