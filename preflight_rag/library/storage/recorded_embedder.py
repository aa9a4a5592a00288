"""The embedder of a library: recorded when the library is made, and never exchanged."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from preflight_rag.ingest.document_store import SettingsStore
from preflight_rag.state.errors import EmbedderMismatch

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.models.embedding.embedder import Embedder


class EmbedderStore(SettingsStore, Protocol):
    """A store that remembers which embedder made its vectors."""

    @property
    def place(self) -> str:
        """The store's place for error messages: "at FOLDER"."""


class RecordedEmbedder:
    """The embedder that made a store's vectors, opened at first use; for a new store, the given one.

    Args:
        store: The store whose vectors it made.
        given: A spec for `open_embedder`, opened at once; None for the recorded embedder, or a new store's default.

    Raises:
        EmbedderMismatch: The store's vectors were made by another embedder than the given one.
        EmbedderError: The given one cannot be opened.
    """

    def __init__(self, store: EmbedderStore, given: str | Embeddings | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        is_new = store.meta("embedder") is None
        self._opened = self._open(given) if is_new or given is not None else None

    def get(self) -> Embedder:
        """Return the embedder, which is opened at the first call.

        Raises:
            EmbedderMismatch: It is an object that the caller must pass again, or its weights have changed.
        """
        with self._lock:
            # Under the lock, so that two threads do not load one model twice.
            if self._opened is None:
                recorded = self._store.meta("embedder")
                if recorded["spec"] is None:
                    raise EmbedderMismatch(
                        f"The library {self._store.place} was made with {recorded['name']}, which must be passed",
                        help="Pass the Embeddings object as embedder",
                    )
                self._opened = self._open(recorded["spec"])
            return self._opened

    def _open(self, spec: str | Embeddings | None) -> Embedder:
        """Open an embedder, and record it in a new store.

        Args:
            spec: A spec or object as `open_embedder` takes it; None for the default embedder.

        Raises:
            EmbedderMismatch: The store has vectors of another embedder.
        """
        from preflight_rag.models.embedding.embedder import PROMPTS_PREFIX
        from preflight_rag.models.opening import open_embedder

        embedder, recorded = open_embedder(spec), self._store.meta("embedder")
        if recorded and recorded["spec"] and embedder.revision.startswith(f"{recorded['revision']}-"):
            # In a library older than the support for the model's prompts, passages were embedded without a prompt.
            embedder = open_embedder(f"{PROMPTS_PREFIX}||{recorded['spec']}")
        opened = {
            "name": embedder.name,
            "revision": embedder.revision,
            "dimension": embedder.dimension,
            "spec": embedder.spec,
        }
        if recorded is None:
            self._store.set_meta("embedder", opened)
        # Names may differ: the same weights give the same vectors, under any path.
        elif any(recorded[key] != opened[key] for key in ("revision", "dimension")):
            label = "{name} (revision {revision}, {dimension} dimensions)"
            recorded_label, opened_label = label.format(**recorded), label.format(**opened)
            raise EmbedderMismatch(
                f"The library {self._store.place} was made with {recorded_label}, not {opened_label}",
                help=f"Open it with {recorded['name']}, or ingest into a new library",
            )
        return embedder
