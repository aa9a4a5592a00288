"""Two servers over one library and one PostgreSQL database: a thread moves between them, and one is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
from kept_threads import Kept
from serving import serving

from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

HELD_SECONDS = 3
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")]


def ask(url, question, thread):
    body = {"question": question, "thread_id": thread, "stream": False, "route": "plain"}
    return httpx.post(f"{url}/api/ask", json=body, timeout=120)


@contextmanager
def held(kept, thread):
    """Somebody else holds a thread for some seconds; gives what is set when it is let go of."""
    taken, free = threading.Event(), threading.Event()

    async def hold():
        async with kept.open() as store, store.lock(thread, wait=0):
            taken.set()
            await asyncio.sleep(HELD_SECONDS)
            free.set()

    holding = threading.Thread(target=lambda: asyncio.run(hold()))
    holding.start()
    try:
        assert taken.wait(30)
        yield free
    finally:
        holding.join()


def test_a_thread_moves_and_a_killed_servers_turns_are_finished_by_the_other(small_folder, postgres):
    database, threads = postgres.database(), [f"t{number}" for number in range(4)]
    kept = Kept(small_folder, database)
    slow = threading.Event()
    with ScriptedServer(lambda _: Reply("Hard [1].", delay=60 if slow.is_set() else 0)) as model:
        environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "any", "PREFLIGHT_THREADS": database}
        how = ("--library", small_folder, "--model", "openai:scripted")
        with serving(*how, **environment) as (first, one), serving(*how, **environment) as (_, two):
            for url, number in ((one, 1), (two, 2), (one, 3)):
                answer = ask(url, "How hard is basalt?", "moving")
                assert (answer.status_code, answer.json()["turn"]) == (200, number), answer.text
            slow.set()
            asking = [threading.Thread(target=attempt, args=(one, thread)) for thread in threads]
            for each in asking:
                each.start()
            end = time.monotonic() + 120
            while kept.count("turns", "status = 'running'") < len(threads):
                assert time.monotonic() < end, "waited in vain"
                time.sleep(0.1)
            os.kill(first.pid, signal.SIGKILL)
            for each in asking:
                each.join()
            slow.clear()
            for thread in threads:
                refused = ask(two, "And pumice?", thread)
                assert (refused.status_code, "cut off" in refused.text) == (409, True), refused.text
            with held(kept, threads[0]) as free:  # as one whose server has not noticed yet that its client is gone
                first_done = resume(two, threads[0])
                assert free.is_set()
            for done in (first_done, *(resume(two, thread) for thread in threads[1:])):
                assert (done.status_code, done.json()["answer"]) == (200, "Hard [1]."), done.text
            assert ask(two, "And is it still hard?", "moving").json()["turn"] == 4
    statuses = kept.rows("select thread_id, turn, status from turns order by thread_id, turn")
    assert statuses == [
        *(("moving", number, "answered") for number in range(1, 5)),
        *((thread, 1, "answered") for thread in sorted(threads)),
    ]


def resume(url, thread):
    return httpx.post(f"{url}/api/threads/{thread}/resume", json={"stream": False}, timeout=120)


def attempt(url, thread):
    try:
        ask(url, "How hard is basalt?", thread)
    except httpx.HTTPError:  # the server is killed meanwhile
        return
