"""The default models, loaded in a thread while the rest of a command is still being imported."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from preflight_rag.state.errors import OutOfMemory
from preflight_rag.state.memory import begin_no_blas_threads, need_memory

log = logging.getLogger(__name__)
MEGABYTES = 1500
"""Below that nothing is loaded ahead: two threads that find no memory end the process in native code. A guess."""


def may_load_ahead() -> bool:
    """Whether there is memory for it; where not, NumPy is kept to one thread, too."""
    try:
        need_memory(MEGABYTES, "to load what a turn needs ahead of it")
    except OutOfMemory:
        begin_no_blas_threads()
        return False
    return True


def load_models_ahead() -> None:
    """Begin to load the default embedder and the bundled reader, which a process has once, whoever uses them.

    Where imports of two threads cross, one of them can fail: so what loading needs is imported here, before the thread
    begins. The interpreter waits for the thread at its end, as native code must not go on beyond it.
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

        def load() -> None:
            try:
                MiniLM().encode_query("warm")
                BundledReader().read([("warm", "", "warm")])
            except Exception:
                log.debug("the default models could not be loaded ahead", exc_info=True)

        threading.Thread(target=load, name="preflight-models").start()
