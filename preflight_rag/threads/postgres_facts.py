"""Facts that `preflight doctor` reports about a PostgreSQL database of conversations; nothing in it is changed."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from langgraph.checkpoint.postgres.base import BasePostgresSaver

from preflight_rag.databases.postgres import Address, connect, translated_errors
from preflight_rag.threads.postgres_database import MIGRATIONS, schema_versions


@dataclass(frozen=True)
class PostgresFacts:
    """Measurements of a database and its server.

    Attributes:
        name: The database's name, without the password.
        seconds: Duration of connecting.
        version: The server's version.
        schema: The version of our tables and that of the checkpoints'; None if they do not exist yet.
        connections_left: Number of further connections that the server grants this user.
        ahead: Seconds by which the server's clock is ahead of this machine's.
        uncertain: Error bound of `ahead` in seconds: half the duration of the query.
    """

    name: str
    seconds: float
    version: str
    schema: tuple[int, int] | None
    connections_left: int
    ahead: float
    uncertain: float


NEWEST = len(MIGRATIONS), len(BasePostgresSaver.MIGRATIONS) - 1
"""The versions of our tables and of the checkpoints' that this installation creates."""
# A user sees only their own connections in `pg_stat_activity`, but the counts of all databases.
_LEFT = """
    select current_setting('max_connections')::int
        - case when (select rolsuper from pg_roles where rolname = current_user) then 0
               else current_setting('superuser_reserved_connections')::int
                   + coalesce(current_setting('reserved_connections', true), '0')::int end
        - (select sum(numbackends) from pg_stat_database where datid <> 0)::int
"""


def read_facts(url: str) -> PostgresFacts:
    """Measure the database at an address.

    Raises:
        UsageError: The text is not the address of a PostgreSQL database.
        ThreadsUnavailable: No server answers there.
        LibraryError: The server refuses the login.
    """
    address = Address.read(url)
    started = time.monotonic()
    with translated_errors(address.name), closing(connect(address)) as connection:
        seconds = time.monotonic() - started
        before = time.time()
        row = connection.execute("select extract(epoch from clock_timestamp())::float8 as now").fetchone()
        after = time.time()
        left = connection.execute(f"select ({_LEFT}) as number").fetchone()
        return PostgresFacts(
            name=address.name,
            seconds=seconds,
            version=connection.info.parameter_status("server_version") or "unknown",
            schema=schema_versions(connection),
            connections_left=left["number"] if left else 0,
            ahead=(row["now"] if row else before) - (before + after) / 2,
            uncertain=(after - before) / 2,
        )
