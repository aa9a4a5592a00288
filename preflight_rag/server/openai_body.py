"""What OpenAI clients send, and which part of it is a question to a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.server.errors import Refused
from preflight_rag.server.export import FOOTNOTES

ROUTE_OF: dict[str, str | None] = {
    "preflight": None,
    "preflight-plain": "plain",
    "preflight-map-reduce": "map-reduce",
    "preflight-corg": "corg",
}
MOST_MESSAGES = 2000


class Message(BaseModel):
    """One message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[dict[str, Any]] | None = None

    def text(self) -> str:
        """The message's text.

        Raises:
            Refused: It holds something else, such as an image.
        """
        if isinstance(self.content, list):
            return "\n".join(_text_of(part) for part in self.content)
        return self.content or ""


class StreamOptions(BaseModel):
    """Whether the stream's last chunk tells the usage."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatBody(BaseModel):
    """A chat completion; fields that mean nothing to a library (temperature, tools, ...) are passed over."""

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    thread_id: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Conversation:
    """The question, and what was said before it as `("user" | "assistant", text)`."""

    question: str
    history: tuple[tuple[str, str], ...]


def route_of(model: str) -> str | None:
    """The route that a model's name stands for.

    Raises:
        Refused: There is no such model.
    """
    if model not in ROUTE_OF:
        help = f"Use one of: {', '.join(ROUTE_OF)}."
        raise Refused(404, f"there is no model {model[:80]!r}", help=help, code="unknown_model")
    return ROUTE_OF[model]


def conversation_of(body: ChatBody) -> Conversation:
    """The last message of the user and what stands before it.

    Raises:
        Refused: There is no such message, or more than one answer is wanted.
    """
    if body.n is not None and body.n != 1:
        raise Refused(400, f"n={body.n}: a library has one answer", help="Leave out n.", code="unsupported_value")
    said = [(each.role, each.text()) for each in body.messages if each.role in ("user", "assistant")]
    last = max((place for place, (role, _) in enumerate(said) if role == "user"), default=None)
    if last is None:
        raise Refused(400, "no message is the user's", help="End with a message of role `user`.")
    return Conversation(said[last][1], tuple(said[:last]))


def without_footnotes(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The history with answers as they were before their sources were set under them; empty messages are left out."""
    plain = ((role, FOOTNOTES.sub("", text).strip() if role == "assistant" else text) for role, text in history)
    return [(role, text) for role, text in plain if text.strip()]


def _text_of(part: dict[str, Any]) -> str:
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type"))[:40]
    raise Refused(
        400, f"a message holds {kind!r}", help="Only text is read; leave the rest out.", code="unsupported_content"
    )
