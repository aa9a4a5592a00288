"""`preflight serve --workers N`: several processes behind one port of one machine, over one library.

One process of Python uses about one core. The parent binds the port, begins the workers, each of which runs the same
command over the library by itself, begins one anew that has ended, and ends them all. What only one of the workers can
answer they hand on among themselves (`siblings.py`).

On Linux each worker has a socket of its own at the port, among which the kernel spreads connections; all are the
parent's, so that a connection that comes while its worker is begun anew waits instead of being refused. Elsewhere the
workers share one.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from preflight_rag.server.access import bind, url_of
from preflight_rag.state.errors import UsageError

VARIABLE = "PREFLIGHT_WORKER"
"""What tells a process that it is a worker, and which one; set by its parent alone."""
LONGEST_FOLDER = 70
"""Of the system's temporary files: the path of a socket has 103 bytes on macOS."""
POLL_SECONDS = 0.1
"""Between two looks at the workers; a guess."""
ENDING_SECONDS = 40.0
"""How long a worker may take to end, which waits for open connections and closes its databases; a guess."""
STEADY_SECONDS = 10.0
"""A worker that ended sooner than so long after it was ready is begun anew only after a while; a guess."""
MOST_WAITING_SECONDS = 30.0
"""The longest such while; a guess."""
READY = b"r"


@dataclass(frozen=True)
class Worker:
    """Which worker a process is.

    Attributes:
        number: From 1; the first takes uploads and connects models.
        count: How many there are.
        folder: Where the workers' own sockets lie, for nobody but this user.
        secret: What a request carries that another worker hands on.
        listening: The descriptor of its socket at the port.
        parent: The descriptor of its connection with the parent.
    """

    number: int
    count: int
    folder: str
    secret: str
    listening: int
    parent: int

    @classmethod
    def this(cls) -> Worker | None:
        """Return the worker that this process is, None where it is none."""
        given = os.environ.pop(VARIABLE, None)  # not for the processes that it begins in its turn
        return cls(**json.loads(given)) if given else None

    @property
    def first(self) -> bool:
        """Whether this is the first one."""
        return self.number == 1

    def socket_of(self, number: int) -> Path:
        """Return the path of a worker's own socket."""
        return Path(self.folder) / f"{number}.sock"

    def ready(self) -> None:
        """Tell the parent that requests are taken, and end with it from now on, however it ends."""
        parent = socket.socket(fileno=self.parent)
        parent.sendall(READY)
        threading.Thread(target=_end_with, args=(parent,), name="preflight-parent", daemon=True).start()


def _end_with(parent: socket.socket) -> None:
    with suppress(OSError):
        parent.recv(1)  # comes to its end with the parent
    os.kill(os.getpid(), signal.SIGTERM)


