"""OpenAI's API under `/v1`: chat completions, models and embeddings, for any client that speaks it."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import uuid4

import numpy as np
from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from openai.types import CompletionUsage, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_chunk import Choice as ChunkChoice
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.graph.events import TokenEvent
from preflight_rag.graph.locks import validate_thread_id
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, error_body
from preflight_rag.server.service import Event, Item, Outcome, RunningTurn, Service, ServiceOf, Stopped, UserOf
from preflight_rag.server.threads import footnotes, strip_footnotes
from preflight_rag.server.turns import (
    STILL_HERE,
    TurnStream,
    answer_json,
    checked_settings,
    clarification_json,
    finish,
    first_item,
    items,
    with_instructions,
)
from preflight_rag.state.values import Answer, Clarification

router = APIRouter(prefix="/v1", tags=["OpenAI"])
THREAD_HEADER = "X-Preflight-Thread"
OWNER = "preflight-rag"
ROUTE_OF: dict[str, str | None] = {
    "preflight": None,
    "preflight-plain": "plain",
    "preflight-map-reduce": "map-reduce",
    "preflight-corg": "corg",
}
INSTRUCTING = ("system", "developer")
MOST_MESSAGES = 2000  # a guess; a body of 1 MB rarely holds more
MOST_TEXTS = 2048  # as OpenAI's own API


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
    """Whether the stream's last chunk holds the usage."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatBody(BaseModel):
    """A chat completion; fields that mean nothing to a library (temperature, tools, ...) are passed over.

    OpenAI's own type of a request is stricter: it would refuse what is passed over here.
    """

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
    """The question, the messages before it as `("user" | "assistant", text)`, and what says how to write."""

    question: str
    history: tuple[tuple[str, str], ...]
    instructions: tuple[str, ...] = ()


