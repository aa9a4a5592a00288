"""Load files in a separate process, so that a damaged or hostile file harms only its reader and not the program.

A small file can make a parser take gigabytes or never end, and a parser in C can crash its process. So files are read
in a worker with limits on memory and processor time, which is killed when it sends nothing for too long; the next file
gets a new one. The worker has no keys in its environment and no network (`confined.py`); it writes JSON, one line for
each document.
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
"""Address space of a worker, without a multiple of its file's size; a guess, several times what real papers took."""
MEMORY_FACTOR = 8
"""Bytes of memory for each byte of a file; a guess: a parsed document takes several times its size."""
WORKING_SECONDS = 30.0
"""Processor time without a page or a document after which a reader is killed: 20 times what the slowest of 199 real
files took."""
BYTES_PER_SECOND = 50_000
"""Bytes of a file for which its reader gets one second more: a quarter of the speed of the slowest of these files."""
MAXIMUM_WORKING_PERIODS = 20
"""Processor time for a whole file, as a multiple of the time between two pages or documents; a guess."""
SILENT_SECONDS = 60.0
"""Time without a message, at work or not, after which a reader is killed; longer for large files. A guess."""
MAXIMUM_REPORTED_ERRORS = 1000
"""Maximum number of unreadable records of a file that are reported one by one; further ones are only counted."""
MAXIMUM_QUEUED_LINES = 64
"""Maximum number of a worker's messages that wait to be processed; a guess that limits memory."""
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_OUT_OF_MEMORY = "it needs more memory than a reader may have"
_MORE_MEMORY_HELP = "Split or convert it; PREFLIGHT_READING_MB gives readers more."
_PROCESSOR_TIME_SIGNAL = int(getattr(signal, "SIGXCPU", 0)) or 24  # the number on Linux


class IsolatedLoader:
    """Loader that reads files as `load` does, but in a worker process, which is started on first use and reused.

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
        self.memory_bytes = (
            memory_bytes or int(_number_from_environment("PREFLIGHT_READING_MB", MEMORY_BYTES >> 20)) << 20
        )
        self.working_seconds = working_seconds or _number_from_environment("PREFLIGHT_READING_SECONDS", WORKING_SECONDS)
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
            Documents, and a `DocumentError` for each record that cannot be read, up to `MAXIMUM_REPORTED_ERRORS`.

        Raises:
            DocumentError: The file cannot be read at all, or no further, also because its reader took too much memory
                or time, or crashed.
        """
        size = _file_size(path)
        working_seconds = self.working_seconds + size / BYTES_PER_SECOND
        task = {
            "path": str(path),
            "max_bytes": max_bytes,
            "folder": str(folder) if folder else None,
            "memory": self.memory_bytes + MEMORY_FACTOR * size,
            "working": working_seconds,
        }
        self._worker = self._worker or _Worker()
        can_be_reused = False
        try:
            for message in self._worker.messages(task, self.silent_seconds + size / BYTES_PER_SECOND):
                if "page" in message and on_page is not None:
                    on_page(*message["page"])
                elif "document" in message:
                    yield Document.model_validate(message["document"])
                elif "error" in message:
                    yield _error_from_json(message["error"])
                elif "end" in message:
                    # A process that ran out of memory is in an unknown state.
                    can_be_reused = not message["out_of_memory"]
                    self.limits = message["limits"]
                    if message["end"] is not None:
                        raise _error_from_json(message["end"])
        finally:
            if not can_be_reused:
                self.close()


class _Worker:
    """The worker process, and a thread that puts its output into a queue, which allows waiting with a time limit."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[3])
        paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        environment = {}
        for name, value in os.environ.items():
            if not any(word in name for word in _SECRET_WORDS):
                environment[name] = value
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", __name__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # parsers' warnings, which the error of a file replaces
            text=True,
            encoding="utf-8",
            env={**environment, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C must interrupt the program, not the worker.
        )
        self._lines: queue.Queue[str | MemoryError | None] = queue.Queue(MAXIMUM_QUEUED_LINES)
        self._is_ended = threading.Event()
        threading.Thread(target=self._read_output, daemon=True).start()

    def messages(self, task: dict[str, Any], silent_seconds: float) -> Iterator[dict[str, Any]]:
        """Send a task to the worker; yield its messages about the task up to the last one, which has "end".

        Raises:
            UnreadableDocument: The worker sends nothing for `silent_seconds`, or ends.
        """
        help = "The file is damaged, or made to stop readers; split or convert it."
        with suppress(OSError):  # The worker has ended; the queue says so below.
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
                if code == -_PROCESSOR_TIME_SIGNAL:
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
        with suppress(OSError, AttributeError):  # The process has ended, or Windows has no process groups.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        for stream in (self._stdin, self._stdout):
            with suppress(OSError):
                stream.close()
        self._process.wait()
        with suppress(queue.Empty):
            while True:
                self._lines.get_nowait()
        with suppress(queue.Full):  # Another thread may wait for a line; tell it that there are no more.
            self._lines.put_nowait(None)

    @property
    def _stdin(self) -> IO[str]:
        """Return the process's standard input."""
        return cast("IO[str]", self._process.stdin)

    @property
    def _stdout(self) -> IO[str]:
        """Return the process's standard output."""
        return cast("IO[str]", self._process.stdout)

    def _read_output(self) -> None:
        """Put the lines of the process's output into the queue; at the end None, or a `MemoryError` of this process."""
        with suppress(ValueError, OSError):  # The output was closed while it was read.
            try:
                for line in self._stdout:
                    self._put_in_queue(line)
            except MemoryError as error:  # This process may have less memory for a line than the worker had.
                self._put_in_queue(error)
                return
        self._put_in_queue(None)

    def _put_in_queue(self, line: str | MemoryError | None) -> None:
        """Put a line into the queue, and wait for room in it until the worker is ended; then the line is dropped."""
        while not self._is_ended.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return


