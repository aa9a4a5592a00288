"""State shared by servers over one library, besides conversations: page sessions, buckets of requests and tokens.

Both are tables: in PostgreSQL if the conversations are there, else in the folder's `server.db`. So a limit holds for
all servers together, a session continues at another one, and both survive a restart. They are not in `threads.db`,
where a request would wait for any program that has locked the file to write or to vacuum it.

Losing them costs no more than signing in again, so they have no versions: other columns would come as other tables.
A request costs one statement, whose commit does not wait for the disk: a crash of the machine may lose the last
moments. Statements run in threads of their own, so that neither an event loop nor anything else waits for a database
that cannot be reached.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from preflight_rag.databases.sqlite_files import check_unused
from preflight_rag.state.errors import DatabaseCorrupt
from preflight_rag.threads.database import Database, ResultRow
from preflight_rag.threads.thread_store import open_database

log = logging.getLogger("preflight.server")
DATABASE = "server.db"
"""The file's name in a library's folder."""
BUSY_SECONDS = 2.0
"""Timeout for other writers of the file, which take less than a millisecond each; a guess."""
WORKERS = 4
"""Most statements at once; a guess."""
MOST_SESSIONS = 10_000
"""Most sessions of all users together; a guess, far above what one server sees."""
SWEEP = 1000
"""Number of requests after which full buckets are removed; a guess."""
_KEY = "key "
TABLES = (
    "create table if not exists page_sessions (hash text primary key, key_id text not null, "
    "until double precision not null)",
    "create table if not exists token_buckets (name text primary key, full_at double precision not null, "
    "wait double precision not null, at double precision not null)",
)
# A bucket is stored as the moment at which it is full again: taking from it moves that moment on, and time brings it
# nearer. Costs are in seconds of filling. The moment is at most one capacity ahead, so that a clock that was set back
# locks nobody out for long. The row is locked, so of two concurrent requests the second sees what the first has left.
# The slack allows for rounding.
_LEFT = "least(greatest(token_buckets.full_at, excluded.at), excluded.at + 2 * :seconds)"
_WAIT = f"greatest(0, {_LEFT} + :cost - excluded.at - :seconds - 0.001)"
_TAKE = f"""
    with session as (select key_id from page_sessions where hash = :hash and until > {{now}}),
    clock as (select {{now}} as now)
    insert into token_buckets (name, full_at, wait, at)
    select coalesce((select '{_KEY}' || key_id from session), :name),
        now + case when :cost > :seconds then 0 else :cost end, greatest(0, :cost - :seconds), now
    from clock where true
    on conflict (name) do update
    set wait = {_WAIT}, full_at = {_LEFT} + case when {_WAIT} > 0 then 0 else :cost end, at = excluded.at
    returning name, wait
"""  # noqa: S608  # of the constants above
_GIVE = """
    insert into token_buckets (name, full_at, wait, at)
    select :name, now - :cost, 0, now from (select {now} as now) as clock where true
    on conflict (name) do update
    set full_at = least(greatest(token_buckets.full_at, excluded.at) - :cost, excluded.at + 2 * :seconds),
        at = excluded.at
"""
_SWEEP = "delete from token_buckets where full_at < {now}"
_SESSION = "select key_id from page_sessions where hash = :hash and until > {now}"
_BEGIN = "insert into page_sessions (hash, key_id, until) select :hash, :key_id, {now} + :seconds"
_EXPIRED = "delete from page_sessions where until <= {now}"
_TOO_MANY = """
    delete from page_sessions where hash in
    (select hash from page_sessions order by until desc limit 1000000000 offset :most)
"""
_END = "delete from page_sessions where hash = :hash"
T = TypeVar("T")


@dataclass(frozen=True)
class BucketLimit:
    """A bucket's capacity, and the seconds in which an empty one refills; a capacity of 0 means no limit."""

    amount: int
    seconds: float

    def cost(self, tokens: float) -> float:
        """Return the seconds in which a bucket gains `tokens`."""
        return tokens * self.seconds / self.amount


@dataclass(frozen=True)
class Admission:
    """The result of `SharedState.admit`: the id of the session's key, or None, and the seconds to wait."""

    key_id: str | None
    wait: float


