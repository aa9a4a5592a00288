"""The dense index: inner products of vectors, through FAISS; its kinds, how each is built, and how it is searched.

"Diversity Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017), section 3.2, proposes PCA and
clustering for approximate search. Here:

- `flat` compares with every vector.
- `compressed` takes candidates from product quantization, two numbers of a vector in four bits, whose distances are
  looked up in registers (André, Kermarrec and Le Scouarnec, "Cache locality is not enough", VLDB 2015), and refines
  them with 8-bit vectors.
- `pca` compares in the space of the first principal components and refines with half-precision vectors.
- `clusters` compares with the vectors of the clusters nearest to the query (k-means, an inverted file).
- `pca+clusters` does both.
- `auto` is `flat` for small libraries and `compressed` for others.

PCA centres vectors, which would change inner products by an amount that differs between vectors. The rotation is
therefore applied without the shift: then what a projection loses is, beside the variance left out, the same for all
vectors of one query.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.state.errors import UsageError, unreadable
from preflight_rag.state.memory import need_memory

if TYPE_CHECKING:
    import numpy as np

IndexKind = Literal["auto", "flat", "compressed", "pca", "clusters", "pca+clusters"]
KINDS: tuple[str, ...] = get_args(IndexKind)

FLAT_LIMIT = 50_000
"""Vectors up to which an `auto` index is `flat`: 100,000 take 7.7 ms a query (docs/RESULTS.md)."""
FLAT, COMPRESSED = "Flat", "PQ{parts}x4fs,Refine(SQ8)"
"""FAISS's factory strings of the kinds `flat` and `compressed`."""
COMPONENTS_OF_CODE = 2
"""Vector components that one code of four bits replaces: see docs/PERFORMANCE.md for its recall."""
EXPLAINED_VARIANCE = 0.95
"""Least share of the variance that the principal components keep. It was tuned, like the share of clusters and the
refine factors, on questions of BioASQ's development half."""
PROBED_SHARE = 0.25
"""Share of the clusters that a search examines."""
CLUSTER_POINTS = 39
"""Fewest vectors per cluster that k-means is trained on; with fewer, FAISS warns."""
LEAST_CLUSTERS = 16
"""Fewer clusters than this save nothing over a flat index; a guess."""
LEAST_COMPRESSED_VECTORS = 16
"""Fewer vectors than a sub-quantizer has codes are compared one by one."""
BUILDING_THREADS = min(2, os.cpu_count() or 1)
"""Threads of FAISS while an index is built or extended."""
TRAINING_SAMPLE = 200_000
"""Most vectors on which k-means and scalar quantizers are trained; a guess."""
COMPONENTS_SAMPLE = 50_000
"""Most vectors from which the principal components are computed."""
REFINE_FACTOR = 8
"""Candidates of product quantization that are refined for each requested hit: see docs/PERFORMANCE.md."""
ONE_BIT_REFINE_FACTOR = 16
"""Refine factor of RaBitQ's one-bit codes, which older compressed indexes have."""
COMPONENTS_REFINE_FACTOR = 2
"""Refine factor of candidates by principal components."""

MAPPED_FROM = 32_000_000
"""Bytes from which on a file is memory-mapped instead of read: it opens at once, and processes share its memory. A
smaller one is read in 0.02 s. Truncating a mapped file would end the process, but an index's files are never changed,
only replaced."""
# Loading FAISS with too little address space does not raise: it kills the process.
LOADING_MEGABYTES = 500
"""Megabytes of address space that loading FAISS takes: with 450 free it killed the process in a test."""
LOADED_RESERVE_MEGABYTES = 50
"""Megabytes that must be free for the index if FAISS is loaded already; a guess."""

COMPONENTS_BLOCK = 16
"""Dimensions that FAISS's scalar quantizers compare at once."""

ADDED_AT_ONCE = 20_000
"""Vectors that are held in memory beside the index while it is built; a guess."""


class Vectors(Protocol):
    """Vectors (n, d) float32, in an array or on disk, whose slices are arrays."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (n, d): the number of vectors and their dimension."""
        ...

    def __getitem__(self, places: slice, /) -> np.ndarray: ...


