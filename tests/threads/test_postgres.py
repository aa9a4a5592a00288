"""Conversations in PostgreSQL: what goes wrong with a server, and turns that move between processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from kept_threads import Kept
from postgres_server import error_of_a_turn_that_loses, running_server

from preflight_rag import Preflight
from preflight_rag.graph.studio_saver import studio_saver
from preflight_rag.state.errors import LibraryError, ThreadBusy, ThreadsUnavailable, UsageError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer
from preflight_rag.threads.thread_store import open_thread_store

pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")

QUESTION = "How hot is the planet Venus?"


@pytest.fixture
def url(postgres):
    return postgres.database()


@pytest.fixture
def own_server():
    """A server that a test may stop."""
    with running_server() as server:
        yield server


async def opened(tmp_path, url):
    async with open_thread_store(tmp_path, url) as store:
        return store.ledger.threads()


@pytest.mark.parametrize("address", ["", "threads.db", "mysql://u:geheim@h/d", "host=h password=geheim"])
def test_what_is_no_address_is_refused_without_repeating_it(demo_folder, address):
    with pytest.raises(UsageError, match="postgresql://USER@HOST:5432/DATABASE") as caught:
        Preflight.open(demo_folder, "offline", threads=address)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:ge/heim@h/d",
        "postgresql://u:12/heim@h/d",
        "postgresql://u:ge@heim@h/d",
        "postgresql://u:geheim@h/d?nonsense=geheim",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(demo_folder, address):
    with pytest.raises(UsageError, match="%40") as caught:
        Preflight.open(demo_folder, "offline", threads=address)
    assert "heim" not in str(caught.value)


async def test_a_wrong_password_is_one_line_that_holds_none(tmp_path, postgres):
    with pytest.raises(LibraryError, match=r"refuses: password authentication failed.*Check the user") as caught:
        await opened(tmp_path, postgres.url("postgres", "geheim"))
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_database_that_is_not_there_says_how_to_make_it(tmp_path, postgres):
    with pytest.raises(LibraryError, match=r'database "nowhere" does not exist.*createdb'):
        await opened(tmp_path, postgres.url("nowhere"))


def test_a_server_that_does_not_answer_is_one_line(demo_folder):
    command = [sys.executable, "-m", "preflight_rag", "threads", "list", "--library", str(demo_folder)]
    address = "postgresql://u:geheim@127.0.0.1:1/d"
    done = subprocess.run([*command, "--threads", address], capture_output=True, text=True)
    (line,) = done.stderr.strip().splitlines()
    assert (done.returncode, line.startswith("preflight: the PostgreSQL database d at 127.0.0.1:1 cannot be")) == (
        1,
        True,
    )
    assert "geheim" not in done.stdout + done.stderr


@pytest.mark.parametrize("table", ["preflight_schema (version", "checkpoint_migrations (v"])
async def test_a_schema_of_a_newer_version_is_left_alone(tmp_path, url, table):
    kept = Kept(tmp_path, url)
    await opened(tmp_path, url)
    kept.rows(f"insert into {table}) values (99)")
    with pytest.raises(LibraryError, match=r"schema 99.*[Uu]pgrade.*nothing was changed"):
        await opened(tmp_path, url)


async def test_checkpoints_of_langgraphs_own_saver_get_the_order_that_they_lack(tmp_path, url):
    from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        config = generate_config("old")
        for step in range(3):
            config = await saver.aput(config, generate_checkpoint(), generate_metadata(step=step), {})
    async with open_thread_store(tmp_path, url) as store:
        latest = await store.saver.aget_tuple(generate_config("old"))
        assert latest is not None
        assert latest.metadata["step"] == 2
        assert await store.saver.athreads() == ["old"]


@pytest.mark.slow
async def test_a_thread_is_held_once_over_all_processes_and_let_go_with_the_process(tmp_path, url):
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from preflight_rag.threads.thread_store import open_thread_store\n"
        "async def main():\n"
        "    async with open_thread_store(Path(sys.argv[1]), sys.argv[2]) as store, store.lock('t', wait=0):\n"
        "        print('held', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", code, str(tmp_path), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        async with open_thread_store(tmp_path, url) as store:
            with pytest.raises(ThreadBusy, match="'t'"):
                async with store.lock("t", wait=0.2):
                    pass
            assert store.ledger.is_locked("t")
            assert not store.ledger.is_locked("other")
            async with store.lock("other", wait=0):
                pass
            os.kill(process.pid, signal.SIGKILL)
            async with store.lock("t", wait=30):
                assert store.ledger.is_locked("t")
            assert not store.ledger.is_locked("t")


async def test_nothing_is_written_through_a_connection_that_has_lost_its_thread(tmp_path, url):
    """Who comes next has the thread; what the first one writes late must not lie over it."""
    from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata

    kept = Kept(tmp_path, url)
    async with open_thread_store(tmp_path, url) as first, open_thread_store(tmp_path, url) as second:
        async with first.lock("t", wait=0):
            await first.saver.aput(generate_config("t"), generate_checkpoint(), generate_metadata(), {})
            (holder,) = kept.rows("select pid from pg_locks where locktype = 'advisory'")
            kept.rows(f"select pg_terminate_backend({holder[0]})")
            async with second.lock("t", wait=10):
                with pytest.raises(ThreadsUnavailable):
                    await first.saver.aput(generate_config("t"), generate_checkpoint(), generate_metadata(), {})
                assert kept.count() == 1
        async with first.lock("t", wait=0):  # with another connection
            await first.saver.aput(generate_config("t"), generate_checkpoint(), generate_metadata(), {})


@pytest.mark.slow
def test_a_turn_that_loses_its_server_is_resumed_when_that_is_back(own_folder, own_server, chat_reader):
    url = own_server.database()
    late = [("<passages>", Reply("late", delay=3), 1)]
    with ScriptedServer(late, default="Very hot [1].") as model:
        with Preflight.open(own_folder, chat_reader(model), threads=url, route="plain") as app:
            error = error_of_a_turn_that_loses(own_server, app, model, QUESTION)
            assert isinstance(error, ThreadsUnavailable)
            assert error.retryable
            assert "p4ss" not in str(error)
            assert error.thread_id == "t"
            assert app.ledger.last("t").status == "running"
            assert app.resume("t").answer == "Very hot [1]."
        assert model.count("<passages>") == 2


def test_a_thread_moves_between_two_applications(own_folder, url, chat_reader):
    with ScriptedServer([("Mars?", "Cold [1].")], default="Very hot [1].") as model:
        with (
            Preflight.open(own_folder, chat_reader(model), threads=url, route="plain") as one,
            Preflight.open(own_folder, chat_reader(model), threads=url, route="plain") as other,
        ):
            assert one.ask(QUESTION, thread_id="t").turn == 1
            assert other.ask("How cold is the planet Mars?", thread_id="t").turn == 2
            assert [turn.status for turn in one.ledger.turns("t")] == ["answered", "answered"]
            assert other.delete_thread("t")
            assert one.ledger.threads() == []
        kept = Kept(own_folder, url)
        assert [kept.count(table) for table in ("checkpoints", "writes", "checkpoint_blobs", "turns")] == [0] * 4


async def test_studio_keeps_its_threads_there(url, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_THREADS", url)
    async with studio_saver() as saver:
        assert [each async for each in saver.alist(None)] == []


async def test_texts_that_postgresql_cannot_keep_are_kept_without_what_it_cannot(tmp_path, url):
    from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata

    async with open_thread_store(tmp_path, url) as store:
        turn = await asyncio.to_thread(store.ledger.begin, "t", "a\0b", settings={"x": "a\0b"}, model="m")
        assert (turn.question, turn.settings) == ("a\ufffdb", {"x": "a\0b"})
        checkpoint = generate_checkpoint(channel_values={"answer": "a\0b\ud800"})
        await store.saver.aput(generate_config("t"), checkpoint, generate_metadata(), {})
        found = await store.saver.aget_tuple(generate_config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"]["answer"] == "a\ufffdb\ufffd"


def test_the_extra_is_named_where_it_is_missing(demo_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(UsageError, match=r"psycopg_pool\. pip install 'preflight-rag\[postgres\]'"):
        Preflight.open(demo_folder, "offline", threads="postgresql://u@h/d")
