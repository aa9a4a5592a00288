"""Turns a second through `preflight serve`'s two workers, of this checkout and of others, in turns.

    git worktree add ../before COMMIT
    python benchmarks/two_versions.py ../before [--rounds 8] [--turns 100] [--at-once 8]

A machine whose speed changes within minutes says nothing about one version after the other. Here the servers of all
checkouts run at once, each over a library of its own, and get their requests one after the other in short bursts, every
other round in the opposite order. "Ours" is this checkout's as a multiple of each one's, a mean over rounds; idle cores
count the start of the client. Each checkout must have `own_cost.py`, whose instant model it serves with; Linux alone,
for the time of the processor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import own_cost  # noqa: E402

import preflight_rag  # noqa: E402
from preflight_rag.library import Library  # noqa: E402


@dataclass(frozen=True)
class Burst:
    """What was measured while a server was asked: turns a second, processor ms a turn, and cores with nothing to do."""

    rate: float
    processor: float
    idle: float


@contextmanager
def workers_of(checkout: Path, folder: Path, route: str) -> Iterator[tuple[str, list[int]]]:
    """The address of a server of two workers over a new library, and these workers."""
    with Library.open(folder, create=True) as library:
        library.ingest([Path(preflight_rag.__file__).parent / "demo"])
    command = [sys.executable, str(checkout / "benchmarks" / "own_cost.py"), "--serve", str(folder), "--route", route]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=checkout, env=environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            yield url, [int(each) for each in children.read_text().split()]
        finally:
            process.terminate()


def idle_and_all() -> tuple[int, int]:
    """Ticks of all cores so far, with nothing to do and altogether."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def burst(url: str, workers: list[int], at_once: int, turns: int) -> Burst:
    """Ask a server for so many turns."""
    before = idle_and_all()
    rate, processor = own_cost.requests(
        f"{url}/api/ask", at_once, turns, lambda: sum(map(own_cost.cpu_seconds, workers)), warm=0
    )
    idle, ticks = (now - then for now, then in zip(idle_and_all(), before, strict=True))
    return Burst(rate, 1000 * processor, (os.cpu_count() or 1) * idle / ticks)


def measured(checkouts: list[Path], route: str, given: argparse.Namespace) -> list[list[Burst]]:
    """The bursts of each checkout's server."""
    found: list[list[Burst]] = [[] for _ in checkouts]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = [
            stack.enter_context(workers_of(checkout, scratch / str(number), route))
            for number, checkout in enumerate(checkouts)
        ]
        for url, workers in servers:
            burst(url, workers, given.at_once, 40)  # to warm up
        for number in range(given.rounds):
            for place in range(len(servers))[:: -1 if number % 2 else 1]:
                found[place].append(burst(*servers[place], given.at_once, given.turns))
    return found


def main() -> None:
    """Measure both routes, and print a row for each checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="+", type=Path, help="checkouts to compare with")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=8)
    given = parser.parse_args()
    checkouts = [ROOT, *(each.resolve() for each in given.others)]
    for each in checkouts:
        if not (each / "benchmarks" / "own_cost.py").is_file():
            sys.exit(f"{each} is no checkout with benchmarks/own_cost.py")
    print(
        "| route | checkout | turns/s, mean (least, most) | processor ms a turn | cores idle | ours: rate | ours: ms |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for route in ("plain", "map-reduce"):
        rows = measured(checkouts, route, given)
        for checkout, row in zip(checkouts, rows, strict=True):
            rates = [each.rate for each in row]
            faster = mean(ours.rate / theirs.rate for ours, theirs in zip(rows[0], row, strict=True))
            cost = mean(ours.processor / theirs.processor for ours, theirs in zip(rows[0], row, strict=True))
            print(
                f"| {route} | {checkout.name} | {mean(rates):.1f} ({min(rates):.1f}, {max(rates):.1f}) "
                f"| {mean(each.processor for each in row):.1f} | {mean(each.idle for each in row):.2f} "
                f"| {faster:.2f} x | {cost:.2f} x |",
                flush=True,
            )


if __name__ == "__main__":
    main()
