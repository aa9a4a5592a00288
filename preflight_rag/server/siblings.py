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
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope

from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused

if TYPE_CHECKING:
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
