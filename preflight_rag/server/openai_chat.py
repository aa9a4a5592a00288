"""`/v1/chat/completions` and `/v1/models`: a library as a model for any client of OpenAI's API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse

from preflight_rag.graph.events import TokenEvent
from preflight_rag.graph.locks import validate_thread_id
from preflight_rag.server.asked import checked_settings
from preflight_rag.server.errors import Refused, body_of
from preflight_rag.server.export import footnotes
from preflight_rag.server.openai_body import (
    ROUTE_OF,
    ChatBody,
    Conversation,
    conversation_of,
    route_of,
    without_footnotes,
)
from preflight_rag.server.running import RunningTurn, Stopped
from preflight_rag.server.service import Service, ServiceOf, UserOf
from preflight_rag.server.sse import TurnStream, answer_json, clarification_json, early_error, items, outcome
from preflight_rag.server.users import User
from preflight_rag.state.values import Answer, Clarification

router = APIRouter(prefix="/v1", tags=["OpenAI"])
THREAD_HEADER = "X-Preflight-Thread"
OWNER = "preflight-rag"


@router.get("/models")
def models(service: ServiceOf) -> dict[str, Any]:
    """The models: `preflight`, one for each route, and the library's embedder."""
    return {"object": "list", "data": [_model(name) for name in (*ROUTE_OF, service.preflight.library.embedder.name)]}


@router.get("/models/{name:path}")
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
    asked = conversation_of(body)
    settings = checked_settings(body.settings | ({"route": route} if route else {}))
    given = body.thread_id or x_preflight_thread
    known = given or await asyncio.to_thread(_known_thread, service, user, asked)
    shown = known or f"v1-{uuid4().hex[:12]}"
    thread_id = user.thread(validate_thread_id(shown))
    history = [] if known else without_footnotes(asked.history)

    def source() -> AsyncGenerator[Any, None]:
        return service.preflight.astream(
            asked.question,
            thread_id=thread_id,
            history=history,
            discard=True,
            tokens=bool(body.stream),
            **settings,
        )

    def said(text: str, turn: int) -> None:
        if not given:
            whole = (*asked.history, ("user", asked.question), ("assistant", text))
            service.conversations.keep(user.name, whole, shown, turn)

    completion = Completion(body, user, service, said)
    turn = service.running.start(thread_id, source)
    headers = {THREAD_HEADER: shown.encode("ascii", "replace").decode()}
    if not body.stream:
        return JSONResponse(completion.whole(await outcome(turn, request)), headers=headers)
    first, failure = await early_error(turn)
    if failure is not None:
        raise failure
    return TurnStream(turn, completion.chunks(turn, first), headers)


def _known_thread(service: Service, user: User, asked: Conversation) -> str | None:
    """The thread that holds what was said before, as long as nothing else was said on it since."""
    thread_id, turns = service.conversations.take(user.name, asked.history) or ("", 0)
    last = service.preflight.ledger.last(user.thread(thread_id)) if thread_id else None
    return thread_id if last is not None and last.turn == turns else None


@dataclass
class Completion:
    """Tells a turn as OpenAI does.

    Attributes:
        body: The request.
        user: Who asks.
        service: The server.
        said: Called with the whole text of the answer, and the turn's number, once they are known.
    """

    body: ChatBody
    user: User
    service: Service
    said: Callable[[str, int], None]

    def __post_init__(self) -> None:
        self._id = f"chatcmpl-{uuid4().hex}"
        self._created = int(time.time())

    def whole(self, item: Any) -> dict[str, Any]:
        """The body of a completion that is not streamed.

        Raises:
            Exception: What the turn failed with.
        """
        if isinstance(item, Stopped):
            raise Refused(409, "the turn was stopped", code="stopped")
        if isinstance(item, Exception):
            raise item
        text = self._text(item)
        self.said(text, item.turn)
        message = {"role": "assistant", "content": text, "refusal": None, "preflight": self._extra(item)}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(item)}

    async def chunks(self, turn: RunningTurn, first: Any) -> AsyncIterator[bytes]:
        """The chunks of a stream, then `[DONE]`; an error is told as OpenAI tells it within a stream."""
        text = ""
        yield self._chunk({"role": "assistant", "content": ""})
        async for item in items(turn, first, lambda: self.service.options.heartbeat_seconds):
            if item is None:
                yield b": still here\n\n"
            elif isinstance(item, TokenEvent):
                text += item.text
                yield self._chunk({"content": item.text})
            elif isinstance(item, Stopped):
                yield self._chunk({}, finish_reason="stop")
            elif isinstance(item, Exception):
                yield _data(body_of(item, "/v1"))
            elif isinstance(item, Answer | Clarification):
                rest = self._rest(item, text)
                if rest:
                    yield self._chunk({"content": rest})
                self.said(text + rest, item.turn)
                yield self._chunk({}, finish_reason="stop", preflight=self._extra(item))
                if self.body.stream_options and self.body.stream_options.include_usage:
                    yield _data({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(item)})
        yield b"data: [DONE]\n\n"

    def _text(self, item: Answer | Clarification) -> str:
        return choices(item) if isinstance(item, Clarification) else item.answer + footnotes(item.citations)

    def _rest(self, item: Answer | Clarification, told: str) -> str:
        """What a stream still lacks of the text."""
        if isinstance(item, Clarification):
            return f"\n\n{choices(item)}" if told.strip() else choices(item)
        return footnotes(item.citations) if told.strip() else self._text(item)

    def _extra(self, item: Answer | Clarification) -> dict[str, Any]:
        if isinstance(item, Clarification):
            return {"clarification": clarification_json(item, self.user)}
        return answer_json(item, self.user)

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _data({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self.body.model}


def choices(asked: Clarification) -> str:
    """A question back to the person, with numbered choices."""
    lines = [f"{place}. {choice.label}" for place, choice in enumerate(asked.choices, 1)]
    return "\n".join([asked.question, "", *lines, "", 'Answer with a number, a name, or "all".'])


def _usage(item: Answer | Clarification) -> dict[str, int]:
    if isinstance(item, Clarification):
        return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    read, written = item.receipt.input_tokens, item.receipt.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
