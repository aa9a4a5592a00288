"""Access to a library over the network: addresses, API keys, and users.

`keys.db` holds the keys' SHA-256, never the keys. A key is `pf_ID_SECRET`. The row is found by its id, and the hash of
the whole is compared in constant time. A key has a name; a request with the key sees that name's conversations and no
others. Only keys made with `write` may change documents, and only those made with `admin` may connect a language
model. Without keys only this machine is served, and everybody on it is the local user.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import re
import secrets
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from preflight_rag.databases.migrations import check_version, migrate_user_version
from preflight_rag.state.errors import LibraryError, UsageError, system_help
from preflight_rag.threads.locks import validate_thread_id

LOOPBACK = ("localhost", "127.0.0.1", "::1")
DATABASE = "keys.db"
LOCAL = "local"
THREAD_ID_CHARACTERS = 200  # as `validate_thread_id` allows
LOCKED_SECONDS = 2.0
"""Timeout for another program that keeps the keys' file locked, after which requests are refused; a guess."""
TICK_NANOSECONDS = 100_000_000
"""Longer than the clock tick of any file system here (4 ms), shorter than the time between two changes by hand."""
_State = tuple[tuple[int, int, int, int] | None, tuple[int, int, int, int] | None]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"pf_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_TABLE = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    write INTEGER NOT NULL,
    created TEXT NOT NULL,
    admin INTEGER NOT NULL DEFAULT 0
)
"""


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host in LOOPBACK


def check_bind(host: str, keys: KeyRing) -> None:
    """Raise an error if a network address is to be served without a key.

    Raises:
        UsageError: The address is not this machine's own, and there is no key.
    """
    if not is_local(host) and not keys.any():
        raise UsageError(
            f"--host {host} accepts other machines, and the library has no key",
            help="Make one with `preflight keys add NAME --library DIR`, or leave out --host.",
        )


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at the address.

    Args:
        host: The address.
        port: 0 for a free one.

    Raises:
        UsageError: The address cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise UsageError(
            f"--host {host} --port {port} is not a valid address: {error}", help="Use --host 127.0.0.1."
        ) from None
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} of {host} is in use", help="Choose another one with --port.") from None
        raise UsageError(f"{host}:{port} cannot be used: {error.strerror}", help="Choose another one.") from None
    return made


def url_of(host: str, listening: socket.socket) -> str:
    """Return the page's URL at a socket that `bind` has opened."""
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def host_name(host: str) -> str:
    """Return the name in a `Host` header, without the port; "" if there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def same_origin(origin: str, host: str) -> bool:
    """Return whether an `Origin` header names the host of the request; the scheme may have been changed by a proxy."""
    return urlsplit(origin).netloc.lower() == host.lower()


@dataclass(frozen=True)
class Key:
    """A key in the list of keys: its user, its rights (documents, model), and its creation time."""

    id: str
    name: str
    write: bool
    created: str
    admin: bool = False


class Keys:
    """The API keys of a library, as they were at one moment.

    Args:
        rows: Rows of the table, by id.
    """

    def __init__(self, rows: Mapping[str, sqlite3.Row]) -> None:
        self._rows = rows

    def any(self) -> bool:
        """Return whether there is a key."""
        return bool(self._rows)

    def all(self) -> list[Key]:
        """Return all keys, by name."""
        return sorted(map(_key, self._rows.values()), key=lambda key: key.name)

    def find(self, key: str) -> Key | None:
        """Return the stored key that a secret belongs to, or None."""
        parts = _KEY.fullmatch(key)
        row = self._rows.get(parts[1]) if parts else None
        stored = row["hash"] if row else "0" * 64
        return _key(row) if hmac.compare_digest(stored, _hash(key)) and row else None

    def by_id(self, id: str) -> Key | None:
        """Return the key with an id, unless it was revoked."""
        row = self._rows.get(id)
        return _key(row) if row else None


class KeyRing:
    """The keys of one library; may be used from any thread. Changes by other processes take effect at once.

    The file is read only if its inode, size or times have changed, so a lock that another program holds on it delays
    nobody while nothing is changed.

    Args:
        folder: The library's folder. Nothing is written to it before the first key is made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        self._lock = threading.Lock()
        self._read: tuple[_State, Keys] | None = None
        self._reading: asyncio.Task[Keys] | None = None

    def close(self) -> None:
        """Drop the cached keys."""
        self._read = None

    def known(self) -> Keys | None:
        """Return the cached keys; None if the file has to be read."""
        read = self._read
        try:
            return read[1] if read is not None and read[0] == self._state() else None
        except OSError:
            return None

    def now(self) -> Keys:
        """Return the present keys; waits up to `LOCKED_SECONDS` for a program that has locked the file.

        Raises:
            LibraryError: The file cannot be read, or is damaged.
        """
        if (known := self.known()) is not None:
            return known
        with self._lock, self._guard():
            before = self._state()
            keys = Keys(self._rows() if before[0] else {})
            # A file written within the last clock tick may be written again without a new time, so its keys are not
            # cached.
            settled = all(time.time_ns() - changed > TICK_NANOSECONDS for _, _, changed, _ in filter(None, before))
            self._read = (before, keys) if settled and self._state() == before else None
            return keys

    async def read(self) -> Keys:
        """Return the present keys without blocking: the file is read in a thread, once for all callers that wait.

        Raises:
            LibraryError: The file cannot be read, or is damaged.
        """
        if (known := self.known()) is not None:
            return known
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(asyncio.to_thread(self.now))
            self._reading.add_done_callback(_seen)
        return await asyncio.shield(self._reading)

    def add(self, name: str, *, write: bool = False, admin: bool = False) -> str:
        """Create a key and return it; it cannot be read again. An `admin` key may change documents, too.

        Raises:
            UsageError: The name is not allowed, or has a key already.
            LibraryError: The database cannot be written.
        """
        if not _NAME.fullmatch(name) or name == LOCAL:
            raise UsageError(
                f"a key cannot be named {name[:80]!r}",
                help=f"Use up to 64 letters, digits, '.', '_' or '-', and another name than {LOCAL!r}.",
            )
        id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        key = f"pf_{id}_{secret}"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._guard(), closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            self.path.chmod(0o600)
            migrate_user_version(connection, self.path, MIGRATIONS)
            try:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                values = (id, name, _hash(key), write or admin, now, admin)
                connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", values)
            except sqlite3.IntegrityError:
                help = f"Revoke it first: preflight keys revoke {name}"
                raise UsageError(f"{name!r} has a key already", help=help) from None
        return key

    def all(self) -> list[Key]:
        """Return all keys, by name."""
        return self.now().all()

    def revoke(self, name: str) -> bool:
        """Revoke a key at once, and keep its conversations; return False if there is none of that name."""
        if not self.path.exists():
            return False
        with self._guard(), closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            migrate_user_version(connection, self.path, MIGRATIONS)
            return connection.execute("DELETE FROM keys WHERE name = ?", (name,)).rowcount > 0

    def any(self) -> bool:
        """Return whether there is a key."""
        return self.now().any()

    def find(self, key: str) -> Key | None:
        """Return the stored key that a secret belongs to, or None."""
        return self.now().find(key)

    def _state(self) -> _State:
        """Return a value that changes with the file, and with its log if a write-ahead log is enabled."""
        log = self.path.with_name(self.path.name + "-wal")
        return _changed(self.path), _changed(log)

    def _rows(self) -> dict[str, sqlite3.Row]:
        """Return the rows of all keys by their ids, read from the file anew."""
        with closing(sqlite3.connect(self.path, timeout=LOCKED_SECONDS)) as connection:
            connection.row_factory = sqlite3.Row
            check_version(self.path, connection.execute("PRAGMA user_version").fetchone()[0], len(MIGRATIONS))
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'keys'").fetchone():
                # An empty file is the rest of a damaged one, not a sign that no key is needed.
                raise sqlite3.DatabaseError("the file has no table of keys")
            return {row["id"]: row for row in connection.execute("SELECT * FROM keys")}

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Raise an error of the keys' database as a `LibraryError` that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            damaged = type(error) is sqlite3.DatabaseError
            help = "Move the file away and make new keys." if damaged else system_help(error)
            raise LibraryError(f"The keys {self.path} cannot be used: {error}", help=help) from error


