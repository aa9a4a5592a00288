"""Turns whose process is killed at random points, on every route, and exactly between the answer and its record.

The model is a scripted server in a process of its own, whose log counts the calls; the process that is killed and the
one that goes on name their model differently, which tells their calls apart.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from broken_bow import QUESTION as HOW_MANY
from broken_bow import documents
from fault_counts import FULL, report, times
from kept_threads import Kept
from langchain_openai import ChatOpenAI

from preflight_rag import Answer, Preflight
from preflight_rag.library import Library
from preflight_rag.state.errors import ThreadNotFound, TurnError
from preflight_rag.testing import Received, prompt_of, read_log

pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="an ended process cannot be left to be killed")

# Imports once, and forks a process for each order: what is killed is a process of its own, which is ready in no time.
ZYGOTE = """
import json, os, sys
import faiss, langchain_openai, onnxruntime, tantivy
from preflight_rag import Preflight
from preflight_rag.graph import turns
from preflight_rag.threads import checkpoints, ledger

pid = None
for line in sys.stdin:
    order = json.loads(line)
    if pid:
        os.waitpid(pid, 0)
    pid = os.fork()
    if pid == 0:
        given = {"base_url": order["url"], "api_key": "k", "max_retries": 0, "timeout": 60}
        chat = langchain_openai.ChatOpenAI(model="killed", **given)
        app = Preflight.open(order["folder"], chat, threads=order["threads"], **order["settings"])
        app.library.search(order["question"])
        app.ledger
        print("ready", os.getpid(), flush=True)
        app.ask(order["question"], thread_id=order["thread"])
        os._exit(0)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its id stays its own: nobody else's is killed
    print("ended", ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status, flush=True)
"""


class Zygote:
    """Starts processes that take one turn each."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, **order: Any) -> int:
        """The id of a process that begins its turn now."""
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        word, pid = self._line()
        assert word == "ready"
        return int(pid)

    def ended(self) -> int:
        """The exit status of that process, when it has ended."""
        word, status = self._line()
        assert word == "ended"
        return int(status)

    def close(self) -> None:
        self._process.communicate()

    def _line(self) -> list[str]:
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()


@dataclass(frozen=True)
class Route:
    """A turn on one route: its question, its settings, what the model replies, and what marks each stage's record.

    `stages` gives for each text of a prompt the channel that a branch of its stage writes to when it has ended.
    """

    question: str
    settings: dict[str, Any]
    rules: list[tuple[str, str]]
    stages: list[tuple[str, str]]


ROUTES = {
    "plain": Route(
        "How hot is the planet Venus?",
        {"route": "plain", "k": 4},
        [("<passages>", "It is very hot there, about 465 degrees [1].")],
        [("<passages>", "branch:to:cite")],
    ),
    "map-reduce": Route(
        "How hot is the planet Venus?",
        {"route": "map-reduce", "k": 6, "partition_size": 2, "max_concurrency": 2},
        [("<extracts>", "Very hot, 465 degrees [1]."), ("<passages>", "It is hot [1].")],
        [("<extracts>", "branch:to:cite"), ("<passages>", "branch:to:reduce_context")],
    ),
    "corg": Route(
        HOW_MANY,
        {"route": "corg", "max_concurrency": 2},
        [
            ("Context2\n", "\n".join(f"Context{n} - Counterfactual" for n in range(1, 7))),
            *((f"{n:,} people", f"Broken Bow (Nebraska): {n:,} [{n - 1000}]") for n in (1001, 1002, 1003)),
        ],
        [("Context2\n", "branch:to:organize_contexts"), ("<passages>", "branch:to:aggregate_groups")],
    ),
}


def all_but_the_first_slow(values: Iterable[str]) -> list[Any]:
    """Return the values as parameters of which `make test` takes one."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.slow) for value in others)]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@contextmanager
def model_server(route: Route, folder: Path) -> Iterator[tuple[str, Path]]:
    """The URL and the log of a scripted model in a process of its own."""
    script, log = folder / "script.json", folder / "calls.jsonl"
    rules = [{"contains": text, "reply": reply} for text, reply in route.rules]
    script.write_text(json.dumps({"default": "It is so [1].", "rules": rules}))
    command = [sys.executable, "-m", "preflight_rag.testing.scripted_server", "--delay", "0.1"]
    with subprocess.Popen(
        [*command, "--script", str(script), "--log", str(log)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), log
        finally:
            process.kill()


@pytest.fixture
def library_of(own_folder: Path, kept: Kept, tmp_path: Path, embedder):
    """Makes the library that a route's question is about; gives where its conversations are kept."""

    def make(name: str) -> Kept:
        if name != "corg":
            return kept
        folder = tmp_path / "bows"
        with Library.open(folder, embedder=embedder, create=True) as library:
            library.add(documents(["A1", "A2", "A3"]))
        return Kept(folder, kept.url)

    return make


