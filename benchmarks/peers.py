"""Retrieval beside that of other libraries, in one run, as ratios of processor time and of memory.

    python benchmarks/peers.py --short    10,000 passages, beside LangChain, in the present environment
    python benchmarks/peers.py [--sizes 10000,100000] [--data DIR]    all peers, in an environment of their own

Ours is the whole way of a turn's retrieval: both rankings, fusion, second stage, selection and the calibrated risk. The
peers do two rankings and their fusion; paper-qa and LangGraph's graph of its documentation have a dense one alone.
Texts come with vectors, so nothing is embedded. Texts are those of biomix where its folder is given, up to as many
passages as it has, and made up ones whose words follow Zipf's law; vectors lie around random centres, so they say
nothing about recall (`benchmarks/approximate.py` does, on real ones).

Each system runs in a process of its own on one thread. Memory is what the process has that searches: for ours the files
of the index that are mapped count, too. Exits with 1 where a ratio of `LIMITS` is not met.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

SYSTEMS = Path(__file__).with_name("peer_systems.py")
PEERS = {
    "langchain": ("langchain-classic", "langchain-community", "faiss-cpu", "rank-bm25"),
    "haystack": ("haystack-ai",),
    "llamaindex": ("llama-index-core", "llama-index-retrievers-bm25"),
    "txtai": ("txtai", f"torch=={version('torch').partition('+')[0]}"),
    "paperqa": ("paper-qa",),
    "langgraph": ("langgraph", "langchain-core"),
}
TITLES = {
    "langchain": "LangChain EnsembleRetriever",
    "haystack": "Haystack hybrid",
    "llamaindex": "LlamaIndex fusion",
    "txtai": "txtai hybrid",
    "paperqa": "paper-qa, dense alone",
    "langgraph": "LangGraph's RAG graph, dense alone",
}
QUERIES, OF_PEERS = 200, 20
"""Searches of ours, and of each peer, which take longer."""
LIMITS = {("langchain", 10_000): (5.0, 1.3), ("langchain", 100_000): (80.0, 4.0)}
"""Those of 10,000 only catch what makes a search much dearer; those of 100,000 are what is wanted.

Least ratio of a peer's processor time to ours, and of its memory, by peer and passages."""
WORDS_OF_A_QUESTION = 10
"""Those of biomix (BioASQ, SciFact, PubMedQA) have 10.3 on average. EnsembleRetriever's time grows with them."""
WORDS, WORDS_OF_A_PASSAGE, EXPONENT = 60_000, 120, 1.07
"""Of the made up texts: distinct words; words of a passage, as many as 160 word pieces; Zipf's exponent for English."""


def zipf_texts(count: int, rng: np.random.Generator, length: int = WORDS_OF_A_PASSAGE) -> Iterator[str]:
    """Passages of `length` made up words whose frequencies follow Zipf's law."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = np.array(["".join(syllables[i] for i in rng.integers(0, len(syllables), 3)) + "n" for _ in range(WORDS)])
    shares = np.cumsum(1 / np.arange(1, WORDS + 1) ** EXPONENT)
    for _ in range(count):
        places = np.searchsorted(shares, rng.random(length) * shares[-1])
        yield " ".join(words[places])


def biomix_texts(data: Path, count: int) -> list[str]:
    """The first passages of biomix, cut to 1,100 characters, each once."""
    with gzip.open(data / "biomix" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = dict.fromkeys(text[:1100] for text in (json.loads(line)["text"] for line in lines) if text)
    return list(texts)[:count]


def write_corpus(folder: Path, texts: Iterable[str], count: int, rng: np.random.Generator) -> None:
    """Texts, one a line, vectors, and queries: words of a passage, and a vector near to its."""
    centres = rng.standard_normal((max(16, count // 50), 384)).astype(np.float32)
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, 384))
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        of = rng.integers(0, len(centres), size)
        block = centres[of] + 1.5 * rng.standard_normal((size, 384)).astype(np.float32)
        vectors[start : start + size] = block / np.linalg.norm(block, axis=1, keepdims=True)
    chosen = rng.choice(count, QUERIES, replace=False)
    noise = vectors[chosen] + 0.05 * rng.standard_normal((QUERIES, 384)).astype(np.float32)
    np.save(folder / "query-vectors.npy", noise / np.linalg.norm(noise, axis=1, keepdims=True))
    asked, wanted = {}, set(chosen.tolist())
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as lines:
        for number, text in enumerate(texts):
            lines.write(json.dumps(text) + "\n")
            if number in wanted:
                words = list(dict.fromkeys(text.split()))
                asked[number] = " ".join(rng.permutation(words)[:WORDS_OF_A_QUESTION])
    (folder / "queries.json").write_text(json.dumps([asked[number] for number in chosen.tolist()]), encoding="utf-8")


def run(python: str, name: str, folder: Path, queries: int) -> dict[str, Any] | None:
    """Run a system in its own process and return its report; None where it failed, such as for want of memory."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    done = subprocess.run(
        [python, SYSTEMS, name, folder],
        env={**os.environ, **one, "QUERIES": str(queries)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment(folder: Path) -> str:
    """The interpreter of the peers' environment, which is made where it is not there yet."""
    python, installed = folder / "bin" / "python", folder / "installed"
    packages = sorted({package for names in PEERS.values() for package in names})
    if not installed.exists() or installed.read_text(encoding="utf-8").split() != packages:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True
        )
        installed.write_text("\n".join(packages), encoding="utf-8")
    return str(python)


