"""A chat model's HTTP client for each event loop.

A client's connections stay with the loop that opened them, and langchain-openai shares one client among all models of
an address. An application that answers on a loop of its own, beside an agent on another one with the same model, would
take up the other's connections; so a model is copied for each loop, with a client of its own.

The copies have no time limit between the chunks of a stream: langchain-openai keeps it with `asyncio.wait_for`, which
in Python 3.11 swallows a cancellation that comes together with a chunk. A reader's deadline bounds the call anyway.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class OwnClients:
    """The copies of a model, by loop."""

    def __init__(self) -> None:
        self._copies: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = WeakKeyDictionary()

    def of(self, model: BaseChatModel) -> BaseChatModel:
        """The model for the loop that runs; itself where it has no client of OpenAI's, or one that the user gave it."""
        loop = asyncio.get_running_loop()
        original, copy = self._copies.get(loop, (None, None))
        if original is not model:
            copy = _with_own_client(model)
            self._copies[loop] = (model, copy)
        own: BaseChatModel = copy
        return own


def _with_own_client(model: Any) -> Any:
    client = getattr(model, "root_async_client", None)
    if client is None or getattr(model, "http_async_client", None) is not None:
        return model
    from openai import DefaultAsyncHttpxClient

    own = client.with_options(http_client=DefaultAsyncHttpxClient(base_url=client.base_url, timeout=client.timeout))
    changes = {"root_async_client": own, "async_client": own.chat.completions, "stream_chunk_timeout": None}
    known = type(model).model_fields
    return model.model_copy(update={name: value for name, value in changes.items() if name in known})
