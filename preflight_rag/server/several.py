"""Several libraries behind one address: each has an application of its own, and a request names its library.

The page names it in a header, since two tabs may show two libraries; links in the page, such as one to a document's
file, use the cookie that the last choice has set. A program sends the header, or is served the first library. Keys,
conversations, limits and uploads belong to one library.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from preflight_rag.library.opening import DATABASE
from preflight_rag.server.errors import Refused, error_response
from preflight_rag.state.errors import LibraryMissing, UsageError

HEADER = "X-Preflight-Library"
COOKIE = "preflight_library"
MOST = 50
"""Most libraries of one server, each of which keeps its index in memory; a guess."""


def libraries_in(folder: Path) -> dict[str, Path]:
    """Return the libraries that lie in a folder, by name.

    Raises:
        LibraryMissing: There is none.
        UsageError: There are more than one server should have.
    """
    try:
        found = {each.name: each for each in sorted(folder.iterdir()) if (each / DATABASE).is_file()}
    except OSError:
        found = {}
    if not found:
        help = "Make one with `preflight ingest PATH --library FOLDER/NAME`."
        raise LibraryMissing(f"there is no library in the folder {folder}", help=help)
    if len(found) > MOST:
        help = f"Serve at most {MOST} together; move some to a folder of their own."
        raise UsageError(f"{folder} holds {len(found)} libraries", help=help)
    return found


class Several:
    """The ASGI application that passes each request to that of its library.

    Args:
        apps: Applications by library name; the first is for requests that name none.
    """

    def __init__(self, apps: Mapping[str, FastAPI]) -> None:
        self.apps = dict(apps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the start and stop of all applications."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        headers = Headers(scope=scope)
        name = unquote(headers.get(HEADER, ""))
        # A cookie may name a library that no longer exists; a header must name an existing one.
        app = self.apps.get(name or _from_cookie(headers.get("cookie", "")))
        if name and app is None:
            missing = Refused(404, f"there is no library {name[:100]!r} here", help="GET /api/info lists them.")
            await error_response(missing, scope["path"])(scope, receive, send)
            return
        await (app or next(iter(self.apps.values())))(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start every library's application, and stop them all when the server stops (ASGI's lifespan)."""
        await receive()
        try:
            async with AsyncExitStack() as stack:
                for app in self.apps.values():
                    await stack.enter_async_context(app.router.lifespan_context(app))
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})


def _from_cookie(cookies: str) -> str:
    """Return the library that the cookie names, or an empty string."""
    try:
        found = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return ""
    return unquote(found.value) if found else ""
