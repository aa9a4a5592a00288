"""Loading files in a process of its own: what a file does to its reader, it does not do to the program.

A small file can make a parser take gigabytes or never end, and a parser in C can bring its process down. So files are
read in a worker with limits on memory and on work, and the worker is ended when it has said nothing for too long. The
next file gets a new one. The worker has no keys in its environment and no network (`confined.py`); it writes JSON, one
line for each document.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

import preflight_rag.state.errors as errors
from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.confined import confine, limit_processor
from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES, Pages
from preflight_rag.state.errors import MEMORY, DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

MEMORY_BYTES = 2 << 30
"""Address space of a worker, beside some times the size of its file; a guess, several times what real papers took."""
MEMORY_FACTOR = 8
"""Bytes of memory for each byte of a file; a guess: a parsed document takes several times its size."""
WORKING_SECONDS = 30.0
"""Of processor time without a page or a document after which a reader is ended, and one more for each
`BYTES_A_SECOND`: 20 times what the slowest of 199 real files took, and a quarter of the bytes."""
BYTES_A_SECOND = 50_000
IN_ALL = 20
"""Times `WORKING_SECONDS` that a whole file may take, whatever it says meanwhile; a guess."""
SILENT_SECONDS = 60.0
"""Of silence, at work or not, after which a reader is ended, and as many more for its file's bytes; a guess."""
MOST_ERRORS = 1000
"""Records of a file whose errors are reported one by one; of further ones only how many they are."""
LINES_AHEAD = 64
"""Documents and pages that a worker may be ahead; a guess that keeps memory flat."""
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_NO_MEMORY = "it needs more memory than a reader may have"
MORE_MEMORY = "Split or convert it; PREFLIGHT_READING_MB gives readers more."
_OUT_OF_TIME = int(getattr(signal, "SIGXCPU", 0)) or 24


