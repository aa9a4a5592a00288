"""A library in PostgreSQL beside the same one in a folder: what each costs, and whether both find the same.

    python benchmarks/engines.py FOLDER URL [--queries 100] [--passages 10000] [--keep]

FOLDER is what `benchmarks/peers.py` writes: `texts.jsonl`, `vectors.npy`, `queries.json`, `query-vectors.npy`. What is
in the database's library tables before is deleted. Both libraries are written in batches of 128 documents, as an ingest
does, and are then searched query by query, one after the other, as deep as a turn's retrieval (100 of each ranking,
with all that ranks the candidates further). Nothing is embedded. Times are by the clock, medians; the client's own
processor time stands beside. A folder library that lies in FOLDER already is taken, and not timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer_systems import given_vectors, texts_of, vectors_of

from preflight_rag.databases.postgres import Address
from preflight_rag.ingest.document_store import DocumentStore, PreparedDocument
from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.library import Library
from preflight_rag.library.opening import open_library
from preflight_rag.library.postgres.schema import TABLES
from preflight_rag.library.postgres.store import PostgresStore
from preflight_rag.library.postgres.writing import writing
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import LibraryMissing
from preflight_rag.state.values import Document, Passage

BATCH = 128
DEPTH = 100
READ = 16
"""Passages that a turn reads."""


def documents(folder: Path, passages: int) -> Iterator[PreparedDocument]:
    """One document a passage."""
    for number, (text, vector) in enumerate(islice(zip(texts_of(folder), vectors_of(folder), strict=True), passages)):
        name = f"document-{number}"
        id = passage_id(name, 0, text)
        passage = Passage(id=id, document_id=name, text=text, source=name, end=len(text), tokens=len(text) // 5)
        document = Document(id=name, text=text, source=name)
        yield PreparedDocument(document, "", name, (passage,), (str(number),), (np.asarray(vector).tobytes(),))


def store_all(store: DocumentStore, given: Iterator[PreparedDocument]) -> None:
    """Store documents, some at a time."""
    while batch := list(islice(given, BATCH)):
        store.write_documents(batch)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Run some work; return its seconds by the clock and on this process's processor."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - used


def drop(url: str) -> None:
    """Delete the library in a database."""
    address = Address.read(url, "--library")
    try:
        store = PostgresStore(address)
    except LibraryMissing:
        return
    store.connections.read(
        lambda connection: [
            connection.execute(f"drop table if exists {', '.join(TABLES)} cascade"),
            connection.execute("drop sequence if exists library_run, library_piece"),
        ]
    )
    store.close()


def in_database(url: str, folder: Path, passages: int) -> None:
    """Write the library in the database, and print what it took."""
    drop(url)
    with open_library(url, embedder=given_vectors({}), create=True):
        pass
    store = PostgresStore(Address.read(url, "--library"))
    with writing(store, 10.0) as run:
        storing = timed(lambda: store_all(run, documents(folder, passages)))
        indexing = timed(run.publish)
    print(f"| PostgreSQL | {_both(storing)} | {_both(indexing)} | {store.size() / 1e6:.0f} |", flush=True)
    store.close()


def in_folder(place: Path, folder: Path, passages: int) -> None:
    """Write the library in a folder, and print what it took."""
    with Library.open(place, embedder=given_vectors({}), create=True) as library:
        storing = timed(lambda: store_all(library._store, documents(folder, passages)))
        indexing = timed(library.rebuild)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    print(f"| folder | {_both(storing)} | {_both(indexing)} | {size / 1e6:.0f} |", flush=True)


def _both(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.1f} ({seconds[1]:.1f})"


def ids(ranking: Any, most: int) -> list[str]:
    """Return the ids of a ranking's first passages."""
    return [hit.passage_id for hit in ranking[:most]]


def shared(one: Sequence[str], other: Sequence[str]) -> float:
    """Which part of `one` is in `other`."""
    return len(set(one) & set(other)) / max(1, len(one))


def compare(place: Path, url: str, folder: Path, queries: int) -> None:
    """Search both, one query after the other, and print times and agreement."""
    asked = json.loads((folder / "queries.json").read_text(encoding="utf-8"))[:queries]
    known = dict(zip(asked, np.load(folder / "query-vectors.npy", allow_pickle=False), strict=False))
    seconds: dict[str, list[tuple[float, float]]] = {"folder": [], "PostgreSQL": []}
    agreement: dict[str, list[float]] = {}
    with (
        Library.open(place, embedder=given_vectors(known)) as own,
        open_library(url, embedder=given_vectors(known)) as engine,
    ):
        for query in asked[:3]:
            own.candidates(query), engine.candidates(query)
        for query in asked:
            found = {}
            for name, library in (("folder", own), ("PostgreSQL", engine)):
                started, used = time.perf_counter(), time.process_time()
                found[name] = library.search(SearchQuery(query, k=DEPTH, candidates=DEPTH))
                seconds[name].append((time.perf_counter() - started, time.process_time() - used))
            for part in ("dense", "lexical", "fused"):
                one, other = (getattr(found[name], part) for name in ("folder", "PostgreSQL"))
                for most in (READ, DEPTH):
                    share = shared(ids(one, most), ids(other, most))
                    agreement.setdefault(f"{part}@{most}", []).append(share)
        print("\n| library | ms a search, median | its 90th percentile | least | client's processor, ms |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for name, taken in seconds.items():
            clock = sorted(1000 * wall for wall, _ in taken)
            most, own_time = clock[int(0.9 * len(clock))], 1000 * median(cpu for _, cpu in taken)
            print(f"| {name} | {median(clock):.1f} | {most:.1f} | {clock[0]:.1f} | {own_time:.1f} |")
        ratios = [one[0] / other[0] for one, other in zip(seconds["PostgreSQL"], seconds["folder"], strict=True)]
        print(f"\nPostgreSQL's time by the folder's, median of {len(ratios)}: {median(ratios):.2f}")
        print("Of what the folder finds, PostgreSQL finds: ", end="")
        print(", ".join(f"{name} {np.mean(shares):.4f}" for name, shares in agreement.items()))
        print(f"dense index: {engine.stats()['index']}; the folder's: {own.stats()['index']['dense']}")


def main() -> None:
    """Write what is missing, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("url")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--keep", action="store_true", help="Take the database's library as it is.")
    given = parser.parse_args()
    place = given.folder / "library"
    print(f"{given.passages:,} passages\n\n| library | storing, s (client's processor) | indexing, s | MB |")
    print("| --- | ---: | ---: | ---: |", flush=True)
    if not place.exists():
        in_folder(place, given.folder, given.passages)
    if not given.keep:
        in_database(given.url, given.folder, given.passages)
    compare(place, given.url, given.folder, given.queries)


if __name__ == "__main__":
    main()