class SharedState:
    """Sessions and buckets; may be used from any thread and event loop. Errors are those of the database.

    Args:
        opening: Opens the database, at the first use.
        clock: Returns seconds, instead of the database's own clock.
    """

    def __init__(
        self, opening: Callable[[], AbstractContextManager[Database]], clock: Callable[[], float] | None = None
    ) -> None:
        self._opening, self._clock = opening, clock
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._resources = ExitStack()
        self._workers = ThreadPoolExecutor(WORKERS, "preflight-shared")
        self._taken = 0

    @classmethod
    def of(cls, folder: Path, url: str | None) -> SharedState:
        """Return a library's state: in PostgreSQL if conversations are there (`url`), else in a file of its folder."""
        return cls(partial(_open, folder, url))

    async def open(self) -> None:
        """Open the database, and create its tables if they are missing."""
        await self._run(self._opened)

    async def close(self) -> None:
        """Close the database, after the running statements."""
        await self._run(self._resources.close)
        self._workers.shutdown(wait=False)

    async def begin(self, key_id: str, seconds: float) -> str:
        """Begin a session with a key, and return its token, of which only the hash is stored."""
        token = secrets.token_urlsafe(32)
        await self._run(partial(self._begin, _hash(token), key_id, seconds))
        return token

    async def end(self, token: str) -> None:
        """End a session."""
        await self._run(partial(self._execute, _END, hash=_hash(token)))

    async def admit(self, name: str, cost: float, limit: BucketLimit, token: str = "") -> Admission:
        """Find the session of a token and count a request, in one statement.

        Args:
            name: The bucket's name if there is no session; a session uses that of its key.
            cost: How much is taken; nothing is taken if the bucket does not have enough.
            limit: The bucket's limit.
            token: The session's token, or "".
        """
        if not limit.amount and not token:
            return Admission(None, 0.0)
        return await self._run(partial(self._admit, name, min(cost, limit.amount), limit, token))

    async def take(self, name: str, cost: float, limit: BucketLimit) -> float:
        """Take from a bucket; return 0.0 if it had enough, else the seconds until it will have."""
        return (await self._run(partial(self._admit, name, cost, limit, ""))).wait

    async def give(self, name: str, amount: float, limit: BucketLimit) -> None:
        """Put an amount back; a negative one is taken even if the bucket does not have enough."""
        await self._run(partial(self._execute, _GIVE, name=name, cost=limit.cost(amount), seconds=limit.seconds))

    async def _run(self, work: Callable[[], T]) -> T:
        """Run a statement in a thread, to its end even if the caller is cancelled, so that it is counted."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._workers, work))

    def _opened(self) -> Database:
        """Return the database, which is opened, with its tables, on first use."""
        with self._lock:
            if self._database is None:
                database = self._resources.enter_context(self._opening())
                with database.writing("shared state") as connection:
                    for table in TABLES:
                        connection.execute(table)
                self._database = database
            return self._database

    def _admit(self, name: str, cost: float, limit: BucketLimit, token: str) -> Admission:
        """Look up a request's session and, if there is a limit, count the request against its bucket."""
        shown = _hash(token) if token else ""
        if not limit.amount:
            found = self._execute(_SESSION, hash=shown) if shown else None
            return Admission(found["key_id"] if found else None, 0.0)
        self._taken += 1
        if self._taken % SWEEP == 0:
            self._execute(_SWEEP)
        row: Any = self._execute(_TAKE, hash=shown, name=name, cost=limit.cost(cost), seconds=limit.seconds)
        own = row["name"] != name
        return Admission(row["name"].removeprefix(_KEY) if own else None, float(row["wait"]))

    def _begin(self, hash: str, key_id: str, seconds: float) -> None:
        """Begin a session; expired ones and the oldest above the limit are removed."""
        self._execute(_EXPIRED)
        self._execute(_TOO_MANY, most=MOST_SESSIONS - 1)
        self._execute(_BEGIN, hash=hash, key_id=key_id, seconds=seconds)

    def _execute(self, statement: str, **values: object) -> ResultRow | None:
        """Run a statement, and return its first row, if any."""
        database = self._opened()
        now = database.clock
        if self._clock:
            now, values = ":now", {**values, "now": self._clock()}
        with database.reading() as connection:
            done = connection.execute(statement.format(now=now), values)
            # Read to the end: SQLite commits only after the last row was read.
            rows = done.fetchall() if statement in (_TAKE, _SESSION) else []
        return rows[0] if rows else None


def key_bucket(key_id: str) -> str:
    """Return the name of the bucket for a key's requests."""
    return f"{_KEY}{key_id}"


@contextmanager
def _open(folder: Path, url: str | None) -> Iterator[Database]:
    """Open the database; a damaged file is replaced by a new one, since nothing in it is irreplaceable."""
    with ExitStack() as stack:
        try:
            database = stack.enter_context(open_database(folder, url, DATABASE, busy_seconds=BUSY_SECONDS))
        except DatabaseCorrupt:
            path = folder / DATABASE
            check_unused(path)
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            log.warning("%s was damaged and is made anew: everybody signs in again, and limits begin anew", path)
            database = stack.enter_context(open_database(folder, url, DATABASE, busy_seconds=BUSY_SECONDS))
        yield database


def _hash(token: str) -> str:
    """Return the hash of a token, the form in which it is stored."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
