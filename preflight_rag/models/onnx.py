"""ONNX Runtime, which runs the default models, with its telemetry switched off.

Its builds of 2026 create an identifier of the device and collect usage events, on Linux in `~/.cache/Microsoft`, to
send them to Microsoft. None of that starts if the variable is set before the module is imported.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


def quiet_onnxruntime() -> Any:
    """Import and return the module `onnxruntime` with telemetry off, even if other code has imported it before."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def one_core_session(model: Path | bytes) -> InferenceSession:
    """Load a network, from a file or its bytes, whose forward passes run on one core each, and which prints nothing."""
    onnxruntime = quiet_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # only fatal errors
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
