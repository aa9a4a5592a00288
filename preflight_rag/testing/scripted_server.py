"""An OpenAI-compatible chat server whose replies are scripted, over real HTTP, on the standard library alone.

In a test:

    with ScriptedServer([("<partition>2", Reply(status=500)), ("Question", "Aspirin [1].")]) as server:
        ChatOpenAI(base_url=server.url, api_key="any", model="any").invoke("Question: ...")
    assert server.count("Question") == 1

As a process of its own, so that it outlives a client that is killed; it prints its URL on the first line:

    python -m preflight_rag.testing.scripted_server --port 0 --delay 0.3 --script script.json --log requests.jsonl

The script file holds `{"default": reply, "rules": [{"contains": "...", "reply": reply, "times": 1}]}`, where a reply is
a text or an object with the fields of `Reply`. `read_log` reads the log back.
"""

from __future__ import annotations

import argparse
import json
import math
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from preflight_rag.testing.scripted_replies import Reply, chunk, completion, deltas, prompt_of, usage, within_limit


class Rule(NamedTuple):
    """Answers prompts that contain a text; with `times`, only the first few of them."""

    contains: str
    reply: Reply | str
    times: int | None = None


CLOSING_SECONDS = 0.2  # how long a reply that waits may take to notice that the server closes
POLL_SECONDS = 0.02
Script = Callable[[dict[str, Any]], Reply | str]
Rules = Sequence[Rule | tuple[str, Reply | str] | tuple[str, Reply | str, int]]


@dataclass
class Received:
    """One chat request. `finished`, `status` and `delivered` stay unset while it is being answered.

    `delivered` is False when the client was gone before the reply was whole, and `gone` is when that was seen; times
    are seconds of `time.time()`.
    """

    body: dict[str, Any]
    arrived: float
    finished: float | None = None
    status: int | None = None
    delivered: bool | None = None
    gone: float | None = None
    authorization: str | None = None

    @property
    def prompt(self) -> str:
        """All message texts of the request, one after another."""
        return prompt_of(self.body)


