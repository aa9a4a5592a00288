"""The default embedder for ingestion, twice as fast: the same network in bfloat16 through OpenVINO (the extra `fast`).

It is used if OpenVINO is installed and the processor multiplies 16-bit numbers; its vectors are first compared with
ONNX Runtime's. Queries still use ONNX Runtime: their vectors differ from these only by rounding.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.models.cache import SharedModels
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.embedding.minilm import GRAPH, WEIGHTS, MiniLM, Network, OnnxBackend, weights_folder
from preflight_rag.models.processor import processor_flags
from preflight_rag.state.errors import first_line
from preflight_rag.state.extras import missing_modules

if TYPE_CHECKING:
    import numpy as np

EXTRA = "fast"
FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
"""Processor flags for multiplying bfloat16 in hardware; emulated, it is slower than floats."""
LEAST_COSINE = 0.9999
"""Least cosine between its vectors and ONNX Runtime's; 0.99998 was measured."""
PROBES = (
    "Aspirin lowers fever.",
    "Honeybees tell each other by a dance where flowers are, how far away, and how good.",
    "The surface of Venus is about 465 degrees Celsius hot, hotter than that of Mercury, which is nearer to the sun. "
    * 4,
    "In 1871 the lighthouse was built of 38 metres of granite; 12 keepers and their families lived on the island. "
    * 12,
)
"""Texts of different lengths, the last one longer than the model reads, on which both are compared."""
_LOG = logging.getLogger(__name__)


class FastMiniLM(MiniLM):
    """all-MiniLM-L6-v2 in bfloat16. Open it with `fast_minilm`, which compares its vectors first."""

    @property
    def _backend(self) -> OnnxBackend:
        """Return the loaded network; the first call loads it."""
        with self._lock:
            if self._loaded is None:
                folder = weights_folder()
                network = _bfloat16_network(folder, self.threads)
                self._loaded = OnnxBackend(folder, self.max_tokens, self.threads, network)
            return self._loaded


def fast_minilm(slow: MiniLM) -> Embedder:
    """Return the fast embedder that replaces `slow`, with its number of threads.

    `slow` itself if OpenVINO is not installed, the processor has no bfloat16, or the vectors differ.
    """
    if missing_modules(EXTRA) or not FLAGS & processor_flags():
        return slow
    return _FAST.get(slow.threads, lambda: _select_if_equal(FastMiniLM(slow.threads), slow))


_FAST: SharedModels[Hashable, Embedder] = SharedModels()


def _select_if_equal(fast: FastMiniLM, slow: MiniLM) -> Embedder:
    """Return the fast embedder if its vectors of `PROBES` equal the slow one's up to rounding, else the slow one.

    If they differ, or the fast embedder fails, a warning is logged.
    """
    try:
        least = lowest_cosine(fast.encode_passages(PROBES), slow.encode_passages(PROBES))
    except Exception as error:  # OpenVINO's errors have no common base class
        _LOG.warning("OpenVINO cannot embed (%s); ONNX Runtime does", first_line(error))
        return slow
    if least < LEAST_COSINE:
        _LOG.warning(
            "OpenVINO's vectors differ (cosine %.5f, at least %g wanted); ONNX Runtime embeds", least, LEAST_COSINE
        )
        return slow
    return fast


def lowest_cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Return the lowest cosine between corresponding rows of two arrays of vectors, all of length 1."""
    return float((first * second).sum(axis=1).min())


def _bfloat16_network(folder: Path, threads: int) -> Network:
    """Load the network in bfloat16 for OpenVINO; it runs `threads` forward passes at once, each on one core."""
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": threads,
        "ENABLE_CPU_PINNING": False,  # the machine has other work, too
    }
    compiled = core.compile_model(core.read_model(_graph_with_weights(folder)), "CPU", settings)
    requests = threading.local()

    def run(feed: dict[str, np.ndarray]) -> np.ndarray:
        """Return the vectors for the graph's inputs; each thread has its own request to OpenVINO."""
        if not hasattr(requests, "of_thread"):
            requests.of_thread = compiled.create_infer_request()
        vectors: np.ndarray = requests.of_thread.infer(feed)[compiled.output(0)].copy()
        return vectors

    return run


def _graph_with_weights(folder: Path) -> bytes:
    """Return the bytes of an ONNX model that has the graph together with the weights of a folder."""
    import onnx
    from onnx import numpy_helper
    from safetensors import safe_open

    model = onnx.load_model(GRAPH, load_external_data=False)
    with safe_open(folder / WEIGHTS, framework="numpy") as published:
        for tensor in model.graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                tensor.CopyFrom(numpy_helper.from_array(published.get_tensor(tensor.name), tensor.name))
    content: bytes = model.SerializeToString()
    return content