@dataclass(frozen=True)
class DenseKind:
    """The kind of a dense index that was built.

    Attributes:
        factory: FAISS factory string.
        settings: Numbers of the kind: `dimensions` and `explained_variance` of PCA, `clusters` and how many of them are
            `probed`.
        note: Why another kind than the requested one was built; empty if it was the requested one.
    """

    factory: str
    settings: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def _loading_megabytes() -> int:
    """Return the megabytes of memory that loading FAISS takes, or a small reserve if it is loaded already."""
    return LOADED_RESERVE_MEGABYTES if "faiss" in sys.modules else LOADING_MEGABYTES


def check_kind(kind: str) -> None:
    """Raise an error unless the text names a kind of index.

    Raises:
        UsageError: The kind is unknown.
    """
    if kind not in KINDS:
        raise UsageError(
            f"The index {kind!r} is unknown", help=f"Choose {', '.join(KINDS[:-1])} or {KINDS[-1]} (--index)"
        )


def build_dense(vectors: Vectors, kind: str, *, flat_limit: int = FLAT_LIMIT) -> tuple[Any, DenseKind]:
    """Return a FAISS index that contains `vectors` (n, d) float32 and is searched by inner product, and its kind.

    The kind "auto" becomes "flat" for up to `flat_limit` vectors and "compressed" for more. If there are fewer vectors
    than the kind needs for its training, the index is flat, and the kind's note says so.

    Raises:
        UsageError: The kind is unknown.
    """
    import faiss

    check_kind(kind)
    count, dimension = vectors.shape
    if kind == "auto" or not count:
        kind = "flat" if count <= flat_limit else "compressed"
    needed = vectors_needed(kind, dimension)
    if count < needed:
        note = f"flat: {kind} is trained on {needed:,} vectors or more, and there are {count:,}"
        index, dense_kind = _empty_index(faiss, dimension, FLAT), DenseKind(FLAT, note=note)
    elif kind in ("flat", "compressed"):
        dense_kind = DenseKind(FLAT if kind == "flat" else compressed_factory(dimension))
        index = _empty_index(faiss, dimension, dense_kind.factory)
        if kind == "compressed":
            base: Any = faiss.downcast_index(index.base_index)
            # FAISS must not warn of few vectors for each centre.
            base.pq.cp.min_points_per_centroid = 1
    else:
        index, dense_kind = _build_approximate(faiss, vectors, kind)
    if not index.is_trained:
        # k-means with sixteen centres per sub-quantizer is a thousand short loops, whose threads would only wait for
        # each other.
        faiss.omp_set_num_threads(1 if kind == "compressed" else BUILDING_THREADS)
        index.train(_sample(vectors))
    faiss.omp_set_num_threads(BUILDING_THREADS)
    for start in range(0, count, ADDED_AT_ONCE):
        index.add(vectors[start : start + ADDED_AT_ONCE])
    return index, dense_kind


