"""Connections of a chat model's client, which must not outlive the event loop that they were opened in."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel


def renew_connections(chat_model: BaseChatModel) -> None:
    """Give an OpenAI client a pool of its own; call it at the start of each event loop.

    langchain-openai shares one pool over all event loops of a process. Connections that stay in it from a loop that is
    closed fail in the next one. Other providers' clients are left as they are.
    """
    client: Any = getattr(chat_model, "root_async_client", None)
    if client is None or chat_model._llm_type != "openai-chat":
        return
    from openai import DefaultAsyncHttpxClient

    renewed = client.with_options(http_client=DefaultAsyncHttpxClient())
    model: Any = chat_model
    model.root_async_client, model.async_client = renewed, renewed.chat.completions