def run_workers(
    count: int,
    *,
    host: str,
    port: int,
    started: Callable[[str], None],
    tell: Callable[[str], None],
    command: Sequence[str] | None = None,
) -> int:
    """Serve with several processes until SIGTERM or Ctrl-C; 0, or the exit code of a worker that could not begin.

    Such a worker has said why itself.

    Args:
        count: How many.
        host: The address.
        port: 0 for a free one.
        started: Called with the address once all of them take requests.
        tell: Called with a line for who runs the server, such as that a worker has ended.
        command: What each worker is begun with; None for the command of this process again.

    Raises:
        UsageError: The address cannot be used, or this system has not what it takes.
    """
    if sys.platform == "win32":
        raise UsageError("--workers needs Linux or macOS", help="Start without it.")
    with ExitStack() as stack:
        place = None if len(tempfile.gettempdir()) < LONGEST_FOLDER else "/tmp"  # noqa: S108  # a new folder in it
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="preflight-", dir=place))
        sockets = _sockets(host, port, count, stack)
        command = command or [sys.executable, "-m", "preflight_rag", *sys.argv[1:]]
        parent = Parent(folder, sockets, command, tell)
        before = {each: signal.signal(each, parent.stop) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            return parent.run(lambda: started(url_of(host, sockets[0])))
        finally:
            parent.end()
            for number, handler in before.items():
                signal.signal(number, handler)


def _sockets(host: str, port: int, count: int, stack: ExitStack) -> list[socket.socket]:
    """Return the sockets of the workers at one port."""
    first = stack.enter_context(bind(host, port))
    if sys.platform != "linux":
        return [first] * count
    port = first.getsockname()[1]
    first.close()  # it has shown that nobody else is there: of sockets that share a port, nobody is told
    return [stack.enter_context(bind(host, port, shared=True)) for _ in range(count)]


class Parent:
    """The process that begins the workers, and does nothing else.

    Args:
        folder: Where their own sockets lie.
        sockets: Those at the port.
        command: What each is begun with.
        tell: Called with a line for who runs the server.
    """

    def __init__(
        self, folder: str, sockets: list[socket.socket], command: Sequence[str], tell: Callable[[str], None]
    ) -> None:
        self._folder, self._sockets, self._command, self._tell = folder, sockets, command, tell
        self._secret = secrets.token_urlsafe(32)
        self._running: dict[int, _Running] = {}
        self._due: dict[int, float] = {}
        self._waits: dict[int, float] = {}
        self._stopping = False

    def stop(self, *_: object) -> None:
        """End the workers; asked again, at once."""
        if self._stopping:
            for each in self._running.values():
                each.process.kill()
        self._stopping = True

    def run(self, started: Callable[[], None]) -> int:
        """Begin the workers, the first one before all others, and those that end anew.

        Returns:
            0 when they were asked to end; the exit code of one that could not begin.
        """
        numbers = range(1, len(self._sockets) + 1)
        for some in (numbers[:1], numbers[1:]):  # the first one makes and brings up to date what all of them open
            for number in some:
                self._begin(number)
            while not self._stopping and not all(self._running[number].is_ready() for number in some):
                if (failed := self._failed()) is not None:
                    return failed
                time.sleep(POLL_SECONDS)
        if not self._stopping:
            started()
        while not self._stopping:
            self._look_after()
            time.sleep(POLL_SECONDS)
        return 0

    def end(self) -> None:
        """End all workers, in such a way that their turns can be resumed."""
        self._stopping = True
        for each in self._running.values():
            with suppress(ProcessLookupError):
                each.process.terminate()
        deadline = time.monotonic() + ENDING_SECONDS
        for each in self._running.values():
            try:
                each.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                each.process.kill()
                each.process.wait()
            each.connection.close()

    def _failed(self) -> int | None:
        """Return the exit code of a worker that has ended, 1 for one that was killed."""
        codes = (each.process.poll() for each in self._running.values())
        return next((code if code > 0 else 1 for code in codes if code is not None), None)

    def _look_after(self) -> None:
        """Begin those anew that have ended; one that ends soon again after a longer and longer while."""
        now = time.monotonic()
        for number, each in list(self._running.items()):
            each.is_ready()
            if (code := each.process.poll()) is None:
                continue
            each.connection.close()
            del self._running[number]
            steady = each.since is not None and now - each.since > STEADY_SECONDS
            wait = (
                0.0 if steady or number not in self._waits else min(2 * self._waits[number] + 1, MOST_WAITING_SECONDS)
            )
            self._waits[number], self._due[number] = wait, now + wait
            self._tell(f"preflight: worker {number} has ended ({code}) and is begun anew")
        for number in [each for each, due in self._due.items() if due <= now]:
            del self._due[number]
            self._begin(number)

    def _begin(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        listening = self._sockets[number - 1].fileno()
        worker = Worker(number, len(self._sockets), self._folder, self._secret, listening, theirs.fileno())
        Path(worker.socket_of(number)).unlink(missing_ok=True)
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # this command again
                self._command,
                stdin=subprocess.DEVNULL,
                pass_fds=(listening, theirs.fileno()),
                start_new_session=True,  # Ctrl-C is the parent's to hand on
                env={**os.environ, VARIABLE: json.dumps(asdict(worker))},
            )
        ours.setblocking(False)
        self._running[number] = _Running(process, ours)


class _Running:
    """A worker that was begun."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
        self.process, self.connection = process, connection
        self.since: float | None = None

    def is_ready(self) -> bool:
        """Return whether it takes requests."""
        if self.since is None:
            with suppress(BlockingIOError):
                if self.connection.recv(1) == READY:
                    self.since = time.monotonic()
        return self.since is not None
