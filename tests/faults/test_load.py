"""A thousand conversations at once, work without a model beside streams, and a mixed load for a long time.

The rules are those of a benchmark that can fail: a success has text and says that it is complete, nothing is repeated
in silence, and any failure is a failed run. A turn that is refused is told when to come again, which its client then
does, and that is counted.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fault_counts import report, times
from kept_threads import Kept
from serving import serving

from preflight_rag.library import Library
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.testing import read_log

pytestmark = pytest.mark.slow

WORDS = [
    "the",
    "a",
    "of",
    "in",
    "and",
    "to",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "by",
    "at",
    "from",
    "this",
    "be",
    "or",
    "an",
    "have",
    "not",
    "which",
]


@contextmanager
def model(folder: Path, *, delay: float, script: dict[str, Any] | None = None) -> Iterator[tuple[dict[str, str], Path]]:
    """A scripted model in a process of its own: the environment of its clients, and the log of its requests."""
    log, rules = folder / "model.jsonl", folder / "model.json"
    rules.write_text(json.dumps(script or {"default": "Basalt is hard [1]."}), encoding="utf-8")
    arguments = ["--delay", str(delay), "--log", str(log), "--script", str(rules)]
    command = [sys.executable, "-m", "preflight_rag.testing.scripted_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield {"OPENAI_BASE_URL": process.stdout.readline().strip(), "OPENAI_API_KEY": "any"}, log
        finally:
            process.kill()


def raise_file_handles() -> None:
    """Each conversation has a connection here, one at the server and one at the model."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard) if soft < 4096 else (soft, hard))


class Outcome:
    """What became of one conversation.

    Attributes:
        refused: How often it was told to come again.
        seconds: From the request that was taken to its end.
    """

    def __init__(self) -> None:
        self.refused = 0
        self.seconds = 0.0
        self.problem: str | None = "never ended"


async def converse(client: httpx.AsyncClient, number: int) -> Outcome:
    """Ask with a canary of one's own, as a stream; wait and come again only where the server says so."""
    outcome, canary = Outcome(), f"canary{number:06d}x"
    body = {"question": f"Is the rock {canary} hard?", "thread_id": canary}
    while True:
        started = time.monotonic()
        tokens, last = [], ("none", {})
        async with client.stream("POST", "/api/ask", json=body) as response:
            if response.status_code == 503:
                assert int(response.headers["retry-after"]) >= 1
                outcome.refused += 1
            else:
                assert response.status_code == 200, await response.aread()
                name = ""
                async for line in response.aiter_lines():
                    if line.startswith("event: "):
                        name = line[7:]
                    elif line.startswith("data: "):
                        last = name, json.loads(line[6:])
                        if name == "token":
                            tokens.append(last[1]["text"])
        if outcome.refused and last[0] == "none" and response.status_code == 503:
            await asyncio.sleep(int(response.headers["retry-after"]) * random.uniform(1, 1.5))
            continue
        outcome.seconds = time.monotonic() - started
        outcome.problem = _problem(canary, "".join(tokens), *last)
        return outcome


def _problem(canary: str, streamed: str, name: str, data: dict[str, Any]) -> str | None:
    """What is wrong with a reply; None where it is whole, and this conversation's."""
    if name != "answer":
        return f"ended with {name}: {data}"
    answer = data["answer"]
    found = set(re.findall(r"canary\d{6}x", json.dumps(data) + streamed))
    if found != {canary}:
        return f"{canary} got {found}"
    if not answer["answer"].strip() or answer["thread_id"] != canary or answer["turn"] != 1:
        return f"not its own: {answer['thread_id']}, turn {answer['turn']}"
    if streamed != answer["answer"]:
        return f"streamed {streamed!r}, answered {answer['answer']!r}"
    return None


