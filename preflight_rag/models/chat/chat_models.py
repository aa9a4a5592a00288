"""Opening of chat models by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from preflight_rag.models.chat.model_errors import in_our_words, shown_address
from preflight_rag.state.errors import ModelAuthError, UnknownModel, first_line

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from openai.types import Model

OFFLINE = "offline"
DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
MAX_RETRIES = 2
"""Retries by the client after the first attempt; the graph's nodes add none of their own."""
_OPENAI_REASONING_MODEL = re.compile(r"o\d")
"""The beginning of a name such as "o3-mini"."""


def model_name(name: str | None, environ: Mapping[str, str] | None = None) -> str:
    """Return the model of a run: the given name, else `PREFLIGHT_MODEL`, else OpenAI's if configured, else offline.

    Returns:
        `offline` or `provider:name`; only `openai:` if a server is configured, which then chooses the model.

    Raises:
        UnknownModel: The name has another form.
    """
    environ = os.environ if environ is None else environ
    name = name or environ.get("PREFLIGHT_MODEL")
    if not name:
        if environ.get("OPENAI_BASE_URL"):
            return "openai:"
        return f"openai:{DEFAULT_OPENAI_MODEL}" if environ.get("OPENAI_API_KEY") else OFFLINE
    if name == OFFLINE:
        return OFFLINE
    provider, separator, model = name.partition(":")
    if not separator or not provider or (not model and provider != "openai"):
        help = "Write provider:name, as in openai:gpt-4.1-mini, gguf:PATH for a file on this machine, or offline."
        raise UnknownModel(f"model {name!r} is unknown", help=help)
    return name


def open_chat_model(
    name: str,
    *,
    timeout: float = 120.0,
    temperature: float = 0.0,
    base_url: str | None = None,
    key: str | None = None,
    context_window: int | None = None,
) -> BaseChatModel:
    """Open the LangChain chat model of a name in the form `provider:name`.

    `openai:` uses any OpenAI-compatible server through `OPENAI_BASE_URL`; without a model's name, the server's first
    one is used. `gguf:PATH` opens a model's file in this process. Other providers go through
    `langchain.chat_models.init_chat_model`.

    Args:
        name: A name as returned by `model_name`.
        timeout: Timeout of a call in seconds.
        temperature: Sampling temperature; not sent to OpenAI's reasoning models, which accept none.
        base_url: Address of an OpenAI-compatible server, instead of the environment's; the environment's key is never
            sent there.
        key: Key for that server; None if it needs none.
        context_window: Tokens that a model in this process reads and writes in one call; servers have their own.

    Raises:
        ModelAuthError: OpenAI's own server is to be called, and there is no key.
        UnknownModel: The provider's integration is not installed, or the server offers no model.
        UsageError: The extra `local` is not installed, and the model is a file.
        LocalModelError: The file is missing, damaged, or larger than the available memory.
    """
    provider, _, model = name.partition(":")
    if provider == "gguf":
        from preflight_rag.models.chat.local_model import LocalModel

        return LocalModel.open(model, context=context_window, temperature=temperature, timeout=timeout)
    if provider != "openai":
        return _open_other_provider(name, temperature)
    from pydantic import SecretStr

    from preflight_rag.models.chat.openai_model import OpenAIModel

    if base_url is None:
        base_url = os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY")
    key = key or ("not-needed" if base_url else None)
    if key is None:
        raise ModelAuthError(
            "no key for OpenAI",
            help="Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or --model offline.",
        )
    secret = SecretStr(key)
    model = model or (_first_served_model(base_url, key) if base_url else DEFAULT_OPENAI_MODEL)
    accepts_temperature = base_url or not _OPENAI_REASONING_MODEL.match(model)
    return OpenAIModel(
        model=model,
        api_key=secret,
        base_url=base_url,
        timeout=timeout,
        max_retries=MAX_RETRIES,
        temperature=temperature if accepts_temperature else None,
    )


def _first_served_model(base_url: str, key: str) -> str:
    """Return the name of the first model that an OpenAI-compatible server lists; errors become a `ModelError`."""
    try:
        models = served_models(base_url, key, timeout=10)
    except Exception as error:  # errors of the SDK, and any error that its parser has with a wrong server's reply
        raise in_our_words(error, f"{shown_address(base_url)} (asked for its models)", base_url=base_url) from error
    if not models:
        raise UnknownModel(
            f"the server at {shown_address(base_url)} offers no model", help="Name one: --model openai:NAME."
        )
    return models[0].id


def served_models(base_url: str, key: str, timeout: float) -> list[Model]:
    """Return the models that an OpenAI-compatible server lists; raise the client's error if there is no list."""
    import openai

    with openai.OpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=1) as client:
        return client.models.list().data


def _open_other_provider(name: str, temperature: float) -> BaseChatModel:
    """Open a model of another provider, e.g. `anthropic:NAME`, through LangChain; errors become `UnknownModel`."""
    provider = name.partition(":")[0]
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise UnknownModel(
            f"model {name!r} needs LangChain's integration for {provider!r}",
            help=f"Install it: pip install langchain langchain-{provider.replace('_', '-')}.",
        ) from None
    try:
        chat_model: BaseChatModel = init_chat_model(name, temperature=temperature)
    except (ImportError, ValueError) as error:
        help = "Check --model: provider:name, as in openai:gpt-4.1-mini, gguf:PATH, or offline."
        raise UnknownModel(f"model {name!r} cannot be opened: {first_line(error)}", help=help) from error
    return chat_model
