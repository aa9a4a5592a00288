"""ONNX Runtime, which runs the default models, without its reports to its makers.

Its builds of 2026 make an identifier of the device and collect events of use, on Linux in `~/.cache/Microsoft`, to send
them to Microsoft. Nothing of that is begun where the variable stands before the module is imported.
"""

from __future__ import annotations

import os
from typing import Any


def quiet_onnxruntime() -> Any:
    """The module `onnxruntime`, whose telemetry is off, also where somebody else has imported it before."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
