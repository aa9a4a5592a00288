"""What a turn reads with a model whose speed is known, and that a fast one changes nothing."""

import asyncio
import json
import os

import pytest
from blockbuster import BlockingError, blockbuster_ctx
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.models.chat.measured_speed import FILE, MOST_UNCITED, MeasuredSpeed
from preflight_rag.models.planning import PASSAGE_TOKENS, expected_seconds, plan_note, within_time
from preflight_rag.state.context import Settings
from preflight_rag.state.values import Speed


class Reader:
    def __init__(self, reads, writes):
        self._speed = Speed(reads=reads, writes=writes)

    def speed(self):
        return self._speed


FAST, LAPTOP, CROWDED = Reader(2000, 60), Reader(60, 12), Reader(5, 1)


@pytest.mark.parametrize("route", ["auto", "plain", "map-reduce", "corg"])
def test_a_fast_model_sees_no_change_at_all(route):
    settings = Settings(route=route)
    assert within_time(settings, FAST) is settings


@pytest.mark.parametrize("reader", [object(), LAPTOP])
def test_without_a_speed_or_without_a_time_nothing_is_planned(reader):
    settings = Settings() if type(reader) is object else Settings(answer_seconds=0)
    assert within_time(settings, reader) is settings


def test_a_slow_model_reads_what_it_has_time_for():
    """By hand: 0.8 of 60 s are 48; 200 tokens of an answer at 12 a second leave 31.3 s, which is 1,880 tokens at 60 a
    second; without 400 of instructions these are seven passages of 200."""
    planned = within_time(Settings(), LAPTOP)
    assert planned.k == 7
    assert planned.budget_tokens <= 1_480
    assert (planned.max_concurrency, planned.turn_seconds, planned.deadline) == (1, 51, 51)
    assert planned.partition_size == 4


def test_the_dearer_the_route_the_fewer_its_passages():
    by_route = [within_time(Settings(route=route), LAPTOP).k for route in ("plain", "map-reduce", "corg")]
    assert by_route == sorted(by_route, reverse=True)
    assert by_route[0] > by_route[-1] >= 1


def test_a_model_too_slow_for_anything_reads_one_passage_and_ends_in_time():
    planned = within_time(Settings(route="corg"), CROWDED)
    assert (planned.k, planned.turn_seconds) == (1, 51)


@given(st.floats(1, 499), st.floats(1, 500), st.integers(1, 60), st.floats(1, 600))
def test_a_plan_raises_no_number_and_keeps_its_time_where_that_is_possible(reads, writes, k, seconds):
    reader, settings = Reader(reads, writes), Settings(k=k, answer_seconds=seconds, route="plain")
    planned = within_time(settings, reader)
    if planned is settings:
        assert expected_seconds("plain", k * PASSAGE_TOKENS, k, settings, reader.speed()) <= seconds
    else:
        assert 1 <= planned.k <= k
        assert planned.turn_seconds <= min(seconds, settings.turn_seconds)
        if planned.k > 1:
            assert expected_seconds("plain", planned.k * PASSAGE_TOKENS, planned.k, planned, reader.speed()) <= seconds


def test_the_note_says_the_speed_and_what_is_left_out():
    assert plan_note(Reader(170, 20), 6, 16) == "this model reads 170 tokens a second here: 6 of 16 passages"


def test_a_speed_is_kept_for_each_model(tmp_path):
    first = MeasuredSpeed("openai:a http://localhost:1/v1", tmp_path)
    assert first.speed is None
    first.measured(read=1_000, seconds_to_first=10, written=40, seconds_after=4)
    again = MeasuredSpeed("openai:a http://localhost:1/v1", tmp_path)
    assert again.speed == Speed(reads=100, writes=10)
    assert MeasuredSpeed("openai:b", tmp_path).speed is None


def test_what_is_learned_of_a_model_is_stored_without_blocking_the_event_loop(tmp_path):
    async def learn() -> None:
        model = MeasuredSpeed("openai:a", tmp_path)
        with blockbuster_ctx():  # what `langgraph dev` watches with
            with pytest.raises(BlockingError):
                os.mkdir(tmp_path / "other")
            model.measured(read=1_000, seconds_to_first=10, written=40, seconds_after=4)
            model.found_schema(taken=True)
            for _ in range(MOST_UNCITED):
                model.answered(cited=False)

    asyncio.run(learn())
    again = MeasuredSpeed("openai:a", tmp_path)
    assert again.speed == Speed(reads=100, writes=10)
    assert again.takes_schema is True
    assert not again.cites


def test_one_busy_call_does_not_stand_for_all(tmp_path):
    model = MeasuredSpeed("openai:a", tmp_path)
    for _ in range(5):
        model.measured(read=1_000, seconds_to_first=1, written=100, seconds_after=1)
    model.measured(read=1_000, seconds_to_first=2, written=100, seconds_after=2)
    assert 500 < model.speed.reads < 1_000
    assert 50 < model.speed.writes < 100


@pytest.mark.parametrize("call", [{"read": 20}, {"written": 3}, {"seconds_to_first": 0.0}, {"seconds_after": 0.0}])
def test_a_call_that_says_nothing_of_a_speed_is_not_taken_in(tmp_path, call):
    model = MeasuredSpeed("openai:a", tmp_path)
    model.measured(**{"read": 1_000, "seconds_to_first": 1.0, "written": 100, "seconds_after": 1.0, **call})
    assert model.speed is None
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"openai:a": 3}', '{"openai:a": {"reads": "fast", "writes": 1}}'])
def test_a_damaged_file_is_measured_anew(tmp_path, text):
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    model = MeasuredSpeed("openai:a", tmp_path)
    assert model.speed is None
    model.measured(read=1_000, seconds_to_first=10, written=40, seconds_after=4)
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8"))["openai:a"] == {"reads": 100.0, "writes": 10.0}


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    model = MeasuredSpeed("openai:a", tmp_path / "file")
    model.measured(read=1_000, seconds_to_first=10, written=40, seconds_after=4)
    assert model.speed == Speed(reads=100, writes=10)
