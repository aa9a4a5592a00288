"""The HTTP server over one library: the web page, the API under `/api`, and OpenAI's API under `/v1`.

`create_app` returns the ASGI application, `serve` runs it. The files, in the order in which a request meets them:

    gate.py        every request: host, origin, user, rate, size of the body; headers, metrics and the access log
    access.py      permissions: keys, users, addresses
    shared.py      state that several servers share: sessions of the page, buckets of requests and tokens
    turns.py, threads.py, library.py, uploads.py, info.py    routes under /api
    overviews.py, web_fetch.py    overviews of documents and questions they answer; documents by their web address
    several.py     several libraries behind one address
    openai.py      routes under /v1
    service.py     the parts of one server; dependencies.py passes them, and the user, to the routes
    options.py, metrics.py, running_turns.py, conversations.py    its limits, numbers, turns, OpenAI clients' threads
    errors.py      errors as responses; markdown.py renders answers as HTML
    page/          the web page
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from preflight_rag.server.app import create_app, serve
    from preflight_rag.server.options import ServerOptions

_HOME = {
    "ServerOptions": "preflight_rag.server.options",
    "create_app": "preflight_rag.server.app",
    "serve": "preflight_rag.server.app",
}

__all__ = ["ServerOptions", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: FastAPI takes a while."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_extra("serve", "preflight_rag.server")
    return getattr(import_module(_HOME[name]), name)
