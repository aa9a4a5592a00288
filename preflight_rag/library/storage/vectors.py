"""Vectors of a library's passages in its database, little-endian float32."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from preflight_rag.library.storage.copies import CopyTables
from preflight_rag.library.storage.database_file import damage_error
from preflight_rag.library.storage.schema import CHUNK

if TYPE_CHECKING:
    import numpy as np

LARGEST_NUMBER = 1e18
"""Upper bound of the numbers in a vector: the squares of larger ones exceed float32."""


class VectorTables(CopyTables):
    """A library's database with its vectors, and those that an ingest set aside for the next one."""

    def dimension(self) -> int:
        """Return the length of the stored vectors."""
        recorded = self.meta("embedder")
        with self._damage_errors_of("the setting 'embedder'"):
            return int(recorded["dimension"])

    def count_passages(self) -> int:
        """Return the number of passages that are not retired."""
        return int(self._rows("SELECT count(*) FROM passages WHERE retired IS NULL")[0][0])

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the stored vectors, by passage id."""
        sql = "SELECT p.id, v.vector FROM passages p JOIN vectors v ON v.row = p.row WHERE p.id IN ({marks})"
        return self._vectors_by_key(list(self._rows_in(sql, list(ids))))

    def _vectors_by_key(self, rows: Sequence[sqlite3.Row]) -> dict[Any, np.ndarray]:
        """Return vectors by key, given as rows of key and vector; the arrays are rows of one matrix.

        Each vector is checked singly only if the check of all together fails, to name the damaged one.
        """
        matrix = self._read_matrix([blob for _, blob in rows])
        if matrix is None:
            return {key: self._read_vector(blob, key) for key, blob in rows}
        return dict(zip([key for key, _ in rows], matrix, strict=True))

    def _read_matrix(self, blobs: Sequence[object]) -> np.ndarray | None:
        """Return stored vectors (n, d); None if one of them is damaged, or their length is unknown."""
        import numpy as np

        dimension = self._dimension
        if dimension is None:
            return None
        if any(not isinstance(blob, bytes) or len(blob) != 4 * dimension for blob in blobs):
            return None
        matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)  # type: ignore[arg-type]
        return matrix if (np.abs(matrix) < LARGEST_NUMBER).all() else None

    def _read_vector(self, blob: object, name: object) -> np.ndarray:
        """Return the vector of a passage from its bytes; `name` is the passage's, for the error.

        Raises:
            DatabaseCorrupt: The vector is damaged.
        """
        import numpy as np

        with self._damage_errors_of(f"the vector of the passage {name!r}"):
            vector: np.ndarray = np.frombuffer(blob, dtype="<f4")  # type: ignore[call-overload]
            if self._dimension not in (None, len(vector)):
                raise ValueError("it has another length")
            if not (np.abs(vector) < LARGEST_NUMBER).all():
                raise ValueError("it holds what is no number of a vector")
            return vector

    @cached_property
    def _dimension(self) -> int | None:
        """The length of the stored vectors; None if no embedder is recorded."""
        return self.dimension() if self.meta("embedder") is not None else None

    def row_vectors(self, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that exist, ascending (m,) int64, and their vectors (m, d) float32."""
        import numpy as np

        sql = "SELECT row, vector FROM vectors WHERE row IN ({marks}) ORDER BY row"
        keys, blobs = [], []
        for key, blob in self._rows_in(sql, sorted(rows)):
            keys.append(key)
            blobs.append(blob)
        matrix = self._read_matrix(blobs)
        if matrix is None:
            matrix = np.stack([self._read_vector(blob, key) for key, blob in zip(keys, blobs, strict=True)])
        return np.array(keys, np.int64), matrix

    def embedded(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors that are stored or set aside already, as bytes by the key of the embedded text.

        Damaged ones of another length are left out, so that they are computed again.
        """
        sql = "SELECT input, vector FROM vectors WHERE input IN ({marks})"
        vectors = {row[0]: row[1] for row in self._rows_in(sql, list(keys))}
        if self._has_kept_vectors():
            sql = "SELECT input, vector FROM kept_vectors WHERE input IN ({marks})"
            vectors |= {row[0]: row[1] for row in self._rows_in(sql, list(keys))}
        length = None if self._dimension is None else 4 * self._dimension
        return {key: vector for key, vector in vectors.items() if length in (None, len(vector))}

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Store vectors, by the key of the embedded text, whose passages are not stored yet, for the next run."""
        with self._writing():
            self._connection.execute("CREATE TABLE IF NOT EXISTS kept_vectors (input TEXT PRIMARY KEY, vector BLOB)")
            self._connection.executemany("INSERT OR REPLACE INTO kept_vectors VALUES (?, ?)", vectors.items())

    def drop_kept_vectors(self) -> None:
        """Delete the vectors that an earlier run set aside."""
        if self._has_kept_vectors():
            with self._guard():
                self._connection.execute("DROP TABLE kept_vectors")

    def _has_kept_vectors(self) -> bool:
        """Return whether an earlier run has set vectors aside."""
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE name = 'kept_vectors'"))

    def passage_vectors(self, dimension: int) -> StoredVectors:
        """Return the rows and vectors of all passages; vectors are read from the file as they are needed."""
        return StoredVectors(self, dimension)


class StoredVectors:
    """The vectors of all passages, ordered by row; a slice is an array, read from the database.

    Attributes:
        rows: The passages' rows, shape (n,), int64.
        shape: (n, d).
    """

    def __init__(self, store: VectorTables, dimension: int) -> None:
        import numpy as np

        selected = store.select("SELECT row FROM passages WHERE retired IS NULL ORDER BY row")
        self._store = store
        self.rows: np.ndarray = np.fromiter((row for (row,) in selected), dtype=np.int64, count=len(selected))
        self.shape = (len(selected), dimension)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, positions: slice) -> np.ndarray:
        """Return the vectors (m, d) float32 at some positions.

        Raises:
            LibraryCorrupt: A passage has no vector of that dimension.
        """
        import numpy as np

        rows, dimension = self.rows[positions], self.shape[1]
        vectors = np.empty((len(rows), dimension), dtype=np.float32)
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK].tolist()
            sql = f"SELECT vector FROM vectors WHERE row IN ({','.join('?' * len(chunk))}) ORDER BY row"  # noqa: S608
            blobs = [row[0] for row in self._store.select(sql, chunk)]
            lengths = {len(blob) if isinstance(blob, bytes) else -1 for blob in blobs}
            if len(blobs) != len(chunk) or lengths != {4 * dimension}:
                raise damage_error(self._store.path, f"a passage has no vector of {dimension} numbers")
            vectors[start : start + len(chunk)] = np.frombuffer(b"".join(blobs), "<f4").reshape(-1, dimension)
        # Not ">=": NaN is neither, and is damage as well.
        if vectors.size and not max(vectors.max(), -vectors.min()) < LARGEST_NUMBER:
            raise damage_error(self._store.path, "a vector holds what is no number of a vector")
        return vectors
