"""Loading of the default models in threads while the rest of a command is still being imported."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from preflight_rag.state.errors import OutOfMemory
from preflight_rag.state.memory import begin_no_blas_threads, need_memory

log = logging.getLogger(__name__)
MEGABYTES = 1500
"""Free memory in megabytes that loading ahead requires: native code in threads ends the process if memory runs out. A
guess."""


def may_load_ahead() -> bool:
    """Return whether there is enough memory to load models ahead; if not, limit NumPy to one thread as well."""
    try:
        need_memory(MEGABYTES, "to load what a turn needs ahead of it")
    except OutOfMemory:
        begin_no_blas_threads()
        return False
    return True


def load_models_ahead() -> None:
    """Start loading the default embedder and the bundled reader in threads, unless memory is short; errors are ignored.

    If two threads import modules that need each other, one of them can fail, so the modules for loading are imported
    here, before the threads start. The interpreter waits for the threads at its end, since native code must not run on
    after it.
    """
    if not may_load_ahead():
        return
    # Any failure, such as a package that runs out of memory, is reported in one line by the code that needs the model.
    with suppress(Exception):
        import numpy  # noqa: F401
        import tokenizers  # noqa: F401

        from preflight_rag.models.embedding.minilm import MiniLM
        from preflight_rag.models.onnx import quiet_onnxruntime
        from preflight_rag.models.reading.bundled_reader import BundledReader

        quiet_onnxruntime()

        # In parallel, since a search can begin with the embedder before the reader is loaded.
        for name, load in (
            ("preflight-embedder", lambda: MiniLM().encode_query("warm")),
            ("preflight-reader", lambda: BundledReader().read([("warm", "", "warm")])),
        ):
            threading.Thread(target=_load_quietly, args=(load,), name=name).start()


def _load_quietly(load: Callable[[], object]) -> None:
    """Load a model; an error is only logged, since the model's first use will report it."""
    try:
        load()
    except Exception:
        log.debug("a default model could not be loaded ahead", exc_info=True)
