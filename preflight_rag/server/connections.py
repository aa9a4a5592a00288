"""Connections of `preflight serve` and `preflight mcp`: clients that send nothing, or read nothing, are disconnected.

uvicorn limits neither the time that a header takes nor the number of connections that wait for one, and counts these
among the requests being served. A thousand connections without a request, which need no key, would keep all others out.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEADER_SECONDS = 10.0
"""Timeout of a request's header, and of an idle connection; a guess: clients send it at once."""
TAKING_SECONDS = 30.0
"""How long a client may stop reading before 64 kB have accumulated; a guess."""
CLOSING_SECONDS = 1.0
"""Timeout of closing a connection; a guess."""
MOST_WAITING = 256
"""Most connections that wait for a request; beyond it the one that has waited longest is closed. A guess."""
MOST_CONNECTIONS = 4000
"""Connections in all, each with a file handle; a guess."""
GRACE_SECONDS = 5.0
"""A connection younger than this is not closed to make room: of many that arrive at once, none has been read yet. A
guess."""
HEADER_BYTES = 65_536
"""Longest line and header of a request: h11's own limit. httptools, which uvicorn prefers if it is installed, has none:
an unending header took 48 MB in five seconds, and three hundred of memory."""
FILE_HANDLES = 8192
"""Number of file handles to request from the system: for connections, models and files."""
ARENA_MAX, ARENAS = -8, 2  # number of the option in mallopt(3)
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_WAITING: WeakKeyDictionary[ServerState, dict[GuardedProtocol, None]] = WeakKeyDictionary()


def configured(app: Any, **more: Any) -> uvicorn.Config:
    """Return the uvicorn configuration of our servers.

    Args:
        app: The ASGI application.
        **more: Other arguments of `uvicorn.Config`.
    """
    return uvicorn.Config(
        app, http=GuardedProtocol, h11_max_incomplete_event_size=HEADER_BYTES, ws="none", server_header=False, **more
    )


class GuardedProtocol(H11Protocol):
    """A connection with timeouts for sending a request and for reading the response.

    There is no limit per address: behind a proxy all clients have the proxy's address.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._all_waiting = _WAITING.setdefault(self.server_state, {})
        self._wait()
        if len(self._all_waiting) > MOST_WAITING or len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the list."""
        self._all_waiting.pop(self, None)
        for name in list(self._timers):
            self._cancel(name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data; a complete header is a request, which ends the waiting."""
        super().data_received(data)
        self._note_request()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has arrived already."""
        self._wait()
        super().on_response_complete()
        self._note_request()

    def pause_writing(self) -> None:
        """Schedule the connection's end in `TAKING_SECONDS`, unless the client has read the sent data by then."""
        super().pause_writing()
        self._start("taking", TAKING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the scheduled end: the client has read the sent data."""
        super().resume_writing()
        self._cancel("taking")

    def send_400_response(self, msg: str) -> None:
        """Reply with an error to data that are not HTTP; in the middle of a response, only close the connection."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.abort()

    def _wait(self) -> None:
        """Put the connection at the end of the waiting ones, and start the timeout of its next request."""
        self._since = time.monotonic()
        self._all_waiting.pop(self, None)
        self._all_waiting[self] = None  # at the end: the first one has waited longest
        self._start("header", HEADER_SECONDS, self._too_slow)

    def _note_request(self) -> None:
        """Stop the timer of the header when a request has begun."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._all_waiting.pop(self, None)
            self._cancel("header")

    def _too_slow(self) -> None:
        """Refuse a request whose header came too slowly, and close the connection."""
        if self.cycle is None and self.conn.trailing_data[0] and not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
        self._leave()

    def _leave(self) -> None:
        """Close the connection without waiting until the client has read the rest."""
        self.transport.close()
        self._start("closing", CLOSING_SECONDS, self.transport.abort)

    def _make_room(self) -> None:
        """Close the connection that has waited longest."""
        crowded = len(self.connections) > MOST_CONNECTIONS
        if (longest := next(self._all_may_go(crowded=crowded), None)) is not None:
            self._all_waiting.pop(longest, None)
            longest._leave()

    def _all_may_go(self, *, crowded: bool) -> Iterator[GuardedProtocol]:
        """Yield the connections that may be closed, the longest waiting first; if `crowded`, all waiting ones."""
        now = time.monotonic()
        for each in self._all_waiting:
            if not crowded and now - each._since < GRACE_SECONDS:
                return
            if crowded or not _has_unread(each.transport):
                yield each

    def _start(self, name: str, seconds: float, then: Any) -> None:
        """Start a named timer, in place of an earlier one of the same name."""
        self._cancel(name)
        self._timers[name] = self.loop.call_later(seconds, then)

    def _cancel(self, name: str) -> None:
        """Cancel a named timer."""
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()


class EndingServer(uvicorn.Server):
    """A server that ends on a signal, and lets the program continue afterwards.

    uvicorn sends SIGTERM to its process again after it has ended, which would kill the process before it has closed its
    databases.
    """

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes; the signal is not raised again."""
        with self.capture_signals():
            await self._serve(sockets)
            self._captured_signals = [each for each in self._captured_signals if each != signal.SIGTERM]


def _has_unread(transport: asyncio.Transport) -> bool:
    """Return whether a connection has received data that were not read yet, which may be a request."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.fileno() < 0:
        return False
    if not hasattr(select, "poll"):
        return bool(select.select([connection], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def keep_files_private() -> None:
    """Set the process's umask so that other users of the machine cannot read its files, e.g. uploads."""
    os.umask(os.umask(0) | 0o077)


def share_freed_memory() -> None:
    """Set GNU's C library to few memory arenas, so that threads reuse memory that others have freed.

    With an arena for each thread a server grew from 730 to 790 megabytes in 100 seconds of mixed load; with two it
    stayed at 568.
    """
    if sys.platform == "linux":
        import ctypes

        if hasattr(libc := ctypes.CDLL(None), "mallopt"):
            libc.mallopt(ARENA_MAX, ARENAS)


def ask_for_file_handles() -> None:
    """Raise the process's limit of open files to what the system allows, at most `FILE_HANDLES`."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILE_HANDLES if hard == resource.RLIM_INFINITY else min(FILE_HANDLES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