@pytest.mark.parametrize("turns", ["enough", "as many as usual"])
def test_a_thousand_conversations_at_once(
    small_folder: Path, tmp_path: Path, turns: str, kept_under_load: Kept
) -> None:
    count = times(60, 1000)
    raise_file_handles()
    # Places for all of them, running and waiting; or so few that most are refused at first.
    places = max(count // 4, 1) if turns == "enough" else times(4, 32)
    flags = ("-l", small_folder, "--model", "openai:scripted", "-q", "--rate", 0, "--turns", places)
    with (
        model(tmp_path, delay=1.0) as (environment, log),
        serving(*flags, **environment, **kept_under_load.environment) as (process, url),
    ):

        async def all_at_once() -> list[Outcome]:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
                return await asyncio.gather(*(converse(client, number) for number in range(count)))

        started = time.monotonic()
        outcomes = asyncio.run(all_at_once())
        took = time.monotonic() - started
        prompts = Counter(canary for each in read_log(log) for canary in set(re.findall(r"canary\d{6}x", each.prompt)))
        threads = httpx.get(f"{url}/api/threads", timeout=60).json()["threads"]
        assert process.poll() is None
    seconds = sorted(each.seconds for each in outcomes)
    refused = sum(each.refused for each in outcomes)
    quantiles = f"p50 {statistics.median(seconds):.1f} s, p95 {seconds[int(0.95 * len(seconds))]:.1f} s"
    told = f"{quantiles}, {took:.1f} s in all, {refused} refusals (503)"
    report(f"{kept_under_load.name}, {count} conversations, {places} places: {told}")
    assert [each.problem for each in outcomes if each.problem] == []
    # No more prompts than conversations: nothing was asked again in silence, here or there.
    assert len(prompts) == count
    assert len(threads) == count
    assert max(prompts.values()) == min(prompts.values())
    assert (refused == 0) == (turns == "enough")


def big_library(folder: Path, embedder: Embedder, documents: int) -> Path:
    """Documents of some thousand words each, which a keyless turn reads for a while."""
    chance = random.Random(7)
    with Library.open(folder / "big", embedder=embedder, create=True) as library:
        paths = []
        for number in range(documents):
            rock = f"Rock{number}"
            sentences = [
                " ".join(["The", rock, *chance.choices(WORDS, k=9), chance.choice(["hard", "light", "white", "flat"])])
                for _ in range(150)
            ]
            paths.append(folder / f"{rock}.txt")
            paths[-1].write_text(". ".join(sentences) + ".", encoding="utf-8")
        library.ingest(paths)
    return folder / "big"


def test_work_without_a_model_stops_neither_health_nor_streams(tmp_path: Path, embedder: Embedder) -> None:
    folder = big_library(tmp_path, embedder, times(6, 40))
    spoken = {
        "default": {
            "text": "Rock1 is hard [1]. " + "".join(f"It really is so, says note {n}. " for n in range(200)),
            "chunk_delay": 0.05,
        }
    }
    with model(tmp_path, delay=0.0, script=spoken) as (environment, _):
        flags = ("-l", folder, "--model", "openai:scripted", "-q", "--rate", 0, "--turns", 32)
        with serving(*flags, **environment) as (_, url):

            async def measured() -> tuple[float, float, list[int]]:
                limits = httpx.Limits(max_connections=None)
                async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
                    warm = {"question": "Which rock is hard?", "model": "offline", "stream": False}
                    assert (await client.post("/api/ask", json=warm)).status_code == 200
                    asked = [
                        client.post("/api/ask", json={**warm, "question": f"Is Rock{number} hard or light?"})
                        for number in range(8)
                    ]
                    working = asyncio.gather(*asked)
                    pulse, stream = (
                        asyncio.create_task(beat(client, working)),
                        asyncio.create_task(flow(client, working)),
                    )
                    replies = await working
                    return await pulse, await stream, [each.status_code for each in replies]

            health, gap, statuses = asyncio.run(measured())
    report(f"8 keyless turns at once: longest /health {health:.2f} s, longest gap of a stream {gap:.2f} s")
    assert statuses == [200] * 8
    assert health < 1  # two cores that eight readers want; blocked it would be as long as a turn, or all of them
    assert gap < 1


async def beat(client: httpx.AsyncClient, working: asyncio.Future[Any]) -> float:
    """The longest wait for /health while that works."""
    longest = 0.0
    while not working.done():
        started = time.monotonic()
        assert (await client.get("/health")).status_code == 200
        longest = max(longest, time.monotonic() - started)
        await asyncio.sleep(0.02)
    return longest


async def flow(client: httpx.AsyncClient, working: asyncio.Future[Any]) -> float:
    """The longest silence of a stream that says a word every 0.05 s, while that works."""
    longest, last = 0.0, 0.0
    async with client.stream("POST", "/api/ask", json={"question": "What is Rock1?"}) as response:
        async for line in response.aiter_lines():
            if line == "event: token":
                now = time.monotonic()
                longest, last = max(longest, now - last if last else 0.0), now
            if working.done() and last:
                break
    return longest


class Size:
    """What a server process takes: megabytes, file handles and threads."""

    def __init__(self, process: int) -> None:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        self.megabytes = int(status["VmRSS"].split()[0]) / 1024
        self.threads = int(status["Threads"])
        self.handles = len(os.listdir(f"/proc/{process}/fd"))

    def __str__(self) -> str:
        return f"{self.megabytes:.0f} MB, {self.handles} handles, {self.threads} threads"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_long_mixed_load_leaves_nothing_behind(small_folder: Path, tmp_path: Path, kept_under_load: Kept) -> None:
    seconds = float(os.environ.get("PREFLIGHT_SOAK_SECONDS", times(20, 1800)))
    settle = min(seconds / 4, 120)
    spoken = {"default": {"text": "Basalt is hard [1]. " + "It is so. " * 10, "chunk_delay": 0.02}}
    with model(tmp_path, delay=0.05, script=spoken) as (environment, _):
        flags = ("-l", small_folder, "--model", "openai:scripted", "-q", "--rate", 0, "--turns", 16)
        with serving(*flags, **environment, **kept_under_load.environment) as (process, url):
            done: Counter[str] = Counter()
            asyncio.run(mixed_load(url, settle, done))
            rest(url)
            start, sizes = Size(process.pid), []
            done.clear()
            for _ in range(8):
                asyncio.run(mixed_load(url, (seconds - settle) / 8, done))
                rest(url)
                sizes.append(Size(process.pid))
            running = httpx.get(f"{url}/metrics").text
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
            log = process.stderr.read()
    then = "; ".join(map(str, sizes))
    report(f"{kept_under_load.name}, {seconds:.0f} s, {dict(done)}; at first {start}; then {then}")
    assert "Traceback" not in log, log[-3000:]
    assert "preflight_turns_running 0.0" in running
    assert all(done[kind] for kind in KINDS), done
    assert done["told to ask again"] < done.total() / 20
    assert sizes[-1].threads <= start.threads + 8  # asyncio's, FastAPI's and the limits' pools grow up to their bounds
    assert sizes[-1].handles <= start.handles + 4
    # What a server has learned of words and answers grows for a while; a leak grows with the requests.
    assert sizes[-1].megabytes < start.megabytes * 1.15 + 20
    assert sizes[-1].megabytes < sizes[3].megabytes * 1.05 + 10


NUMBERS = itertools.count()  # a name once used may be among the conversations that are deleted
KINDS = ("ask", "aborted", "keyless", "upload", "threads", "openai", "embeddings", "search")


def rest(url: str) -> None:
    """Wait until the server has ended what it was doing."""
    for _ in range(200):
        if "preflight_turns_running 0.0" in httpx.get(f"{url}/metrics").text:
            break
        time.sleep(0.05)
    time.sleep(6)  # connections that are kept open are closed after five seconds


async def mixed_load(url: str, seconds: float, done: Counter[str]) -> None:
    """Several people who do everything that can be done, one thing after the other."""
    end = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        await asyncio.gather(*(person(client, number, end, done) for number in range(6)))


async def person(client: httpx.AsyncClient, number: int, end: float, done: Counter[str]) -> None:
    chance = random.Random(number)
    while time.monotonic() < end:
        kind = chance.choice(KINDS)
        try:
            await ACTS[kind](client, f"{number}-{next(NUMBERS)}")
        except Again:
            done["told to ask again"] += 1
        else:
            done[kind] += 1


class Again(Exception):
    """Somebody has deleted a document that was being read, and the server says so."""


def whole(reply: httpx.Response) -> Any:
    """The body of a reply that is whole.

    Raises:
        Again: The server says that it should be asked again, and why.
    """
    if reply.status_code == 409 and "changed or deleted" in reply.text:
        raise Again
    assert reply.status_code == 200, reply.text
    return reply.json()


async def ask(client: httpx.AsyncClient, name: str) -> None:
    body = {"question": f"Is basalt {name} hard?", "thread_id": name, "stream": False}
    assert "Basalt is hard" in whole(await client.post("/api/ask", json=body))["answer"]


async def aborted(client: httpx.AsyncClient, name: str) -> None:
    async with client.stream("POST", "/api/ask", json={"question": f"Is basalt {name} hard?"}) as response:
        async for line in response.aiter_lines():
            if line == "event: token":
                break


async def keyless(client: httpx.AsyncClient, name: str) -> None:
    body = {"question": "Which rock is light?", "model": "offline", "stream": False}
    assert whole(await client.post("/api/ask", json=body))["answer"]


async def upload(client: httpx.AsyncClient, name: str) -> None:
    files = {"files": (f"{name}.txt", f"Chalk {name} is a rock that is soft.".encode())}
    reply = await client.post("/api/documents", files=files)
    assert reply.status_code == 200, reply.text
    (document,) = (await client.get("/api/documents", params={"query": f"{name}.txt"})).json()["documents"]
    assert (await client.delete("/api/documents", params={"id": document["id"]})).status_code == 204


async def threads(client: httpx.AsyncClient, name: str) -> None:
    found = (await client.get("/api/threads")).json()["threads"]
    for each in found[20:]:  # as many conversations stay, however long it lasts
        assert (await client.delete(f"/api/threads/{each['thread_id']}")).status_code in (204, 404)


async def openai(client: httpx.AsyncClient, name: str) -> None:
    body = {"model": "preflight", "messages": [{"role": "user", "content": f"Is basalt {name} hard?"}]}
    reply = whole(await client.post("/v1/chat/completions", json=body))
    assert "Basalt is hard" in reply["choices"][0]["message"]["content"]


async def embeddings(client: httpx.AsyncClient, name: str) -> None:
    reply = await client.post("/v1/embeddings", json={"model": "preflight", "input": [name, "basalt"]})
    assert len(reply.json()["data"]) == 2


async def search(client: httpx.AsyncClient, name: str) -> None:
    assert whole(await client.post("/api/search", json={"query": f"basalt {name}"}))["fused"]


ACTS = {kind: globals()[kind] for kind in KINDS}
