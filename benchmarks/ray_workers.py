"""What a second worker of `preflight ingest --engine ray` brings: short records, one worker and two in turns.

    python benchmarks/ray_workers.py DATA [--files 8] [--records 300] [--runs 2]

DATA is the folder of data sets; records are those of `DATA/bioasq`. The clock starts when as many files are stored as
there are workers, so that neither starting the cluster nor building the index counts, and what is counted is stored
after that.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from itertools import islice
from pathlib import Path

from preflight_rag.ingest.report import IngestEvent
from preflight_rag.library import Library


def rate(documents: Path, folder: Path, workers: int, records: int) -> float:
    """Return the documents a second that Ray's workers ingest, once each has begun."""
    seen: list[float] = []

    def note(event: IngestEvent) -> None:
        if event.stage == "documents":
            seen.append(time.perf_counter())

    with Library.open(folder, create=True) as library:
        library.ingest_with_ray(documents, workers=workers, progress=note)
    first = workers * records
    return (len(seen) - first) / (seen[-1] - seen[first - 1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        documents = Path(scratch) / "documents"
        documents.mkdir()
        with gzip.open(given.data / "bioasq" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            for number in range(given.files):
                (documents / f"{number}.jsonl").write_text("".join(islice(lines, given.records)), encoding="utf-8")
        for run in range(given.runs):
            one, two = (
                rate(documents, Path(scratch) / f"{run}-{workers}", workers, given.records) for workers in (1, 2)
            )
            print(f"1 worker {one:.1f}, 2 workers {two:.1f} documents a second: {two / one:.2f} x", flush=True)


if __name__ == "__main__":
    main()
