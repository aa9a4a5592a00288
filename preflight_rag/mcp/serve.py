"""The transports: standard input and output, or streamable HTTP with the keys of `preflight serve`."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from preflight_rag.mcp.server import make_server
from preflight_rag.server.access import LOOPBACK, KeyRing, bind, check_bind, host_name, is_local, same_origin
from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from preflight_rag.app import Preflight

logger = logging.getLogger(__name__)
PATH = "/mcp"
CLOSING_SECONDS = 5  # how long Ctrl-C waits for open connections


def serve_stdio(app: Preflight) -> None:
    """Serve one client until it closes the input; standard output carries only the protocol.

    The thread that waits for input cannot be interrupted, so a signal closes the databases and ends the process at
    once.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        """Close the application and end the process."""
        app.close()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)

    async def run() -> None:
        """Serve the client over standard input and output."""
        server = make_server(app)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def serve_http(app: Preflight, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve streamable HTTP until stopped.

    Args:
        app: The application over the library.
        host: The address to listen on; other addresses than this machine's require that the library has keys.
        port: The port; 0 for a free one.
        started: Called with the address, as soon as it accepts connections.
    """
    from preflight_rag.server.connections import (
        EndingServer,
        ask_for_file_handles,
        configured,
        keep_files_private,
        share_freed_memory,
    )

    keys = KeyRing(app.folder)
    try:
        web = http_app(app, host, keys)
        keep_files_private()
        share_freed_memory()
        ask_for_file_handles()
        with bind(host, port) as listener:
            shown = f"[{host}]" if ":" in host else host
            started(f"http://{shown}:{listener.getsockname()[1]}{PATH}")
            config = configured(web, log_level="warning", timeout_graceful_shutdown=CLOSING_SECONDS)
            EndingServer(config).run(sockets=[listener])
    finally:
        keys.close()


def http_app(app: Preflight, host: str, keys: KeyRing) -> ASGIApp:
    """Return the web application: with keys each request needs one, without keys only this machine is served.

    Raises:
        UsageError: The host is not this machine's own, and the library has no keys.
    """
    check_bind(host, keys)
    # Hosts and origins are checked at the door, since whether a key is needed changes while the server runs.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    sessions = StreamableHTTPSessionManager(make_server(app), security_settings=unchecked)

    @asynccontextmanager
    async def lifespan(_web: Starlette) -> AsyncIterator[None]:
        """Run the protocol's sessions while the application runs."""
        async with sessions.run():
            yield

    known = [
        Middleware(_Door, keys=keys, required=not is_local(host)),
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(keys))),
        Middleware(AuthContextMiddleware),
    ]
    return Starlette(routes=[Route(PATH, _Endpoint(sessions))], middleware=known, lifespan=lifespan)


class _Endpoint:
    """The protocol's sessions as an ASGI application; a route would treat a bound method as a plain endpoint."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._open = sessions.handle_request
        self._with_key = RequireAuthMiddleware(self._open, required_scopes=[])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._with_key if scope["state"]["key_needed"] else self._open)(scope, receive, send)


class _Verifier:
    """Finds the owner of a bearer token among the library's keys."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the token's owner, or None."""
        key = (await self._keys.read()).find(token)
        return AccessToken(token=token, client_id=key.name, subject=key.name, scopes=[]) if key else None


class _Door:
    """The middleware that checks keys, and refuses pages of other origins.

    Without keys only this machine's own names are served, so that no outside name can be pointed here (DNS
    rebinding). Once keys have existed they stay required.
    """

    def __init__(self, web: ASGIApp, keys: KeyRing, *, required: bool) -> None:
        self._web, self._keys, self._required = web, keys, required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._web(scope, receive, send)
            return
        refusal = await self._refusal(Headers(scope=scope))
        if refusal is None:
            scope.setdefault("state", {})["key_needed"] = self._required
        await (refusal or self._web)(scope, receive, send)

    async def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        """Return the refusal of a request; None if it may pass."""
        try:
            self._required = (await self._keys.read()).any() or self._required
        except LibraryError as error:
            logger.warning("%s", error)
            return PlainTextResponse("The keys cannot be read", 503, {"Retry-After": "2"})
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._required and host_name(host) not in LOOPBACK:
            return PlainTextResponse("Invalid Host header", 421)
        if origin is not None and not same_origin(origin, host):
            return PlainTextResponse("Invalid Origin header", 403)
        return None
