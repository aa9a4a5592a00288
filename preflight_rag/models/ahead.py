"""The default models, loaded in threads while the rest of a command is still being imported."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from preflight_rag.state.errors import OutOfMemory
from preflight_rag.state.memory import begin_no_blas_threads, need_memory

log = logging.getLogger(__name__)
MEGABYTES = 1500
"""Below that nothing is loaded ahead: threads that find no memory end the process in native code. A guess."""


def may_load_ahead() -> bool:
    """Return whether there is memory for it; where not, NumPy is kept to one thread, too."""
    try:
        need_memory(MEGABYTES, "to load what a turn needs ahead of it")
    except OutOfMemory:
        begin_no_blas_threads()
        return False
    return True


def load_models_ahead() -> None:
    """Begin to load the default embedder and the bundled reader, which a process has once, whoever uses them.

    Where imports of two threads cross, one of them can fail: so what loading needs is imported here, before the
    threads begin. The interpreter waits for them at its end, as native code must not go on beyond it.
    """
    if not may_load_ahead():
        return
    with suppress(Exception):  # such as a package that finds no memory: whoever needs the models says so in one line
        import numpy  # noqa: F401
        import tokenizers  # noqa: F401

        from preflight_rag.models.embedding.minilm import MiniLM
        from preflight_rag.models.onnx import quiet_onnxruntime
        from preflight_rag.models.reading.bundled_reader import BundledReader

        quiet_onnxruntime()

        # Side by side, since a search that has its embedder is done before the reader is there.
        for name, load in (
            ("preflight-embedder", lambda: MiniLM().encode_query("warm")),
            ("preflight-reader", lambda: BundledReader().read([("warm", "", "warm")])),
        ):
            threading.Thread(target=_tried, args=(load,), name=name).start()


def _tried(load: Callable[[], object]) -> None:
    try:
        load()
    except Exception:
        log.debug("a default model could not be loaded ahead", exc_info=True)
