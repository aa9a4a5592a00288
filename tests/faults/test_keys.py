"""Keys that are made, revoked or locked by another program while servers run."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fault_counts import report, times
from serving import running, serving

from preflight_rag import Preflight
from preflight_rag.server import ServerOptions
from preflight_rag.server.access import KeyRing
from preflight_rag.testing import Reply, ScriptedServer

pytestmark = pytest.mark.slow

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
SLOW = Reply(
    "Basalt is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(400)), chunk_delay=0.05
)


def keys(folder: Path, *arguments: str) -> str:
    """`preflight keys` in a process of its own."""
    command = [sys.executable, "-m", "preflight_rag", "keys", *arguments, "--library", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def mcp(folder: Path) -> Iterator[str]:
    """The address of `preflight mcp` over HTTP."""
    command = [sys.executable, "-m", "preflight_rag", "mcp", "--library", str(folder), "--model", "offline"]
    process = subprocess.Popen([*command, "--transport", "http", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = next((line for line in process.stderr if line.startswith("listening: ")), "")
        assert address, "the server has not said where it listens"
        yield address.split()[-1]
    finally:
        process.terminate()
        _, log = process.communicate(timeout=30)
        assert process.returncode == 0, log
        assert "Traceback" not in log


def initialized(url: str, headers: dict[str, str]) -> dict[str, str]:
    """The headers of an open session of the protocol."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    reply = httpx.post(url, json=body, headers=headers, timeout=30)
    assert reply.status_code == 200, reply.text
    session = reply.headers.get("mcp-session-id")
    opened = {**headers, "mcp-protocol-version": "2025-06-18"} | ({"mcp-session-id": session} if session else {})
    httpx.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=opened, timeout=30)
    return opened


def test_mcp_asks_for_keys_as_soon_as_there_are_some(small_folder: Path) -> None:
    with mcp(small_folder) as url:
        nobodys = initialized(url, ACCEPT)
        assert httpx.post(url, json=LIST_TOOLS, headers=nobodys, timeout=30).status_code == 200
        for wrong, status in (({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)):
            assert httpx.post(url, json=LIST_TOOLS, headers=nobodys | wrong, timeout=30).status_code == status
        key = keys(small_folder, "add", "anna")
        # The very next request, with a session that was open before, and without one.
        assert httpx.post(url, json=LIST_TOOLS, headers=nobodys, timeout=30).status_code == 401
        assert httpx.post(url, json=LIST_TOOLS, headers=ACCEPT, timeout=30).status_code == 401
        wrong_key = ACCEPT | {"Authorization": f"Bearer {key[:-2]}xx"}
        assert httpx.post(url, json=LIST_TOOLS, headers=wrong_key, timeout=30).status_code == 401
        annas = initialized(url, ACCEPT | {"Authorization": f"Bearer {key}"})
        assert httpx.post(url, json=LIST_TOOLS, headers=annas, timeout=30).status_code == 200
        elsewhere = annas | {"Origin": "https://evil.example"}
        assert httpx.post(url, json=LIST_TOOLS, headers=elsewhere, timeout=30).status_code == 403
        keys(small_folder, "revoke", "anna")
        assert httpx.post(url, json=LIST_TOOLS, headers=annas, timeout=30).status_code == 401
        assert httpx.post(url, json=LIST_TOOLS, headers=ACCEPT, timeout=30).status_code == 401  # and stays closed


def test_the_server_asks_for_keys_as_soon_as_there_are_some(small_folder: Path) -> None:
    with serving("-l", small_folder, "--model", "offline", "-q", "--rate", 0) as (_, url):
        for number in range(times(3, 20)):
            key = keys(small_folder, "add", f"user{number}")
            assert httpx.get(f"{url}/api/info").status_code == 401
            headers = {"Authorization": f"Bearer {key}"}
            assert httpx.get(f"{url}/api/info", headers=headers).json()["user"] == f"user{number}"
            keys(small_folder, "revoke", f"user{number}")
            assert httpx.get(f"{url}/api/info", headers=headers).status_code == 401


def test_changes_within_one_tick_of_the_clock_count(small_folder: Path) -> None:
    """What was read is kept by the file's times, and two changes may have the same."""
    with closing(KeyRing(small_folder)) as ring, closing(KeyRing(small_folder)) as other:
        for number in range(times(30, 500)):
            key = other.add(f"user{number}")
            assert ring.find(key) is not None
            assert other.revoke(f"user{number}")
            assert ring.find(key) is None


@contextmanager
def locked(folder: Path) -> Iterator[sqlite3.Connection]:
    """Another program keeps the file of keys to itself."""
    with closing(sqlite3.connect(folder / "keys.db", isolation_level=None, check_same_thread=False)) as foreign:
        foreign.execute("BEGIN EXCLUSIVE")
        try:
            yield foreign
        finally:
            foreign.execute("ROLLBACK")


class Pulse:
    """Asks for /health again and again; the longest wait is what the event loop was busy with something else."""

    def __init__(self, url: str) -> None:
        self.url, self.longest, self.beats = url, 0.0, 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat)

    def _beat(self) -> None:
        with httpx.Client(timeout=120) as client:
            while not self._end.wait(0.02):
                started = time.monotonic()
                assert client.get(f"{self.url}/health").status_code == 200
                self.longest, self.beats = max(self.longest, time.monotonic() - started), self.beats + 1

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()


