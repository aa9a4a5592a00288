"""Threads that run the calls of a model in this process, and their end before the process's own."""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

Piece = Mapping[str, Any]
INTERRUPTED = 130
"""Exit status of a process that is interrupted a second time while it waits for its model to stop."""


class ReplyServer(Protocol):
    """The part of `xllamacpp.Server` that writes replies."""

    def handle_chat_completions(self, body: dict[str, Any], receive: Callable[[Piece], bool]) -> object:
        """Write a reply, piece by piece, until it is complete or `receive` returns True."""
        ...


@dataclass(frozen=True)
class _Call:
    """A reply to be written; `done` is completed at its end."""

    body: dict[str, Any]
    receive: Callable[[Piece], bool]
    stopped: threading.Event
    done: Future[None]

    def run(self, server: ReplyServer, ending: threading.Event) -> None:
        """Write the reply, unless its caller is gone or the model is `ending`, and set the outcome of `done`."""
        if not self.done.set_running_or_notify_cancel():
            return
        failure: BaseException | None = None
        try:
            if not self.stopped.is_set() and not ending.is_set():
                server.handle_chat_completions(self.body, lambda piece: self.receive(piece) or ending.is_set())
        except BaseException as error:
            failure = error
        if ending.is_set():
            # Only threads that end with the process still wait; a reply that is cut here must not count as complete.
            return
        if failure is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(failure)


class SlotWorkers:
    """The threads of one model, one for each concurrent call.

    Only they refer to the server, which is freed when the last of them ends, after the batch of tokens being
    calculated. If the server still exists when the interpreter ends, its threads go on calculating while the C++
    library is destroyed: a segmentation fault, whatever the exit status was to be.

    Args:
        server: The model's server; no other code may keep a reference to it.
        slots: Concurrent calls.
    """

    def __init__(self, server: ReplyServer, slots: int) -> None:
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._slots = slots
        _threads[:] = [thread for thread in _threads if thread.is_alive()]
        for number in range(slots):
            # Daemons: the interpreter would wait for other threads before it calls `_end_all`, as long as a reply goes
            # on.
            args = server, self._queue, self._ending
            thread = threading.Thread(target=_run_calls, args=args, name=f"local-model-{number}", daemon=True)
            _threads.append(thread)
            thread.start()
        _open_workers.add(self)

    def submit(self, body: dict[str, Any], receive: Callable[[Piece], bool], stopped: threading.Event) -> Future[None]:
        """Queue a reply, which starts as soon as a slot is free; return the future of its end.

        Args:
            body: The body of a streamed chat completion in OpenAI's API.
            receive: Called with each piece, in a thread of this object; it returns whether to stop.
            stopped: Set when nobody waits for the reply any more.
        """
        done: Future[None] = Future()
        self._queue.put(_Call(body, receive, stopped, done))
        return done

    def end(self) -> None:
        """Stop each call at its next piece, and end the threads, without waiting for them."""
        if not self._ending.is_set():
            self._ending.set()
            _open_workers.discard(self)
            for _ in range(self._slots):
                self._queue.put(None)


_open_workers: set[SlotWorkers] = set()
_threads: list[threading.Thread] = []


def _run_calls(server: ReplyServer, waiting: queue.SimpleQueue[_Call | None], ending: threading.Event) -> None:
    """Run the calls in the queue one after the other, until None comes."""
    while (call := waiting.get()) is not None:
        call.run(server, ending)
        del call  # otherwise the call's objects would live until the next call


def _end_all() -> None:
    """Stop every model of this process, and wait until its library has stopped calculating."""
    try:
        for workers in list(_open_workers):
            workers.end()
        for thread in _threads:
            thread.join()
    except KeyboardInterrupt:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(INTERRUPTED)  # skips the library's destructors, and so the fault


atexit.register(_end_all)
