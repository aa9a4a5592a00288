"""An embedder that caches its vectors, on disk or in memory, for experiments that embed the same texts again."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evaluation.runs import ExperimentRun
from preflight_rag.cache import cache_dir
from preflight_rag.models.embedding.embedder import Embedder, PassageInput, Progress
from preflight_rag.models.opening import open_embedder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

STEP = 256


@contextmanager
def cached_embedder(run: ExperimentRun, embedder: Embedder | None = None) -> Iterator[CachedEmbedder]:
    """Yield the run's embedder, or another one, with a cache of vectors beside the libraries."""
    embedder = embedder or open_embedder(run.embedder)
    path = (run.library_cache or cache_dir() / "eval") / f"vectors-{embedder.revision}.db"
    with closing(CachedEmbedder(embedder, path)) as cached:
        yield cached


class CachedEmbedder(Embedder):
    """Another embedder with a cache of its vectors; vectors of an interrupted run are kept.

    Threads may share it, such as those of a reader that answers several questions at a time.

    Args:
        embedder: The embedder that computes the vectors.
        path: SQLite file with the table `vectors`; created if missing. Its name should contain the revision. Without
            one, the vectors are cached in memory.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.embedder = embedder
        self.name, self.revision, self.spec = embedder.name, embedder.revision, embedder.spec
        self.dimension, self.normalized = embedder.dimension, embedder.normalized
        self.multilingual, self.unrelated_cosine = embedder.multilingual, embedder.unrelated_cosine
        self.max_tokens, self.special_tokens = embedder.max_tokens, embedder.special_tokens
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path or ":memory:", check_same_thread=False)
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def close(self) -> None:
        """Close the cache's file."""
        self._database.close()

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the embedder."""
        return self.embedder.tokenizer

    def encode_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, which is not cached."""
        return self.embedder.encode_query(text)

    def _encode(self, inputs: Sequence[PassageInput], progress: Progress | None) -> np.ndarray:
        keys = [hashlib.sha256(repr(item).encode("utf-8", "surrogatepass")).digest()[:16] for item in inputs]
        given = dict(zip(keys, inputs, strict=True))
        missing = [key for key in given if self._vector(key) is None]
        for start in range(0, len(missing), STEP):
            step = missing[start : start + STEP]
            rows = self.embedder.encode_passages([given[key] for key in step])
            with self._lock, self._database:
                self._database.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                    [(key, row.astype("<f4").tobytes()) for key, row in zip(step, rows, strict=True)],
                )
            if progress:
                progress(start + len(step))
        found = b"".join(self._vector(key) or b"" for key in keys)
        return np.frombuffer(found, dtype="<f4").reshape(len(keys), self.dimension).astype(np.float32)

    def _vector(self, key: bytes) -> bytes | None:
        """Return a stored vector; None without one."""
        with self._lock:
            row = self._database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]
