"""Concurrent searches at a server that enforces NCBI's limit: requests that take turns against requests that do not.

    python benchmarks/pubmed.py [--calls 12] [--per-second 3]

The server refuses what comes faster than the limit with status 429 and asks to wait two seconds. The naive client is
the same one without turns; it is run without and with the usual three attempts. Read the shares and the ratios.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from ncbi_server import NcbiServer  # noqa: E402

from preflight_rag.pubmed import EntrezClient, Spacing  # noqa: E402
from preflight_rag.state.errors import PubMedUnavailable  # noqa: E402


class NoTurns(Spacing):
    """Lets every request start at once."""

    def wait(self, per_second: float, deadline: float) -> float:
        """Return the present time: no request waits for its turn."""
        return time.monotonic()


def survived(spacing: Spacing, calls: int, per_second: int, attempts: int) -> tuple[int, int, float]:
    """Return how many concurrent searches succeed, how many requests they make, and the seconds of all of them."""
    with NcbiServer(per_second=per_second, retry_after=2) as server, ThreadPoolExecutor(calls) as threads:
        options = {"per_second": per_second, "attempts": attempts, "spacing": spacing}
        with EntrezClient(url=server.url, **options) as client:

            def search(number: int) -> bool:
                try:
                    return client.search("pubmed", f"metformin OR word{number}").hits > 0
                except PubMedUnavailable:
                    return False

            begun = time.perf_counter()
            found = list(threads.map(search, range(calls)))
            seconds = time.perf_counter() - begun
        return sum(found), len(server.requests), seconds


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--per-second", type=int, default=3)
    given = parser.parse_args()
    fastest = (given.calls - 1) / given.per_second
    rows = [
        ("turns", Spacing(), 3),
        ("no turns, one attempt", NoTurns(), 1),
        ("no turns, three attempts", NoTurns(), 3),
    ]
    print(f"| client | survived of {given.calls} | requests | time, times the least possible |")
    print("| --- | ---: | ---: | ---: |")
    for name, spacing, attempts in rows:
        alive, requests, seconds = survived(spacing, given.calls, given.per_second, attempts)
        print(f"| {name} | {alive} | {requests} | {seconds / fastest:.2f} |")


if __name__ == "__main__":
    main()
