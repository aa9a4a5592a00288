"""API keys of a library: `keys.db` holds their SHA-256, never the keys.

A key is `pf_ID_SECRET`. The row is found by its id, and the hash of the whole is compared in constant time. A key has a
name; who shows it sees that name's conversations and no others. Only keys made with `write` may change documents.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from preflight_rag.state.errors import LibraryError, UsageError

DATABASE = "keys.db"
LOCAL = "local"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"pf_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_TABLE = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    write INTEGER NOT NULL,
    created TEXT NOT NULL
)
"""


@dataclass(frozen=True)
class Key:
    """A key as it is listed: whose it is, whether it may change documents, and when it was made."""

    id: str
    name: str
    write: bool
    created: str


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

    def add(self, name: str, *, write: bool = False) -> str:
        """Make a key and return it; it cannot be read again.

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
            connection.execute(_TABLE)
            try:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?)", (id, name, _hash(key), write, now))
            except sqlite3.IntegrityError:
                help = f"Revoke it first: preflight keys revoke {name}"
                raise UsageError(f"{name!r} has a key already", help=help) from None
        return key

    def all(self) -> list[Key]:
        """All keys, by name."""
        return [self._key(row) for row in self._rows("SELECT id, name, write, created FROM keys ORDER BY name")]

    def revoke(self, name: str) -> bool:
        """Take a key away, at once; false where there is none of that name. The conversations stay."""
        if not self.path.exists():
            return False
        with self._guard(), closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            connection.execute(_TABLE)
            return connection.execute("DELETE FROM keys WHERE name = ?", (name,)).rowcount > 0

    def any(self) -> bool:
        """Whether there is a key."""
        return bool(self._rows("SELECT 1 FROM keys LIMIT 1"))

    def find(self, key: str) -> Key | None:
        """The key that this is, or None."""
        parts = _KEY.fullmatch(key)
        rows = self._rows("SELECT id, name, write, created, hash FROM keys WHERE id = ?", (parts[1] if parts else "",))
        stored = rows[0]["hash"] if rows else "0" * 64
        return self._key(rows[0]) if hmac.compare_digest(stored, _hash(key)) and rows else None

    def by_id(self, id: str) -> Key | None:
        """The key of an id, as long as it is not revoked."""
        rows = self._rows("SELECT id, name, write, created FROM keys WHERE id = ?", (id,))
        return self._key(rows[0]) if rows else None

    def _key(self, row: sqlite3.Row) -> Key:
        return Key(row["id"], row["name"], bool(row["write"]), row["created"])

    def _rows(self, sql: str, parameters: tuple[str, ...] = ()) -> list[sqlite3.Row]:
        with self._lock, self._guard():
            if self._connection is None:
                if not self.path.exists():
                    return []
                self._connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
                self._connection.row_factory = sqlite3.Row
                self._connection.execute(_TABLE)
            return self._connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LibraryError(
                f"The keys {self.path} cannot be used: {error}", help="Move the file away and make new keys."
            ) from error


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
