"""The index of a library's vectors in PostgreSQL: HNSW over half precision, created once there are many vectors."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from preflight_rag.databases.postgres import Connection
from preflight_rag.library.postgres.schema import DENSE_INDEX, sees

FLAT_LIMIT = 4_000
"""With more passages than this, the vectors get an index: see docs/scaling.md for when it is faster."""
MOST_INDEXED_NUMBERS = 4_000
"""Longest half-precision vectors that pgvector can index."""
LINKS, BUILD_CANDIDATES = 16, 128
"""Build parameters of the index (`m`, `ef_construction`): see docs/scaling.md for its recall."""
MEMORY_FACTOR = 1.4
"""Bytes of memory that building takes for each byte of the indexed vectors; measured, roughly."""


def index_vectors(connection: Connection, dimension: int, *, again: bool = False) -> bool:
    """Create the index if there are many vectors and it is missing or unusable; return whether it was created.

    Args:
        connection: A connection outside of a transaction.
        dimension: Length of a vector; 0 if no vector was ever stored.
        again: Whether an existing index is replaced by a new one.
    """
    row = connection.execute(
        "select i.indisvalid from pg_index i where i.indexrelid = to_regclass(%s)", [DENSE_INDEX]
    ).fetchone()
    if row is not None:
        (is_valid,) = row
        # An index that was being created when its process was killed stays behind, invalid.
        if is_valid and not again:
            return False
        connection.execute(f"drop index {DENSE_INDEX}")
    ((count,),) = connection.execute(f"select count(*) from library_vectors where {sees()}").fetchall()
    if count <= FLAT_LIMIT or not 0 < dimension <= MOST_INDEXED_NUMBERS:
        return False
    _build_index(connection, int(count), dimension)
    return True


def _build_index(connection: Connection, count: int, dimension: int) -> None:
    """Build the HNSW index over `count` vectors; the memory for it is set by their number."""
    # HNSW is built far faster as long as it fits into this memory.
    megabytes = int(min(8_000, max(64, count * (2 * dimension + 300) * MEMORY_FACTOR / 1e6)))
    connection.execute(f"set maintenance_work_mem = '{megabytes}MB'")
    # Concurrently: searches and writers go on meanwhile.
    statement = f"""create index concurrently {DENSE_INDEX} on library_vectors
        using hnsw ((vector::halfvec({dimension})) halfvec_ip_ops)
        with (m = {LINKS}, ef_construction = {BUILD_CANDIDATES})"""
    try:
        connection.execute(statement)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Several processes would build it in shared memory, of which a container often has only 64 MB.
        connection.execute("set max_parallel_maintenance_workers = 0")
        connection.execute(statement)
    finally:
        with suppress(psycopg.Error):
            connection.execute("reset maintenance_work_mem")
