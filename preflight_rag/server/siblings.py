"""What one worker of `preflight serve --workers N` cannot answer by itself goes on to the worker that can.

A client cannot choose its worker. So a request about a thread goes to the worker that takes a turn on it, where another
one does: that alone can stop the turn, or let somebody listen to it. Uploads, changes of documents, and the model that
is connected on the page are the first worker's. Everything else is in databases that all of them share.

Workers reach each other over sockets in a folder of their own, with a secret that their parent has given them. Who
asks was found out by the worker that was asked, which says so; nobody is counted twice.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import httpx
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preflight_rag.server import model_entry
from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, error_response
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.server.service import Service
    from preflight_rag.server.workers import Worker

log = logging.getLogger("preflight.server")
HEADER = b"x-preflight-handed-on"
"""Holds, as JSON, the secret, who asks, and from which address."""
OWN = "/_worker/"
"""Where workers ask each other what clients cannot ask."""
ASKING_SECONDS = 5.0
"""How long a worker may take to say whether it takes a turn on a thread; a guess, for one that is busy."""
NOT_HANDED_ON = (b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", HEADER)
"""Headers of the connection itself."""
SAME_EVERYWHERE = ("preflight_documents", "preflight_passages")
"""Numbers of the library, which are not added up."""
OF_THE_FIRST, READ_OF_THE_FIRST = ("/api/uploads", "/api/documents", "/api/model"), ("/api/uploads",)
"""What the first worker changes, and what it alone knows."""
_THREAD = re.compile(r"/api/threads/(?P<id>.+?)(?:/(?:events|stop))?")


class Siblings:
    """The other workers, as one of them reaches them.

    Args:
        worker: This one.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._clients: dict[int, httpx.AsyncClient] = {}

    @property
    def numbers(self) -> list[int]:
        """The other workers' numbers."""
        return [number for number in range(1, self.worker.count + 1) if number != self.worker.number]

    def relayed(self, scope: Scope) -> tuple[User | None, tuple[str, int] | None] | None:
        """Who asks, and from where, in a request that another worker hands on; None in any other one."""
        shown = Headers(scope=scope).get(HEADER.decode())
        if shown is None:
            return None
        try:
            given = json.loads(shown)
            if not hmac.compare_digest(str(given["secret"]).encode(), self.worker.secret.encode()):
                return None
        except (ValueError, TypeError, KeyError):
            return None
        user, client = given["user"], given["client"]
        return (User(**user) if user else None), ((str(client[0]), int(client[1])) if client else None)

    async def holder(self, thread_id: str) -> int | None:
        """Return the worker that takes a turn on a thread."""
        asked = [self._get(number, f"{OWN}turn?thread={quote(thread_id, safe='')}") for number in self.numbers]
        replies = await asyncio.gather(*asked)
        found = (number for number, reply in zip(self.numbers, replies, strict=True) if reply is not None)
        return next(found, None)

    async def tell(self, what: str) -> None:
        """Have the others read something anew."""
        await asyncio.gather(*(self._get(number, OWN + what) for number in self.numbers))

    async def metrics(self, own: bytes) -> bytes:
        """Return the numbers of all workers, added up."""
        others = await asyncio.gather(*(self._get(number, f"{OWN}metrics") for number in self.numbers))
        registry = CollectorRegistry()
        registry.register(_Sum([own.decode(), *filter(None, others)]))
        return generate_latest(registry)

    async def relay(self, number: int, scope: Scope, receive: Receive) -> Response:
        """Return a worker's response to a request.

        Raises:
            Refused: That worker is not there.
        """
        query = scope["query_string"].decode("latin-1")
        raw = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
        client = self._client(number)
        request = client.build_request(
            scope["method"],
            f"{raw}?{query}" if query else raw,
            headers=[
                *((name, value) for name, value in scope["headers"] if name not in NOT_HANDED_ON),
                self._signed(scope),
            ],
            content=None if scope["method"] in ("GET", "HEAD") else _body(receive),
            timeout=None,
        )
        try:
            found = await client.send(request, stream=True)
        except httpx.TransportError:
            help = "Try again in a moment."
            raise Refused(503, "a server process is being started", help=help, headers={"Retry-After": "2"}) from None
        response = StreamingResponse(_pieces(found), found.status_code)
        response.raw_headers = [
            (name.lower(), value) for name, value in found.headers.raw if name.lower() not in NOT_HANDED_ON
        ]
        return response

    async def close(self) -> None:
        """Close the connections with them."""
        for client in self._clients.values():
            await client.aclose()

    async def _get(self, number: int, path: str) -> str | None:
        """Return what a worker replies; None where it has nothing to say, or is not there."""
        signed = {HEADER.decode(): self._credentials(None, None)}
        try:
            reply = await self._client(number).get(path, headers=signed, timeout=ASKING_SECONDS)
        except httpx.TransportError:
            return None
        return reply.text if reply.status_code == 200 else None

    def _client(self, number: int) -> httpx.AsyncClient:
        if number not in self._clients:
            transport = httpx.AsyncHTTPTransport(uds=str(self.worker.socket_of(number)))
            self._clients[number] = httpx.AsyncClient(transport=transport, base_url="http://worker")
        return self._clients[number]

    def _signed(self, scope: Scope) -> tuple[bytes, bytes]:
        return HEADER, self._credentials(scope["state"].get("user"), scope.get("client")).encode()

    def _credentials(self, user: User | None, client: tuple[str, int] | None) -> str:
        who = asdict(user) if user else None
        return json.dumps({"secret": self.worker.secret, "user": who, "client": client})


