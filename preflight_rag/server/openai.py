"""OpenAI's API under `/v1`: chat completions and models, for any client that uses it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.server.access import User
from preflight_rag.server.client_tasks import Task, answer_task, task_of
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.description import STREAMED
from preflight_rag.server.errors import Refused, error_body
from preflight_rag.server.replies import (
    FinishReason,
    ReplyEnd,
    ReplyRequest,
    Writer,
    as_answered,
    cited_places,
)
from preflight_rag.server.running_turns import Event, Item, Outcome, RunningTurn, StoppedTurn, is_last
from preflight_rag.server.service import Service
from preflight_rag.server.structured import format_of
from preflight_rag.server.turns import (
    STILL_HERE,
    STREAM_HEADERS,
    TurnStream,
    checked_settings,
    finish,
    first_item,
    items,
    with_instructions,
)
from preflight_rag.state.values import Answer, Clarification
from preflight_rag.text.inert import inert
from preflight_rag.threads.locks import validate_thread_id

router = APIRouter(prefix="/v1", tags=["OpenAI"])
THREAD_HEADER = "X-Preflight-Thread"
OWNER = "preflight-rag"
ROUTE_OF: dict[str, str | None] = {
    "preflight": None,
    "preflight-plain": "plain",
    "preflight-map-reduce": "map-reduce",
    "preflight-corg": "corg",
}
SAMPLING = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "logit_bias", "reasoning_effort"),
    "verbosity",
)
"""Options of a model's calls, by their names in OpenAI's API and LangChain."""
MEANINGLESS = (
    *("tools", "functions", "stop", "logprobs", "top_logprobs", "modalities", "audio", "prediction"),
    *("web_search_options", "truncation", "reasoning", "include", "background"),
)
"""Options that have no effect on an answer from a library; `stop` would cut a model's reply before its quotes."""
DONE = b"data: [DONE]\n\n"
INSTRUCTING = ("system", "developer")
MOST_MESSAGES = 2000  # most messages of a conversation; a guess: a body of 1 MB rarely holds more


class Message(BaseModel):
    """One message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[dict[str, Any]] | None = None

    def text(self) -> str:
        """Return the message's text; parts that are not text are skipped."""
        if isinstance(self.content, list):
            return "\n".join(text for part in self.content if (text := text_of(part)) is not None)
        return self.content or ""

    def skipped(self) -> list[str]:
        """Return the types of the message's parts that are not text."""
        parts = self.content if isinstance(self.content, list) else []
        return [str(part.get("type"))[:40] for part in parts if text_of(part) is None]


class StreamOptions(BaseModel):
    """Whether the stream's last chunk contains the usage."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class SamplingBody(BaseModel):
    """Fields that both of OpenAI's APIs have besides the conversation.

    OpenAI's own request types are stricter and would refuse fields that are ignored here. Sampling options are passed
    to the language model; options without effect are named in the reply, and options that must not be ignored are
    refused.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    stream: bool | None = False
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    tool_choice: Any = None
    metadata: Any = None
    thread_id: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)

    def sampling(self) -> dict[str, Any]:
        """Return the options for the model's calls, such as `temperature`, that the client has set."""
        given = {name: getattr(self, name, None) for name in SAMPLING}
        return {name: value for name, value in given.items() if value is not None}

    def ignored(self) -> tuple[str, ...]:
        """Return the names of given options that have no effect here."""
        return tuple(name for name in MEANINGLESS if getattr(self, name, None))

    def check_tools(self) -> None:
        """Raise an error if the client requires a tool call: a library calls none.

        Raises:
            Refused: `tool_choice` requires one.
        """
        for name in ("tool_choice", "function_call"):
            choice = getattr(self, name, None)
            if choice in (None, "auto", "none") or (isinstance(choice, dict) and choice.get("mode") == "auto"):
                continue
            shown = choice if isinstance(choice, str) else "of one tool"
            raise Refused(
                400,
                f"{name} {str(shown)[:80]!r} is not supported: a library calls no tools",
                help=f"Leave out {name}, or send auto.",
                param=name,
                code="unsupported_value",
            )


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


@dataclass(frozen=True)
class Conversation:
    """The question, the earlier messages as `("user" | "assistant", text)`, and the client's instructions."""

    question: str
    history: tuple[tuple[str, str], ...]
    instructions: tuple[str, ...] = ()

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Conversation | None:
        """Return the last message of the user with the earlier messages and instructions; None if there is none."""
        spoken = [(each.role, each.text()) for each in messages if each.role in ("user", "assistant")]
        last = max((place for place, (role, _) in enumerate(spoken) if role == "user"), default=None)
        if last is None:
            return None
        instructions = tuple(each.text() for each in messages if each.role in INSTRUCTING)
        return cls(spoken[last][1], tuple(spoken[:last]), instructions)