def compressed_factory(dimension: int) -> str:
    """Return FAISS's factory string of a compressed index for vectors of a dimension.

    A code stands for two components, or for one if the dimension is odd.
    """
    is_even = dimension % COMPONENTS_OF_CODE == 0
    return COMPRESSED.format(parts=dimension // COMPONENTS_OF_CODE if is_even else dimension)


def vectors_needed(kind: str, dimension: int) -> int:
    """Return the fewest vectors on which a kind can be trained; 0 for a flat index."""
    if kind == "compressed":
        return LEAST_COMPRESSED_VECTORS
    for_components = 2 * dimension if "pca" in kind else 0
    for_clusters = CLUSTER_POINTS * LEAST_CLUSTERS if "clusters" in kind else 0
    return max(for_components, for_clusters)


def _build_approximate(faiss: Any, vectors: Vectors, kind: str) -> tuple[Any, DenseKind]:
    """Return an untrained index of principal components, of clusters, or of both, and its kind."""
    count, dimension = vectors.shape
    settings: dict[str, Any] = {}
    clustering = ""
    if "clusters" in kind:
        # 4·√n clusters are the fewest that FAISS's guidelines name for an inverted file.
        settings["clusters"] = min(isqrt(16 * count), count // CLUSTER_POINTS)
        settings["probed"] = max(1, round(PROBED_SHARE * settings["clusters"]))
        clustering = f"IVF{settings['clusters']},"
    if "pca" not in kind:
        index = _empty_index(faiss, dimension, f"{clustering}SQfp16")
        index.nprobe = settings["probed"]
        return index, DenseKind(f"{clustering}SQfp16", settings)
    rotation, explained = principal_components(_sample(vectors, COMPONENTS_SAMPLE))
    settings |= {"dimensions": len(rotation), "explained_variance": round(explained, 4)}
    inner = _empty_index(faiss, len(rotation), f"{clustering}SQ8")
    if clustering:
        inner.nprobe = settings["probed"]
    index = faiss.IndexRefine(_with_rotation(faiss, rotation, inner), _empty_index(faiss, dimension, "SQfp16"))
    return index, DenseKind(f"PCA{len(rotation)},{clustering}SQ8,Refine(SQfp16)", settings)


def principal_components(vectors: np.ndarray, share: float = EXPLAINED_VARIANCE) -> tuple[np.ndarray, float]:
    """Return the first principal components (m, d) float32 of `vectors` (n, d), and their share of the variance.

    `m` is the least number that keeps `share`, rounded up to whole blocks of 16, which are compared faster.
    """
    import numpy as np

    variances, axes = np.linalg.eigh(np.cov(vectors, rowvar=False, dtype=np.float64))
    # `eigh` returns the smallest variances first. Rounding makes some of them slightly negative.
    cumulative = np.cumsum(variances[::-1].clip(min=0))
    # Equal vectors have no variance, and still need a component.
    total = cumulative[-1] or 1.0
    least = int(np.searchsorted(cumulative, share * total)) + 1
    count = min(len(cumulative), ceil(least / COMPONENTS_BLOCK) * COMPONENTS_BLOCK)
    components = np.ascontiguousarray(axes[:, ::-1][:, :count].T, dtype=np.float32)
    return components, float(cumulative[count - 1] / total)


def _with_rotation(faiss: Any, rotation: np.ndarray, inner: Any) -> Any:
    """Return an index that multiplies its input with `rotation` (m, d), without a shift, and passes it to `inner`."""
    transform = faiss.LinearTransform(rotation.shape[1], rotation.shape[0], False)
    faiss.copy_array_to_vector(rotation.ravel(), transform.A)
    transform.is_trained = True
    return faiss.IndexPreTransform(transform, inner)


def _empty_index(faiss: Any, dimension: int, description: str) -> Any:
    """Return an empty FAISS index for inner products, from FAISS's description of its kind."""
    return faiss.index_factory(dimension, description, faiss.METRIC_INNER_PRODUCT)


def _sample(vectors: Vectors, most: int = TRAINING_SAMPLE) -> np.ndarray:
    """Return at most `most` vectors at equal distances, to train an index."""
    # Not the first ones, which are all of the documents that were added first.
    return vectors[:: ceil(vectors.shape[0] / most)]


def write_dense(path: Path, vectors: Vectors, *, kind: IndexKind = "auto", flat_limit: int = FLAT_LIMIT) -> DenseKind:
    """Write an index of `vectors` (n, d) to `path`, and return its kind.

    Raises:
        UsageError: The kind is unknown.
    """
    count, dimension = vectors.shape
    sample_count = min(count, TRAINING_SAMPLE)
    need_memory(_loading_megabytes() + 4 * dimension * (count + sample_count) // 2**20, "to build the index")
    import faiss

    index, dense_kind = build_dense(vectors, kind, flat_limit=flat_limit)
    faiss.write_index(index, str(path))
    return dense_kind


def grow_dense(previous_path: Path, path: Path, vectors: Vectors, start: int) -> None:
    """Write the index at `previous_path` to `path`, with the vectors from position `start` on appended."""
    need_memory(_loading_megabytes() + previous_path.stat().st_size // 2**20, "to add to the index")
    import faiss

    faiss.omp_set_num_threads(BUILDING_THREADS)
    index = faiss.read_index(str(previous_path))
    for batch_start in range(start, vectors.shape[0], ADDED_AT_ONCE):
        index.add(vectors[batch_start : batch_start + ADDED_AT_ONCE])
    faiss.write_index(index, str(path))


class DenseIndex:
    """A dense index that is read from the file `path`, memory-mapped if it is large.

    Raises:
        LibraryCorrupt: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        size = path.stat().st_size if path.is_file() else 0
        need_memory(_loading_megabytes() + size // 2**20, "to open the index")
        import faiss

        try:
            flags = faiss.IO_FLAG_MMAP_IFC if size >= MAPPED_FROM else 0
            self._index = faiss.read_index(str(path), flags)
        except (RuntimeError, MemoryError) as error:
            raise unreadable(f"The dense index {path} cannot be read", error) from error
        self._stored = self._index
        if isinstance(self._index, faiss.IndexRefine):
            # The refining part holds every vector at its own position, so it can be searched alone, exhaustively.
            self._stored = faiss.downcast_index(self._index.refine_index)
            base: Any = faiss.downcast_index(self._index.base_index)
            factors = {
                faiss.IndexPreTransform: COMPONENTS_REFINE_FACTOR,
                faiss.IndexRaBitQFastScan: ONE_BIT_REFINE_FACTOR,
            }
            self._index.k_factor = factors.get(type(base), REFINE_FACTOR)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @cached_property
    def is_exact(self) -> bool:
        """Whether inner products are computed from the vectors themselves, not from codes."""
        import faiss

        return isinstance(self._stored, faiss.IndexFlat)

    def vectors(self, positions: np.ndarray) -> np.ndarray:
        """Return the vectors (m, d) float32 at positions (m,), unchanged; only for an index that `is_exact`."""
        vectors: np.ndarray = self._matrix[positions]
        return vectors

    @cached_property
    def _matrix(self) -> np.ndarray:
        """All vectors (n, d) of an index that `is_exact`: a view of FAISS's own memory, as copies would take longer."""
        import faiss

        flat: Any = self._stored
        matrix: np.ndarray = faiss.rev_swig_ptr(flat.get_xb(), len(self) * flat.d).reshape(-1, flat.d)
        return matrix

    def search(self, vector: np.ndarray, n: int, *, among: np.ndarray | None = None) -> list[tuple[int, float]]:
        """Return `(position, inner product)` of the `n` nearest vectors, with the arguments of `ranked`."""
        return self.ranked(vector, n, among=among).pairs()

    def ranked(self, vector: np.ndarray, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return positions and inner products of the `n` nearest vectors, best first, ties by position.

        Args:
            vector: The query's vector, shape (d,).
            n: Number of vectors to return.
            among: Positions to choose from, shape (m,); they are searched exhaustively, whatever the kind of index.
        """
        import faiss
        import numpy as np

        n = min(n, len(self) if among is None else len(among))
        if n == 0:
            return ScoredRanking.of([])
        faiss.omp_set_num_threads(1)
        index, parameters = (self._index, None) if among is None else (self._stored, self._select_positions(among))
        scores, positions = index.search(vector.reshape(1, -1), n, params=parameters)
        # The only query's results are in row 0. FAISS fills up with -1 if it has fewer candidates than requested.
        is_found = positions[0] >= 0
        if not is_found.all():
            return ScoredRanking.sorted(positions[0][is_found], scores[0][is_found].astype(np.float64))
        return ScoredRanking.sorted(positions[0], scores[0].astype(np.float64))

    def _select_positions(self, positions: np.ndarray) -> Any:
        """Return FAISS search parameters by which only vectors at these positions are found, in all clusters."""
        import faiss
        import numpy as np

        untyped: Any = faiss  # its stubs lack these classes
        is_selected = np.zeros(len(self), dtype=bool)
        is_selected[positions] = True
        selector = untyped.IDSelectorBitmap(np.packbits(is_selected, bitorder="little"))
        if isinstance(self._stored, faiss.IndexIVF):
            return untyped.SearchParametersIVF(sel=selector, nprobe=self._stored.nlist)
        return untyped.SearchParameters(sel=selector)
