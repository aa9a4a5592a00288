"""NCBI down, slow, busy or talking nonsense: the library answers, one sentence says what is missing, NCBI is spared."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from fault_counts import times
from ncbi_server import (
    BACKEND_FAILED,
    BROKEN_XML,
    DOWN,
    EMPTY,
    KEY_REFUSED,
    OTHER_XML,
    RATE_LIMITED,
    WEB_PAGE,
    Fault,
    HttpReply,
    NcbiServer,
)

from preflight_rag import Preflight
from preflight_rag.pubmed import client as pubmed
from preflight_rag.pubmed import fetch_documents

pytestmark = pytest.mark.slow

QUESTION = "How hot is the planet Venus?"
FOR_LONG = replace(RATE_LIMITED, headers=(("Retry-After", "3600"),))
HALF_JSON = HttpReply('{"error": "API rate', 200, "application/json")
NONSENSE = {
    "down": (Fault("", DOWN), "failed (status 500)"),
    "429": (Fault("", RATE_LIMITED), "asks for fewer requests (status 429)"),
    "429 for an hour": (Fault("", FOR_LONG), "asks for fewer requests (status 429) and asks to wait 3,600 s"),
    "html": (Fault("", WEB_PAGE), "sent a web page instead of XML"),
    "malformed XML": (Fault("", BROKEN_XML), "sent XML that is not well-formed"),
    "half a JSON": (Fault("", HALF_JSON), "sent XML that is not well-formed"),
    "nothing": (Fault("", EMPTY), "sent an empty reply"),
    "other XML": (Fault("", OTHER_XML), "sent <rss> instead of <eSearchResult>"),
    "backend": (Fault("", BACKEND_FAILED), "Search Backend failed"),
    "refused": (Fault("", KEY_REFUSED), "refuses the API key"),
    "too long a length": (
        Fault("", HttpReply("<x/>", headers=(("Content-Length", "4000"), ("Connection", "close")))),
        "broke off its reply",
    ),
}
MOST = 3 * 3
"""Attempts of each of the three kinds of documents that are searched for."""


def fresh():
    """The client's defaults with a clock that knows nothing of other tests."""
    usual = pubmed.EntrezClient.__init__.__kwdefaults__
    return {**usual, "spacing": pubmed.Spacing(), "per_second": 200}


