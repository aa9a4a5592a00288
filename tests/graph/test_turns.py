"""Turns from outside: kills, resumption, two at once, failures, streams."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
from plain_turn import STAGES

from preflight_rag import Answer, Preflight, StageEvent, TokenEvent
from preflight_rag.state.errors import (
    ModelAuthError,
    PreflightError,
    ThreadBusy,
    ThreadNotFound,
    TurnError,
    TurnUnfinished,
    UsageError,
)
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

QUESTION = "How hot is the planet Venus?"


@pytest.fixture
def opened(own_folder, kept, chat_reader):
    def make(server, **settings):
        return Preflight.open(own_folder, chat_reader(server), threads=kept.url, **settings)

    return make


def environment(server, kept):
    return (
        os.environ
        | kept.environment
        | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:scripted"}
    )


def command(*arguments):
    return [sys.executable, "-m", "preflight_rag", *arguments]


def wait_until(ready, seconds=60):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_turn_killed_in_its_fan_out_is_resumed_without_asking_again(own_folder, kept):
    script = [('<passage n="5"', Reply("late", delay=60), 1), ("<extracts>", "Very hot [1].")]
    with ScriptedServer(script, default="It is hot [1].") as server:
        ask = command("ask", QUESTION, "--library", str(own_folder), "--thread", "t", "--route", "map-reduce")
        process = subprocess.Popen(
            ask, env=environment(server, kept), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        server.wait_for(4, "<passages>")
        wait_until(lambda: kept.count("writes", "channel = 'branch:to:reduce_context'") == 3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

        again = subprocess.run(ask, env=environment(server, kept), capture_output=True, text=True)
        assert again.returncode == 1
        assert "preflight threads resume t" in again.stderr

        resume = command("threads", "resume", "t", "--library", str(own_folder))
        done = subprocess.run(resume, env=environment(server, kept), capture_output=True, text=True)
        assert (done.returncode, "Very hot [1]." in done.stdout) == (0, True), done.stderr
        assert server.count('<passage n="1"') == 1
        assert server.count('<passage n="5"') == 2
        assert server.count("<extracts>") == 1


def test_a_turn_that_was_cut_off_can_be_dropped(opened):
    with ScriptedServer(default="Hot [1].") as server, opened(server, route="plain") as app:
        app.ledger.begin("t", "lost", settings={}, model="m")
        with pytest.raises(TurnUnfinished, match="lost"):
            app.ask(QUESTION, thread_id="t")
        assert app.ask(QUESTION, thread_id="t", discard=True).turn == 2


def test_a_turn_cut_off_before_its_first_checkpoint_is_taken_again(opened):
    with ScriptedServer(default="Hot [1].") as server, opened(server, route="plain") as app:
        app.ledger.begin("t", QUESTION, settings=app.settings.model_dump(), model="m")
        answer = app.resume("t")
    assert (answer.question, answer.answer) == (QUESTION, "Hot [1].")


def test_there_may_be_nothing_to_resume(opened):
    with ScriptedServer(default="Hot [1].") as server, opened(server, route="plain") as app:
        with pytest.raises(ThreadNotFound):
            app.resume("t")
        app.ask(QUESTION, thread_id="t")
        with pytest.raises(TurnError, match="finished"):
            app.resume("t")


def test_two_turns_at_once_on_one_thread_are_both_kept(opened):
    with ScriptedServer(default=Reply("Hot [1].", delay=0.3)) as server, opened(server, route="plain") as app:
        threads = [threading.Thread(target=app.ask, args=(QUESTION,), kwargs={"thread_id": "t"}) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        turns = app.ledger.turns("t")
    assert [(turn.turn, turn.status) for turn in turns] == [(1, "answered"), (2, "answered")]


def test_a_second_turn_is_refused_when_it_must_not_wait(opened):
    with ScriptedServer(default=Reply("Hot [1].", delay=1)) as server, opened(server, route="plain") as app:
        first = threading.Thread(target=app.ask, args=(QUESTION,), kwargs={"thread_id": "t"})
        first.start()
        server.wait_for(1)
        with pytest.raises(ThreadBusy, match="'t'"):
            app.ask(QUESTION, thread_id="t", lock_wait=0.1)
        first.join()


def test_a_failed_turn_is_in_the_ledger_with_its_cost_and_can_be_resumed(opened):
    with ScriptedServer([("<passages>", Reply("no", status=401), 1)], default="Hot [1].") as server:
        with opened(server, route="plain") as app:
            with pytest.raises(ModelAuthError) as caught:
                app.ask(QUESTION, thread_id="t")
            assert caught.value.receipt["model_calls"] == 1
            row = app.ledger.last("t")
            assert (row.status, row.route, row.calls) == ("failed", "plain", 1)
            assert app.resume("t").answer == "Hot [1]."
            assert [turn.status for turn in app.ledger.turns("t")] == ["answered"]


def test_a_failed_turn_does_not_stand_in_the_way_of_the_next(opened):
    with ScriptedServer([("<passages>", Reply("no", status=500), 1)], default="Hot [1].") as server:
        with opened(server, route="plain") as app:
            with pytest.raises(Exception, match="HTTP 500"):
                app.ask(QUESTION, thread_id="t")
            assert app.ask(QUESTION, thread_id="t").turn == 2


@pytest.mark.parametrize("thread_id", ["", "  ", "a\0b", 1, "x" * 500])
def test_a_thread_id_that_cannot_be_used(opened, thread_id):
    with ScriptedServer() as server, opened(server) as app:
        with pytest.raises(UsageError):
            app.ask(QUESTION, thread_id=thread_id)


async def test_a_stream_gives_stages_tokens_and_the_answer(opened):
    reply = Reply('Very hot [3].\nQUOTES\n[3] "x"', chunk_delay=0.005)
    with ScriptedServer(default=reply) as server, opened(server, route="plain") as app:
        events = [event async for event in app.astream(QUESTION, thread_id="t")]
    assert "".join(event.text for event in events if isinstance(event, TokenEvent)).strip() == "Very hot [1]."
    stages = [event.stage for event in events if isinstance(event, StageEvent)]
    assert stages == STAGES
    assert isinstance(events[-1], Answer)
    assert events[-1].answer == "Very hot [1]."


async def test_leaving_a_stream_stops_the_turn_and_the_thread_goes_on(opened):
    with ScriptedServer([("<passages>", Reply("slow", delay=30), 1)], default="Hot [1].") as server:
        with opened(server, route="plain") as app:
            stream = app.astream(QUESTION, thread_id="t")
            async for event in stream:
                if isinstance(event, StageEvent) and event.stage == "preflight":
                    break
            await asyncio.to_thread(server.wait_for, 1, "<passages>")
            await stream.aclose()
            assert app.ledger.last("t").status == "interrupted"
            assert (await app.aask(QUESTION, thread_id="t")).answer == "Hot [1]."


def test_fifty_turns_stay_small(opened, kept):
    with ScriptedServer(default="It is very hot there, about 465 degrees Celsius on average [1].") as server:
        with opened(server, route="plain") as app:
            for number in range(50):
                app.ask(f"{QUESTION} {number}", thread_id="t")
            size = app._loop.call(app._open_turns().threads.size())
    if kept.url is None:  # PostgreSQL gives the room of removed rows back when its autovacuum comes by
        assert size <= 2_000_000
    assert (kept.count(), kept.count("writes")) == (1, 0)


def test_a_clock_set_back_between_turns_does_not_repeat_an_old_answer(opened, monkeypatch):
    """Checkpoint ids begin with the time of day; the turn after the clock went back must not end in the one before."""
    with ScriptedServer([("Venus?", "Very hot [1]."), ("Mars?", "Cold [1].")], default="Other.") as server:
        with opened(server, route="plain", rewrite="off") as app:
            assert app.ask(QUESTION, thread_id="t").answer == "Very hot [1]."
        real = time.time_ns
        monkeypatch.setattr("langgraph.checkpoint.base.id.time.time_ns", lambda: real() - 3600 * 10**9)
        monkeypatch.setattr("langgraph.checkpoint.base.id._last_v6_timestamp", None)  # as in a new process
        with opened(server, route="plain", rewrite="off") as app:
            assert app.ask("How cold is the planet Mars?", thread_id="t").answer == "Cold [1]."
            assert [turn.answer for turn in app.ledger.turns("t")] == ["Very hot [1].", "Cold [1]."]


def test_a_turn_killed_between_a_stage_and_its_checkpoint_never_takes_the_answer_before_it(opened, kept):
    """What the stage gave is in the database then, but not in the state, which is still that of the turn before."""
    with ScriptedServer([("Venus?", "Very hot [1]."), ("Mars?", "Cold [1].")], default="Other.") as server:
        with opened(server, route="plain", rewrite="off", keep_turns=1) as app:
            app.ask(QUESTION, thread_id="t")
            app.ask("How cold is the planet Mars?", thread_id="t")
        steps = kept.rows("select checkpoint_id from checkpoints order by checkpoint_id")
        for (last,) in reversed(steps[:-1]):
            kept.rows(f"delete from checkpoints where checkpoint_id > '{last}'")
            kept.rows("update turns set status = 'running', result = null, answer = null where turn = 2")
            with opened(server, route="plain", rewrite="off", keep_turns=1) as app:
                with pytest.raises(TurnUnfinished, match="Mars"):
                    app.ask("And Pluto?", thread_id="t")
        with opened(server, route="plain", rewrite="off") as app:
            assert app.resume("t").answer == "Cold [1]."
            assert [turn.answer for turn in app.ledger.turns("t")] == ["Very hot [1].", "Cold [1]."]


def test_a_turn_whose_first_stage_is_kept_and_its_state_is_not_is_resumed(own_folder, embedder):
    """As where the disk is full just then: what was spent is read from the stage's results, not the last turn's."""
    with Preflight.open(own_folder, "offline", embedder=embedder, route="plain", keep_turns=1) as app:
        app.ask(QUESTION, thread_id="t")
        with closing(sqlite3.connect(own_folder / "threads.db")) as database, database:
            database.execute(
                "CREATE TRIGGER no_room BEFORE INSERT ON checkpoints WHEN EXISTS (SELECT 1 FROM writes WHERE"
                " channel = 'spent' AND checkpoint_id = (SELECT checkpoint_id FROM checkpoint_order"
                " ORDER BY written DESC LIMIT 1)) BEGIN SELECT RAISE(ABORT, 'no room'); END"
            )
        with pytest.raises(PreflightError):
            app.ask("How deep is the Mariana Trench?", thread_id="t")
    with closing(sqlite3.connect(own_folder / "threads.db")) as database, database:
        database.execute("DROP TRIGGER no_room")
    with Preflight.open(own_folder, "offline", embedder=embedder, route="plain") as app:
        assert [turn.status for turn in app.ledger.turns("t")] == ["answered", "failed"]
        answer = app.resume("t")
    assert "deep" in answer.question
    assert list(answer.receipt.by_stage).count("rewrite") == 1