class ScriptedServer:
    """A context manager that serves on a free port of 127.0.0.1 while it is open.

    Args:
        script: A function from the request's body to a reply, or rules tried in order.
        default: The reply when no rule matches.
        delay: Added to the delay of every reply, in seconds.
        api_key: When set, requests with another bearer token get a 401.
        models: When set, requests that name another model get a 404.
        windows: Context windows that the list of models says, as vLLM does.
        refuses: Options of a request, such as `max_tokens`, that get a 400 as from a server that does not take them.
        keeps_limits: Whether replies end at the limit of tokens that a request has, as those of a model do.
        port: 0 for a free one that no server of this process has had: a client keeps what it knows of an address.
        log: A file that gets one JSON line when a request arrives and one when it is finished.
    """

    _ports: ClassVar[set[int]] = set()

    def __init__(
        self,
        script: Script | Rules = (),
        *,
        default: Reply | str = "ok",
        delay: float = 0.0,
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        windows: Mapping[str, int] | None = None,
        refuses: Sequence[str] = (),
        keeps_limits: bool = False,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.peak = 0
        self.active = 0
        self.delay = delay
        self.api_key = api_key
        self.models = models
        self.windows = windows or {}
        self.refuses = tuple(refuses)
        self.keeps_limits = keeps_limits
        self.closing = threading.Event()
        self._script = script if callable(script) else None
        self._rules = [] if callable(script) else [Rule(*rule) for rule in script]
        self._used = [0] * len(self._rules)
        self._default = default
        self._log = log
        self._changed = threading.Condition()
        self._http = self._listening(port)
        self._http.scripted = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @classmethod
    def _listening(cls, port: int) -> _Http:
        """Return a server on a port; for 0, on a free port that this process has not used before."""
        used: list[_Http] = []
        while (http := _Http(("127.0.0.1", port), _Handler)).server_address[1] in cls._ports and not port:
            used.append(http)
        for each in used:
            each.server_close()
        cls._ports.add(http.server_address[1])
        return http

    def __enter__(self) -> Self:
        serve = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        serve.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self.wait_idle()
        self._http.shutdown()
        self._http.server_close()

    def count(self, substring: str = "") -> int:
        """Return how many requests so far had the text in their prompt."""
        with self._changed:
            return sum(substring in request.prompt for request in self.requests)

    def wait_for(self, calls: int, substring: str = "", *, timeout: float = 30.0) -> None:
        """Block until so many requests with the text have arrived; TimeoutError after `timeout` seconds."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: self.count(substring) >= calls, timeout)
        if not arrived:
            raise TimeoutError(f"{self.count(substring)} of {calls} requests with {substring!r} after {timeout} s")

    def wait_idle(self, *, timeout: float = 30.0) -> None:
        """Block until no request is being answered: a client may have its reply before `finished` is noted."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.active == 0, timeout):
                raise TimeoutError(f"{self.active} requests are still being answered after {timeout} s")

    def reply_to(self, body: dict[str, Any]) -> Reply:
        """Return the scripted reply to a request."""
        if refused := next((name for name in self.refuses if body.get(name) is not None), None):
            return Reply(f"Unsupported parameter: '{refused}' is not supported with this model.", status=400)
        reply = self._script(body) if self._script else self._match(prompt_of(body))
        reply = Reply(reply) if isinstance(reply, str) else reply
        if self.keeps_limits:
            reply = within_limit(reply, body)
        return replace(reply, delay=reply.delay + self.delay)

    def begin(self, body: dict[str, Any]) -> Received:
        """Record that a request has arrived."""
        request = Received(body, arrived=time.time())
        with self._changed:
            self.requests.append(request)
            self.active += 1
            self.peak = max(self.peak, self.active)
            self._append({"event": "arrived", "id": id(request), **asdict(request)})
            self._changed.notify_all()
        return request

    def finish(self, request: Received, status: int, *, delivered: bool) -> None:
        """Record that a request was answered, or that its client has disconnected."""
        with self._changed:
            request.finished, request.status, request.delivered = time.time(), status, delivered
            self.active -= 1
            outcome = {"finished": request.finished, "status": status, "delivered": delivered}
            self._append({"event": "finished", "id": id(request), **outcome})
            self._changed.notify_all()

    def _match(self, prompt: str) -> Reply | str:
        """Return the reply of the first rule that matches a prompt, else the default."""
        with self._changed:
            for place, rule in enumerate(self._rules):
                if rule.contains in prompt and (rule.times is None or self._used[place] < rule.times):
                    self._used[place] += 1
                    return rule.reply
        return self._default

    def _append(self, line: dict[str, Any]) -> None:
        """Append a line to the log file, if there is one."""
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _comes(connection: socket.socket, seconds: float) -> bool:
    """Return whether data, or the end, arrive on a connection within the seconds."""
    if not hasattr(select, "poll"):
        return bool(select.select([connection], [], [], seconds)[0])
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class _Http(ThreadingHTTPServer):
    """The HTTP server, with a queue for thousands of connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 2048
    scripted: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of a request, unless the client has disconnected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests in the form of OpenAI's API."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Keep test output quiet."""

    def do_GET(self) -> None:
        """Answer the list of models; any other URL is unknown."""
        if self._refused():
            return
        if self.path.rstrip("/") == "/v1/models":
            names = self.server.scripted.models or ["scripted"]
            windows = self.server.scripted.windows
            data = [
                {"id": name, "object": "model", "created": 0, "owned_by": "scripted"}
                | ({"max_model_len": windows[name]} if name in windows else {})
                for name in names
            ]
            self._send(200, json.dumps({"object": "list", "data": data}).encode())
        else:
            self._send_error(404, f"Unknown request URL: GET {self.path}", "unknown_url")

    def do_POST(self) -> None:
        """Answer a chat completion; any other URL is unknown."""
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._refused():
            return
        if self.path.rstrip("/") == "/v1/chat/completions":
            self._complete(sent)
        else:
            self._send_error(404, f"Unknown request URL: POST {self.path}", "unknown_url")

    def _complete(self, sent: bytes) -> None:
        """Answer a chat completion, or refuse an invalid body or an unknown model."""
        scripted = self.server.scripted
        try:
            body = json.loads(sent)
            model, _ = body["model"], body["messages"][0]
        except (ValueError, LookupError, TypeError):
            self._send_error(400, "We could not parse the body: expected model and messages", None)
            return
        if scripted.models is None or model in scripted.models:
            self._answer(scripted, body)
        else:
            self._send_error(404, f"The model `{model}` does not exist", "model_not_found")

    def _refused(self) -> bool:
        """Refuse a request without the right key; return whether it was refused."""
        key = self.server.scripted.api_key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self._send_error(401, "Incorrect API key provided", "invalid_api_key")
        return True

    def _answer(self, scripted: ScriptedServer, body: dict[str, Any]) -> None:
        """Send the scripted reply to a request, and record how that ended."""
        request, delivered, reply = scripted.begin(body), False, Reply(status=500)
        request.authorization = self.headers.get("Authorization")
        try:
            reply = scripted.reply_to(body)
            self._header_delay = reply.header_delay
            if self._wait(reply.delay):
                delivered = self._write(reply, body)
        except ConnectionError:
            self.close_connection = True
        finally:
            request.gone = time.time() if self._gone else None
            scripted.finish(request, reply.status, delivered=delivered)

    _gone = False
    _header_delay = 0.0

    def flush_headers(self) -> None:
        """Send the headers, byte by byte if they are meant to be slow."""
        head = b"".join(getattr(self, "_headers_buffer", ()))
        self._headers_buffer: list[bytes] = []
        for byte in head if self._header_delay else ():
            if not self._wait(self._header_delay):
                raise ConnectionAbortedError
            self.wfile.write(bytes([byte]))
        if not self._header_delay:
            self.wfile.write(head)

    def _wait(self, seconds: float) -> bool:
        """Let time pass; return False as soon as the client disconnects or the server closes.

        Incoming data end the wait, so that a thousand waiting connections cost next to nothing.
        """
        end = time.monotonic() + seconds
        while not self.server.scripted.closing.is_set():
            if self._client_gone(max(0.0, min(CLOSING_SECONDS, end - time.monotonic()))):
                self._gone = True
                return False
            if time.monotonic() >= end:
                return True
        return False

    def _client_gone(self, seconds: float = 0.0) -> bool:
        """Return whether the client has disconnected, or does so within the seconds."""
        readable = _comes(self.connection, seconds)
        gone = readable and not self.connection.recv(1, socket.MSG_PEEK)
        if readable and not gone:  # its next request, which would wake this again and again
            time.sleep(min(seconds, POLL_SECONDS))
        self.close_connection = self.close_connection or gone
        return gone

    def _write(self, reply: Reply, body: dict[str, Any]) -> bool:
        """Send the reply; return False if it was cut off by the script."""
        if reply.raw is not None:
            raw = reply.raw.encode() if isinstance(reply.raw, str) else reply.raw
            return self._send_body(reply, raw, {"Content-Type": "text/html; charset=utf-8", **reply.headers})
        if reply.status >= 400:
            return self._send_error(reply.status, reply.text, reply.code, reply.headers)
        if body.get("stream"):
            return self._send_stream(reply, body)
        payload = json.dumps(completion(reply, body)).encode()
        if reply.endless:
            self._send(reply.status, b"", {**reply.headers, "Content-Length": str(len(payload))})
            return self._wait(math.inf)
        return self._send_body(reply, payload, reply.headers)

    def _send_body(self, reply: Reply, payload: bytes, headers: Mapping[str, str]) -> bool:
        """Send a reply that is not streamed; return whether it was complete."""
        length = reply.content_length
        if length is not None:
            self.close_connection = True
        given = headers if length is None else {**headers, "Content-Length": str(length)}
        sent = self._send(reply.status, payload, given, drop_after=reply.drop_after, reset=reply.reset)
        return sent and length in (None, len(payload))

    def _send_error(
        self, status: int, message: str, code: str | None, headers: Mapping[str, str] | None = None
    ) -> bool:
        """Send an error in OpenAI's form; return whether it was sent completely."""
        kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "invalid_request_error")
        error = {"message": message, "type": "server_error" if status >= 500 else kind, "param": None, "code": code}
        return self._send(status, json.dumps({"error": error}).encode(), headers)

    def _send(
        self,
        status: int,
        payload: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        drop_after: int | None = None,
        reset: bool = False,
    ) -> bool:
        """Send a response, or only its beginning; return whether it was complete."""
        self.send_response(status)
        usual = {"Content-Type": "application/json", "Content-Length": str(len(payload))}
        for name, value in {**usual, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload[:drop_after])
        if drop_after is not None:
            self._drop(reset=reset)
        return drop_after is None

    def _send_stream(self, reply: Reply, body: dict[str, Any]) -> bool:
        """Send a streamed reply; return whether it was complete."""
        self.send_response(reply.status)
        for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for place, delta in enumerate(deltas(reply)):
            if place == reply.drop_after:
                self._drop(reset=reply.reset)
                return False
            if reply.chunk_delay and not self._wait(reply.chunk_delay):
                return False
            self._send_event(chunk(body, delta))
        if reply.finish_reason is not None:
            self._send_event(chunk(body, {}, reply.finish_reason))
        if reply.usage and (body.get("stream_options") or {}).get("include_usage"):
            self._send_event({**chunk(body, {}), "choices": [], "usage": usage(reply, body)})
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _send_event(self, data: dict[str, Any] | str) -> None:
        """Send one server-sent event as an HTTP chunk."""
        text = data if isinstance(data, str) else json.dumps(data)
        event = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))

    def _drop(self, *, reset: bool = False) -> None:
        """Close the connection in the middle of a reply, with a reset if the script says so."""
        self.close_connection = True
        if reset:
            # Closed with nothing to wait for, a socket sends RST; shutting it down first would send FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.wfile.flush()
            self.connection.close()
            raise ConnectionResetError
        self.connection.shutdown(socket.SHUT_RDWR)


