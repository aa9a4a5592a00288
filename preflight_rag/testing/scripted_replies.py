"""Replies of a scripted chat model, and their bodies as an OpenAI-compatible server sends them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server sends back for one request.

    `delay` seconds pass before the first byte (`math.inf`: it never comes), `header_delay` before each byte of the
    headers, and `chunk_delay` before each streamed word. A `status` of 400 or more sends `text` as the message of an
    error in OpenAI's form, with `code` if given. `raw` replaces the whole body, and `content_length` says how long the
    body is, true or not. `drop_after` closes the connection after that many streamed words, or bytes of a reply that
    is not streamed; with `reset` it is not closed but broken (RST). An `endless` reply is written again and again
    until the client goes away; one that is not streamed then never gets to its body. `tool_calls` are names and
    arguments of tools that the model calls; the text is then left out. `finish_reason=None` ends the reply without one.
    """

    text: str = "ok"
    delay: float = 0.0
    status: int = 200
    finish_reason: str | None = "stop"
    usage: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | bytes | None = None
    drop_after: int | None = None
    chunk_delay: float = 0.0
    refusal: str | None = None
    content_null: bool = False
    code: str | None = None
    tool_calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    header_delay: float = 0.0
    content_length: int | None = None
    reset: bool = False
    endless: bool = False


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return all message texts of a request, one after another."""
    texts = []
    for message in body.get("messages", []):
        content = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        texts.extend(parts)
    return "\n".join(texts)


def tokens(text: str) -> int:
    """Return an estimate of a text's tokens."""
    return max(1, len(text) // 4)


def within_limit(reply: Reply, body: Mapping[str, Any]) -> Reply:
    """Return the reply of a model that stops at the request's token limit."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if limit is None or (tokens(reply.text) <= limit and not reply.endless):
        return reply
    text = reply.text
    if reply.endless:
        text = " ".join([text] * (4 * limit // max(1, len(text)) + 1))
    return replace(reply, text=text[: 4 * limit], finish_reason="length", endless=False)


def usage(reply: Reply, body: Mapping[str, Any]) -> dict[str, int]:
    """Return the token counts of a request and its reply."""
    read, written = tokens(prompt_of(body)), tokens(reply.text)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def completion(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a reply that is not streamed."""
    content = None if reply.content_null or reply.refusal is not None or reply.tool_calls else reply.text
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": reply.refusal}
    message |= {"tool_calls": _calls(reply)} if reply.tool_calls else {}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    counted = {"usage": usage(reply, body)} if reply.usage else {}
    return {**_head(body, "chat.completion"), "choices": [choice], **counted}


def deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    """Yield the streamed pieces of a reply, word by word.

    Joined they are the reply; an endless reply repeats them.
    """
    if reply.refusal is not None:
        yield {"role": "assistant", "content": None, "refusal": reply.refusal}
    elif reply.tool_calls:
        yield {"role": "assistant", "content": None, "tool_calls": _calls(reply)}
    elif reply.content_null:
        yield {"role": "assistant", "content": None}
    else:
        words = re.findall(r"(?<!\s)\s*+\S++(?:\s++$)?", reply.text) or [reply.text]
        yield {"role": "assistant", "content": words[0]}
        yield from ({"content": word} for word in words[1:])
        while reply.endless:
            yield from ({"content": word if word[:1].isspace() else f" {word}"} for word in words)


def chunk(body: Mapping[str, Any], delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """Return one event of a streamed reply."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_head(body, "chat.completion.chunk"), "choices": [choice]}


def _calls(reply: Reply) -> list[dict[str, Any]]:
    """Return the tool calls of a reply in OpenAI's form."""
    functions = [{"name": name, "arguments": json.dumps(given)} for name, given in reply.tool_calls]
    return [
        {"index": at, "id": f"call-{at}", "type": "function", "function": function}
        for at, function in enumerate(functions)
    ]


def _head(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the common fields of a completion or chunk."""
    return {"id": "chatcmpl-scripted", "object": kind, "created": int(time.time()), "model": body["model"]}
