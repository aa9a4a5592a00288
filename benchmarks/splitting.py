"""What semantic splitting costs: seconds to split a long PDF against seconds to embed its chunks once.

    python benchmarks/splitting.py REPORT.pdf [MORE.pdf …] [--pages 50 100 200 400]

The PDFs' pages are joined in order and cut to each length. Splitting embeds every sentence with its neighbours (CPQA,
Algorithm 1), which is three times the text at k = 1, so its time should grow with the length and stay near three times
that of embedding the chunks. Everything runs in one go on one machine; read the ratios.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain
from pathlib import Path

from preflight_rag.ingest.loaders import load
from preflight_rag.library import SemanticOverlapSplitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.state.values import Document


def page_texts(document: Document) -> list[str]:
    """The text of each page."""
    starts = [start for _, start in document.pages]
    return [document.text[start:end] for start, end in zip(starts, [*starts[1:], len(document.text)], strict=True)]


def joined(pages: list[str]) -> Document:
    """One document of the pages."""
    starts, length = [], 0
    for number, page in enumerate(pages, 1):
        starts.append((number, length))
        length += len(page)
    return Document(id="joined", text="".join(pages), source="joined.pdf", pages=tuple(starts))


def measured(document: Document, embedder: Embedder) -> tuple[int, float, float]:
    """Number of chunks, seconds to split, seconds to embed the chunks."""
    began = time.perf_counter()
    passages = SemanticOverlapSplitter(embedder).split(document)
    split = time.perf_counter()
    embedder.encode_passages([passage.text for passage in passages])
    return len(passages), split - began, time.perf_counter() - split


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pdf", type=Path, nargs="+")
    parser.add_argument("--pages", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    documents = [document for path in given.pdf for document in load(path) if isinstance(document, Document)]
    pages = list(chain.from_iterable(page_texts(document) for document in documents))
    if len(pages) < max(given.pages):
        sys.exit(f"the PDFs have {len(pages)} pages, not {max(given.pages)}: give more of them")
    embedder = MiniLM(threads=given.threads)
    embedder.encode_query("warm")
    print("| pages | characters | chunks | split, s | a page, ms | embed, s | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for count in given.pages:
        document = joined(pages[:count])
        chunks, split, embed = measured(document, embedder)
        cells = (
            f"{len(document.text):,}",
            f"{chunks:,}",
            f"{split:.1f}",
            f"{1000 * split / count:.0f}",
            f"{embed:.1f}",
        )
        print(f"| {count} | {' | '.join(cells)} | {split / embed:.2f} |", flush=True)


if __name__ == "__main__":
    main()
