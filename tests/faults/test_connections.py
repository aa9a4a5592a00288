"""Connections that ask nothing, ask slowly, take nothing or go away: the others are served, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fault_counts import report, times
from kept_threads import Kept
from serving import events, running, serving

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions, connections
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

SLOW = Reply(
    "Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(400)), chunk_delay=0.05
)
PAGE = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Half"


def connect(url: str, receive_bytes: int | None = None) -> socket.socket:
    address = urlsplit(url)
    made = socket.socket()
    if receive_bytes:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(20)
    made.connect((address.hostname, address.port))
    return made


@contextmanager
def many(url: str, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """So many connections, each of which has sent this."""
    with ExitStack() as stack:
        made = [stack.enter_context(connect(url)) for _ in range(count)]
        for each in made:
            each.sendall(sent)
        yield made


def is_gone(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side closes it within the time."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def memory(process: int) -> float:
    """Megabytes of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024


def wait_until(holds: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (now := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(now)


NEVER = (b"", b"\r\n", HALF, b"POST /api/ask HTTP/1.1\r\n")


def test_a_thousand_connections_that_never_ask_keep_nobody_out(small_folder: Path) -> None:
    connections.ask_for_file_handles()
    with serving("-l", small_folder, "--model", "offline", "-q") as (process, url):
        for sent in NEVER:
            with many(url, 1000, sent):
                waits = []
                for _ in range(times(2, 25)):
                    started = time.monotonic()
                    assert httpx.get(f"{url}/health", timeout=20).json()["status"] == "ok"
                    body = {"question": "Is basalt hard?", "stream": False}
                    asked = httpx.post(f"{url}/api/ask", json=body, timeout=60)
                    assert asked.status_code == 200, asked.text
                    waits.append(time.monotonic() - started)
            report(f"1000 connections sent {sent!r}: longest answer {max(waits):.2f} s")
        assert process.poll() is None


def test_an_unending_header_is_cut_off(small_folder: Path) -> None:
    with serving("-l", small_folder, "--model", "offline", "-q") as (process, url):
        asked = {"question": "Is basalt hard?", "stream": False}
        assert httpx.post(f"{url}/api/ask", json=asked, timeout=60).status_code == 200  # loads what there is to load
        before = memory(process.pid) if sys.platform == "linux" else 0.0
        for _ in range(times(3, 30)):
            with connect(url) as connection:
                connection.sendall(HALF)
                with pytest.raises(OSError, match=r"reset|pipe"):
                    connection.sendall(b"a" * 50_000_000)  # kernels buffer some megabytes of it
        assert httpx.get(f"{url}/health", timeout=20).status_code == 200
        if sys.platform == "linux":
            assert memory(process.pid) < before + 60  # it took 300 megabytes more in five seconds


@pytest.mark.parametrize("pause", [0.2, 30.0])
def test_a_header_that_comes_slowly_is_not_waited_for(
    shared_app: Preflight, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 1.0)
    with running(shared_app) as url, connect(url) as connection:
        connection.sendall(HALF)
        started = time.monotonic()
        reply = b""
        while time.monotonic() < started + 10:
            connection.settimeout(pause)
            try:
                reply += (piece := connection.recv(1000))
                if not piece:
                    break
            except TimeoutError:
                connection.sendall(b"a")
            except OSError:
                break
        took = time.monotonic() - started
        assert httpx.get(f"{url}/health").status_code == 200
    assert b" 408 " in reply
    assert took < 5


def test_a_connection_that_asks_again_and_again_is_kept(shared_app: Preflight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 1.0)
    with running(shared_app) as url, connect(url) as connection:
        for _ in range(5):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 OK" in connection.recv(4000)
            time.sleep(0.4)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_comes_a_byte_now_and_then_is_not_waited_for(shared_app: Preflight, chunked: bool) -> None:
    length = "Transfer-Encoding: chunked" if chunked else "Content-Length: 5000"
    head = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()
    with running(shared_app, ServerOptions(body_seconds=1.0)) as url, connect(url) as connection:
        connection.sendall(head)
        started, reply = time.monotonic(), b""
        connection.settimeout(0.2)
        while not reply and time.monotonic() < started + 20:
            try:
                connection.sendall(b"1\r\n \r\n" if chunked else b" ")
                reply = connection.recv(1000)
            except TimeoutError:
                pass
        assert b" 408 " in reply
        assert time.monotonic() - started < 10
        assert is_gone(connection, 15)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_clients_that_take_nothing_are_let_go(offline_app: Preflight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TAKING_SECONDS", 4.0)
    count = times(5, 50)

    def handles() -> int:
        return len(os.listdir("/proc/self/fd"))

    with running(offline_app, ServerOptions(rate=0)) as url, ExitStack() as stack:
        httpx.get(f"{url}/health")
        time.sleep(1)  # the server's end of that is closed, too
        before = handles()
        readers = [stack.enter_context(connect(url, receive_bytes=4096)) for _ in range(count)]
        for each in readers:
            each.sendall(PAGE * 200)  # about 15 megabytes of replies, of which none is read
        assert wait_until(lambda: handles() >= before + 2 * count, 10)
        assert httpx.get(f"{url}/health", timeout=20).status_code == 200
        assert wait_until(lambda: handles() <= before + count + 2, 30), "the server's ends are open still"
        assert httpx.get(f"{url}/health", timeout=20).status_code == 200


def test_streams_that_nobody_reads_keep_nobody_waiting(small_folder: Path) -> None:
    long = Reply("Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(100)))
    count = times(10, 100)
    body = json.dumps({"question": "Is basalt hard?"}).encode()
    head = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with ScriptedServer([("Is basalt hard?", long)], default="Light [1].") as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        flags = ("-l", small_folder, "--model", "openai:scripted", "-q")
        with serving(*flags, **environment) as (_, url), ExitStack() as stack:
            for _ in range(count):
                connection = stack.enter_context(connect(url, receive_bytes=4096))
                connection.sendall(f"{head}\r\n\r\n".encode() + body)
            for _ in range(3):
                asked = {"question": "Which rock is light?", "stream": False}
                assert httpx.post(f"{url}/api/ask", json=asked, timeout=60).json()["answer"] == "Light [1]."


WAYS = [
    ("/api/ask", {"question": "Is basalt hard?"}),
    ("/api/ask", {"question": "Is basalt hard?", "stream": False}),
    ("/v1/chat/completions", {"model": "preflight", "messages": [{"role": "user", "content": "Is basalt hard?"}]}),
    (
        "/v1/chat/completions",
        {"model": "preflight", "stream": True, "messages": [{"role": "user", "content": "Is basalt hard?"}]},
    ),
    ("/v1/responses", {"model": "preflight", "input": "Is basalt hard?"}),
    ("/v1/responses", {"model": "preflight", "input": "Is basalt hard?", "stream": True}),
]


@pytest.mark.parametrize(("path", "body"), WAYS)
def test_the_models_call_ends_within_a_second_of_the_clients_leaving(
    scripted_app: Any, path: str, body: dict[str, Any]
) -> None:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    took = []
    streamed = body.get("stream", path == "/api/ask")
    with (
        ScriptedServer(default=SLOW if streamed else Reply(delay=60)) as server,
        running(scripted_app(server, rewrite="off")) as url,
    ):
        for number in range(1, times(1, 10) + 1):
            with connect(url) as connection:
                connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
                server.wait_for(number)
                time.sleep(0.2)
                left = time.time()
            server.wait_idle()
            assert server.requests[-1].delivered is False
            took.append(time.time() - left)
    report(f"{path} {'streamed' if streamed else 'whole'}: ended after {max(took):.2f} s")
    assert max(took) < 1.0


def test_sigterm_under_load_leaves_every_turn_answered_or_resumable(
    small_folder: Path, chat_reader: Any, kept_under_load: Kept
) -> None:
    count = times(8, 100)
    with ScriptedServer([("How is Basalt?", SLOW)], default=Reply("Light [1].", delay=0.3)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        flags = ("-l", small_folder, "--model", "openai:scripted", "-q", "--turns", count, "--rate", 0)
        with serving(*flags, **environment, **kept_under_load.environment) as (process, url):

            def ask(number: int) -> tuple[str, str]:
                """The last event of a turn; every second one takes longer than the server lives."""
                rock = "Basalt" if number % 2 else "Pumice"
                body = {"question": f"How is {rock}?", "thread_id": f"t{number}"}
                last = "none"
                try:
                    with httpx.stream("POST", f"{url}/api/ask", json=body, timeout=60) as response:
                        for name, _ in events(response.iter_lines()):
                            last = name
                except httpx.TransportError:
                    last = "cut off"
                return f"t{number}", last

            with ThreadPoolExecutor(count) as pool:
                asked = [pool.submit(ask, number) for number in range(count)]
                server.wait_for(count * 3 // 4, timeout=120)
                process.send_signal(signal.SIGTERM)
                started = time.monotonic()
                process.wait(timeout=30)
                ended = time.monotonic() - started
                lasts = dict(each.result() for each in asked)
            log = process.stderr.read()
        server.wait_idle()
        answered = list(lasts.values()).count("answer")
        report(f"{kept_under_load.name}, {count} turns: ended after {ended:.1f} s, {answered} answered before")
        assert process.returncode == 0, log
        assert ended < 15
        assert "Traceback" not in log
        assert not (small_folder / "threads.db-wal").exists()  # the databases were closed
    with (
        ScriptedServer(default="Again [1].") as server,
        Preflight.open(small_folder, chat_reader(server), threads=kept_under_load.url) as app,
    ):
        states = []
        for thread, last in lasts.items():
            turn = app.ledger.last(thread)
            if turn is None:  # it had not begun, and its client was told so
                assert last not in ("answer", "token")
                states.append("refused")
                continue
            states.append(turn.status)
            if turn.status == "answered":
                assert turn.result["answer"].startswith(("Light", "Basalt"))
            else:
                assert last != "answer"
                asked_before = server.count()
                resumed = app.resume(thread).answer
                # Where the whole reply was recorded before the server went, nothing is asked again.
                recorded = ("Light [1].", SLOW.text.strip())
                assert resumed in (("Again [1].",) if server.count() > asked_before else recorded)
        assert states.count("answered") + states.count("interrupted") >= count * 3 // 4
