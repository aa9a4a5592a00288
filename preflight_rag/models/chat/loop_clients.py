"""An HTTP client of a chat model for each event loop, without redirects to other servers and without long waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from preflight_rag.models.chat.model_errors import requested_wait_seconds
from preflight_rag.models.chat.runnables import with_models

if TYPE_CHECKING:
    from preflight_rag.models.chat.runnables import AnyModel

M = TypeVar("M", bound="AnyModel")
LONGEST_WAIT = 20.0
"""Longest wait in seconds that a server may request before a retry (Retry-After); a longer one becomes an error. A
guess at how long a person waits."""


class LoopLocalClients:
    """Copies of a model for each event loop, with HTTP clients of their own.

    A client's connections belong to the loop that opened them, and langchain-openai shares one client among all models
    of an address. An application that answers on a loop of its own, beside an agent on another one with the same model,
    would use the other's connections; so a model is copied for each loop.

    The copies have no time limit between the chunks of a stream: langchain-openai implements it with
    `asyncio.wait_for`, which in Python 3.11 swallows a cancellation that comes together with a chunk. A reader's
    deadline limits the call anyway.
    """

    def __init__(self) -> None:
        self._copies: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = WeakKeyDictionary()
        self._http: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()

    def of(self, model: M) -> M:
        """Return the copy of the model for the running event loop.

        The model itself is returned if it has no client of OpenAI's, or one that the user has set.
        """
        loop = asyncio.get_running_loop()
        original, copy = self._copies.get(loop, (None, None))
        if original is not model:
            clients = self._http.setdefault(loop, {})
            copy = with_models(model, lambda inner: _with_loop_client(inner, clients))
            self._copies[loop] = (model, copy)
        copy_of_loop: M = copy
        return copy_of_loop

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a client that is used again opens new ones."""
        loop = asyncio.get_running_loop()
        self._copies.pop(loop, None)
        for client in self._http.pop(loop, {}).values():
            await client.aclose()


def _redirect_guard(base_url: Any) -> Callable[[Any], Awaitable[None]]:
    """Return a request hook that raises an error when a redirect would send a prompt to another server."""

    async def refuse_other_server(request: Any) -> None:
        """Raise an error for a request to another server than that of the base URL."""
        if (request.url.scheme, request.url.host, request.url.port) != (base_url.scheme, base_url.host, base_url.port):
            raise ConnectionError(f"it sends requests on to {request.url.host}, which was not named")

    return refuse_other_server


async def _forbid_long_retry(response: Any) -> None:
    """Keep the client from retrying if a response requests a long wait, so that its error is raised at once."""
    if response.status_code in (429, 503) and requested_wait_seconds(response.headers) > LONGEST_WAIT:
        response.headers["x-should-retry"] = "false"


def _with_loop_client(model: Any, clients: dict[str, Any]) -> Any:
    """Return a copy of a chat model that uses one of an event loop's clients; a missing client is added to `clients`.

    Models with the same address and timeout share a client. The model itself is returned if it has no client of
    OpenAI's, or one that the user has set.
    """
    client = getattr(model, "root_async_client", None)
    if client is None or getattr(model, "http_async_client", None) is not None:
        return model
    from openai import DefaultAsyncHttpxClient

    key = f"{client.base_url} {client.timeout!r}"
    if key not in clients:
        hooks: dict[str, list[Any]] = {"request": [_redirect_guard(client.base_url)], "response": [_forbid_long_retry]}
        clients[key] = DefaultAsyncHttpxClient(base_url=client.base_url, timeout=client.timeout, event_hooks=hooks)
    loop_client = client.with_options(http_client=clients[key])
    changes = {
        "root_async_client": loop_client,
        "async_client": loop_client.chat.completions,
        "stream_chunk_timeout": None,
    }
    fields = type(model).model_fields
    return model.model_copy(update={name: value for name, value in changes.items() if name in fields})
