"""What keeping a conversation costs a turn: the library's own file against PostgreSQL.

    python benchmarks/thread_stores.py --threads postgresql://USER@HOST/DATABASE [--turns 60]

Turns on both take turns in one run, with a model that replies at once; read the ratio. Processor time is this process's
own: what the database's server works comes on top, and is in the seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from langchain_openai import ChatOpenAI  # noqa: E402

import preflight_rag  # noqa: E402
from preflight_rag import Preflight  # noqa: E402
from preflight_rag.library import Library  # noqa: E402
from preflight_rag.models.chat.chat_reader import ChatReader  # noqa: E402
from preflight_rag.testing.scripted_server import ScriptedServer  # noqa: E402

QUESTION = "How hot is the planet Venus?"
REPLY = "The surface of Venus is about 465 degrees Celsius hot on average [1]."


def measured(route: str, folder: Path, url: str, turns: int) -> list[str]:
    """Seconds and processor time of a turn on a route: in the file, in PostgreSQL, and their ratio."""
    with ScriptedServer(default=REPLY) as server, ExitStack() as stack:
        reader = ChatReader(ChatOpenAI(base_url=server.url, api_key="k", model="scripted", max_retries=0))
        apps = [
            stack.enter_context(Preflight.open(folder, reader, threads=threads, route=route, rewrite="off"))
            for threads in (None, url)
        ]
        took: list[list[tuple[float, float]]] = [[], []]
        for number in range(turns + 5):
            for app, rows in zip(apps, took, strict=True):
                began, worked = time.perf_counter(), time.process_time()
                app.ask(QUESTION, thread_id=f"{route} {number}")
                rows.append((time.perf_counter() - began, time.process_time() - worked))
        for app in apps:
            for number in range(turns + 5):
                app.delete_thread(f"{route} {number}")
    seconds, work = ([1000 * median(row[i] for row in rows[5:]) for rows in took] for i in (0, 1))
    cells = (f"{a:.0f} ms | {b:.0f} ms | {b / a:.2f}" for a, b in (seconds, work))
    return [route, *cells]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", required=True)
    parser.add_argument("--turns", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "library"
        with Library.open(folder, create=True) as library:
            library.ingest([Path(preflight_rag.__file__).parent / "demo"])
        rows = [measured(route, folder, given.threads, given.turns) for route in ("plain", "map-reduce")]
    print("| route | threads.db | PostgreSQL | ratio | processor, threads.db | processor, PostgreSQL | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
