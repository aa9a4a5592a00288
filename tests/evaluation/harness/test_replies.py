"""Replies are paid for once: in one run, after a run that was killed, and with a disk that is full."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from evaluation.harness.asking import open_asking
from evaluation.harness.budget import Budget
from evaluation.harness.replies import ReplyCache, StoredReply, recording, request_key
from evaluation.runs import ExperimentRun
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.errors import BadReply
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

ROOT = Path(__file__).parents[2]
REPLY = StoredReply("Aspirin", "stop", None, 10, 2, False, 0.5)
KILLED = """
import asyncio, sys
from pathlib import Path
from langchain_core.messages import HumanMessage
from evaluation.runs import ExperimentRun
from evaluation.harness.asking import open_asking

run = ExperimentRun(model="openai:scripted", concurrency=4, reply_cache=Path(sys.argv[1]))
with open_asking(run) as asking:
    asyncio.run(asking.gather(range(12), lambda n: asking.prompts.reply([HumanMessage(f"Number {n}.")]), "numbers"))
"""


@pytest.fixture
def run_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., ExperimentRun]:
    """Makes the run of a scripted server's model; its warnings are in `warnings`."""

    def make(server: ScriptedServer, **options: object) -> ExperimentRun:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return ExperimentRun(**{"model": "openai:scripted", "reply_cache": tmp_path / "replies.db", **options})

    return make


def ask(run: ExperimentRun, prompts: list[str]) -> list[str | None]:
    with open_asking(run) as asking:

        async def one(prompt: str) -> str:
            return (await asking.prompts.reply([HumanMessage(prompt)]))[0]

        outcomes = asyncio.run(asking.gather(prompts, one, "prompts"))
    return [outcome.value for outcome in outcomes]


def test_a_run_that_is_repeated_asks_nothing(run_on: Callable[..., ExperimentRun]) -> None:
    prompts = [f"Number {n}." for n in range(5)]
    with ScriptedServer([("Number 3.", "three")], default="another") as server:
        first = ask(run_on(server), prompts)
        run = run_on(server)
        assert ask(run, prompts) == first == ["another"] * 3 + ["three", "another"]
        assert server.count() == 5
    assert (run.budget.calls, run.budget.replayed) == (0, 5)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_same_prompt_is_asked_once(run_on: Callable[..., ExperimentRun], concurrency: int) -> None:
    with ScriptedServer(default=Reply("same", delay=0.1)) as server:
        run = run_on(server, concurrency=concurrency)
        assert ask(run, ["Who?", "Who?", "Who?", "What?"]) == ["same"] * 4
        assert server.count() == 2
    assert (run.budget.calls, run.budget.replayed) == (2, 2)


def test_a_killed_run_goes_on_where_it_was(run_on: Callable[..., ExperimentRun], tmp_path: Path) -> None:
    def slow_from_five_on(body: dict) -> Reply:
        number = int(body["messages"][0]["content"].split()[1].rstrip("."))
        return Reply(f"reply {number}", delay=0.0 if number < 5 or resumed else 60.0)

    resumed = False
    with ScriptedServer(slow_from_five_on) as server:
        run = run_on(server)
        process = subprocess.Popen([sys.executable, "-c", dedent(KILLED), str(run.reply_cache)])
        try:
            server.wait_for(9, timeout=120)
            wait_for_rows(run.reply_cache, 5)
        finally:
            process.kill()
            process.wait()
        resumed = True
        assert ask(run, [f"Number {n}." for n in range(12)]) == [f"reply {n}" for n in range(12)]
        assert [server.count(f"Number {n}.") for n in range(5)] == [1] * 5
    assert (run.budget.calls, run.budget.replayed) == (7, 5)


def wait_for_rows(path: Path, count: int) -> None:
    for _ in range(200):
        with closing(sqlite3.connect(path)) as database:
            if database.execute("SELECT count(*) FROM replies").fetchone()[0] >= count:
                return
        time.sleep(0.05)
    raise TimeoutError(f"fewer than {count} replies in {path}")


def test_a_refusal_and_a_cut_off_reply_are_paid_for_once_too(run_on: Callable[..., ExperimentRun]) -> None:
    rules = [("secret", Reply(refusal="I will not.")), ("long", Reply("so", finish_reason="length"))]
    with ScriptedServer(rules, default="fine") as server:
        for _ in range(2):
            assert ask(run_on(server), ["A secret?", "A long one?", "A short one?"]) == [None, None, "fine"]
        assert server.count() == 3


def test_a_reply_without_an_end_and_an_error_are_asked_again(run_on: Callable[..., ExperimentRun]) -> None:
    rules = [("broken", Reply("so", finish_reason=None), 1), ("wrong", Reply("bad request", status=400), 1)]
    with ScriptedServer(rules, default="fine") as server:
        assert ask(run_on(server), ["broken?", "wrong?", "good?"]) == [None, None, "fine"]
        assert ask(run_on(server), ["broken?", "wrong?", "good?"]) == ["fine"] * 3


async def test_a_reply_is_kept_when_nobody_waits_any_more(run_on: Callable[..., ExperimentRun]) -> None:
    with ScriptedServer(default=Reply("late", delay=0.5)) as server, open_asking(run_on(server)) as asking:
        waiting = asyncio.create_task(asking.chat_model.ainvoke("Who?"))
        await asyncio.to_thread(server.wait_for, 1)
        waiting.cancel()
        assert (await asking.chat_model.ainvoke("Who?")).text == "late"
        assert server.count() == 1


