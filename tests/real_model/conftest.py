"""The same small model behind llama.cpp's HTTP server and in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from server_fixtures import small_folder
from small_model import CONTEXT, ModelServer, model_path, model_server

from preflight_rag import Preflight
from preflight_rag.models.chat.chat_models import open_chat_model

__all__ = ["small_folder"]
REPLY_TOKENS = 32
"""Of each reply, so that no test waits long; one that is cut there is no whole one, which a turn may say."""
LONG_TOKENS = 3000
"""Of a reply that is stopped: it would not end by itself meanwhile."""
SOON = 8.0
"""Seconds in which a slot is free after its reader has gone: one, and what a busy machine makes of it. A reply that
went on would take minutes."""


@dataclass(frozen=True)
class RealModel:
    """A model to ask, how many calls it works on, and its settings in the environment of another process.

    llama.cpp's server reads a prompt to its end before it notices that nobody waits for the reply: `notices` seconds.
    """

    chat_model: object
    busy: Callable[[], int]
    environment: dict[str, str]
    notices: float = SOON

    def is_free_soon(self, *, reading: bool = False) -> bool:
        """Whether its slots are free after a moment, or after what it takes to notice while it is reading a prompt."""
        until = time.monotonic() + (self.notices if reading else SOON)
        while (busy := self.busy()) and time.monotonic() < until:
            time.sleep(0.05)
        return not busy


@pytest.fixture(scope="session")
def http_server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="session", params=["http", "in process"])
def real_model(request) -> RealModel:
    if request.param == "http":
        server = request.getfixturevalue("http_server")
        chat = open_chat_model("openai:", base_url=server.url)
        changes = {"max_tokens": REPLY_TOKENS, "stream_usage": True}
        environment = {"OPENAI_BASE_URL": server.url, "PREFLIGHT_MODEL": "openai:"}
        return RealModel(chat.model_copy(update=changes), server.busy, environment, notices=60.0)
    name = f"gguf:{model_path()}"
    chat = open_chat_model(name, context_window=CONTEXT)
    # In another process nothing but the context ends a reply that goes on and on.
    environment = {"PREFLIGHT_MODEL": name, "PREFLIGHT_CONTEXT_WINDOW": "1024"}
    return RealModel(chat.model_copy(update={"max_tokens": REPLY_TOKENS}), chat.loaded.busy, environment)


@pytest.fixture
def app(small_folder, real_model, embedder):
    """A library of a few sentences with the model: prompts are little more than their instructions."""
    settings = {"k": 2, "turn_seconds": 120, "max_concurrency": 2, "corg": False}
    with Preflight.open(small_folder, real_model.chat_model, embedder=embedder, **settings) as opened:
        yield opened


@pytest.fixture
def slow_app(small_folder, real_model, embedder):
    """The same, whose model writes on and on."""
    endless = real_model.chat_model.model_copy(update={"max_tokens": LONG_TOKENS})
    with Preflight.open(small_folder, endless, embedder=embedder, route="plain", corg=False) as opened:
        yield opened