class IsolatedLoader:
    """Loads files as `load` does, but in a worker process, which is started on first use and reused.

    Use it as a context manager, or call `close`, which ends the worker.

    Args:
        memory_bytes: Limit of the worker's address space, if the platform has such limits; by default
        `PREFLIGHT_READING_MB`, else `MEMORY_BYTES`.
        working_seconds: Processor time between two pages or documents; by default `PREFLIGHT_READING_SECONDS`,
        else `WORKING_SECONDS`.
        silent_seconds: Longest time without a message from the worker, busy or not.

    Attributes:
        limits: The protections of the last worker against network access (namespace, filter, hook), and "memory"
        if its memory is limited; empty before the first file.
    """

    def __init__(
        self,
        memory_bytes: int | None = None,
        working_seconds: float | None = None,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        self.memory_bytes = memory_bytes or int(_setting("PREFLIGHT_READING_MB", MEMORY_BYTES >> 20)) << 20
        self.working_seconds = working_seconds or _setting("PREFLIGHT_READING_SECONDS", WORKING_SECONDS)
        self.silent_seconds = silent_seconds
        self.limits: list[str] = []
        self._worker: _Worker | None = None

    def __enter__(self) -> IsolatedLoader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def load(
        self,
        path: Path,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_page: Pages | None = None,
        folder: Path | None = None,
    ) -> Iterator[Document | DocumentError]:
        """Yield the documents of one file, as `preflight_rag.ingest.loaders.load` does.

        Yields:
            Documents, and a `DocumentError` in the place of each record that cannot be read, of up to `MOST_ERRORS`.

        Raises:
            DocumentError: The file as a whole cannot be read, or not further, also where its reader took too much
                memory or time, or crashed.
        """
        size = _size(path)
        working = self.working_seconds + size / BYTES_A_SECOND
        task = {
            "path": str(path),
            "max_bytes": max_bytes,
            "folder": str(folder) if folder else None,
            "memory": self.memory_bytes + MEMORY_FACTOR * size,
            "working": working,
        }
        self._worker = self._worker or _Worker()
        is_whole = False
        try:
            for message in self._worker.messages(task, self.silent_seconds + size / BYTES_A_SECOND):
                if "page" in message and on_page is not None:
                    on_page(*message["page"])
                elif "document" in message:
                    yield Document.model_validate(message["document"])
                elif "error" in message:
                    yield _error(message["error"])
                elif "end" in message:
                    is_whole = not message["out_of_memory"]  # what has run out of memory is in no known state
                    self.limits = message["limits"]
                    if message["end"] is not None:
                        raise _error(message["end"])
        finally:
            if not is_whole:
                self.close()


class _Worker:
    """The worker process, and a thread that reads its output, because only a queue can be waited for with a limit."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[3])
        paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        kept = {name: value for name, value in os.environ.items() if not any(word in name for word in _SECRETS)}
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", __name__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # parsers' warnings: what is wrong with a file is said by its error
            text=True,
            encoding="utf-8",
            env={**kept, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is the program's to understand
        )
        self._lines: queue.Queue[str | MemoryError | None] = queue.Queue(LINES_AHEAD)
        self._is_ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def messages(self, task: dict[str, Any], silent_seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the worker's messages about a task up to the last one.

        Raises:
            UnreadableDocument: It says nothing for too long, or ends.
        """
        help = "The file is damaged, or made to stop readers; split or convert it."
        with suppress(OSError):  # of a worker that has ended, which its lines say
            self._stdin.write(json.dumps(task) + "\n")
            self._stdin.flush()
        while True:
            try:
                line = self._lines.get(timeout=silent_seconds)
            except queue.Empty:
                reason = f"its reader found nothing for {silent_seconds:.0f} s"
                raise UnreadableDocument(f"{task['path']} cannot be read: {reason}", help=help) from None
            if isinstance(line, MemoryError):
                reason = "there is not enough memory for what it holds"
                raise UnreadableDocument(f"{task['path']} cannot be read: {reason}", help=MEMORY) from line
            if line is None:
                code = self._process.wait()
                how = f"signal {-code}" if code < 0 else f"exit status {code}"
                reason = f"its reader crashed ({how}), as readers do that need more memory than they may have"
                if code == -_OUT_OF_TIME:
                    reason = f"its reader worked for {task['working']:.0f} s and found nothing"
                    help = f"{help} PREFLIGHT_READING_SECONDS lets readers work for longer."
                raise UnreadableDocument(f"{task['path']} cannot be read: {reason}", help=help)
            message: dict[str, Any] = json.loads(line)
            yield message
            if "end" in message:
                return

    def end(self) -> None:
        """Kill the process and those that it has started."""
        self._is_ended.set()
        with suppress(OSError, AttributeError):  # ended, or Windows, where what it has started ends by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        for stream in (self._stdin, self._stdout):
            with suppress(OSError):
                stream.close()
        self._process.wait()
        with suppress(queue.Empty):
            while True:
                self._lines.get_nowait()
        with suppress(queue.Full):  # another thread may wait for a line: there are no more
            self._lines.put_nowait(None)

    @property
    def _stdin(self) -> IO[str]:
        """Return the process's standard input."""
        return cast("IO[str]", self._process.stdin)

    @property
    def _stdout(self) -> IO[str]:
        """Return the process's standard output."""
        return cast("IO[str]", self._process.stdout)

    def _read(self) -> None:
        """Put the process's output lines into the queue, and None at the end."""
        with suppress(ValueError, OSError):  # closed while it was read
            try:
                for line in self._stdout:
                    self._put(line)
            except MemoryError as error:  # of this process, for a line that a reader may have had room for
                self._put(error)
                return
        self._put(None)

    def _put(self, line: str | MemoryError | None) -> None:
        """Put a line into the queue, waiting for room until the worker is ended."""
        while not self._is_ended.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return


def _setting(name: str, default: float) -> float:
    """Return a number from the environment; the default if it is not a number above 0."""
    try:
        value = float(os.environ.get(name, default))
    except ValueError:
        return default
    return value if 0 < value < float("inf") else default


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0  # the loader says what is wrong


def _error(values: dict[str, str]) -> DocumentError:
    """Return the error that JSON values describe."""
    kind = getattr(errors, values["kind"], UnreadableDocument)
    found: DocumentError = kind(values["message"], help=values["help"], source=values["source"])
    return found


def _as_json(error: DocumentError) -> dict[str, str]:
    """Return an error as JSON values."""
    return {"kind": type(error).__name__, "message": error.message, "help": error.help, "source": error.source}


def _limit_memory(limit: int) -> bool:
    """Limit the memory of this process; return False if the system cannot, as on Windows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
        return True
    return False


def _end_with_parent(parent: int) -> None:
    """On Linux, have the system end this worker with its parent program; elsewhere it ends after the current file."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended before that was asked for
            sys.exit()


class _Work:
    """The processor time that a worker may use for one file: between two pages or documents, and in total."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.process_time() + IN_ALL * seconds

    def goes_on(self) -> None:
        """Restart the time limit, because a page or document was read."""
        limit_processor(min(self._seconds, self._end - time.process_time()))


def main() -> None:
    """Load the files named on standard input, one JSON line each; this is the worker process."""
    _end_with_parent(int(sys.argv[1]))
    limits = confine()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what parsers print is no message

    def send(message: dict[str, Any]) -> None:
        """Write a message to the parent process."""
        own.write(json.dumps(message, default=str) + "\n")
        own.flush()

    for line in sys.stdin:
        task = json.loads(line)
        kept = [*limits, "memory"] if _limit_memory(task["memory"]) else limits
        end = _read(task, send)
        out_of_memory = end is not None and _NO_MEMORY in end.message
        send({"end": _as_json(end) if end else None, "out_of_memory": out_of_memory, "limits": kept})


def _read(task: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> DocumentError | None:
    """Send the documents of one file to the parent; return the error that ended the reading, if any."""
    work = _Work(task["working"])
    work.goes_on()

    def on_page(done: int, total: int) -> None:
        """Report a page as read."""
        work.goes_on()
        send({"page": [done, total]})

    folder = Path(task["folder"]) if task["folder"] else None
    errors = 0
    try:
        for item in load(Path(task["path"]), max_bytes=task["max_bytes"], on_page=on_page, folder=folder):
            if not isinstance(item, DocumentError):
                work.goes_on()
                send({"document": item.model_dump(mode="python")})
            elif (errors := errors + 1) <= MOST_ERRORS:
                send({"error": _as_json(item)})
    except (DocumentError, MemoryError) as error:
        if isinstance(error, DocumentError) and not isinstance(error.__cause__, MemoryError):
            return error
        return UnreadableDocument(f"{task['path']} cannot be read: {_NO_MEMORY}", help=MORE_MEMORY)
    except Exception as error:  # of what it holds, which could not be sent
        return UnreadableDocument(f"{task['path']} cannot be read: {type(error).__name__}: {error}")
    finally:
        if errors > MOST_ERRORS:
            more = UnreadableDocument(f"{task['path']}: {errors - MOST_ERRORS:,} further records cannot be read")
            send({"error": _as_json(more)})
    return None


if __name__ == "__main__":
    main()
