"""The context window of a model, in tokens, as reported by its server or LangChain."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from preflight_rag.models.chat.chat_models import served_models
from preflight_rag.models.chat.runnables import models_in

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from preflight_rag.models.chat.runnables import AnyModel

WINDOW_SECONDS = 5.0
"""Timeout for listing a server's models; set by hand, for one on another continent."""
WINDOW_WAIT = 0.3
"""Seconds that a turn waits for that list; usually it arrives while the library is being opened. A guess."""
_WINDOW_FIELDS = (
    "max_model_len",
    "loaded_context_length",
    "n_ctx",
    "context_length",
    "context_window",
    "max_context_length",
)
"""Fields of servers' model entries that have the window, in order of preference: the loaded size comes before the
largest possible one."""


class ContextWindow:
    """The number of tokens that a model reads and writes in one call, if it is known.

    It is the configured number, else the smallest window of the chat models inside, since each of them may be called.

    Args:
        model: A chat model, or a Runnable around some.
        given: The configured number; without it the servers are asked.
    """

    def __init__(self, model: AnyModel, given: int | None = None) -> None:
        self._given = given
        self._windows = [] if given else [_Window(inner) for inner in models_in(model)]

    def tokens(self) -> int | None:
        """Return the number of tokens; None if it is unknown, or the server has not replied yet."""
        known = [tokens for window in self._windows if (tokens := window.tokens()) is not None]
        return self._given or min(known, default=None)


class _Window:
    """The context window from a server's list of models, else from LangChain's profile of the model.

    The list is requested while other things are being opened, so that no turn waits for it.
    """

    def __init__(self, chat_model: BaseChatModel) -> None:
        self._model = chat_model
        self._tokens: int | None = None
        self._request: threading.Thread | None = None
        base_url = getattr(chat_model, "openai_api_base", None)
        if base_url:
            self._request = threading.Thread(target=self._ask_server, args=(str(base_url),), daemon=True)
            self._request.start()

    def tokens(self) -> int | None:
        """Return the number of tokens; None if it is unknown, or the server has not replied yet."""
        if self._request is not None:
            self._request.join(WINDOW_WAIT)
            if self._request.is_alive():
                return None
            self._request = None
        if self._tokens is None:
            profile = getattr(self._model, "profile", None) or {}
            self._tokens = profile.get("max_input_tokens")
        return self._tokens

    def _ask_server(self, base_url: str) -> None:
        """Ask the server for the model's context window, and store it in `_tokens`; a failure is ignored."""
        try:
            from pydantic import SecretStr

            name, key = getattr(self._model, "model_name", ""), getattr(self._model, "openai_api_key", None)
            secret = key.get_secret_value() if isinstance(key, SecretStr) else "not-needed"
            models = served_models(base_url, secret, WINDOW_SECONDS)
            tokens = next((window_of(model.model_dump()) for model in models if model.id == name), None)
        # any error of a server's reply, or lack of memory: the call of the model itself reports what is wrong
        except Exception:
            return
        if self._tokens is None:
            self._tokens = tokens


def window_of(entry: Mapping[str, Any]) -> int | None:
    """Return the context window, in tokens, in a server's entry of a model or its `meta`; None if there is none.

    vLLM, llama.cpp, LM Studio, OpenRouter and Groq give one.
    """
    meta = entry.get("meta")
    for field in _WINDOW_FIELDS:
        for fields in (entry, meta if isinstance(meta, Mapping) else {}):
            tokens = fields.get(field)
            if isinstance(tokens, int) and tokens > 0:
                return tokens
    return None