def _seen(reading: asyncio.Task[Keys]) -> None:
    """Retrieve a failed task's error, so that asyncio does not report it if every waiting caller was cancelled."""
    if not reading.cancelled():
        reading.exception()


def _changed(path: Path) -> tuple[int, int, int, int] | None:
    """Return inode, size and times of a file, which change when it is written or replaced; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _key(row: sqlite3.Row) -> Key:
    """Return a key from its row in the database."""
    return Key(row["id"], row["name"], bool(row["write"]), row["created"], bool(dict(row).get("admin")))


def _make_table(connection: sqlite3.Connection) -> None:
    """Create the table, or add the column that the first version lacks."""
    connection.execute(_TABLE)
    if not connection.execute("SELECT 1 FROM pragma_table_info('keys') WHERE name = 'admin'").fetchone():
        connection.execute("ALTER TABLE keys ADD COLUMN admin INTEGER NOT NULL DEFAULT 0")


MIGRATIONS = (_make_table,)
"""Functions that bring a `keys.db` to version 1, 2, … (`databases/migrations.py`)."""


@dataclass(frozen=True)
class User:
    """A user of the API. `prefix` stands before the ids of the user's threads in the ledger."""

    name: str
    prefix: str
    write: bool
    by_cookie: bool = False
    admin: bool = False

    def thread(self, thread_id: str) -> str:
        """Return a thread's id in the ledger, from its id as the user knows it.

        Raises:
            UsageError: The text is not a valid thread id.
        """
        validate_thread_id(thread_id)
        if self.prefix and len(thread_id) > THREAD_ID_CHARACTERS - len(self.prefix):
            raise UsageError(f"A thread id of {len(thread_id)} characters is too long", help="Use a shorter one.")
        return self.prefix + thread_id

    def shown(self, thread_id: str) -> str:
        """Return a thread's id as the user knows it, from its id in the ledger."""
        return thread_id.removeprefix(self.prefix)


LOCAL_USER = User(LOCAL, "", write=True)


def _hash(secret: str) -> str:
    """Return a key's hash, the form in which it is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
