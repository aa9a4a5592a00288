"""What the server adds to a model: delay of the first token, and conversations at once.

    python benchmarks/serving.py [--conversations 50] [--turns 10]

A scripted server plays the model and notes when it writes its first token; the same machine's clock says when that
token has reached a client of `/api/ask` and of `/v1/chat/completions`. Times include this client's own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import httpx  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from serving import events, running  # noqa: E402

import preflight_rag  # noqa: E402
from preflight_rag import Preflight  # noqa: E402
from preflight_rag.library import Library  # noqa: E402
from preflight_rag.models.chat.chat_reader import ChatReader  # noqa: E402
from preflight_rag.server import ServerOptions  # noqa: E402
from preflight_rag.testing.scripted_replies import Reply, prompt_of  # noqa: E402
from preflight_rag.testing.scripted_server import ScriptedServer  # noqa: E402

QUESTION = "How hot is the planet Venus?"
CHUNK = 0.03
REPLY = Reply("The surface of Venus is about 465 degrees Celsius hot on average [1].", delay=0.3, chunk_delay=CHUNK)


def opened(folder: Path, server: ScriptedServer) -> Preflight:
    """Give the application, whose real client talks to the scripted model."""
    chat = ChatOpenAI(base_url=server.url, api_key="k", model="scripted", max_retries=0)
    return Preflight.open(folder, ChatReader(chat), route="plain", rewrite="off")


def first_token(client: httpx.Client, path: str, body: dict[str, Any]) -> float:
    """When the first piece of text had arrived."""
    found = 0.0
    with client.stream("POST", path, json=body) as response:
        if path == "/api/ask":
            for name, _ in events(response.iter_lines()):
                found = found or (time.time() if name == "token" else 0.0)
        else:
            for line in response.iter_lines():
                if (
                    not found
                    and line.startswith("data: {")
                    and json.loads(line[6:])["choices"][0]["delta"].get("content")
                ):
                    found = time.time()
    return found


def delays(folder: Path, turns: int) -> dict[str, list[float]]:
    """Return, by path, the seconds between the model's first token and the client's."""
    message = {"role": "user", "content": QUESTION}
    asks: dict[str, dict[str, Any]] = {
        "/api/ask": {"question": QUESTION, "html": True},
        "/v1/chat/completions": {"model": "preflight", "stream": True, "messages": [message]},
    }
    found: dict[str, list[float]] = {path: [] for path in asks}
    with (
        ScriptedServer(default=REPLY) as server,
        opened(folder, server) as app,
        running(app) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        for path, body in asks.items():
            for _ in range(turns + 1):
                arrived = first_token(client, path, body)
                found[path].append(arrived - (server.requests[-1].arrived + REPLY.delay + CHUNK))
    return {path: seconds[1:] for path, seconds in found.items()}


def crowd(folder: Path, conversations: int) -> tuple[float, list[float], int]:
    """Hold conversations at once; return seconds of all and of each turn, and how many answers are wrong or lost."""

    def script(body: dict[str, Any]) -> str:
        return f"This answers {re.findall(r'code [0-9]+ of [0-9]+', prompt_of(body))[-1]}."

    def converse(number: int) -> list[tuple[float, bool]]:
        rows = []
        with httpx.Client(base_url=url, timeout=300) as client:
            for turn in (1, 2):
                started = time.perf_counter()
                question = f"How hot is Venus, code {number} of {turn}?"
                body = {"question": question, "thread_id": f"c{number}", "stream": False}
                answer = client.post("/api/ask", json=body).json()
                own = f"code {number} of {turn}" in answer.get("answer", "") and answer["turn"] == turn
                rows.append((time.perf_counter() - started, own))
        return rows

    with (
        ScriptedServer(script, delay=0.3) as server,
        opened(folder, server) as app,
        running(app, ServerOptions(rate=0, turns=64)) as url,
    ):
        started = time.perf_counter()
        with ThreadPoolExecutor(conversations) as pool:
            rows = [row for found in pool.map(converse, range(conversations)) for row in found]
        seconds = time.perf_counter() - started
    return seconds, [took for took, _ in rows], sum(not own for _, own in rows)


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--turns", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "library"
        with Library.open(folder, create=True) as library:
            library.ingest([Path(preflight_rag.__file__).parent / "demo"])
        for path, seconds in delays(folder, given.turns).items():
            low, mid, high = (1000 * number for number in (min(seconds), median(seconds), max(seconds)))
            wait = 1000 * (REPLY.delay + CHUNK)
            print(
                f"{path}: first token {mid:.1f} ms after the model's (min {low:.1f}, max {high:.1f}; allowed 150), "
                f"{(mid + wait) / wait:.2f} times the model's own wait"
            )
        seconds, turns, lost = crowd(folder, given.conversations)
        middle, slow = median(turns), quantiles(turns, n=20)[-1]
        print(
            f"{given.conversations} conversations of 2 turns at once: {seconds:.1f} s, "
            f"{len(turns) / seconds:.1f} turns/s, a turn {middle:.2f} s (p95 {slow:.2f} s), {lost} mixed or lost"
        )


if __name__ == "__main__":
    main()
