"""`preflight eval` in its own process: killed, out of budget, and with a full disk. The server counts what is asked."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evaluation.harness import replies
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

QUESTIONS = 24
PARTS = 2
CALLS = QUESTIONS * (1 + PARTS + 1)
"""Of `conflicts`: plain RAG; BriefContext's parts, whose answers stand at their ends, and what it makes of them."""
CONCURRENCY = 4
STORED = replies.StoredReply("word " * 400, "stop", None, 10, 2, False, 0.5)


@pytest.fixture
def folder(tmp_path: Path, write_lines) -> Path:
    """One's own questions, each with two passages that differ from question to question."""
    rows = [
        {"id": f"q{n}", "question": f"Is {n} a number?", "options": ["yes", "no"], "right": "yes",
         "contexts": [{"text": f"{n} is a number.", "role": "gold"}, {"text": f"{n} is none.", "role": "wrong"}]}
        for n in range(QUESTIONS)
    ]  # fmt: skip
    write_lines(tmp_path / "mine" / "questions.jsonl", rows)
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts `preflight eval conflicts` on those questions."""
    started: list[subprocess.Popen] = []

    def run(server: ScriptedServer, *options: object, **given: object) -> subprocess.Popen:
        model = ("--model", "openai:scripted", "--reply-cache", folder / "replies.db", "--concurrency", CONCURRENCY)
        told = ("conflicts", "--data", folder, "--dataset", "mine", "--part", "all", *model, *options)
        (folder / "temporary").mkdir(exist_ok=True)
        places = {"OPENAI_BASE_URL": server.url, "TMPDIR": str(folder / "temporary")}
        environment = {**os.environ, **places, "COLUMNS": "300"}
        process = subprocess.Popen(
            [sys.executable, "-m", "preflight_rag", "eval", *map(str, told)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **given,
        )  # fmt: skip
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "replies.db")) as database:
        return database.execute("SELECT count(*) FROM replies").fetchone()[0]


def asked(server: ScriptedServer) -> Counter[str]:
    return Counter(request.prompt for request in server.requests)


def test_a_killed_run_asks_again_only_for_what_was_on_its_way(start, folder: Path) -> None:
    with ScriptedServer(default=Reply("It is [1].\nCHOICE: A", delay=0.05)) as server:
        process = start(server)
        server.wait_for(CALLS // 2, timeout=120)
        process.kill()
        process.wait()
        server.wait_idle()
        paid, before = kept(folder), server.count()
        assert before - CONCURRENCY * PARTS <= paid <= before < CALLS
        again = start(server)
        out, err = again.communicate(timeout=120)
        assert again.returncode == 0, err
        assert len(asked(server)) == CALLS
        assert server.count() == CALLS + before - paid
        assert max(asked(server).values()) <= 2
        assert f"{CALLS - paid} calls" in err
        assert start(server).communicate(timeout=120)[0] == out
        assert server.count() == CALLS + before - paid


@pytest.mark.parametrize("limit", [("--max-calls", 50), ("--price", "100/100", "--max-cost", 1.2)])
def test_a_larger_budget_goes_on_and_asks_nothing_twice(start, limit: tuple) -> None:
    with ScriptedServer(default="It is [1].\nCHOICE: A") as server:
        first = start(server, *limit)
        _, err = first.communicate(timeout=120)
        assert first.returncode == 1
        assert "the budget is used up" in err.strip().splitlines()[-1]
        assert "Traceback" not in err
        assert 0 < server.count() < CALLS
        second = start(server)
        paid, (_, err) = server.count(), second.communicate(timeout=120)
        assert second.returncode == 0, err
        assert f"; {paid} replies were cached" in err
        assert server.count() == CALLS
        assert set(asked(server).values()) == {1}


def test_a_full_disk_is_told_and_every_reply_is_used(start, folder: Path) -> None:
    """No file may grow beyond some kilobytes, as on a full disk; every reply is longer than a page."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    long = "It is [1]. " + "So the passage says. " * 400 + "\nCHOICE: A"
    with ScriptedServer(default=long) as server:
        process = start(server, preexec_fn=small_files)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert server.count() == CALLS
        assert "Traceback" not in err
        warnings = [line for line in err.splitlines() if line.startswith("warning:")]
        assert len(warnings) == 2
        assert str(folder / "replies.db") in warnings[0]
        assert "Free some space" in warnings[0]
        lost = int(warnings[1].split()[1])
        assert 0 < lost < CALLS
        assert f"{lost} replies did not get into" in warnings[1]
        assert not list((folder / "temporary").glob("preflight-*"))
        assert start(server).communicate(timeout=120)[0] == out
        assert server.count() == CALLS + lost


def full(path: Path, warnings: list[str]) -> replies.ReplyCache:
    """A cache that could not write any of 40 replies."""
    cache = replies.ReplyCache(path, warn=warnings.append)
    (pages,) = cache.connection.execute("PRAGMA page_count").fetchone()
    cache.connection.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(40):
        cache.put(f"key {number}", "scripted", STORED)
    return cache


def test_once_there_is_space_the_replies_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_RETRY_SECONDS", 0.2)
    warnings: list[str] = []
    cache = full(tmp_path / "replies.db", warnings)
    cache.connection.execute("PRAGMA max_page_count = 100000")
    time.sleep(0.25)
    cache.put("last", "scripted", STORED)
    assert kept(tmp_path) == 41
    cache.close()
    assert len(warnings) == 1
    assert "disk is full" in warnings[0]


def test_replies_that_do_not_fit_are_kept_elsewhere_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number in range(3):
        before = replies.ReplyCache(tmp_path / "replies.db")
        before.put(f"early {number}", "scripted", STORED)
        before.close()
    warnings: list[str] = []
    full(tmp_path / "replies.db", warnings).close()
    (other,) = tmp_path.glob("preflight-*/replies.db")
    assert warnings[1].startswith("warning: 40 replies did not get into")
    assert f"all are in {str(other)!r}: move it there, or give it as --reply-cache" in warnings[1]
    moved = replies.ReplyCache(other)
    assert all(moved.get(key) == STORED for key in ("early 0", "early 2", "key 0", "key 39"))
    moved.close()
    assert kept(tmp_path) == 3
