"""What a call of a chat model cost: as its server reports it, else estimated from the texts."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from preflight_rag.state.values import Usage


def usage_of(prompt: list[BaseMessage], message: AIMessage, seconds: float) -> Usage:
    """Return the cost of a call: with the token counts that its server reports, else with estimated ones."""
    reported = message.usage_metadata
    if reported and reported["input_tokens"]:
        return Usage(
            calls=1, input_tokens=reported["input_tokens"], output_tokens=reported["output_tokens"], seconds=seconds
        )
    return estimated_usage(prompt, [message], seconds)


def cached_tokens(message: AIMessage) -> int:
    """Return how many of a prompt's tokens were in the server's cache; 0 if the server does not report it."""
    usage = message.usage_metadata
    details = usage.get("input_token_details") if usage else None
    return (details.get("cache_read") or 0) if details else 0


def estimated_usage(prompt: list[BaseMessage], reply: Sequence[BaseMessage], seconds: float) -> Usage:
    """Return a call's cost with tokens estimated from the texts of prompt and reply (about four characters each)."""
    return Usage(
        calls=1,
        input_tokens=count_tokens_approximately(prompt),
        output_tokens=count_tokens_approximately(reply),
        estimated=bool(prompt or reply),
        seconds=seconds,
    )