def opened(kept: Kept, url: str, model: str, route: Route) -> Preflight:
    chat = ChatOpenAI(base_url=url, api_key="k", model=model, max_retries=0, timeout=60)
    return Preflight.open(kept.folder, chat, threads=kept.url, **route.settings)


def order_of(route: Route, kept: Kept, url: str) -> dict[str, Any]:
    """What the process is told that takes the route's turn."""
    where = {"folder": str(kept.folder), "threads": kept.url}
    return {"url": url, "settings": route.settings, "question": route.question, **where}


def content(answer: Answer) -> dict[str, Any]:
    """All of an answer but whose it is and what it cost."""
    return answer.model_dump(mode="json", exclude={"thread_id", "turn", "receipt"})


def calls(log: Path, model: str, since: int) -> list[Received]:
    """The calls of a model after the first so many of the log."""
    return [call for call in read_log(log)[since:] if call.body["model"] == model]


def recorded(kept: Kept, thread: str, route: Route, sent: list[Received]) -> int:
    """How many of the calls need not be made again: those of branches whose result is in the database."""
    counted = 0
    left = [prompt_of(call.body) for call in sent]
    for text, channel in route.stages:
        of_stage = [prompt for prompt in left if text in prompt]
        left = [prompt for prompt in left if text not in prompt]
        of_branches = f"thread_id = '{thread}' and channel = '{channel}'"
        branches = kept.count("writes", of_branches, "distinct task_id")
        whole = len(set(of_stage)) if channel == "branch:to:organize_contexts" and branches else 0
        counted += max(whole, min(branches, len(of_stage)))
    return counted


def measured(zygote: Zygote, order: dict[str, Any]) -> float:
    """Seconds of a turn that nobody kills; the shorter one of two, whose first has cold files."""
    took = []
    for thread in ("first", "second"):
        zygote.start(**order, thread=thread)
        began = time.monotonic()
        assert zygote.ended() == 0
        took.append(time.monotonic() - began)
    return min(took)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTES)
def test_a_turn_killed_at_any_point_is_resumed_to_the_same_answer(
    name: str, zygote: Zygote, library_of, tmp_path: Path
) -> None:
    route, kept = ROUTES[name], library_of(name)
    draw = random.Random(f"turns {name}")
    states: dict[str, int] = {}
    with model_server(route, tmp_path) as (url, log):
        order = order_of(route, kept, url)
        seconds = measured(zygote, order)
        with opened(kept, url, "whole", route) as app:
            expected = content(app.ask(route.question, thread_id="whole"))
        branches = len(calls(log, "whole", 0))
        assert len(calls(log, "killed", 0)) == 2 * branches
        killed = attempts = 0
        while killed < times(1 if kept.url else 2, 50):
            attempts += 1
            assert attempts < times(30, 500), "the turn ends before it is killed again and again"
            thread, since = f"t{attempts}", len(read_log(log))
            pid = zygote.start(**order, thread=thread)
            time.sleep(draw.uniform(0, seconds))
            os.kill(pid, signal.SIGKILL)
            if zygote.ended() != -signal.SIGKILL:  # it was quicker than the measured one
                continue
            killed += 1
            kept.check_whole()
            with opened(kept, url, "resumed", route) as app:
                last = app.ledger.last(thread)
                state = last.status if last else "not begun"
                states[state] = states.get(state, 0) + 1
                known = recorded(kept, thread, route, calls(log, "killed", since))
                if last is None:
                    with pytest.raises(ThreadNotFound):
                        app.resume(thread)
                    answer = app.ask(route.question, thread_id=thread)
                elif last.status == "answered":
                    with pytest.raises(TurnError, match="finished"):
                        app.resume(thread)
                    assert last.result is not None
                    answer = Answer.model_validate(last.result)
                else:
                    assert last.status == "running"
                    answer = app.resume(thread)
                assert content(answer) == expected
                assert [turn.status for turn in app.ledger.turns(thread)] == ["answered"]
            if state == "answered":
                assert calls(log, "resumed", since) == []
            else:
                assert len(calls(log, "resumed", since)) <= branches - known, f"{known} were known"
        kept.check_whole()
    late = attempts - killed
    report(f"{name}, {kept.name}: {killed} kills within {seconds:.2f} s, {late} came too late; rows {states}")


