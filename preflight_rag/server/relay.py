"""The middleware of `preflight serve --workers N` that hands on what another worker has to answer (`siblings.py`)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from preflight_rag.server import model_entry
from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, error_response
from preflight_rag.server.service import Service
from preflight_rag.server.siblings import OWN, Siblings
from preflight_rag.state.errors import UsageError

OF_THE_FIRST, READ_OF_THE_FIRST = ("/api/uploads", "/api/documents", "/api/model"), ("/api/uploads",)
"""What the first worker changes, and what it alone knows."""
_THREAD = re.compile(r"/api/threads/(?P<id>.+?)(?:/(?:events|stop))?")


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
        """The worker that has to answer, where it is not this one."""
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
        """What only workers ask."""
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
