"""Loading in a background thread for the first question: models, index, and the question's passages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from preflight_rag.library.collection import Collection
from preflight_rag.models.ahead import may_load_ahead
from preflight_rag.models.embedding.embedder import DEFAULT_SPEC
from preflight_rag.models.onnx import quiet_onnxruntime
from preflight_rag.models.protocol import Reader
from preflight_rag.models.reading.extractive_reader import BUNDLED, NO_READER
from preflight_rag.state.context import Settings

log = logging.getLogger(__name__)


class Warming:
    """Loads once what an application's turns need. No turn depends on it.

    Args:
        library: The library, whose index and embedder are loaded.
        reader: The reader, whose extractive reader is loaded.
        extractive_reader: The name of that extractive reader.
        is_open: Returns whether the application is open: once it is closed, no further passage is read.
    """

    def __init__(
        self, library: Collection, reader: Reader, extractive_reader: str, is_open: Callable[[], bool]
    ) -> None:
        self._library = library
        self._reader = reader
        self._extractive_reader = extractive_reader
        self._is_open = is_open
        self._thread: threading.Thread | None = None

    def begin(self, ahead: tuple[str, Settings] | None = None, *, all_imported: bool = False) -> None:
        """Start loading, unless it was started before or memory is short.

        If two threads import the same modules at once, one import can fail. So the imports of the package's own models
        are made in this call; a user's own models import much more, and are loaded only when all other imports are
        done.

        Args:
            ahead: A standalone question and its turn's settings, if its passages are to be read, too.
            all_imported: Whether all other imports are done.
        """
        if self._thread is not None or not may_load_ahead():
            return
        import numpy  # noqa: F401  # loads once only in a process

        has_own_models = self._extractive_reader in (BUNDLED, NO_READER) and self._library.embedder.spec == DEFAULT_SPEC
        if not has_own_models and not all_imported:
            return
        read = None
        if has_own_models:
            with suppress(Exception):  # such as one that runs out of memory: as in `load`
                quiet_onnxruntime()
                for name in ("faiss", "tantivy", "tokenizers"):
                    import_module(name)
                read = self._passage_reading(*ahead) if ahead else None
        thread = threading.Thread(target=self.load, args=(read,), name="preflight-warm", daemon=True)
        with suppress(RuntimeError):  # no memory for another thread: the turn loads what it needs itself
            thread.start()
            self._thread = thread

    def load(self, read: Callable[[], None] | None = None) -> None:
        """Load the index and the models that a turn needs, then call `read`, which reads a question's passages.

        Errors, such as a package that lacks memory, are ignored here: the turn meets them itself and reports them in
        one line, while a thread would print a traceback.
        """
        try:
            self._library.warm()
            if (extractive := self._reader.extractive) is not None:
                extractive.read([("warm", "", "warm")])
            if read is not None:
                read()
        except Exception:
            log.debug("what a turn needs could not be loaded ahead of it", exc_info=True)

    def join(self) -> None:
        """Wait until loading has ended, if it was started."""
        if self._thread is not None:
            self._thread.join()

    def _passage_reading(self, question: str, settings: Settings) -> Callable[[], None] | None:
        """Return a function that finds and reads a question's passages ahead of its turn.

        None without an extractive reader, or if the passages may not be found beside the turn.
        """
        extractive = self._reader.extractive
        if extractive is None:
            return None
        from preflight_rag.conversation.questions import normalised
        from preflight_rag.library.search.ahead import import_ahead, may_be_found_ahead, read_ahead

        if not may_be_found_ahead(self._library, settings):
            return None
        import_ahead()
        return lambda: read_ahead(self._library, normalised(question), settings, extractive, self._is_open)
