"""Checks that every request passes: host, user, rate, origin and size; and the headers of every response.

Plain ASGI, so that streams leave at once. Routes find the user in `scope["state"]["user"]`. Questions and answers are
never logged: a line contains the route's template, not its path.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from preflight_rag.server.access import LOCAL_USER, LOOPBACK, Key, Keys, User, host_name, same_origin
from preflight_rag.server.errors import Refused, error_response
from preflight_rag.server.service import Service
from preflight_rag.server.shared import key_bucket

access = logging.getLogger("preflight.access")
COOKIE = "preflight_session"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC = "/static/"
OPEN = ("/", "/favicon.ico", "/health", "/api/session", "/api/docs", "/api/docs.css", "/api/openapi.json")
UPLOADS = "/api/documents"
NOBODYS_BYTES, NOBODYS_SECONDS = 10_000, 5.0
"""Limits of a body sent without a key, which is a key to sign in with: guesses."""
LEAST_BYTES_A_SECOND = 1000
"""Least transfer rate of a body after its first seconds; a guess, a tenth of a modem."""
OPEN_SECONDS = 0.2
"""Timeout for identifying the user at a URL that needs no key, where the user decides how much is shown; a guess."""
MOST_REQUESTS = 2000
"""Most requests that are served at once, each with a connection and most with one to a model; a guess."""
SAFE = ("GET", "HEAD", "OPTIONS")


class Gate:
    """The ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        self._serving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started, seen = time.perf_counter(), {"status": 499}
        scope.setdefault("state", {})
        self._serving += 1

        async def respond(message: Message) -> None:
            """Send a message of the response, with the security headers."""
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                _secure(message, scope)
            await send(message)

        try:
            try:
                limited = await self._admit(scope, receive)
            except Refused as refused:
                await error_response(refused, scope["path"])(scope, receive, respond)
            else:
                await self.app(scope, limited, respond)
        finally:
            self._serving -= 1
            self._record(scope, seen["status"], time.perf_counter() - started)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request before its body is read, and return a `receive` that limits the body."""
        if self._serving > MOST_REQUESTS and scope["path"] != "/health":
            raise Refused(503, "the server is busy", help="Try again in a moment.", headers={"Retry-After": "5"})
        headers = Headers(scope=scope)
        address = scope["client"][0] if scope.get("client") else "unknown"
        keys = await self._keys(scope)
        required = keys is None or self.service.needs_key()
        if not required:
            _check_host(headers)
        scope["state"]["user"] = None if required else LOCAL_USER
        user = await self._user(scope, headers, address, keys, required=required)
        scope["state"]["user"] = user
        if scope["method"] not in SAFE:
            self._check_origin(scope, headers, user)
            _check_kind(scope, headers)
        return self._limited(scope, headers, receive, user)

    async def _keys(self, scope: Scope) -> Keys | None:
        """Return the keys; None if they cannot be read, and the requested URL needs no key.

        Raises:
            Refused: They cannot be read.
        """
        if not _is_open(scope):
            return await self.service.keys_now()
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                return await self.service.keys_now()
        except (Refused, TimeoutError):
            return None

    async def _user(
        self, scope: Scope, headers: Headers, address: str, keys: Keys | None, *, required: bool
    ) -> User | None:
        """Count a request, except for the page's own files, and return its user; None if none is known and none needed.

        Raises:
            Refused: A key is needed and none, or a wrong one, was sent; or there were too many requests.
        """
        if not _is_open(scope):
            return await self._known_user(scope, headers, address, keys, required=required)
        try:
            if not scope["path"].startswith(STATIC):
                async with asyncio.timeout(OPEN_SECONDS):
                    return await self._known_user(scope, headers, address, keys, required=required)
        except TimeoutError:
            pass
        except Refused as refused:
            if refused.status_code == 429:
                raise
        user: User | None = scope["state"]["user"]
        return user

    async def _known_user(
        self, scope: Scope, headers: Headers, address: str, keys: Keys | None, *, required: bool
    ) -> User | None:
        """Count a request, and return its user by key or session; None if it needs none and the keys cannot be read."""
        if not required or keys is None:
            await self.service.admit(address)
            return None if required else LOCAL_USER
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if shown and scheme.lower() == "bearer":
            shown_key = keys.find(shown.strip())
            if shown_key is None:
                await self.service.wrong_key(address)
                raise Refused(401, "this key is not known", help="`preflight keys add NAME` makes one.")
            # so that the log also names users who send too many requests
            user = scope["state"]["user"] = _user(shown_key)
            await self.service.admit(key_bucket(shown_key.id))
            return user
        key_id = await self.service.admit(address, session_token(headers))
        key = keys.by_id(key_id) if key_id else None
        if key is None:
            raise Refused(401, "a key is needed", help="Send it as `Authorization: Bearer KEY`.", code="key_needed")
        return _user(key, by_cookie=True)

    def _check_origin(self, scope: Scope, headers: Headers, user: User | None) -> None:
        """Refuse changes that a page of another origin requests with the cookies of the signed-in user."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin in self.service.options.cors and not (user and user.by_cookie):
            return
        own = (
            site in ("same-origin", "none") if site else origin is None or same_origin(origin, headers.get("host", ""))
        )
        if origin is not None and own:
            own = same_origin(origin, headers.get("host", ""))
        unsure = user is not None and user.by_cookie and site is None and origin is None
        if not own or unsure:
            raise Refused(403, "this came from a page of another origin", help="Use the page of this server.")

    def _limited(self, scope: Scope, headers: Headers, receive: Receive, user: User | None) -> Receive:
        """Return `receive` with limits on the body's size and on the time that it may take."""
        options = self.service.options
        known = options.upload_bytes if _is_upload(scope) else options.body_bytes
        limit, patience = (known, options.body_seconds) if user else (NOBODYS_BYTES, NOBODYS_SECONDS)
        refused = Refused(413, f"the body is longer than {limit:,} bytes", help="Send less at once.")
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > limit:
            raise refused
        read, done, started = 0, False, time.monotonic()

        async def limited() -> Message:
            """Return the next part of the body, within the limits."""
            nonlocal read, done
            if done:
                return await receive()
            # Each piece must arrive in time, and the whole at some speed: otherwise a byte now and then would hold the
            # connection.
            whole = started + patience + read / LEAST_BYTES_A_SECOND - time.monotonic()
            try:
                async with asyncio.timeout(min(patience, whole)):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "the body came too slowly", help="Send it again.") from None
            read += len(message.get("body", b""))
            done = not message.get("more_body", False)
            if read > limit:
                raise refused
            return message

        return limited

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a response for Prometheus, and write its line of the access log."""
        path = template(scope)
        self.service.metrics.requests.labels(scope["method"], path, str(status)).inc()
        self.service.metrics.request_seconds.labels(path).observe(seconds)
        user, client = scope.get("state", {}).get("user"), scope.get("client") or ("-",)
        name = user.name if user else "-"
        access.info("%s %s %s %s %d %.0f ms", client[0], name, scope["method"], path, status, seconds * 1000)


def session_token(headers: Mapping[str, str]) -> str:
    """Return the session's token in a request's cookies, or ""."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _user(key: Key, *, by_cookie: bool = False) -> User:
    """Return the user to whom an API key belongs."""
    return User(key.name, f"{key.name}/", write=key.write, by_cookie=by_cookie, admin=key.admin)