async def test_a_chat_reader_works_on_the_cached_model(run_on: Callable[..., ExperimentRun]) -> None:
    with ScriptedServer(default="QUESTION: Is milvexian safe?") as server, open_asking(run_on(server)) as asking:
        reader = asking.prompts
        assert isinstance(reader, ChatReader)
        assert reader.name == asking.name == "openai:scripted"
        told = [await reader.rewrite(message="is milvexian safe", history=[]) for _ in range(2)]
    assert [reply.value.question for reply in told] == ["Is milvexian safe?"] * 2
    assert told[0].usage.input_tokens == told[1].usage.input_tokens > 0
    assert not told[1].usage.estimated


LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


def limits(server: ScriptedServer) -> list[int]:
    return [request.body[name] for request in server.requests for name in LIMIT_NAMES if name in request.body]


@pytest.mark.parametrize("refused", [(), ("max_tokens",), ("max_tokens", "max_completion_tokens")])
async def test_the_limit_of_a_prompt_reaches_the_model(
    run_on: Callable[..., ExperimentRun], refused: tuple[str, ...]
) -> None:
    with ScriptedServer(default="A reply.", refuses=refused) as server, open_asking(run_on(server)) as asking:
        for question in ("Who?", "Where?"):
            assert (await asking.prompts.reply([HumanMessage(question)], limit=77))[0] == "A reply."
        answered = server.requests[-1].body
    assert answered.get("max_tokens") == (77 if not refused else None)
    assert answered.get("max_completion_tokens") == (77 if refused == ("max_tokens",) else None)
    assert set(limits(server)) == {77}


async def test_requests_with_other_limits_are_other_requests(run_on: Callable[..., ExperimentRun]) -> None:
    with ScriptedServer(default="A reply.") as server, open_asking(run_on(server)) as asking:
        for limit in (50, 60, 50):
            await asking.prompts.reply([HumanMessage("Who?")], limit=limit)
    assert limits(server) == [50, 60]


async def test_the_calls_of_a_case_are_recorded(run_on: Callable[..., ExperimentRun]) -> None:
    with ScriptedServer([("Who?", Reply(refusal="No."))]) as server, open_asking(run_on(server)) as asking:
        with recording() as outer, recording() as calls:
            with pytest.raises(BadReply):
                await asking.prompts.reply([SystemMessage("Be brief."), HumanMessage("Who?")])
        assert outer == calls
    (call,) = calls
    assert call.messages == ({"role": "system", "content": "Be brief."}, {"role": "human", "content": "Who?"})
    assert call.refused
    assert not call.cached


def test_a_full_disk_is_one_warning_and_costs_no_reply(tmp_path: Path) -> None:
    warnings: list[str] = []
    cache = ReplyCache(tmp_path / "replies.db", warn=warnings.append)
    pages = cache.connection.execute("PRAGMA page_count").fetchone()[0]
    cache.connection.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(40):
        cache.put(f"key {number}", "scripted", StoredReply("word " * 400, "stop", None, 10, 2, False, 0.5))
    assert cache.get("key 39").text.startswith("word")
    cache.connection.execute("PRAGMA max_page_count = 100000")
    cache.close()
    assert len(warnings) == 1
    assert "disk is full" in warnings[0]
    assert ReplyCache(tmp_path / "replies.db").get("key 39").text.startswith("word")


@pytest.fixture
def unusable(tmp_path: Path) -> Iterator[dict[str, Path]]:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "text.db").write_text("This is no database, whatever its name says. " * 100, encoding="utf-8")
    return {"folder": tmp_path, "below a file": tmp_path / "file" / "replies.db", "text": tmp_path / "text.db"}


@pytest.mark.parametrize("kind", ["folder", "below a file", "text"])
def test_where_the_file_cannot_be_used_the_replies_are_kept_elsewhere(
    run_on: Callable[..., ExperimentRun],
    unusable: dict[str, Path],
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    warnings: list[str] = []
    with ScriptedServer() as server:
        run = run_on(server, reply_cache=unusable[kind], warn=warnings.append)
        assert ask(run, ["Who?", "Who?", "What?"]) == ["ok"] * 3
        assert server.count() == 2
    assert all(str(unusable[kind]) in line and "--reply-cache" in line for line in warnings)
    (other,) = tmp_path.glob(f"preflight-*/{unusable[kind].name}")
    assert warnings[1].startswith("warning: 2 replies did not get into")
    assert str(other) in warnings[1]


@pytest.mark.parametrize(
    "other",
    [
        ([HumanMessage("Who are you?")], "m", {"t": 0}),
        ([SystemMessage("Who?")], "m", {"t": 0}),
        ([HumanMessage("Who?"), AIMessage("")], "m", {"t": 0}),
        ([HumanMessage("Who?")], "n", {"t": 0}),
        ([HumanMessage("Who?")], "m", {"t": 1}),
    ],
)
def test_prompt_model_and_parameters_tell_replies_apart(other: tuple) -> None:
    assert request_key(*other) != request_key([HumanMessage("Who?")], "m", {"t": 0})
    assert request_key(*other) == request_key(*other)


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        cache = ReplyCache(tmp_path / "deep" / "replies.db")
        assert cache.get("b") is None
        cache.put("a", "scripted", REPLY)
        assert cache.get("a") == REPLY
        cache.close()


def test_a_cache_without_a_file_lasts_for_the_run() -> None:
    cache = ReplyCache(None)
    cache.put("a", "scripted", REPLY)
    assert cache.get("a") == REPLY
    cache.close()


def test_budgets_are_not_shared_by_runs() -> None:
    assert ExperimentRun().budget is not ExperimentRun().budget
    assert Budget().cost is None
