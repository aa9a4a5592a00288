"""Who may use a library over the network: addresses, API keys, users, sessions of the page, and request rates.

`keys.db` holds the keys' SHA-256, never the keys. A key is `pf_ID_SECRET`. The row is found by its id, and the hash of
the whole is compared in constant time. A key has a name; who shows it sees that name's conversations and no others.
Only keys made with `write` may change documents, and only those made with `admin` may connect a language model. Without
keys only this machine is served, and everybody on it is the local user.
"""

from __future__ import annotations

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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from preflight_rag.state.errors import LibraryError, UsageError, system_help

LOOPBACK = ("localhost", "127.0.0.1", "::1")
DATABASE = "keys.db"
LOCAL = "local"
# Bounds of what is kept in memory for clients that nobody knows: guesses, far above what one server sees.
MOST_SESSIONS = 10_000
MOST_BUCKETS = 10_000
THREAD_ID_CHARACTERS = 200  # as `validate_thread_id` allows
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
    """Whether only this machine can reach an address."""
    return host in LOOPBACK


def check_bind(host: str, keys: KeyRing) -> None:
    """Refuse to let a network in without a key.

    Raises:
        UsageError: The address is not this machine's own, and there is no key.
    """
    if not is_local(host) and not keys.any():
        raise UsageError(
            f"--host {host} lets others in, and the library has no key",
            help="Make one with `preflight keys add NAME --library DIR`, or leave out --host.",
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address.

    Raises:
        UsageError: The address cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise UsageError(f"--host {host} --port {port} is no address: {error}", help="Use --host 127.0.0.1.") from None
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


def same_origin(origin: str, host: str) -> bool:
    """Whether an `Origin` header names the host of the request; the scheme may have been changed by a proxy."""
    return urlsplit(origin).netloc.lower() == host.lower()


@dataclass(frozen=True)
class Key:
    """A key as it is listed: whose it is, whether it may change documents, or even the model, and when it was made."""

    id: str
    name: str
    write: bool
    created: str
    admin: bool = False


class KeyRing:
    """The keys of one library; may be used from any thread. Changes of another process count at once.

    Args:
        folder: The library's folder. Nothing is written to it before the first key is made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def add(self, name: str, *, write: bool = False, admin: bool = False) -> str:
        """Make a key and return it; it cannot be read again. Who may connect a model may change documents, too.

        Raises:
            UsageError: The name cannot be one, or has a key.
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
            _make_table(connection)
            try:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                values = (id, name, _hash(key), write or admin, now, admin)
                connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", values)
            except sqlite3.IntegrityError:
                help = f"Revoke it first: preflight keys revoke {name}"
                raise UsageError(f"{name!r} has a key already", help=help) from None
        return key

    def all(self) -> list[Key]:
        """All keys, by name."""
        return [self._key(row) for row in self._rows("SELECT * FROM keys ORDER BY name")]

    def revoke(self, name: str) -> bool:
        """Revoke a key, at once; false where there is none of that name. The conversations stay."""
        if not self.path.exists():
            return False
        with self._guard(), closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            _make_table(connection)
            return connection.execute("DELETE FROM keys WHERE name = ?", (name,)).rowcount > 0

    def any(self) -> bool:
        """Whether there is a key."""
        return bool(self._rows("SELECT 1 FROM keys LIMIT 1"))

    def find(self, key: str) -> Key | None:
        """The key that this is, or None."""
        parts = _KEY.fullmatch(key)
        rows = self._rows("SELECT * FROM keys WHERE id = ?", (parts[1] if parts else "",))
        stored = rows[0]["hash"] if rows else "0" * 64
        return self._key(rows[0]) if hmac.compare_digest(stored, _hash(key)) and rows else None

    def by_id(self, id: str) -> Key | None:
        """The key of an id, as long as it is not revoked."""
        rows = self._rows("SELECT * FROM keys WHERE id = ?", (id,))
        return self._key(rows[0]) if rows else None

    def _key(self, row: sqlite3.Row) -> Key:
        return Key(row["id"], row["name"], bool(row["write"]), row["created"], bool(dict(row).get("admin")))

    def _rows(self, sql: str, parameters: tuple[str, ...] = ()) -> list[sqlite3.Row]:
        with self._lock, self._guard():
            if self._connection is None:
                if not self.path.exists():
                    return []
                connection = sqlite3.connect(self.path, timeout=2, check_same_thread=False)
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'keys'").fetchone():
                    # An empty file is what is left of a damaged one, not a server that needs no key.
                    connection.close()
                    raise sqlite3.DatabaseError("the file has no table of keys")
                connection.row_factory = sqlite3.Row
                self._connection = connection
            return self._connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            damaged = type(error) is sqlite3.DatabaseError
            help = "Move the file away and make new keys." if damaged else system_help(error)
            raise LibraryError(f"The keys {self.path} cannot be used: {error}", help=help) from error


def _make_table(connection: sqlite3.Connection) -> None:
    """Make the table where it is missing; one of an older version gets its last column."""
    connection.execute(_TABLE)
    if not connection.execute("SELECT 1 FROM pragma_table_info('keys') WHERE name = 'admin'").fetchone():
        connection.execute("ALTER TABLE keys ADD COLUMN admin INTEGER NOT NULL DEFAULT 0")
        connection.commit()


@dataclass(frozen=True)
class User:
    """Somebody who may ask. `prefix` stands before the ids of the user's threads in the ledger."""

    name: str
    prefix: str
    write: bool
    by_cookie: bool = False
    admin: bool = False

    def thread(self, thread_id: str) -> str:
        """The id that one of the user's threads has in the ledger."""
        if self.prefix and len(thread_id) > THREAD_ID_CHARACTERS - len(self.prefix):
            raise UsageError(f"A thread id of {len(thread_id)} characters is too long", help="Use a shorter one.")
        return self.prefix + thread_id

    def shown(self, thread_id: str) -> str:
        """The id of a thread as the user knows it."""
        return thread_id.removeprefix(self.prefix)


LOCAL_USER = User(LOCAL, "", write=True)


class Sessions:
    """Sessions of the page, in memory: a restart of the server ends them. Tokens are kept as hashes."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._open: dict[str, tuple[str, float]] = {}

    def begin(self, key: Key) -> str:
        """A new session's token."""
        self._drop_expired()
        token = secrets.token_urlsafe(32)
        self._open[_hash(token)] = (key.id, time.monotonic() + self.seconds)
        return token

    def key_id(self, token: str) -> str | None:
        """The id of the key that a session was opened with, or None."""
        id, until = self._open.get(_hash(token), ("", 0.0))
        return id if until > time.monotonic() else None

    def end(self, token: str) -> None:
        """End a session."""
        self._open.pop(_hash(token), None)

    def _drop_expired(self) -> None:
        now = time.monotonic()
        self._open = {name: (key, until) for name, (key, until) in self._open.items() if until > now}
        while len(self._open) >= MOST_SESSIONS:
            self._open.pop(next(iter(self._open)))


class Rates:
    """Token buckets that hold one minute's requests.

    Args:
        per_minute: Requests a minute; 0 for no limit.
        clock: Seconds that never go back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str, cost: float = 1.0) -> float:
        """Take tokens from somebody's bucket; 0.0 if it held them, else the seconds until it will."""
        if not self.per_minute:
            return 0.0
        now, full = self._clock(), float(self.per_minute)
        tokens, since = self._buckets.pop(who, (full, now))
        tokens = min(full, tokens + (now - since) * full / 60)
        enough = tokens >= cost
        self._buckets[who] = (tokens - cost if enough else tokens, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.pop(next(iter(self._buckets)))
        return 0.0 if enough else (cost - tokens) * 60 / full


def _hash(secret: str) -> str:
    """A key or a session token as it is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