def milliseconds(found: dict[str, Any]) -> str:
    """Of a search: the processor's, and by the clock."""
    return f"{1000 * found['search']:.1f} ({1000 * found['clock']:.1f})"


def compare(texts: Iterable[str], size: int, name: str, python: str, peers: list[str], work: Path) -> list[str]:
    """Print the rows of one collection; what is not met."""
    folder = work / f"{name}-{size}"
    folder.mkdir()
    write_corpus(folder, texts, size, np.random.default_rng(size))
    stored, built = run(sys.executable, "write", folder, 0), run(sys.executable, "index", folder, 0)
    ours = run(sys.executable, "preflight", folder, QUERIES)
    if stored is None or built is None or ours is None:
        sys.exit(f"ours failed on {folder}")
    missed = []
    print(
        f"| {name}, {size:,} | Preflight RAG (`{ours['index']}`) | {milliseconds(ours)} | 1 "
        f"| {ours['resident']:.0f} ({ours['own']:.0f}) | 1 | opening {ours['opening']:.2f} s; "
        f"storing {stored['storing']:.0f} s, indexing {built['indexing']:.0f} s, at most {built['peak']:.0f} MB |",
        flush=True,
    )
    for peer in peers:
        found = run(python, peer, folder, OF_PEERS)
        if found is None:
            print(f"| {name}, {size:,} | {TITLES[peer]} | failed | | | | |", flush=True)
            if (peer, size) in LIMITS:
                missed.append(f"{name}, {size:,}: {peer} failed, so nothing is compared")
            continue
        speed, memory = found["search"] / ours["search"], found["resident"] / ours["resident"]
        print(
            f"| {name}, {size:,} | {TITLES[peer]} {found['version']} | {milliseconds(found)} | {speed:.1f} "
            f"| {found['resident']:.0f} | {memory:.1f} | building {found['building']:.0f} s |",
            flush=True,
        )
        least_speed, least_memory = LIMITS.get((peer, size), (None, None))
        for what, ratio, least in (("processor time", speed, least_speed), ("memory", memory, least_memory)):
            if least is not None and ratio < least:
                missed.append(f"{name}, {size:,}: {peer} takes {ratio:.1f} times our {what}; {least:g} are wanted")
    return missed


def main() -> None:
    """Measure, print a table, and fail where a ratio is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="10,000 made up passages, beside LangChain as installed")
    parser.add_argument("--sizes", default="10000,100000", help="passages, separated by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, separated by commas")
    parser.add_argument("--peers-up-to", type=int, default=100_000, help="more passages are searched by ours alone")
    parser.add_argument("--words", type=int, default=WORDS_OF_A_PASSAGE, help="words of a made up passage")
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="the data sets' folder")
    parser.add_argument("--environment", type=Path, default=Path(".bench"), help="where the peers are installed")
    parser.add_argument("--scratch", type=Path, help="where collections are written for the time of the run")
    given = parser.parse_args()
    if given.data and not given.short and not (Path(given.data) / "biomix" / "corpus.jsonl.gz").is_file():
        parser.error(f"{given.data} has no biomix/corpus.jsonl.gz; without --data texts are made up alone")
    sizes = [10_000] if given.short else [int(size) for size in given.sizes.split(",")]
    peers = ["langchain"] if given.short else [peer for peer in given.peers.split(",") if peer]
    python = sys.executable if given.short or not peers else environment(given.environment.absolute())
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; NumPy {np.__version__}\n")
    print("| passages | system | ms of a processor (by the clock) | of ours | MB (without files) | of ours | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    missed: list[str] = []
    if given.scratch:
        Path(given.scratch).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.scratch) as work:
        for size in sizes:
            beside = peers if size <= given.peers_up_to else []
            if given.data and not given.short:
                texts = biomix_texts(Path(given.data), size)
                if len(texts) == size:
                    missed += compare(texts, size, "biomix", python, beside, Path(work))
            made_up = zipf_texts(size, np.random.default_rng(size), given.words)
            missed += compare(made_up, size, "Zipf", python, beside, Path(work))
    for line in missed:
        print(line, file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