def _number_from_environment(name: str, default: float) -> float:
    """Return the value of an environment variable; the default if it is not a finite number above 0."""
    try:
        value = float(os.environ.get(name, default))
    except ValueError:
        return default
    return value if 0 < value < float("inf") else default


def _file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0  # The loader raises the error.


def _error_from_json(values: dict[str, str]) -> DocumentError:
    """Return the error that JSON values describe; an `UnreadableDocument` for an unknown kind of error."""
    kind = getattr(errors, values["kind"], UnreadableDocument)
    error: DocumentError = kind(values["message"], help=values["help"], source=values["source"])
    return error


def _error_to_json(error: DocumentError) -> dict[str, str]:
    """Return an error as JSON values, from which `_error_from_json` makes it again."""
    return {"kind": type(error).__name__, "message": error.message, "help": error.help, "source": error.source}


def _limit_memory(limit: int) -> bool:
    """Limit the address space of this process in bytes; return False if the system cannot, as on Windows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
        return True
    return False


def _end_with_parent(parent: int) -> None:
    """Let Linux kill this worker when its parent process ends; on other systems it ends after the current file."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 is PR_SET_PDEATHSIG.
        if os.getppid() != parent:  # The parent ended before the system was told.
            sys.exit()


class _ProcessorTime:
    """The processor time that a worker may use for one file: between two pages or documents, and in total."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.process_time() + MAXIMUM_WORKING_PERIODS * seconds

    def restart(self) -> None:
        """Restart the limit between two pages or documents, since one was read; the total limit stays."""
        limit_processor(min(self._seconds, self._end - time.process_time()))


def main() -> None:
    """Run the worker process: read tasks as JSON lines from standard input, and write messages to standard output."""
    _end_with_parent(int(sys.argv[1]))
    limits = confine()
    messages = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # What parsers print must not be read as a message.

    def send(message: dict[str, Any]) -> None:
        """Write a message to the parent process."""
        messages.write(json.dumps(message, default=str) + "\n")
        messages.flush()

    for line in sys.stdin:
        task = json.loads(line)
        task_limits = [*limits, "memory"] if _limit_memory(task["memory"]) else limits
        error = _send_documents(task, send)
        out_of_memory = error is not None and _OUT_OF_MEMORY in error.message
        send({"end": _error_to_json(error) if error else None, "out_of_memory": out_of_memory, "limits": task_limits})


def _send_documents(task: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> DocumentError | None:
    """Send the documents, unreadable records and pages of one file to the parent.

    Return the error that ended the reading; None if the file was read to its end.
    """
    processor_time = _ProcessorTime(task["working"])
    processor_time.restart()

    def on_page(done: int, total: int) -> None:
        """Send the number of pages that were read."""
        processor_time.restart()
        send({"page": [done, total]})

    folder = Path(task["folder"]) if task["folder"] else None
    error_count = 0
    try:
        for item in load(Path(task["path"]), max_bytes=task["max_bytes"], on_page=on_page, folder=folder):
            if not isinstance(item, DocumentError):
                processor_time.restart()
                send({"document": item.model_dump(mode="python")})
            elif (error_count := error_count + 1) <= MAXIMUM_REPORTED_ERRORS:
                send({"error": _error_to_json(item)})
    except (DocumentError, MemoryError) as error:
        if isinstance(error, DocumentError) and not isinstance(error.__cause__, MemoryError):
            return error
        return UnreadableDocument(f"{task['path']} cannot be read: {_OUT_OF_MEMORY}", help=_MORE_MEMORY_HELP)
    except Exception as error:  # What the file contains could not be sent.
        return UnreadableDocument(f"{task['path']} cannot be read: {type(error).__name__}: {error}")
    finally:
        if (unreported := error_count - MAXIMUM_REPORTED_ERRORS) > 0:
            summary = UnreadableDocument(f"{task['path']}: {unreported:,} further records cannot be read")
            send({"error": _error_to_json(summary)})
    return None


if __name__ == "__main__":
    main()
