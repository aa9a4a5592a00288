"""A real server on a free port in a thread of its own, and an HTTP client with the calls that tests make often."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager

import httpx
import uvicorn

from preflight_rag.server import create_app


@contextmanager
def running(preflight, options=None):
    """The URL of a server over the application."""
    app = create_app(preflight, options)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(512)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


def events(lines):
    """`(name, data)` of each server-sent event."""
    name = None
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


class Client(httpx.Client):
    """An HTTP client with the calls that tests make often."""

    def ask(self, question, **body):
        return self.post("/api/ask", json={"question": question, "stream": False, **body})

    def events(self, path, **body):
        with self.stream("POST", path, json=body) as response:
            assert response.status_code == 200, response.read()
            return list(events(response.iter_lines()))
