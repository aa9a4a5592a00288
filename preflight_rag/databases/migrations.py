"""Bringing databases of earlier versions up to date: numbered steps, in one transaction with the number they reach.

A database that a newer version has written is left alone: what this version would write to it might be wrong there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from preflight_rag.state.errors import LibraryError

Step = Callable[[sqlite3.Connection], None]
"""Brings a database from one version to the next; it finds a write transaction open."""


def check_version(path: Path | str, found: object, newest: int) -> int:
    """Return the version of a database, if this program can migrate it.

    Raises:
        LibraryError: It was written by a newer version, or has no number at all.
    """
    if isinstance(found, int) and 0 <= found <= newest:
        return found
    if isinstance(found, int):
        raise LibraryError(
            f"{path} has schema {found}, and this version of preflight-rag reads up to {newest}",
            help="Upgrade preflight-rag, or begin another library; nothing was changed.",
        )
    raise LibraryError(f"{path} has no valid schema number ({found!r})", help="It is not a database of preflight-rag.")


def migrate_user_version(connection: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Run the migration steps that a database lacks, by SQLite's own `user_version`.

    A database from before there were version numbers has 0.

    Raises:
        LibraryError: It was written by a newer version.
    """

    def version() -> int:
        """Return the database's version, checked."""
        return check_version(path, connection.execute("PRAGMA user_version").fetchone()[0], len(steps))

    def stamp(number: int) -> None:
        """Record the database's version."""
        connection.execute(f"PRAGMA user_version = {number}")

    migrate(connection, steps, version, stamp)


def migrate(
    connection: sqlite3.Connection, steps: Sequence[Step], version: Callable[[], int], stamp: Callable[[int], None]
) -> None:
    """Run the migration steps that a database lacks, all of them or none.

    Args:
        connection: A connection outside of a transaction.
        steps: The steps from version 0 on.
        version: Returns the version of the database.
        stamp: Records the new version in the database.
    """
    if version() == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version() :]:  # asked again: another process may have taken them meanwhile
            step(connection)
        stamp(len(steps))
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
