"""The project's own extractive reader: all-MiniLM-L6-v2's encoder with heads, trained on open data, in 24 MB.

It runs through ONNX Runtime, in integers if the processor is fast at them (`integer_network.py`), else with its
eight-bit weights widened to floats; `docs/reader.md` is its model card. Each passage goes through the model alone: in a
batch the last digit of a sum, and with it now and then an order, would depend on the other passages.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.models.cache import SharedModels, file_identity
from preflight_rag.models.onnx import one_core_session
from preflight_rag.models.reading.extractive_reader import (
    OUTPUTS,
    Pair,
    PassageReading,
    Span,
    Window,
    decode,
    load_tokenizer,
    padded,
    sigmoid,
    softmax,
    windows,
)
from preflight_rag.models.reading.integer_network import integer_session
from preflight_rag.models.side_by_side import side_by_side
from preflight_rag.state.errors import ExtractiveReaderError, first_line, lacking, system_help
from preflight_rag.state.memory import need_memory
from preflight_rag.text.words import encodable

if TYPE_CHECKING:
    import numpy as np

MODEL = Path(__file__).with_name("reader.onnx")
TOKENIZER = Path(__file__).with_name("reader_tokenizer.json")
SETTINGS = Path(__file__).with_name("reader.json")
LOADING_MEGABYTES = 400
"""Megabytes of address space that loading takes; with less, ONNX Runtime or its threads failed."""
_REINSTALL_HELP = "Install the package again"


@dataclass(frozen=True)
class Calibration:
    """Converts logits into the probability that a passage answers: logistic regression on the validation parts.

    Attributes:
        answerable, margin, bias: Weights of the answerability logit and of the best span's margin, and the intercept.
        threshold: Least probability at which a passage counts as answering.
    """

    answerable: float
    margin: float
    bias: float
    threshold: float

    def probability(self, answerable: float, margin: float | None) -> float:
        """Return the probability for a passage's logits; 0 without a span."""
        if margin is None:
            return 0.0
        return sigmoid(self.answerable * answerable + self.margin * margin + self.bias)


@dataclass(frozen=True)
class ReaderSettings:
    """Thresholds for the weights, measured on validation data (`docs/reader.md`).

    Attributes:
        sha256: Checksum of the model's file.
        calibration: The conversion of logits into probabilities, with the threshold for an answer.
        supports: Least probability of yes at which a passage supports a statement.
        contradicts: Least probability of no at which it contradicts one.
        prunes_lossless: Largest answerability below which no passage with an answer was found.
    """

    sha256: str
    calibration: Calibration
    supports: float
    contradicts: float
    prunes_lossless: float


@lru_cache(maxsize=1)
def reader_settings() -> ReaderSettings:
    """Read the settings in the file beside the model; later calls return the same object.

    Raises:
        ExtractiveReaderError: The file is missing or damaged.
    """
    try:
        content = json.loads(SETTINGS.read_text(encoding="utf-8"))
        return ReaderSettings(
            sha256=str(content["sha256"]),
            calibration=Calibration(**content["calibration"]),
            supports=float(content["support"]["threshold"]),
            contradicts=float(content["support"]["contradicted"]),
            prunes_lossless=float(content["prune"]["lossless"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExtractiveReaderError(f"{SETTINGS.name} cannot be read: {error}", help=_REINSTALL_HELP) from None


class BundledReader:
    """Reads passages on the CPU. The model is loaded at the first use, once for all readers of a process; thread-safe.

    Args:
        model: Another ONNX file than the package's; only the package's is verified by the checksum.
        threads: Concurrent forward passes, each on one core; at most 2 unless given.
    """

    def __init__(self, model: Path | None = None, threads: int | None = None) -> None:
        self.name = "preflight reader"
        self._model = model
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: _Network | None = None

    @property
    def threshold(self) -> float:
        """Least probability at which a passage answers, set on validation data."""
        return reader_settings().calibration.threshold

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """Return one reading for each pair, in order.

        Raises:
            ExtractiveReaderError: The model's file is missing or damaged.
        """
        decoded = self.decoded(pairs)
        return [_calibrated_reading(spans, descriptor, scores) for spans, descriptor, scores in decoded]

    def decoded(self, pairs: Sequence[Pair]) -> list[tuple[tuple[Span, ...], str | None, dict[str, float]]]:
        """Return spans, descriptor and the logits of `SCORES` for each pair, before any calibration; see `decode`.

        Raises:
            ExtractiveReaderError: The model's file is missing or damaged.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = _open_network(self._model)
            network = self._loaded
        clean = [(encodable(question), encodable(title), encodable(text)) for question, title, text in pairs]
        all_windows = windows(clean, network.tokenizer)
        outputs = side_by_side(network.run, all_windows, self._threads)
        decoded = []
        # The windows of a pair follow one another.
        for i, window_outputs in groupby(zip(all_windows, outputs, strict=True), key=lambda item: item[0].pair):
            pair_windows, pair_outputs = zip(*window_outputs, strict=True)
            _, title, text = clean[i]
            decoded.append(decode(title, text, pair_windows, pair_outputs))
        return decoded


class _Network:
    """A loaded model and its tokenizer.

    Args:
        model: An ONNX file; None for the package's, whose checksum is verified.
    """

    def __init__(self, model: Path | None) -> None:
        need_memory(LOADING_MEGABYTES, "to load the reader's model")
        path = model or MODEL
        try:
            content = path.read_bytes()
            session = None
            if model is None:
                if hashlib.sha256(content).hexdigest() != reader_settings().sha256:
                    raise ExtractiveReaderError(f"{path.name} is damaged", help=_REINSTALL_HELP)
                session = integer_session(path, reader_settings().sha256)
            self._session = session or one_core_session(content)
            self._inputs = [model_input.name for model_input in self._session.get_inputs()]
            self.tokenizer = load_tokenizer(TOKENIZER)
        except ExtractiveReaderError:
            raise
        except Exception as error:
            problem = lacking(error) or first_line(error)
            help = _REINSTALL_HELP if model is None else f"Check the file {path}"
            help = system_help(error) if lacking(error) else help
            raise ExtractiveReaderError(f"the reader's model cannot be loaded: {problem}", help=help) from error

    def run(self, window: Window) -> list[np.ndarray]:
        """Return the model's outputs for one window."""
        padded_window = padded([window])
        feed = {name: padded_window[name] for name in self._inputs}
        return [output[0] for output in self._session.run(OUTPUTS, feed)]


_NETWORKS: SharedModels[Hashable, _Network] = SharedModels()


def _open_network(model: Path | None) -> _Network:
    """Return the loaded network, shared by all readers of the process; it is loaded again if its files have changed.

    Args:
        model: An ONNX file; None for the package's.
    """
    files = [path for path in (model or MODEL, TOKENIZER) if path.is_file()]
    key = (model, "" if model else reader_settings().sha256, *(file_identity(path) for path in files))
    return _NETWORKS.get(key, lambda: _Network(model))


def _calibrated_reading(spans: tuple[Span, ...], descriptor: str | None, scores: dict[str, float]) -> PassageReading:
    """Return a passage's reading with probabilities that are calibrated from the network's logits."""
    calibration = reader_settings().calibration
    yes, no, neither = softmax([scores["yes"], scores["no"], scores["neither"]])
    margin = spans[0].margin if spans else None
    return PassageReading(
        spans=spans,
        answerable=calibration.probability(scores["answerable"], margin),
        relevance=sigmoid(scores["relevant"]),
        verdict=(yes, no, neither),
        descriptor=descriptor,
    )