@pytest.mark.parametrize("changed", [False, True])
def test_a_foreign_lock_on_the_keys_stops_nobody_else(scripted_app: Any, client_of: Any, changed: bool) -> None:
    seconds = times(6, 60)
    with ScriptedServer(default=SLOW) as server:
        app: Preflight = scripted_app(server)
        with closing(KeyRing(app.folder)) as ring:
            key = ring.add("anna")
        time.sleep(0.2)
        with running(app, ServerOptions(rate=0)) as url:
            anna = client_of(url, key)
            assert anna.get("/api/info").status_code == 200
            stream = anna.stream("POST", "/api/ask", json={"question": "Is basalt hard?"})
            with stream as response, locked(app.folder), Pulse(url) as pulse:
                if changed:  # as if the program had written what it has not committed
                    os.utime(app.folder / "keys.db")
                end, statuses, pieces = time.monotonic() + seconds, [], 0
                lines = response.iter_lines()
                others = client_of(url, key)
                gaps, last = [], time.monotonic()
                while time.monotonic() < end:
                    if next(lines, None) is not None:
                        pieces += 1
                        gaps.append(time.monotonic() - last)
                        last = time.monotonic()
                    if pieces % 20 == 0:
                        asked = others.get("/api/threads")
                        statuses.append(asked.status_code)
                        if asked.status_code == 503:
                            assert int(asked.headers["retry-after"]) >= 1
                            assert "keys" in asked.json()["error"]["message"]
                        last = time.monotonic()
            # The lock is gone: the next request is served.
            assert anna.get("/api/threads").status_code == 200
    report(f"locked {seconds} s: longest /health {pulse.longest:.2f} s, longest gap of a stream {max(gaps):.2f} s")
    # What has not changed is known; what may have changed is waited for, and then refused.
    assert set(statuses) == ({503} if changed else {200})
    assert pulse.beats > seconds
    assert pulse.longest < 1.5
    assert max(gaps) < 1.5


def test_a_lock_on_the_keys_of_an_mcp_server_is_a_refusal(small_folder: Path) -> None:
    with closing(KeyRing(small_folder)) as ring:
        key = ring.add("anna")
    headers = ACCEPT | {"Authorization": f"Bearer {key}"}
    with mcp(small_folder) as url:
        annas = initialized(url, headers)
        with locked(small_folder):
            os.utime(small_folder / "keys.db")
            refused = httpx.post(url, json=LIST_TOOLS, headers=annas, timeout=30)
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
        assert httpx.post(url, json=LIST_TOOLS, headers=annas, timeout=30).status_code == 200


def test_a_damaged_file_of_keys_lets_nobody_in(offline_app: Preflight, client_of: Any) -> None:
    with closing(KeyRing(offline_app.folder)) as ring:
        key = ring.add("anna")
    with running(offline_app) as url:
        anna = client_of(url, key)
        assert anna.get("/api/info").status_code == 200
        for content in (b"", b"nothing that SQLite knows" * 100):
            (offline_app.folder / "keys.db").write_bytes(content)
            refused = anna.get("/api/info")
            assert refused.status_code == 503
            assert not re.search(r"[/\\]\w+[/\\]", refused.json()["error"]["message"])  # no path of this machine
            assert client_of(url).get("/api/info").status_code == 503
            assert client_of(url).get("/health").json() == {"status": "ok"}
