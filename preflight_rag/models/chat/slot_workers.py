"""The threads that have the replies of a model in this process written, and their end before the process's own."""

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
"""Exit status of a process that is interrupted once more while it waits for its model to stop."""


class ReplyServer(Protocol):
    """What writes replies: `xllamacpp.Server`."""

    def handle_chat_completions(self, body: dict[str, Any], receive: Callable[[Piece], bool]) -> object:
        """Write a reply, piece by piece, until `receive` returns whether to stop."""
        ...


@dataclass(frozen=True)
class _Call:
    """A reply that is to be written; `done` is its end."""

    body: dict[str, Any]
    receive: Callable[[Piece], bool]
    stopped: threading.Event
    done: Future[None]

    def run(self, server: ReplyServer, ending: threading.Event) -> None:
        """Have the reply written, unless nobody waits for it any more."""
        if not self.done.set_running_or_notify_cancel():
            return
        failure: BaseException | None = None
        try:
            if not self.stopped.is_set() and not ending.is_set():
                server.handle_chat_completions(self.body, lambda piece: self.receive(piece) or ending.is_set())
        except BaseException as error:
            failure = error
        if ending.is_set():
            return  # who still waits is a thread that ends with the process; a reply cut here is no whole one
        if failure is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(failure)


class SlotWorkers:
    """The threads of one model, one for each call that it answers at once.

    They alone refer to the server, which is freed when the last of them ends; that waits for the batch of tokens that
    is calculated just then. Of a server that is still there when the interpreter ends, the calculating threads go on
    while the C++ library is taken apart below them: a segmentation fault, whatever the exit status was to be.

    Args:
        server: Of the model; nobody else may keep a reference to it.
        slots: Calls at once.
    """

    def __init__(self, server: ReplyServer, slots: int) -> None:
        self._waiting: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._slots = slots
        _threads[:] = [thread for thread in _threads if thread.is_alive()]
        for number in range(slots):
            # Daemons: the interpreter would wait for others before it calls `_end_all`, for as long as a reply goes on.
            given = server, self._waiting, self._ending
            thread = threading.Thread(target=_work, args=given, name=f"local-model-{number}", daemon=True)
            _threads.append(thread)
            thread.start()
        _open.add(self)

    def submit(self, body: dict[str, Any], receive: Callable[[Piece], bool], stopped: threading.Event) -> Future[None]:
        """Have a reply written, as soon as a slot is free.

        Args:
            body: What OpenAI's API takes for a chat completion that streams.
            receive: Called with each piece, in a thread of this object; what it returns says whether to stop.
            stopped: Whether nobody waits for the reply any more.
        """
        done: Future[None] = Future()
        self._waiting.put(_Call(body, receive, stopped, done))
        return done

    def end(self) -> None:
        """Have each call stopped at its next piece, and the threads end; it does not wait for them."""
        if not self._ending.is_set():
            self._ending.set()
            _open.discard(self)
            for _ in range(self._slots):
                self._waiting.put(None)


_open: set[SlotWorkers] = set()
_threads: list[threading.Thread] = []


def _work(server: ReplyServer, waiting: queue.SimpleQueue[_Call | None], ending: threading.Event) -> None:
    while (call := waiting.get()) is not None:
        call.run(server, ending)
        del call  # with it goes what its caller would otherwise keep alive until the next call


def _end_all() -> None:
    """Stop every model of this process, and wait until its library calculates no more."""
    try:
        for workers in list(_open):
            workers.end()
        for thread in _threads:
            thread.join()
    except KeyboardInterrupt:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(INTERRUPTED)  # without what a library does at its end, so without the fault


atexit.register(_end_all)