@dataclass(frozen=True)
class TurnRequest:
    """A turn that a request of either of OpenAI's APIs asks for.

    Attributes:
        service: The server.
        user: Who asks.
        conversation: The question, with what the client sent before it.
        wanted: The client's requirements on the reply.
        shown: The user's name of the thread.
        thread_id: The thread's id in the ledger.
        goes_on: Whether the thread has the earlier messages already.
        is_remembered: Whether a later request finds the thread by the text of its messages.
        base_url: The server's address, for links to cited files.
    """

    service: Service
    user: User
    conversation: Conversation
    wanted: ReplyRequest
    shown: str
    thread_id: str
    goes_on: bool
    is_remembered: bool
    base_url: str

    @cached_property
    def writer(self) -> Writer:
        """The writer of the reply's text."""
        return Writer(self.wanted, self.user)

    @property
    def headers(self) -> dict[str, str]:
        """The header that names the thread."""
        return {THREAD_HEADER: self.shown.encode("ascii", "replace").decode()}

    def start(self, settings: dict[str, Any], *, streamed: bool) -> RunningTurn:
        """Start the turn in the background.

        Raises:
            Refused: Too many turns are running and waiting.
        """

        def begin() -> AsyncGenerator[Event, None]:
            """Begin the turn."""
            return self.service.watch.turn(
                self.conversation.question,
                thread_id=self.thread_id,
                history=[] if self.goes_on else as_answered(self.conversation.history),
                discard=True,
                tokens=streamed and self.wanted.format is None,
                sampling=dict(self.wanted.sampling),
                purses=self.service.spending.of(self.user.name),
                **settings,
            )

        return self.service.running.start(self.thread_id, begin, self.user.prefix)

    async def end(self, outcome: Outcome) -> ReplyEnd:
        """Return the reply's end with its citations (none in JSON), and remember its text for a follow-up.

        Raises:
            Exception: The error with which the turn failed.
        """
        ended = self.writer.end(outcome)
        if isinstance(outcome, Answer | Clarification) and self.is_remembered:
            spoken = self.conversation
            whole = (*spoken.history, ("user", spoken.question), ("assistant", ended.text))
            self.service.conversations.remember(self.user.name, whole, self.shown, outcome.turn)
        if self.wanted.format:
            return ended
        return replace(ended, annotations=await cited_places(self.service, outcome, ended.text, self.base_url))


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


def route_of(model: str) -> str | None:
    """Return the route that a model's name stands for.

    Raises:
        Refused: There is no such model.
    """
    if model not in ROUTE_OF:
        help = f"Use one of: {', '.join(ROUTE_OF)}."
        raise Refused(404, f"there is no model {model[:80]!r}", help=help, code="unknown_model")
    return ROUTE_OF[model]


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


def turn_settings(
    body: SamplingBody, service: Service, route: str | None, instructions: Sequence[str], wanted: ReplyRequest
) -> dict[str, Any]:
    """Return a turn's settings: the checked settings of the body, with the route of the model's name.

    Raises:
        Refused: Callers may not change a setting.
        UsageError: A value is wrong.
    """
    asked = {"route": route} if route else {}
    # With a schema for the answer, a clarifying question would have no place in the reply.
    plain = {"clarify": False} if wanted.format else {}
    return with_instructions(checked_settings({**body.settings, **asked, **plain}, service), service, *instructions)


def within_reach(wanted: ReplyRequest, service: Service) -> ReplyRequest:
    """Return the requirements, with sampling options that this model does not support moved to the ignored ones."""
    reader = service.preflight.reader
    if not isinstance(reader, ChatReader):
        return wanted
    lost = [name for name in wanted.sampling if not reader.takes_option(name)]
    return replace(wanted, ignored=(*wanted.ignored, *lost)) if lost else wanted


async def take_task(service: Service, user: User, task: Task, sampling: dict[str, Any]) -> ReplyEnd:
    """Return the reply to a client's task, which is not a turn of any conversation."""
    async with service.running.slot(lambda _: None), asyncio.timeout(service.options.turn_seconds):
        reply = await answer_task(task, service.watch, sampling, service.spending.of(user.name))
    usage = reply.usage
    service.metrics.tokens.labels("input").inc(usage.input_tokens)
    service.metrics.tokens.labels("output").inc(usage.output_tokens)
    extra: dict[str, Any] = {"task": task.kind, "model": reply.model, "model_calls": usage.calls}
    if reply.model is None and sampling:
        extra["ignored"] = sorted(sampling)
    if reply.problem:
        extra["problem"] = reply.problem
    refusal = "the model refused to answer" if reply.finish_reason == "content_filter" else None
    spent = usage.input_tokens, usage.output_tokens
    text = inert(reply.text)
    return ReplyEnd(text, text, reply.finish_reason, extra, refusal, usage=spent)


def as_mapping(value: Any) -> dict[str, Any]:
    """Return a JSON object unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def known_thread(service: Service, user: User, conversation: Conversation) -> str | None:
    """Return the thread that a conversation continues, unless it has had another turn since."""
    thread_id, turns = service.conversations.take(user.name, conversation.history) or ("", 0)
    last = service.preflight.ledger.last(user.thread(thread_id)) if thread_id else None
    return thread_id if last is not None and last.turn == turns else None


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


def text_of(part: dict[str, Any]) -> str | None:
    """Return the text of a part of a message; None if it is not text."""
    known = part.get("type") in ("text", "input_text", "output_text")
    return str(part["text"]) if known and isinstance(part.get("text"), str) else None