@pytest.fixture
def ask(own_folder, embedder, monkeypatch, tmp_path):
    """Asks the demo's library and an NCBI that is played here; its clock is the test's own."""
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pubmed.EntrezClient.__init__, "__kwdefaults__", fresh())
    monkeypatch.setattr(pubmed, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(pubmed, "_TOO_FAST_PAUSE", 0.01)

    def ask(url):
        monkeypatch.setenv("PREFLIGHT_NCBI_URL", url)
        with Preflight.open(own_folder, "offline", embedder=embedder, pubmed=True) as app:
            return app.ask(QUESTION)

    return ask


@pytest.fixture(scope="module")
def alone(demo_folder, embedder):
    """The answer of the library alone."""
    with Preflight.open(demo_folder, "offline", embedder=embedder) as app:
        return app.ask(QUESTION)


def gaps(answer):
    return [gap.error for gap in answer.gaps if gap.item == "pubmed"]


@pytest.mark.parametrize("case", NONSENSE.values(), ids=NONSENSE)
def test_the_library_answers_and_one_sentence_says_what_failed(ask, alone, case):
    fault, says = case
    with NcbiServer(script=[fault]) as server:
        answer = ask(server.url)
    assert (answer.answer, answer.outcome) == (alone.answer, alone.outcome)
    (gap,) = gaps(answer)
    assert gap.startswith("NCBI ")
    assert says in gap
    assert "\n" not in gap
    assert 1 <= len(server.requests) <= MOST


def test_an_ncbi_that_is_not_there_is_one_sentence_too(ask, alone):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/entrez/eutils"
    answer = ask(nobody)
    assert answer.answer == alone.answer
    (gap,) = gaps(answer)
    assert "cannot be reached at" in gap


@pytest.mark.parametrize("slow", [Fault("", delay=60.0), Fault("", drip=0.5)], ids=["silent", "drip"])
def test_a_slow_ncbi_costs_its_deadline_and_no_more(slow):
    with NcbiServer(script=[slow]) as server:
        began = time.monotonic()
        with pubmed.EntrezClient(url=server.url, timeout=0.5, per_second=200, spacing=pubmed.Spacing()) as client:
            found = fetch_documents(client, ["metformin"], deadline=1.0)
        took = time.monotonic() - began
    assert (found.documents, len(found.problems)) == ((), 1)
    assert found.problems[0].startswith("NCBI ")
    assert took < 1.0 + 0.5 + 5
    assert len(server.requests) <= MOST


ASKS = """
import sys, threading, time
from preflight_rag.pubmed import EntrezClient
from preflight_rag.pubmed.client import PROCESS
url, key, requests = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = EntrezClient(url=url, api_key=key)
writes = threading.Lock()
def started(per_second, deadline, wait=PROCESS.wait):
    start = wait(per_second, deadline)
    with writes:
        print(start, flush=True)
    return start
PROCESS.wait = started
def ask(n):
    client.search("pubmed", "metformin", deadline=time.monotonic() + 300)
print("begun", flush=True)
threads = [threading.Thread(target=ask, args=(n,)) for n in range(requests)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done", flush=True)
"""


@pytest.mark.parametrize(
    ("key", "per_second", "writable"), [("", 3, True), ("k", 10, True), ("", 3, False)], ids=["3", "10", "no cache"]
)
def test_processes_of_the_machine_stay_together_within_ncbis_limit(tmp_path, monkeypatch, key, per_second, writable):
    """One of them is killed while it waits for its turn, or holds it: the others go on.

    A busy machine delivers a request late, and the next one in time: the distance is that of their starts, and no
    request arrives that has not started.
    """
    processes, each = 4, times(3, 25) * (1 if per_second == 3 else 3)
    cache = tmp_path / "cache"
    if not writable:
        cache.write_text("a file is no folder")
    monkeypatch.setenv("PREFLIGHT_CACHE", str(cache))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with NcbiServer() as server:
        command = [sys.executable, "-c", ASKS, server.url, key, str(each)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        for process in running:
            assert process.stdout.readline() == "begun\n"
        running[0].send_signal(signal.SIGKILL)
        written = [process.stdout.read().splitlines() for process in running]
        arrivals = sorted(request.arrived for request in server.requests)
    for process, lines in zip(running, written, strict=True):
        process.wait()
        process.stdout.close()
        assert (lines[-1:] == ["done"]) is (process is not running[0])
    assert len(arrivals) >= (processes - 1) * each
    starts = sorted(float(line) for lines in written for line in lines if line != "done")
    # The killed process may not have sent the one that it has started.
    assert len(starts) - 1 <= len(arrivals) <= len(starts)
    assert min(later - start for start, later in pairwise(starts)) >= 1 / per_second
    assert all(start <= arrival for start, arrival in zip(starts, arrivals, strict=False))
    assert len(arrivals) / (arrivals[-1] - arrivals[0]) <= per_second * 1.2


def test_all_processes_pause_when_one_is_told_that_they_come_too_fast(tmp_path):
    file = tmp_path / "last"
    mine, others = pubmed.Spacing(lambda: file), pubmed.Spacing(lambda: file)
    began = time.monotonic()
    mine.pause(0.5)
    assert others.wait(1000, began + 30) - began >= 0.5


def test_who_was_asked_to_wait_for_long_says_so_and_asks_no_more():
    spacing = pubmed.Spacing()
    with NcbiServer(script=[Fault("", FOR_LONG)]) as server:
        with pubmed.EntrezClient(url=server.url, per_second=200, spacing=spacing) as client:
            first = fetch_documents(client, ["metformin"], sources="D1")
            again = fetch_documents(client, ["metformin"], sources="D1")
    assert "asks to wait 3,600 s" in first.problems[0]
    assert "has asked to wait 3," in again.problems[0]
    assert len(server.requests) == 1
