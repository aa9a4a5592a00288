"""What the harness adds to a model's time: cases through `open_asking` against a server that takes 50 ms for a reply.

    python benchmarks/harness.py [--cases 1000] [--concurrency 16] [--delay 0.05] [--runs 3]

The server is a process of its own. What it can do is measured too, by a client that only writes and reads bytes. The
ideal is cases / concurrency * delay. Every case is a prompt of its own; each reply is parsed, counted, scored and kept
in the cache's file before the case counts as done. A second pass asks nothing: its replies come from the cache. The
client needs a good part of one core, the server some of another: on a busy machine only the CPU time says something.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evaluation.harness.arms import Arm, ArmAnswer, run_arms
from evaluation.harness.asking import Asking, open_asking
from evaluation.harness.budget import Budget
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from preflight_rag.prompts import answer_plain
from preflight_rag.state.reading import Source

OPTIONS = ("yes", "no")
PASSAGE = Source(1, "doc-1", "Numbers", "Even numbers are divisible by 2, odd numbers are not. " * 20)
REPLY = "The passage says that even numbers are divisible by 2 [1].\nCHOICE: A"


class Replies(asyncio.Protocol):
    """Answers every POST with the same completion after a delay; no more of HTTP than that."""

    delay = 0.05
    body = json.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport, self.received = transport, b""

    def data_received(self, data: bytes) -> None:
        """Reply once a request is whole."""
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            fields = self.received[:end].lower().split(b"\r\n")
            length = next((int(line[15:]) for line in fields if line.startswith(b"content-length:")), 0)
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            asyncio.get_running_loop().call_later(self.delay, self.reply)

    def reply(self) -> None:
        """Send the completion, where the client is still there."""
        if not self.transport.is_closing():
            self.transport.write(self.head + self.body)


async def serve(delay: float) -> None:
    """Serve until killed; the address is the first line of standard output."""
    Replies.delay = delay
    server = await asyncio.get_running_loop().create_server(Replies, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


async def bare(url: str, cases: int, concurrency: int) -> float:
    """Return the seconds that a client takes which only writes requests and reads replies of known length."""
    port = int(url.split(":")[2].split("/")[0])
    body = b"x" * 2000
    request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    waiting = iter(range(cases))

    async def worker() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in waiting:
            writer.write(request)
            await reader.readexactly(len(Replies.head) + len(Replies.body))
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return time.perf_counter() - started


def harness(asking: Asking, cases: int) -> None:
    """Put the cases to one arm, as an experiment does."""
    questions = [Sample(f"q{n}", f"Is {n} even?", "yes/no", OPTIONS, OPTIONS[n % 2]) for n in range(cases)]

    async def answer(question: Sample, sources: object) -> ArmAnswer:
        prompt = answer_plain.render(question=question.question, sources=[PASSAGE], options=question.options)
        return ArmAnswer((await asking.prompts.reply(prompt))[0])

    found = asyncio.run(run_arms([Arm("plain", answer)], questions, lambda _: [PASSAGE], asking))
    assert len(found) == cases
    assert sum(row.score or 0.0 for row in found) == (cases + 1) // 2


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def report(name: str, wall: float, cpu: float, cases: int, ideal: float) -> None:
    """One row."""
    print(f"| {name} | {wall:.2f} s | {wall / ideal:.2f} x | {1000 * cpu / cases:.2f} ms |")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds until a reply")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.delay))
        return
    ideal = given.cases / given.concurrency * given.delay
    print(f"{given.cases:,} cases, {given.concurrency} at once, {1000 * given.delay:g} ms a reply: ideal {ideal:.2f} s")
    print(f"{os.cpu_count()} cores, of which others kept {os.getloadavg()[0]:.1f} busy in the last minute\n")
    print("| | wall | of the ideal | CPU a case |\n| --- | ---: | ---: | ---: |")
    command = [sys.executable, __file__, "--serve", "--delay", str(given.delay)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            os.environ.update(OPENAI_BASE_URL=server.stdout.readline().strip(), OPENAI_API_KEY="any")
            for run in range(given.runs):
                rows(given, Path(folder) / f"{run}.db", ideal)
        finally:
            server.kill()


def rows(given: argparse.Namespace, replies: Path, ideal: float) -> None:
    """Report three clients: one of bytes alone, the harness, and the harness again over its cache."""
    url = os.environ["OPENAI_BASE_URL"]
    wall, cpu = measured(lambda: asyncio.run(bare(url, given.cases, given.concurrency)))
    report("bytes alone", wall, cpu, given.cases, ideal)
    for name, asked in (("through the harness", given.cases), ("again, from the cache", 0)):
        budget = Budget()
        run = ExperimentRun(model="openai:scripted", concurrency=given.concurrency, budget=budget, reply_cache=replies)
        with open_asking(run) as asking:
            _ = asking.prompts
            wall, cpu = measured(lambda asking=asking: harness(asking, given.cases))
        assert budget.calls == asked
        report(name, wall, cpu, given.cases, ideal)


if __name__ == "__main__":
    main()
