"""What adding passages to a large library costs, beside building its index anew; the library is changed by it.

    python benchmarks/growing.py LIBRARY [--passages 1000] [--whole]

Passages are made up, with random vectors, and are written as an ingest writes what it has embedded. Then the index
takes them up, which is what is measured: seconds of the processor and of the clock, and the most memory. With
`--whole` the index is built anew after that, for comparison.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from peer_systems import given_vectors, resident
from peers import zipf_texts

from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.index.generations import read_manifest
from preflight_rag.library.library import Library
from preflight_rag.state.values import Document, Passage


def write(library: Library, count: int) -> None:
    """Store so many documents of one passage."""
    rng = np.random.default_rng(library._store.generation())
    dimension, run = library._store.dimension(), rng.integers(1 << 40)
    with library._store._database.atomic():
        for number, text in enumerate(zipf_texts(count, rng)):
            name, vector = f"added-{run}-{number}", rng.standard_normal(dimension).astype("<f4")
            passage = Passage(
                id=passage_id(name, 0, text), document_id=name, text=text, source=name, end=len(text), tokens=200
            )
            row = (passage, name, (vector / np.linalg.norm(vector)).tobytes())
            document = Document(id=name, text=text, source=name)
            library._store.write_document(document, origin="", content_hash=name, passages=[row])


def main() -> None:
    """Add, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--whole", action="store_true", help="build the index anew, too")
    given = parser.parse_args()
    with Library.open(given.library, embedder=given_vectors({})) as library:
        writer = library._writer
        write(library, given.passages)
        steps = {"added": lambda: writer._refresh(None), "built anew": lambda: writer._build()}
        for name, step in steps.items():
            if name == "built anew" and not given.whole:
                continue
            started, wall = time.process_time(), time.perf_counter()
            with writer.writing():
                step()
            taken, waited = time.process_time() - started, time.perf_counter() - wall
            manifest = read_manifest(library._root)
            assert manifest is not None
            print(
                f"{name}: {manifest.passages:,} passages, of which the last whole build had {manifest.built:,}; "
                f"{taken:.1f} s of the processor, {waited:.1f} s, at most {resident()['peak']:.0f} MB"
            )


if __name__ == "__main__":
    main()
