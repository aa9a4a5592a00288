"""`preflight serve --workers 2`: what the two share, what one hands on to the other, and one that is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from serving import Client, events, serving

from preflight_rag.testing.scripted_replies import Reply
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="which worker a connection comes to is Linux's"),
]
QUESTION = "How hard is basalt?"


@contextmanager
def two_workers(folder, model, *more):
    """The process, its URL, and a client with a connection to each of the workers, by number."""
    environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "any"}
    how = ("--library", folder, "--model", "openai:scripted", "--workers", 2, *more)
    with serving(*how, **environment) as (process, url), ExitStack() as stack:
        yield process, url, clients(url, stack)


def clients(url, stack):
    found: dict[str, Client] = {}
    for _ in range(200):
        client = stack.enter_context(Client(base_url=url, timeout=60))
        found.setdefault(client.get("/health").headers["x-preflight-worker"], client)
        if len(found) == 2:
            return found
    raise AssertionError(f"of 200 connections all came to worker {list(found)}")


def workers_of(process):
    return sorted(map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()))


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@pytest.mark.parametrize("asked", ["1", "2"])
def test_a_turn_is_listened_to_and_stopped_through_the_other_worker(small_folder, asked):
    slow = Reply("Basalt is hard [1]. " + "It is so. " * 2000, chunk_delay=0.05)
    with ScriptedServer([("basalt", slow, 1)], default="Hard [1].") as model, two_workers(small_folder, model) as made:
        _, _, of = made
        first, other = of[asked], of["2" if asked == "1" else "1"]
        seen: list[str] = []
        begun = threading.Event()

        def ask():
            body = {"question": QUESTION, "thread_id": "t", "keep": True}
            with first.stream("POST", "/api/ask", json=body) as response:
                for name, _ in events(response.iter_lines()):
                    seen.append(name)
                    if name == "token":
                        begun.set()

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(60)
        with other.stream("GET", "/api/threads/t/events") as response:
            heard = events(response.iter_lines())
            assert next(heard) == ("start", {"thread_id": "t"})
            assert any(name == "token" for name, _ in heard)
        assert other.get("/api/threads/t").json()["running"] is True
        assert other.post("/api/threads/t/stop").json() == {"stopped": True}
        asking.join(60)
        assert seen[-1] == "stopped"
        assert other.get("/api/threads/t").json()["running"] is False
        assert other.get("/api/threads/t/events").status_code == 404
        assert other.post("/api/threads/t/stop").json() == {"stopped": False}
        resumed = other.post("/api/threads/t/resume", json={"stream": False})
        assert (resumed.status_code, resumed.json().get("answer")) == (200, "Hard [1]."), resumed.text
        assert first.ask("And pumice?", thread_id="t").json()["turn"] == 2


def test_a_killed_worker_under_load_is_begun_anew_and_nothing_is_lost(small_folder):
    slow, held = threading.Event(), list[bool]()

    def reply(_):
        held.extend([True] if slow.is_set() else [])
        return Reply("Hard [1].", delay=30 if slow.is_set() else 0)

    with (
        ScriptedServer(reply) as model,
        two_workers(small_folder, model, "--rate", 0) as (process, url, of),
    ):
        before = workers_of(process)
        assert len(before) == 2
        slow.set()
        cut_off = [threading.Thread(target=attempt, args=(of[number], f"cut-{number}")) for number in of]
        for each in cut_off:
            each.start()
        until(lambda: running(url) == 2 and len(held) == 2)
        slow.clear()
        answered, stop = Counter[int](), threading.Event()
        load = [threading.Thread(target=ask_on, args=(url, f"load-{n}", answered, stop)) for n in range(3)]
        for each in load:
            each.start()
        until(lambda: sum(answered.values()) >= 3)
        os.kill(before[1], signal.SIGKILL)  # the second one was begun last
        until(lambda: len(workers_of(process)) == 2 and workers_of(process) != before)
        with ExitStack() as stack:
            assert set(clients(url, stack)) == {"1", "2"}
        reached = sum(answered.values())
        until(lambda: sum(answered.values()) >= reached + 3)
        stop.set()
        for each in load:
            each.join(60)
        with httpx.Client(base_url=url, timeout=120) as client:
            for number in range(3):
                turns = client.get(f"/api/threads/load-{number}").json()["turns"]
                assert all(turn["status"] in ("answered", "running", "interrupted") for turn in turns)
                assert sum(turn["status"] == "answered" for turn in turns) >= answered[number]
            done = client.post("/api/threads/cut-2/resume", json={"stream": False})
            assert (done.status_code, done.json().get("answer")) == (200, "Hard [1]."), done.text
        children = workers_of(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        for each in cut_off:
            each.join(60)
        assert not any(Path(f"/proc/{pid}").exists() for pid in children)
        assert "worker 2 has ended (-9) and is begun anew" in process.stderr.read()


def running(url):
    """How many turns all workers are taking, as they count it together."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("preflight_turns_running "))


