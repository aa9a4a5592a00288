"""A whole ingest beside the bare embedder over the same passages, in turns within one run.

    python benchmarks/ingest.py DATA [--files 40] [--records 400] [--runs 3] [--onnx]

DATA is the folder of data sets. PDFs and articles of `DATA/ingest_docs`, from the smallest on, and short records of
`DATA/bioasq` are read, split, embedded, stored and indexed; then the embedder alone embeds the passages that the
library has, in groups of like length, as an ingest does. A ratio is the bare embedder's time over the ingest's: 1 would
be an ingest that costs nothing else. Processor time counts the processes that read, too. With `--onnx` OpenVINO is not
taken, where it is installed.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from preflight_rag.ingest.identity import vector_key
from preflight_rag.ingest.prepare import embedded_groups
from preflight_rag.ingest.run import ingest_files
from preflight_rag.library import Library
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.models.opening import MANY, embedder_for_many

Clock: TypeAlias = Callable[[], float]
ENDINGS = (".pdf", ".nxml", ".txt", ".html", ".docx")


class WithoutOpenVino(MiniLM):
    """The default embedder, in whose place no faster one is taken."""


class Parts:
    """Seconds of the processor by part; `counted` gives an object whose calls count for a part."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    @contextmanager
    def part(self, name: str, clock: Clock = time.thread_time) -> Iterator[None]:
        """Count what is done meanwhile."""
        began = clock()
        yield
        self.seconds[name] += clock() - began

    def counted(self, inner: Any, name: str, methods: tuple[str, ...], clock: Clock = time.thread_time) -> Any:
        """Return an object whose methods count their seconds under `name`."""
        parts = self

        class Counted:
            def __getattr__(self, method: str) -> Any:
                found = getattr(inner, method)
                if method not in methods:
                    return found

                def call(*given: Any, **named: Any) -> Any:
                    with parts.part(name, clock):
                        return found(*given, **named)

                return call

        return Counted()


def collection(data: Path, folder: Path, files: int, records: int) -> Path:
    """Return a folder with the files that are ingested."""
    folder.mkdir()
    found = (path for path in (data / "ingest_docs").rglob("*") if path.suffix in ENDINGS)
    for number, path in enumerate(sorted(found, key=lambda path: path.stat().st_size)[:files]):
        shutil.copy(path, folder / f"{number:03d}-{path.name}")
    with gzip.open(data / "bioasq" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        (folder / "records.jsonl").write_text("".join(line for line, _ in zip(lines, range(records), strict=False)))
    return folder


def processor() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def whole(documents: Path, folder: Path, embedder: MiniLM) -> tuple[dict[str, tuple[str, str]], Counter[str], str]:
    """Ingest into a new library: what was embedded, and the seconds of each part."""
    parts, ended = Parts(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with Library.open(folder, embedder=embedder, create=True) as library:
        writer = library._writer
        with writer.writing():
            splitter = parts.counted(writer._open_splitter(), "splitting", ("split",))
            store = parts.counted(library._store, "storing", ("write_documents", "embedded", "document"))
            counted = parts.counted(
                embedder_for_many(embedder, MANY), "embedding", ("encode_passages",), time.process_time
            )
            report = ingest_files(store, counted, splitter, [documents])
            with parts.part("index", time.process_time):
                writer._refresh(None)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        parts.seconds["reading"] = after.ru_utime + after.ru_stime - ended.ru_utime - ended.ru_stime
        passages = library.passages(library.all_passage_ids())
    said = f"{report.added} documents, {len(passages)} passages, {len(report.failed)} files not read"
    return {vector_key(each): (each.title, each.text) for each in passages}, parts.seconds, said


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--onnx", action="store_true", help="without OpenVINO")
    given = parser.parse_args()
    embedder = WithoutOpenVino() if given.onnx else MiniLM()
    fast = embedder_for_many(embedder, MANY)
    fast.encode_passages(["warm"] * 200)
    embedder.encode_query("warm")
    rows: list[tuple[float, float, float, float]] = []
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        documents = collection(given.data, Path(scratch) / "documents", given.files, given.records)
        whole(documents, Path(scratch) / "warm", embedder)
        for run in range(given.runs):
            began = time.perf_counter(), processor()
            inputs, parts, said = whole(documents, Path(scratch) / f"library-{run}", embedder)
            ended = time.perf_counter(), processor()
            for _ in embedded_groups(embedder, inputs):
                pass
            bare = time.perf_counter() - ended[0], processor() - ended[1]
            rows.append((ended[0] - began[0], ended[1] - began[1], *bare))
            sums += parts
            if run == 0:
                print(f"{said}; embedder: {type(fast).__name__}\n")
                print("| run | ingest, s | processor | bare embedder, s | processor | ratio by the clock | processor |")
                print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
            wall, used, bare_wall, bare_used = rows[-1]
            print(
                f"| {run + 1} | {wall:.1f} | {used:.1f} | {bare_wall:.1f} | {bare_used:.1f} | "
                f"{bare_wall / wall:.2f} | {bare_used / used:.2f} |",
                flush=True,
            )
    print(
        f"\nmedians: {median(row[2] / row[0] for row in rows):.2f} of the bare embedder's speed by the clock, ", end=""
    )
    print(f"{median(row[3] / row[1] for row in rows):.2f} by the processor")
    print(f"bare: {len(inputs) / median(row[3] for row in rows):.1f} passages a second of a processor")
    for name, seconds in sums.most_common():
        print(f"{name}: {seconds / given.runs:.2f} s of the processor a run")


if __name__ == "__main__":
    main()
