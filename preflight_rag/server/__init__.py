"""The HTTP server over one library: the web page, the API under `/api`, and OpenAI's API under `/v1`.

`create_app` gives the ASGI application, `serve` runs it. What is here, in the order of a request's way:

    gate.py        every request: host, origin, user, rate, size of the body; headers, metrics and the access log
    users.py       who asks: keys of `keys.py`, sessions of the page
    ask.py, threads.py, documents.py, info.py    routes under /api
    openai_chat.py, openai_embeddings.py         routes under /v1
    running.py     the turns that are being taken, and how they are stopped
    sse.py         their events as server-sent events; markdown.py renders answers
    page/          the web page
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.server.app import create_app
    from preflight_rag.server.options import ServerOptions
    from preflight_rag.server.run import serve

_HOME = {
    "ServerOptions": "preflight_rag.server.options",
    "create_app": "preflight_rag.server.app",
    "serve": "preflight_rag.server.run",
}

__all__ = ["ServerOptions", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: FastAPI takes a while."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