# It holds the turn's last write up: the one that brings the ledger's row to its answer.
HOLD = """
create trigger held before update on turns when new.status = 'answered' begin
    select count(*) from (with recursive n(i) as (select 1 union all select i + 1 from n) select i from n);
end
"""
HOLD_IN_POSTGRESQL = """
create function hold() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
create trigger held before update on turns for each row when (new.status = 'answered') execute function hold()
"""
HELD_IN_POSTGRESQL = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"


def is_held(kept: Kept) -> bool:
    """Whether the last write of a turn is under way. In the file somebody else writes again and again then: a
    checkpoint takes milliseconds."""
    if kept.url:
        return bool(kept.rows(f"select pid {HELD_IN_POSTGRESQL}"))
    with closing(sqlite3.connect(kept.folder / "threads.db", timeout=0.5, isolation_level=None)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
        connection.execute("rollback")
    return False


def let_go(kept: Kept) -> None:
    """Take the trigger away. The server is told that the process is gone, which it would see after the statement."""
    if kept.url:
        kept.rows(f"select pg_terminate_backend(pid) {HELD_IN_POSTGRESQL}")
        kept.check_whole()
    kept.rows("drop trigger held on turns" if kept.url else "drop trigger held")


IN_SHORT = {
    "SQLite": (("plain", "resume"), ("map-reduce", "ask"), ("corg", "command line")),
    "PostgreSQL": (("plain", "resume"), ("map-reduce", "command line")),
}
"""Routes, and what comes then, in `make test-all`."""


@pytest.mark.parametrize("name", all_but_the_first_slow(ROUTES))
@pytest.mark.parametrize("then", all_but_the_first_slow(["resume", "ask", "ask and discard", "command line"]))
def test_a_turn_killed_between_its_answer_and_the_ledger_is_neither_lost_nor_answered_twice(
    name: str, then: str, zygote: Zygote, library_of, tmp_path: Path
) -> None:
    """Until then its row says `running`, as that of every turn that was cut off."""
    route, kept = ROUTES[name], library_of(name)
    if not FULL and (name, then) not in IN_SHORT[kept.name]:
        pytest.skip("in `make faults`")
    with model_server(route, tmp_path) as (url, log):
        order = order_of(route, kept, url)
        with opened(kept, url, "whole", route) as app:
            expected = content(app.ask(route.question, thread_id="whole"))
        kept.rows(HOLD_IN_POSTGRESQL if kept.url else HOLD)
        pid = zygote.start(**order, thread="t")
        end = time.monotonic() + 120
        while not is_held(kept):
            assert time.monotonic() < end, "waited in vain"
        os.kill(pid, signal.SIGKILL)
        assert zygote.ended() == -signal.SIGKILL
        let_go(kept)
        assert len(calls(log, "killed", 0)) == len(calls(log, "whole", 0))
        kept.check_whole()
        since = len(read_log(log))
        with opened(kept, url, "next", route) as app:
            assert [turn.status for turn in app.ledger.turns("t")] == ["running"]
            if then == "resume":
                assert content(app.resume("t")) == expected
            elif then.startswith("ask"):
                assert app.ask("And why is that so?", thread_id="t", discard=then.endswith("discard")).turn == 2
        if then == "command line":
            environment = os.environ | kept.environment
            environment |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "PREFLIGHT_MODEL": "openai:next"}
            resume = [
                sys.executable,
                "-m",
                "preflight_rag",
                "threads",
                "resume",
                "t",
                "--json",
                "--library",
                str(kept.folder),
            ]
            done = subprocess.run(resume, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert content(Answer.model_validate_json(done.stdout)) == expected
        whole = {prompt_of(call.body) for call in calls(log, "whole", 0)}
        asked_again = [prompt for call in calls(log, "next", since) if (prompt := prompt_of(call.body)) in whole]
        assert asked_again == []
        with opened(kept, url, "next", route) as app:
            first, *later = app.ledger.turns("t")
            assert first.result is not None
            assert (first.status, content(Answer.model_validate(first.result))) == ("answered", expected)
            assert first.calls == len(calls(log, "whole", 0))
            assert [turn.status for turn in later] == ["answered"] * then.startswith("ask")