def template(scope: MutableMapping[str, Any]) -> str:
    """Return the template of the route that served a request, such as `/api/threads/{thread_id}`.

    It never contains text of the caller.
    """
    return getattr(scope.get("route"), "path", "other")


def _secure(message: Message, scope: Scope) -> None:
    """Add the security headers to a response; for the APIs, also the header that forbids storing it."""
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY.items():
        headers.setdefault(name, value)
    if scope["path"].startswith(("/api/", "/v1/")):
        headers.setdefault("Cache-Control", "no-store")


def _check_host(headers: Headers) -> None:
    """Refuse, without keys, all host names but this machine's own, so that no outside name can be pointed here."""
    name = host_name(headers.get("host", ""))
    if name not in LOOPBACK:
        raise Refused(421, f"this server is not {name[:80]!r}", help="Use http://127.0.0.1 with its port.")


def _is_open(scope: Scope) -> bool:
    """Return whether the requested URL needs no key."""
    return scope["path"] in OPEN or scope["path"].startswith(STATIC)


def _is_upload(scope: Scope) -> bool:
    """Return whether the request uploads files."""
    return (scope["path"], scope["method"]) == (UPLOADS, "POST")


def _check_kind(scope: Scope, headers: Headers) -> None:
    """Refuse a body that is not JSON, or not a form if it is an upload."""
    length = headers.get("content-length")
    if length == "0" or (length is None and "transfer-encoding" not in headers):
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = "multipart/form-data" if _is_upload(scope) else "application/json"
    if kind != wanted:
        raise Refused(415, f"the body is {kind[:80] or 'of no type'}", help=f"Send it as {wanted}.")
