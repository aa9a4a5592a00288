"""A PostgreSQL server of Debian's packages for tests: in a folder of its own, on a free port, gone with the tests."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "p4ss/w@rd-never-shown"
"""With characters that an address has to escape."""
PLACES = "/usr/lib/postgresql/*/bin"
NOT_ROOT = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
"""The server refuses to run as root; Debian's package brings this user."""


def programs() -> Path | None:
    """The folder of the newest installed server's programs."""
    found = sorted(Path("/").glob(PLACES.removeprefix("/")), key=lambda path: int(path.parent.name))
    return found[-1] if found else None


class PostgresServer:
    """A server that can be stopped, killed and started again.

    Attributes:
        port: Of 127.0.0.1, where a password is asked for.
    """

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder, self._bin = folder, bin
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        password = folder / "password"
        password.write_text(PASSWORD)
        if NOT_ROOT:
            for path in (folder, password):
                shutil.chown(path, "postgres", "postgres")
        how = ("-U", "owner", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--auth=scram-sha-256")
        command = (bin / "initdb", "-D", folder / "data", f"--pwfile={password}", *how)
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **NOT_ROOT)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it lets somebody in."""
        options = ("-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-k", self.folder)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **NOT_ROOT,
            )
        end = time.monotonic() + 60
        ready = (self._bin / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port), "-q")
        while subprocess.run(ready).returncode:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the server does not begin"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT drops every connection, SIGQUIT ends it as a crash does."""
        self._process.send_signal(how)
        self._process.wait(60)

    def url(self, database: str, password: str = PASSWORD) -> str:
        """The address of a database."""
        return f"postgresql://owner:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The address of a new database."""
        import psycopg

        name = f"t{secrets.token_hex(6)}"
        with closing(psycopg.connect(self.url("postgres"), autocommit=True)) as connection:
            connection.execute(f"create database {name}")
        return self.url(name)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A server while the block runs; the test is skipped, with the reason, where there can be none."""
    pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")
    bin = programs()
    if bin is None:
        if os.environ.get("PREFLIGHT_TEST_POSTGRES") == "required":
            pytest.fail("there is no PostgreSQL server")
        pytest.skip(f"there is no {PLACES}: apt-get install postgresql")
    # Not pytest's own folder, which root alone may enter.
    with tempfile.TemporaryDirectory(prefix="preflight-postgres-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(Path(folder), bin)
        try:
            yield server
        finally:
            server.stop()