def read_log(path: Path) -> list[Received]:
    """Return the requests of a log file, in order of arrival; an incomplete last line is left out."""
    requests: dict[int, Received] = {}
    found: list[Received] = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []:
        if not line.endswith("\n"):
            break
        entry = json.loads(line)
        event, key = entry.pop("event"), entry.pop("id")
        if event == "arrived":
            requests[key] = Received(**entry)
            found.append(requests[key])
        else:
            vars(requests[key]).update(entry)
    return found


def read_script(path: Path) -> tuple[list[Rule], Reply | str]:
    """Return the rules and the default reply of a script file."""
    script = json.loads(path.read_text(encoding="utf-8"))
    rules = [Rule(rule["contains"], _reply(rule["reply"]), rule.get("times")) for rule in script.get("rules", [])]
    return rules, _reply(script.get("default", "ok"))


def _reply(reply: str | dict[str, Any]) -> Reply | str:
    """Return a reply as a script file writes it: a text, or fields of `Reply`."""
    return reply if isinstance(reply, str) else Reply(**reply)


def main(arguments: Iterable[str] | None = None) -> None:
    """Serve a script file until the process is killed."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible chat server with scripted replies.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds added to every reply")
    parser.add_argument("--script", type=Path, help="JSON file with rules and a default reply")
    parser.add_argument("--log", type=Path, help="JSON lines: one when a request arrives, one when it is finished")
    given = parser.parse_args(None if arguments is None else list(arguments))
    rules, default = read_script(given.script) if given.script else ([], "ok")
    with ScriptedServer(rules, default=default, delay=given.delay, port=given.port, log=given.log) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
