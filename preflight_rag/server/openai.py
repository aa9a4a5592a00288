"""OpenAI's API under `/v1`: chat completions and models, for any client that uses it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from openai.types import CompletionUsage, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_chunk import Choice as ChunkChoice
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.graph.events import TokenEvent
from preflight_rag.server.client_tasks import task_of
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.description import STREAMED
from preflight_rag.server.errors import Refused, error_body
from preflight_rag.server.openai_requests import (
    MOST_MESSAGES,
    ROUTE_OF,
    Conversation,
    Message,
    SamplingBody,
    TurnRequest,
    as_mapping,
    known_thread,
    route_of,
    take_task,
    turn_settings,
    within_reach,
)
from preflight_rag.server.replies import FinishReason, ReplyEnd, ReplyRequest
from preflight_rag.server.running_turns import Item, Outcome, RunningTurn, StoppedTurn, is_last
from preflight_rag.server.structured import format_of
from preflight_rag.server.turns import STILL_HERE, STREAM_HEADERS, TurnStream, finish, first_item, items
from preflight_rag.threads.locks import validate_thread_id

router = APIRouter(prefix="/v1", tags=["OpenAI"])
OWNER = "preflight-rag"
DONE = b"data: [DONE]\n\n"


class StreamOptions(BaseModel):
    """Whether the stream's last chunk contains the usage."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatBody(SamplingBody):
    """The body of a chat completion."""

    messages: list[Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream_options: StreamOptions | None = None
    n: int | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    response_format: dict[str, Any] | None = None

    def wanted(self) -> ReplyRequest:
        """Return the client's requirements on the reply.

        Raises:
            Refused: The reply's format is not supported.
        """
        spoken = [each for each in self.messages if each.role in ("user", "assistant")]
        last = max((place for place, each in enumerate(spoken) if each.role == "user"), default=0)
        return ReplyRequest(
            format_of(self.response_format),
            self.max_completion_tokens or self.max_tokens,
            self.sampling(),
            self.ignored(),
            tuple(chain.from_iterable(each.skipped() for each in spoken[last:])),
        )


@router.get("/models", response_model=None)
def models(service: ServiceOf) -> dict[str, Any]:
    """The models for chat: `preflight`, and one for each route. Clients offer all models in this list for chat."""
    return {"object": "list", "data": [_model(name) for name in ROUTE_OF]}


@router.get("/embeddings/models", response_model=None)
def embedding_models(service: ServiceOf) -> dict[str, Any]:
    """The model for embeddings: the library's own."""
    return {"object": "list", "data": [_model(service.preflight.library.embedder.name)]}


@router.get("/models/{name:path}", response_model=None)
def model(name: str, service: ServiceOf) -> dict[str, Any]:
    """One model, including the embedder."""
    if name != service.preflight.library.embedder.name:
        route_of(name)
    return _model(name)


@router.post("/chat/completions", response_model=None, responses=STREAMED)
async def complete(
    body: ChatBody,
    request: Request,
    service: ServiceOf,
    user: UserOf,
    x_preflight_thread: Annotated[str | None, Header()] = None,
) -> Response:
    """Run a turn as a chat completion; sources are footnotes, and structured in the extra field `preflight`."""
    route = route_of(body.model)
    body.check_tools()
    if task := task_of([(each.role, each.text()) for each in body.messages], as_mapping(body.metadata)):
        limit = {"max_tokens": limit} if (limit := body.max_completion_tokens or body.max_tokens) else {}
        return _completed(body, await take_task(service, user, task, {**body.sampling(), **limit}))
    wanted, conversation = within_reach(body.wanted(), service), conversation_of(body)
    if not conversation.question.strip() and (note := wanted.note()):
        return _completed(body, ReplyEnd(note, note, "stop", {"ignored": sorted(set(wanted.skipped))}))
    settings = turn_settings(body, service, route, conversation.instructions, wanted)
    given = body.thread_id or x_preflight_thread
    known = given or await asyncio.to_thread(known_thread, service, user, conversation)
    shown = known or f"v1-{uuid4().hex[:12]}"
    thread_id = user.thread(validate_thread_id(shown))
    base_url = str(request.base_url)
    asked = TurnRequest(service, user, conversation, wanted, shown, thread_id, bool(known), not given, base_url)
    completion = Completion(body, asked)
    turn = asked.start(settings, streamed=bool(body.stream))
    if not body.stream:
        return JSONResponse(await completion.whole(await finish(turn, request)), headers=asked.headers)
    return TurnStream(turn, completion.chunks(turn, await first_item(turn)), asked.headers)


def conversation_of(body: ChatBody) -> Conversation:
    """Return the last message of the user with the earlier messages and instructions.

    Raises:
        Refused: There is no such message, or more than one answer is requested.
    """
    if body.n is not None and body.n != 1:
        raise Refused(
            400,
            f"n={body.n} is not supported: a library gives one answer",
            help="Leave out n.",
            code="unsupported_value",
        )
    if (conversation := Conversation.of(body.messages)) is None:
        raise Refused(400, "no message is the user's", help="End with a message of role `user`.")
    return conversation


class CompletionForm:
    """Makes replies in the form of chat completions; all chunks of one have its id."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._id = f"chatcmpl-{uuid4().hex}"
        self._created = int(time.time())

    def whole(self, ended: ReplyEnd) -> dict[str, Any]:
        """Return a completion that is not streamed."""
        fields = {"role": "assistant", "content": ended.text, "refusal": ended.refusal, "preflight": ended.extra}
        noted = {"annotations": [place.of_chat() for place in ended.annotations if place.url]}
        message = ChatCompletionMessage.model_validate({**fields, **(noted if noted["annotations"] else {})})
        return ChatCompletion(
            id=self._id,
            object="chat.completion",
            created=self._created,
            model=self._model,
            choices=[Choice(index=0, message=message, logprobs=None, finish_reason=ended.reason)],
            usage=_usage(ended),
        ).model_dump(mode="json", exclude_unset=True)

    def ending(self, ended: ReplyEnd, *, with_usage: bool) -> Iterator[bytes]:
        """Yield the last chunks of a stream."""
        if ended.rest:
            yield self.chunk(ChoiceDelta(content=ended.rest))
        last: dict[str, Any] = {"refusal": ended.refusal} if ended.refusal else {}
        if noted := [place.of_chat() for place in ended.annotations if place.url]:
            last["annotations"] = noted
        yield self.chunk(ChoiceDelta.model_validate(last), ended.reason, preflight=ended.extra)
        if with_usage:
            yield self._data_of([], usage=_usage(ended))

    def chunk(self, delta: ChoiceDelta, finish_reason: FinishReason | None = None, **more: Any) -> bytes:
        """Return one event of a stream."""
        return self._data_of([ChunkChoice(index=0, delta=delta, logprobs=None, finish_reason=finish_reason)], **more)

    def _data_of(self, chunk_choices: list[ChunkChoice], **more: Any) -> bytes:
        """Return one event of the stream: a chunk of the completion with these choices."""
        chunk = ChatCompletionChunk(
            id=self._id,
            object="chat.completion.chunk",
            created=self._created,
            model=self._model,
            choices=chunk_choices,
            **more,
        )
        return _data(chunk.model_dump(mode="json", exclude_unset=True))


@dataclass
class Completion:
    """A turn as a chat completion.

    Attributes:
        body: The request.
        asked: The turn that it asks for.
    """

    body: ChatBody
    asked: TurnRequest

    def __post_init__(self) -> None:
        self._form = CompletionForm(self.body.model)

    async def whole(self, outcome: Outcome) -> dict[str, Any]:
        """Return the body of a completion that is not streamed.

        Raises:
            Exception: The error with which the turn failed.
        """
        return self._form.whole(await self.asked.end(outcome))

    async def chunks(self, turn: RunningTurn, first: Item | None) -> AsyncIterator[bytes]:
        """Yield the chunks of a stream, then `[DONE]`.

        An error has the form that OpenAI gives it within a stream.
        """
        yield self._form.chunk(ChoiceDelta(role="assistant", content=""))
        options = self.body.stream_options
        async for item in items(turn, first, lambda: self.asked.service.options.heartbeat_seconds):
            if item is None:
                yield STILL_HERE
            elif isinstance(item, TokenEvent):
                if piece := self.asked.writer.feed(item.text):
                    yield self._form.chunk(ChoiceDelta(content=piece))
            elif isinstance(item, StoppedTurn):
                yield self._form.chunk(ChoiceDelta(), "stop")
            elif is_last(item):
                try:
                    ended = await self.asked.end(item)
                except Exception as error:
                    yield _data(error_body(error, "/v1"))
                else:
                    for chunk in self._form.ending(ended, with_usage=bool(options and options.include_usage)):
                        yield chunk
        yield DONE


def _completed(body: ChatBody, ended: ReplyEnd) -> Response:
    """Return a reply that is known already, as a completion or as a stream of one."""
    form, options = CompletionForm(body.model), body.stream_options
    if not body.stream:
        return JSONResponse(form.whole(ended))
    with_usage = bool(options and options.include_usage)
    chunks = (form.chunk(ChoiceDelta(role="assistant", content="")), *form.ending(ended, with_usage=with_usage), DONE)
    return Response(b"".join(chunks), media_type="text/event-stream", headers=STREAM_HEADERS)


def _usage(ended: ReplyEnd) -> CompletionUsage:
    """Return a reply's tokens in OpenAI's form."""
    read, written = ended.usage
    return CompletionUsage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


def _model(name: str) -> dict[str, Any]:
    """Return a model's entry in OpenAI's list of models."""
    return Model(id=name, object="model", created=0, owned_by=OWNER).model_dump(mode="json")


def _data(value: dict[str, Any]) -> bytes:
    """Return a value as one event of a stream."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