class EmbeddingsBody(BaseModel):
    """Texts to embed; `input_type` is for embedders that read queries and passages in different ways."""

    model_config = ConfigDict(extra="ignore")

    model: str
    input: str | list[str] | list[int] | list[list[int]] = Field(description="A text, or several.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["query", "passage"] = "passage"


@router.get("/models", response_model=None)
def models(service: ServiceOf) -> dict[str, Any]:
    """The models: `preflight`, one for each route, and the library's embedder."""
    return {"object": "list", "data": [_model(name) for name in (*ROUTE_OF, service.preflight.library.embedder.name)]}


@router.get("/models/{name:path}", response_model=None)
def model(name: str, service: ServiceOf) -> dict[str, Any]:
    """One model."""
    if name != service.preflight.library.embedder.name:
        route_of(name)
    return _model(name)


@router.post("/chat/completions", response_model=None)
async def complete(
    body: ChatBody,
    request: Request,
    service: ServiceOf,
    user: UserOf,
    x_preflight_thread: Annotated[str | None, Header()] = None,
) -> Response:
    """Take a turn as a chat completion; sources are footnotes, and structured in the extra field `preflight`."""
    route = route_of(body.model)
    conversation = conversation_of(body)
    settings = checked_settings(body.settings | ({"route": route} if route else {}), service)
    settings = with_instructions(settings, service, *conversation.instructions)
    given = body.thread_id or x_preflight_thread
    known = given or await asyncio.to_thread(_known_thread, service, user, conversation)
    shown = known or f"v1-{uuid4().hex[:12]}"
    thread_id = user.thread(validate_thread_id(shown))
    history = [] if known else without_footnotes(conversation.history)

    def start() -> AsyncGenerator[Event, None]:
        return service.preflight.astream(
            conversation.question,
            thread_id=thread_id,
            history=history,
            discard=True,
            tokens=bool(body.stream),
            **settings,
        )

    def remember(text: str, turn: int) -> None:
        if not given:
            whole = (*conversation.history, ("user", conversation.question), ("assistant", text))
            service.conversations.remember(user.name, whole, shown, turn)

    completion = Completion(body, user, service.options.heartbeat_seconds, remember)
    turn = service.running.start(thread_id, start)
    headers = {THREAD_HEADER: shown.encode("ascii", "replace").decode()}
    if not body.stream:
        return JSONResponse(completion.whole(await finish(turn, request)), headers=headers)
    return TurnStream(turn, completion.chunks(turn, await first_item(turn)), headers)


@router.post("/embeddings", response_model=None)
def embeddings(body: EmbeddingsBody, service: ServiceOf) -> dict[str, Any]:
    """Vectors of texts, as the library's own passages have them; OpenAI's type of it has no place for base64."""
    embedder = service.preflight.library.embedder
    texts = _texts(body, embedder)
    if body.input_type == "query":
        vectors = np.stack([embedder.encode_query(text) for text in texts])
    else:
        vectors = embedder.encode_passages(texts)
    tokens = sum(embedder.count_tokens(text) for text in texts)
    data = [
        {"object": "embedding", "index": place, "embedding": _encoded(vector, body.encoding_format)}
        for place, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": embedder.name, "usage": usage}


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
    messages = [(each.role, each.text()) for each in body.messages if each.role in ("user", "assistant")]
    last = max((place for place, (role, _) in enumerate(messages) if role == "user"), default=None)
    if last is None:
        raise Refused(400, "no message is the user's", help="End with a message of role `user`.")
    told = tuple(each.text() for each in body.messages if each.role in INSTRUCTING)
    return Conversation(messages[last][1], tuple(messages[:last]), told)


def without_footnotes(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The history with answers as they were before their sources were set under them; empty messages are left out."""
    plain = ((role, strip_footnotes(text) if role == "assistant" else text) for role, text in history)
    return [(role, text) for role, text in plain if text.strip()]


def _known_thread(service: Service, user: User, conversation: Conversation) -> str | None:
    """The thread that a conversation goes on with, as long as it has had no other turn since."""
    thread_id, turns = service.conversations.take(user.name, conversation.history) or ("", 0)
    last = service.preflight.ledger.last(user.thread(thread_id)) if thread_id else None
    return thread_id if last is not None and last.turn == turns else None


@dataclass
class Completion:
    """A turn in OpenAI's form.

    Attributes:
        body: The request.
        user: Who asks.
        heartbeat: Seconds of silence after which a comment is sent.
        remember: Called with the whole text of the answer and the turn's number, once they are known.
    """

    body: ChatBody
    user: User
    heartbeat: float
    remember: Callable[[str, int], None]

    def __post_init__(self) -> None:
        self._id = f"chatcmpl-{uuid4().hex}"
        self._created = int(time.time())

    def whole(self, outcome: Outcome) -> dict[str, Any]:
        """The body of a completion that is not streamed.

        Raises:
            Exception: What the turn failed with.
        """
        if isinstance(outcome, Stopped):
            raise Refused(409, "the turn was stopped", code="stopped")
        if isinstance(outcome, Exception):
            raise outcome
        text = self._text(outcome)
        self.remember(text, outcome.turn)
        fields = {"role": "assistant", "content": text, "refusal": None, "preflight": self._extra(outcome)}
        message = ChatCompletionMessage.model_validate(fields)
        return ChatCompletion(
            id=self._id,
            object="chat.completion",
            created=self._created,
            model=self.body.model,
            choices=[Choice(index=0, message=message, logprobs=None, finish_reason="stop")],
            usage=_usage(outcome),
        ).model_dump(mode="json", exclude_unset=True)

    async def chunks(self, turn: RunningTurn, first: Item | None) -> AsyncIterator[bytes]:
        """The chunks of a stream, then `[DONE]`; an error comes in the form that OpenAI gives it within a stream."""
        text = ""
        yield self._chunk(ChoiceDelta(role="assistant", content=""))
        async for item in items(turn, first, lambda: self.heartbeat):
            if item is None:
                yield STILL_HERE
            elif isinstance(item, TokenEvent):
                text += item.text
                yield self._chunk(ChoiceDelta(content=item.text))
            elif isinstance(item, Stopped):
                yield self._chunk(ChoiceDelta(), "stop")
            elif isinstance(item, Exception):
                yield _data(error_body(item, "/v1"))
            elif isinstance(item, Answer | Clarification):
                rest = self._rest(item, text)
                if rest:
                    yield self._chunk(ChoiceDelta(content=rest))
                self.remember(text + rest, item.turn)
                yield self._chunk(ChoiceDelta(), "stop", preflight=self._extra(item))
                if self.body.stream_options and self.body.stream_options.include_usage:
                    yield self._data_of([], usage=_usage(item))
        yield b"data: [DONE]\n\n"

    def _text(self, item: Answer | Clarification) -> str:
        return choices(item) if isinstance(item, Clarification) else item.answer + footnotes(item.citations)

    def _rest(self, item: Answer | Clarification, sent: str) -> str:
        """What a stream still lacks of the text."""
        if isinstance(item, Clarification):
            return f"\n\n{choices(item)}" if sent.strip() else choices(item)
        return footnotes(item.citations) if sent.strip() else self._text(item)

    def _extra(self, item: Answer | Clarification) -> dict[str, Any]:
        if isinstance(item, Clarification):
            return {"clarification": clarification_json(item, self.user)}
        return answer_json(item, self.user)

    def _chunk(self, delta: ChoiceDelta, finish_reason: Literal["stop"] | None = None, **more: Any) -> bytes:
        return self._data_of([ChunkChoice(index=0, delta=delta, logprobs=None, finish_reason=finish_reason)], **more)

    def _data_of(self, chunk_choices: list[ChunkChoice], **more: Any) -> bytes:
        chunk = ChatCompletionChunk(
            id=self._id,
            object="chat.completion.chunk",
            created=self._created,
            model=self.body.model,
            choices=chunk_choices,
            **more,
        )
        return _data(chunk.model_dump(mode="json", exclude_unset=True))


def choices(asked: Clarification) -> str:
    """A question back to the person, with numbered choices."""
    lines = [f"{place}. {choice.label}" for place, choice in enumerate(asked.choices, 1)]
    return "\n".join([asked.question, "", *lines, "", 'Answer with a number, a name, or "all".'])


def _usage(item: Answer | Clarification) -> CompletionUsage:
    read, written = (
        (0, 0) if isinstance(item, Clarification) else (item.receipt.input_tokens, item.receipt.output_tokens)
    )
    return CompletionUsage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


def _model(name: str) -> dict[str, Any]:
    return Model(id=name, object="model", created=0, owned_by=OWNER).model_dump(mode="json")


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _texts(body: EmbeddingsBody, embedder: Embedder) -> list[str]:
    if body.model not in (embedder.name, embedder.name.split("/")[-1], *ROUTE_OF):
        help = f"Use {embedder.name!r}."
        raise Refused(404, f"there is no embedding model {body.model[:80]!r}", help=help, code="unknown_model")
    if body.dimensions not in (None, embedder.dimension):
        help = f"Leave it out: vectors have {embedder.dimension}."
        raise Refused(400, f"dimensions={body.dimensions} is not offered", help=help)
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not texts or len(texts) > MOST_TEXTS:
        raise Refused(400, f"{len(texts)} texts cannot be embedded at once", help=f"Send 1 to {MOST_TEXTS}.")
    plain = [text for text in texts if isinstance(text, str)]
    if len(plain) != len(texts):
        help = "Send text; in LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False."
        raise Refused(400, "token numbers cannot be embedded", help=help)
    if not all(text.strip() for text in plain):
        raise Refused(400, "an empty text cannot be embedded", help="Leave it out.")
    return plain


def _encoded(vector: np.ndarray, encoding: str) -> list[float] | str:
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]


def _text_of(part: dict[str, Any]) -> str:
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type"))[:40]
    raise Refused(
        400, f"a message holds {kind!r}", help="Only text is read; leave the rest out.", code="unsupported_content"
    )