def attempt(client, thread):
    try:
        client.ask(QUESTION, thread_id=thread)
    except httpx.HTTPError:  # its worker is killed
        return


def ask_on(url, thread, answered, stop):
    """Ask on one thread as a client would: again where the connection breaks, and resuming what was cut off."""
    number = int(thread.rpartition("-")[2])
    while not stop.is_set():
        try:
            with httpx.Client(base_url=url, timeout=60) as client:
                said = client.post("/api/ask", json={"question": QUESTION, "thread_id": thread, "stream": False})
                if said.status_code == 409:
                    said = client.post(f"/api/threads/{thread}/resume", json={"stream": False})
                answered[number] += said.status_code == 200
        except httpx.HTTPError:
            time.sleep(0.1)


def test_documents_the_model_and_numbers_are_those_of_all_workers(small_folder):
    with (
        ScriptedServer(default="Hard [1].") as model,
        ScriptedServer(default="Very hard [1].") as another,
        two_workers(small_folder, model) as (_, _, of),
    ):
        note = {
            "files": ("quartz.md", b"# Quartz\n\nQuartz is as hard as seven on the scale of Mohs.", "text/markdown")
        }
        added = of["2"].post("/api/documents", files=note)
        assert (added.status_code, added.headers["x-preflight-worker"]) == (200, "1"), added.text
        for client in of.values():
            assert [each["files"][0]["name"] for each in client.get("/api/uploads").json()["uploads"]] == ["quartz.md"]
            found = client.post("/api/search", json={"query": "quartz scale of Mohs"}).json()["fused"]
            assert found[0]["document_id"] == "quartz.md"
        assert of["2"].request("DELETE", "/api/documents", params={"id": "quartz.md"}).status_code == 204
        assert all(
            client.get("/api/documents", params={"query": "quartz"}).json()["total"] == 0 for client in of.values()
        )
        body = {"base_url": f"{another.url}", "model": "other", "key": "k"}
        assert of["2"].put("/api/model", json=body).status_code == 200
        for client in of.values():
            assert client.get("/api/info").json()["model"] == "openai:other"
            assert client.ask(QUESTION).json()["answer"] == "Very hard [1]."
        counted = [
            line for line in of["1"].get("/metrics").text.splitlines() if line.startswith("preflight_turns_total")
        ]
        assert [float(line.split()[-1]) for line in counted] == [2.0]


def test_a_forged_header_of_a_worker_is_a_request_like_any_other(small_folder):
    with ScriptedServer(default="Hard [1].") as model, two_workers(small_folder, model) as (_, _, of):
        forged = {"x-preflight-handed-on": '{"secret": "guess", "user": null, "client": null}'}
        assert of["1"].get("/_worker/metrics", headers=forged).status_code == 404
        assert of["1"].get("/_worker/metrics").status_code == 404


@pytest.mark.parametrize("library", ["missing", "small"])
def test_what_keeps_the_first_worker_from_beginning_is_said_once(small_folder, tmp_path, library):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = "0" if library == "missing" else str(taken.getsockname()[1])
        folder = tmp_path / "none" if library == "missing" else small_folder
        command = [sys.executable, "-m", "preflight_rag", "serve", "-l", str(folder), "--port", port, "--workers", "2"]
        found = subprocess.run([*command, "--model", "offline"], capture_output=True, text=True, timeout=120)
    assert found.returncode == (1 if library == "missing" else 2)
    assert len(found.stderr.strip().splitlines()) == 1, found.stderr
    assert ("is in use" in found.stderr) == (library == "small")
