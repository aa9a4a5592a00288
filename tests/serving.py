"""A real server on a free port, in a thread or a process of its own, and an HTTP client with frequent calls."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from preflight_rag.server import create_app
from preflight_rag.server.connections import configured


@contextmanager
def running(preflight, options=None):
    """The URL of a server over the application."""
    with running_app(create_app(preflight, options)) as url:
        yield url


@contextmanager
def running_app(app):
    """The URL of a server with an ASGI application."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(512)
        config = configured(app, log_config=None, access_log=False, timeout_graceful_shutdown=3)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


ENVIRONMENT = {**os.environ, "PREFLIGHT_ROUTE": "plain", "PREFLIGHT_REWRITE": "off"}


@contextmanager
def serving(*arguments, **environment):
    """A process of `preflight serve` and its URL; it is killed at the end, if it still runs."""
    command = [sys.executable, "-m", "preflight_rag", "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, **environment}
    ) as process:
        try:
            line = process.stdout.readline()
            found = re.match(r"(http://\S+)  the page", line)
            assert found, line + process.stderr.read()
            wait_for(found[1])
            yield process, found[1]
        except BaseException as error:
            process.kill()
            error.add_note(f"the server wrote: {process.stderr.read()[-5000:]}")
            raise
        finally:
            process.kill()


def wait_for(url):
    """Block until the server answers."""
    for _ in range(200):
        try:
            if httpx.get(f"{url}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError(url)


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
