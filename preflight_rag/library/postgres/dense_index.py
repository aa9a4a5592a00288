"""The index of a library's vectors in PostgreSQL: HNSW over half precision, made where there are many vectors."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from preflight_rag.databases.postgres import Connection
from preflight_rag.library.postgres.schema import DENSE_INDEX, sees

FLAT_LIMIT = 4_000
"""From more passages on the vectors get an index: see docs/scaling.md for when it is faster."""
MOST_INDEXED_NUMBERS = 4_000
"""pgvector indexes no longer vectors of half precision."""
NEIGHBOURS, BUILT_WITH = 16, 128
"""Build parameters of the index (`m`, `ef_construction`): see docs/scaling.md for its recall."""
BYTES_OF_INDEX = 1.4
"""Bytes that building takes in memory for one of what the index's vectors take; measured, roughly."""


def index_vectors(connection: Connection, dimension: int, *, again: bool = False) -> bool:
    """Make the index where there are many vectors and it is not there, or cannot be used; whether it was made.

    Args:
        connection: Outside of a transaction.
        dimension: Numbers of a vector; 0 where no vector was ever stored.
        again: Make it anew in any case.
    """
    valid = connection.execute(
        "select i.indisvalid from pg_index i where i.indexrelid = to_regclass(%s)", [DENSE_INDEX]
    ).fetchone()
    if valid is not None and (again or not valid[0]):
        connection.execute(f"drop index {DENSE_INDEX}")
        valid = None
    if valid is not None:
        return False
    ((count,),) = connection.execute(f"select count(*) from library_vectors where {sees()}").fetchall()
    if count <= FLAT_LIMIT or not 0 < dimension <= MOST_INDEXED_NUMBERS:
        return False
    _make(connection, int(count), dimension)
    return True


def _make(connection: Connection, count: int, dimension: int) -> None:
    megabytes = int(min(8_000, max(64, count * (2 * dimension + 300) * BYTES_OF_INDEX / 1e6)))
    connection.execute(f"set maintenance_work_mem = '{megabytes}MB'")
    statement = f"""create index concurrently {DENSE_INDEX} on library_vectors
        using hnsw ((vector::halfvec({dimension})) halfvec_ip_ops)
        with (m = {NEIGHBOURS}, ef_construction = {BUILT_WITH})"""
    try:
        connection.execute(statement)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Several processes build it in shared memory, of which a container often has 64 MB.
        connection.execute("set max_parallel_maintenance_workers = 0")
        connection.execute(statement)
    finally:
        with suppress(psycopg.Error):
            connection.execute("reset maintenance_work_mem")
