"""The transports: standard input and output, or streamable HTTP with the keys of `preflight serve`."""

from __future__ import annotations

import asyncio
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
from preflight_rag.server.access import KeyRing, bind, check_bind, same_origin

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from preflight_rag.app import Preflight

PATH = "/mcp"
OWN_NAMES = ("127.0.0.1:*", "localhost:*", "[::1]:*")
CLOSING_SECONDS = 5  # how long Ctrl-C waits for open connections


def serve_stdio(app: Preflight) -> None:
    """Serve one client until it closes the input; standard output carries the protocol and nothing else.

    The thread that waits for input cannot be woken, so a signal closes the databases and leaves at once.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        app.close()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)

    async def run() -> None:
        server = make_server(app)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def serve_http(app: Preflight, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve streamable HTTP until stopped.

    Args:
        app: The application over the library.
        host: Where to listen; elsewhere than on this machine only where the library has keys.
        port: 0 for a free one.
        started: Called with the address, as soon as clients can connect.

    Raises:
        UsageError: It may not, or cannot, listen there.
    """
    import uvicorn

    keys = KeyRing(app.folder)
    try:
        web = http_app(app, host, keys)
        with bind(host, port) as listener:
            shown = f"[{host}]" if ":" in host else host
            started(f"http://{shown}:{listener.getsockname()[1]}{PATH}")
            config = uvicorn.Config(web, log_level="warning", timeout_graceful_shutdown=CLOSING_SECONDS)
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        keys.close()


def http_app(app: Preflight, host: str, keys: KeyRing) -> ASGIApp:
    """The web application: with keys each request must show one, without them only this machine is served.

    Raises:
        UsageError: The host is not this machine's own, and the library has no keys.
    """
    check_bind(host, keys)
    with_keys = keys.any()
    sessions = StreamableHTTPSessionManager(make_server(app), security_settings=_transport_security(with_keys))

    @asynccontextmanager
    async def lifespan(_web: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    if not with_keys:
        return Starlette(routes=[Route(PATH, _Endpoint(sessions))], lifespan=lifespan)
    known = [
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(keys))),
        Middleware(AuthContextMiddleware),
    ]
    route = Route(PATH, RequireAuthMiddleware(_Endpoint(sessions), required_scopes=[]))
    return _OwnOrigin(Starlette(routes=[route], middleware=known, lifespan=lifespan))


def _transport_security(with_keys: bool) -> TransportSecuritySettings:
    """Without keys only this machine's own names are served, so that no outside name can be pointed here."""
    if with_keys:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    origins = [f"http://{name}" for name in OWN_NAMES]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=list(OWN_NAMES), allowed_origins=origins
    )


class _Endpoint:
    """The protocol's sessions as an application; a route would take a method of theirs for an endpoint of its kind."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)


class _Verifier:
    """Finds the owner of a bearer token among the library's keys."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token's owner, or None."""
        key = await asyncio.to_thread(self._keys.find, token)
        return AccessToken(token=token, client_id=key.name, subject=key.name, scopes=[]) if key else None


class _OwnOrigin:
    """Refuses what pages of other origins send."""

    def __init__(self, web: ASGIApp) -> None:
        self._web = web

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers({})
        origin = headers.get("origin")
        if origin is not None and not same_origin(origin, headers.get("host", "")):
            await PlainTextResponse("Invalid Origin header", 403)(scope, receive, send)
            return
        await self._web(scope, receive, send)
