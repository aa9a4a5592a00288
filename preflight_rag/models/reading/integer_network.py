"""The bundled reader's network in integers, which some processors multiply four times as fast as floats.

The weights are stored as eight-bit integers. The activations are split into two such numbers, sixteen bits in all
(`training/reader_integers.py` makes the graph, which takes its weights from `reader.onnx`). A passage takes two thirds
of the time and its logits move by thousandths, where bfloat16 moves them by tenths; the network is loaded in half the
time and takes a third of the memory, as no weight is widened.

It is used if the processor has such instructions and its outputs for two texts agree with those of floats. Other
processors use floats; both networks' outputs differ only by rounding.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.models.onnx import one_core_session
from preflight_rag.models.processor import processor_flags
from preflight_rag.models.reading.extractive_reader import OUTPUTS
from preflight_rag.state.errors import first_line

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import InferenceSession

FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
"""Processor flags for adding up eight-bit products in hardware; other processors need several steps, and some of those
overflow sixteen bits."""
MAX_DIFFERENCE = 0.01
"""Largest difference from floats in a logit of the compared texts; 0.003 was measured."""
_LOG = logging.getLogger(__name__)


def integer_session(model: Path, sha256: str) -> InferenceSession | None:
    """Load the network in integers; None if floats are to be used.

    That is so if the processor has no such instructions, or, with a warning, if the network fails or its outputs differ
    from those of floats.

    Args:
        model: `reader.onnx`; the graph and the reference outputs lie beside it.
        sha256: Checksum of `reader.onnx`, which has been verified.
    """
    if not FLAGS & processor_flags():
        return None
    graph = model.with_name(f"{model.stem}_integers.onnx")
    try:
        expected = json.loads(graph.with_suffix(".json").read_text(encoding="utf-8"))
        if expected["sha256"] != sha256:
            raise ValueError(f"{graph.name} is of another {model.name}")
        session = one_core_session(graph)
        differs = largest_difference(session, expected["probes"])
    except Exception as error:  # ONNX Runtime's errors have no common base class
        _LOG.warning("The reader's network in whole numbers cannot be used (%s); floats are slower", first_line(error))
        return None
    if not differs <= MAX_DIFFERENCE:  # true also for NaN
        _LOG.warning(
            "The reader's network in whole numbers differs (a logit by %.4f, at most %g wanted); floats are slower",
            differs,
            MAX_DIFFERENCE,
        )
        return None
    return session


def largest_difference(session: InferenceSession, probes: list[dict[str, Any]]) -> float:
    """Return the largest difference of a logit from the outputs of floats, which are in `probes` with their input."""
    import numpy as np

    largest = 0.0
    for probe in probes:
        outputs = session.run(OUTPUTS, window_feed(probe["ids"], probe["types"]))
        for name, output in zip(OUTPUTS, outputs, strict=True):
            largest = max(largest, float(np.abs(output[0] - np.asarray(probe["outputs"][name])).max()))
    return largest


def window_feed(ids: list[int], types: list[int]) -> dict[str, np.ndarray]:
    """Return the model's inputs for one window without padding."""
    import numpy as np

    return {"input_ids": np.array([ids], dtype=np.int64), "token_type_ids": np.array([types], dtype=np.int64)}