class _HandedOn:
    """What stands for a route in the log and the numbers, which hold nothing that a caller wrote."""

    def __init__(self, path: str) -> None:
        known = next((each for each in (*OF_THE_FIRST, "/api/threads") if path.startswith(each)), "other")
        self.path = f"{known} (handed on)"


class Relay:
    """The ASGI middleware behind the gate that hands on what another worker has to answer.

    Args:
        app: The application.
        service: The server's parts.
        siblings: The other workers.
    """

    def __init__(self, app: ASGIApp, service: Service, siblings: Siblings) -> None:
        self.app = app
        self._service, self._siblings = service, siblings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request here or elsewhere."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: Mapping[str, Any] = scope["state"]
        try:
            if state.get("relayed"):
                if scope["path"].startswith(OWN):
                    await (await self._own(scope))(scope, receive, send)
                else:
                    await self.app(scope, receive, send)
                return
            number = await self._elsewhere(scope, state.get("user"))
            if number is not None:
                scope["route"] = _HandedOn(scope["path"])
                response = await self._siblings.relay(number, scope, receive)
                await response(scope, receive, send)
                return
        except Refused as refused:
            await error_response(refused, scope["path"])(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _elsewhere(self, scope: Scope, user: User | None) -> int | None:
        """Return the worker that has to answer, where it is not this one."""
        path, method = scope["path"], scope["method"]
        if user is None:
            return None
        if found := _THREAD.fullmatch(path):
            try:
                thread = user.thread(found["id"])
            except UsageError:
                return None
            return None if self._service.running.of(thread) is not None else await self._siblings.holder(thread)
        if self._siblings.worker.first:
            return None
        begins = next((each for each in OF_THE_FIRST if path.startswith(each)), None)
        return 1 if begins and (method not in ("GET", "HEAD") or begins in READ_OF_THE_FIRST) else None

    async def _own(self, scope: Scope) -> Response:
        """Return what only workers ask."""
        what = scope["path"].removeprefix(OWN)
        if what == "turn":
            thread = unquote(scope["query_string"].decode("latin-1").partition("=")[2])
            running = self._service.running.of(thread) is not None
            return PlainTextResponse("running" if running else "", 200 if running else 404)
        if what == "model":
            await asyncio.to_thread(model_entry.take_again, self._service)
            return PlainTextResponse("taken")
        if what == "metrics":
            return PlainTextResponse(self._service.metrics.text())
        return PlainTextResponse("", 404)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield a request's body, piece by piece."""
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise httpx.WriteError("the client is gone")
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield a response's body as it comes; where the client goes away, the other worker learns of it."""
    try:
        async for piece in response.aiter_raw():
            yield piece
    except httpx.TransportError:
        log.warning("a worker ended in the middle of a response")
        raise
    finally:
        await response.aclose()


class _Sum(Collector):
    """Numbers of several workers as those of one server.

    Args:
        texts: What each worker counts, as Prometheus reads it.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        """Yield each number once."""
        families: dict[str, Metric] = {}
        sums: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
        for text in self._texts:
            for family in text_string_to_metric_families(text):
                families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                found = sums.setdefault(family.name, {})
                for sample in family.samples:
                    key = sample.name, tuple(sorted(sample.labels.items()))
                    if family.name in SAME_EVERYWHERE:
                        found[key] = max(found.get(key, 0.0), sample.value)
                    elif sample.name.endswith("_created"):
                        found[key] = min(found.get(key, sample.value), sample.value)
                    else:
                        found[key] = found.get(key, 0.0) + sample.value
        for name, family in families.items():
            for (of, labels), value in sums[name].items():
                family.add_sample(of, dict(labels), value)
            yield family
