"""OpenAI's Responses API under `/v1/responses`: text, events, and conversations continued by `previous_response_id`.

A response's id names its thread and its turn, so responses are stored only in the ledger and survive a restart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field, ValidationError

from preflight_rag.corg.choices import chosen
from preflight_rag.graph.events import TokenEvent
from preflight_rag.server.access import User
from preflight_rag.server.client_tasks import task_of
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.description import STREAMED
from preflight_rag.server.errors import Refused, error_body
from preflight_rag.server.openai_requests import (
    MOST_MESSAGES,
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
from preflight_rag.server.replies import ReplyEnd, ReplyRequest, Writer, cited_places
from preflight_rag.server.running_turns import Item, Outcome, RunningTurn, is_last
from preflight_rag.server.service import Service
from preflight_rag.server.structured import format_of
from preflight_rag.server.turns import STILL_HERE, STREAM_HEADERS, TurnStream, event, finish, first_item, items
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Answer, Choice
from preflight_rag.threads.ledger import Turn
from preflight_rag.threads.locks import validate_thread_id

router = APIRouter(prefix="/v1/responses", tags=["OpenAI"])
PREFIX = "resp_"
STATUS = {"stop": "completed", "length": "incomplete", "content_filter": "incomplete"}
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesBody(SamplingBody):
    """The body of a request for a response."""

    input: str | list[dict[str, Any]] = Field(description="A text, or messages.")
    instructions: str | None = None
    previous_response_id: str | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    text: dict[str, Any] | None = Field(default=None, description="The format of the text.")
    store: bool | None = None

    def messages(self) -> list[Message]:
        """Return the input as messages; items of other kinds, such as a tool's output, are skipped.

        Raises:
            Refused: One of them is not a message.
        """
        if isinstance(self.input, str):
            return [Message(role="user", content=self.input)]
        spoken = [item for item in self.input[:MOST_MESSAGES] if item.get("type", "message") == "message"]
        try:
            return [Message.model_validate(item) for item in spoken if "role" in item]
        except ValidationError as error:
            problem = error.errors()[0]["msg"].lower()
            raise Refused(400, f"a message of the input is wrong: {problem}", param="input") from None

    def wanted(self) -> ReplyRequest:
        """Return the client's requirements on the reply.

        Raises:
            Refused: The reply's format is not supported.
        """
        others = () if isinstance(self.input, str) else (str(item.get("type", "message"))[:40] for item in self.input)
        passed_over = {kind for kind in others if kind != "message"}
        return ReplyRequest(
            format_of((self.text or {}).get("format"), "text.format"),
            self.max_output_tokens,
            self.sampling(),
            (*self.ignored(), *sorted(passed_over)),
            tuple(chain.from_iterable(each.skipped() for each in self.messages()[-1:])),
        )


def _conversation(body: ResponsesBody) -> Conversation:
    """Return the last message of the user with the earlier messages and instructions.

    Raises:
        Refused: There is none.
    """
    if (conversation := Conversation.of(body.messages())) is None:
        raise Refused(400, "the input holds no message of the user", help="End with one.", param="input")
    return replace(conversation, instructions=(body.instructions or "", *conversation.instructions))


@router.post("", response_model=None, responses=STREAMED)
async def respond(body: ResponsesBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Run a turn as a response; citations are annotations, and the whole answer is in the extra field `preflight`."""
    route = route_of(body.model)
    body.check_tools()
    spoken_messages = [(each.role, each.text()) for each in body.messages()]
    if body.instructions:
        spoken_messages.insert(0, ("system", body.instructions))
    if task := task_of(spoken_messages, as_mapping(body.metadata)):
        limit = {"max_tokens": body.max_output_tokens} if body.max_output_tokens else {}
        return _at_once(body, await take_task(service, user, task, {**body.sampling(), **limit}))
    wanted, conversation = within_reach(body.wanted(), service), _conversation(body)
    if not conversation.question.strip() and (note := wanted.note()):
        return _at_once(body, ReplyEnd(note, note, "stop", {"ignored": sorted(set(wanted.skipped))}))
    settings = turn_settings(body, service, route, conversation.instructions, wanted)
    shown, goes_on = await _thread(service, user, body, conversation)
    thread_id, new, base_url = user.thread(shown), not body.previous_response_id, str(request.base_url)
    asked = TurnRequest(service, user, conversation, wanted, shown, thread_id, goes_on, new, base_url)

    async def end(outcome: Outcome) -> ReplyEnd:
        """Return the end of the response; a thread that is not to be stored is deleted."""
        ended = await asked.end(outcome)
        if body.store is False and not goes_on:
            await asyncio.to_thread(service.preflight.delete_thread, thread_id)
        return ended

    # No other task runs between this check and the start, so the number is right.
    number = _next_turn(service.preflight.ledger.last(thread_id), conversation.question)
    made = ResponseInProgress(body, response_id(shown, number))
    turn = asked.start(settings, streamed=bool(body.stream))
    if not body.stream:
        return JSONResponse(made.whole(await end(await finish(turn, request))), headers=asked.headers)
    return TurnStream(turn, made.events(turn, await first_item(turn), asked, end), asked.headers)


@router.get("/{name}", response_model=None)
async def retrieve(name: str, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """An earlier response, from its turn in the ledger."""
    turn = _turn_of(service, user, name)
    if turn.result is None:
        raise _missing(name)
    answer = Answer.model_validate(service.names.shown(turn.result))
    body = ResponsesBody(model="preflight", input=turn.question)
    writer = Writer(ReplyRequest(), user)
    ended = writer.end(answer)
    places = await cited_places(service, answer, ended.text, str(request.base_url))
    return JSONResponse(ResponseInProgress(body, name).whole(replace(ended, annotations=places)))


def _next_turn(last: Turn | None, question: str) -> int:
    """Return the number of the turn that a question begins, or of the one whose choices it answers."""
    if last is None:
        return 1
    offered = [Choice.model_validate(each) for each in (last.clarification or {}).get("choices") or []]
    return last.turn if last.status == "asking" and chosen(question, offered) else last.turn + 1


def response_id(thread: str, turn: int) -> str:
    """Return the response id for a turn of a thread; the thread is named as the user knows it."""
    return f"{PREFIX}{turn}_{thread.encode().hex()}"


def thread_and_turn(name: str) -> tuple[str, int]:
    """Return the thread and the turn that a response's id names.

    Raises:
        Refused: The text is not such an id.
    """
    turn, _, thread = name.removeprefix(PREFIX).partition("_")
    try:
        if not name.startswith(PREFIX) or not (turn.isascii() and turn.isdigit() and len(turn) < 10):
            raise ValueError
        return validate_thread_id(bytes.fromhex(thread).decode()), int(turn)
    except (ValueError, UsageError):
        raise _missing(name) from None


async def _thread(service: Service, user: User, body: ResponsesBody, conversation: Conversation) -> tuple[str, bool]:
    """Return the user's name of the thread for a response, and whether the thread existed before.

    A response continues its thread from the last turn. From an earlier turn, or while a turn runs, it continues a copy
    of the thread up to that turn.

    Raises:
        Refused: The response to continue from does not exist.
    """
    fresh = f"v1-{uuid4().hex[:12]}"
    if not body.previous_response_id:
        known = await asyncio.to_thread(known_thread, service, user, conversation)
        return (body.thread_id or known or fresh), bool(known or body.thread_id)
    turn = _turn_of(service, user, body.previous_response_id)
    last = service.preflight.ledger.last(turn.thread_id)
    if last is not None and last.turn == turn.turn and service.running.of(turn.thread_id) is None:
        return user.shown(turn.thread_id), True
    await asyncio.to_thread(service.preflight.fork_thread, turn.thread_id, turn.turn + 1, user.thread(fresh))
    return fresh, True


def _turn_of(service: Service, user: User, name: str) -> Turn:
    """Return the turn that a response's id names."""
    thread, number = thread_and_turn(name)
    found = [turn for turn in service.preflight.ledger.turns(user.thread(thread)) if turn.turn == number]
    if not found:
        raise _missing(name)
    return found[0]


def _missing(name: str) -> Refused:
    """Return the error for a response that does not exist."""
    return Refused(
        404,
        f"there is no response {name[:100]!r}",
        help="Leave out previous_response_id, or send the messages.",
        param="previous_response_id",
        code="previous_response_not_found",
    )


class ResponseInProgress:
    """A response that is being made.

    Args:
        body: The request.
        name: The response's id.
    """

    def __init__(self, body: ResponsesBody, name: str) -> None:
        self._body, self._name = body, name
        self._item = f"msg_{uuid4().hex}"
        self._created = int(time.time())
        self._number = 0

    def whole(self, ended: ReplyEnd) -> dict[str, Any]:
        """Return the completed response."""
        read, written = ended.usage
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }
        reason = INCOMPLETE.get(ended.reason)
        return {
            **self._response(STATUS[ended.reason]),
            "incomplete_details": {"reason": reason} if reason else None,
            "output": [self._message(ended)],
            "usage": usage,
            "preflight": ended.extra,
        }

    async def events(
        self,
        turn: RunningTurn,
        first: Item | None,
        asked: TurnRequest,
        end: Callable[[Outcome], Awaitable[ReplyEnd]],
    ) -> AsyncIterator[bytes]:
        """Yield a turn's events; it ends with `response.completed`, `.incomplete` or `.failed`."""
        for made in self._begin():
            yield made
        async for item in items(turn, first, lambda: asked.service.options.heartbeat_seconds):
            if item is None:
                yield STILL_HERE
            elif isinstance(item, TokenEvent):
                if piece := asked.writer.feed(item.text):
                    yield self._delta(piece)
            elif is_last(item):
                try:
                    ended = await end(item)
                except Exception as error:
                    yield self._failed(error)
                else:
                    for made in self._end(ended):
                        yield made

    def at_once(self, ended: ReplyEnd) -> Iterator[bytes]:
        """Yield all events of a response that is known already."""
        yield from self._begin()
        yield from self._end(ended)

    def _begin(self) -> Iterator[bytes]:
        """Yield the events before the first text: the response, its message, and the message's one part."""
        response = self._response("in_progress")
        yield self._event("response.created", response=response)
        yield self._event("response.in_progress", response=response)
        message = {"id": self._item, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        yield self._event("response.output_item.added", output_index=0, item=message)
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield self._of_part("response.content_part.added", part=part)

    def _delta(self, text: str) -> bytes:
        """Return the event with a piece of the text."""
        return self._of_part("response.output_text.delta", delta=text, logprobs=[])

    def _end(self, ended: ReplyEnd) -> Iterator[bytes]:
        """Yield the events after the last text: citations, the whole text, and the finished response."""
        if ended.rest:
            yield self._delta(ended.rest)
        for number, place in enumerate(ended.annotations):
            noted = {"annotation_index": number, "annotation": place.of_response()}
            yield self._of_part("response.output_text.annotation.added", **noted)
        message = self._message(ended)
        (part,) = message["content"]
        if ended.refusal is None:
            yield self._of_part("response.output_text.done", text=ended.text, logprobs=[])
        else:
            yield self._of_part("response.refusal.done", refusal=ended.refusal)
        yield self._of_part("response.content_part.done", part=part)
        yield self._event("response.output_item.done", output_index=0, item=message)
        yield self._event(f"response.{STATUS[ended.reason]}", response=self.whole(ended))

    def _failed(self, error: Exception) -> bytes:
        """Return the event for a turn that failed."""
        described = error_body(error, "/v1")["error"]
        code = "server_error" if described["type"] == "server_error" else "invalid_prompt"
        failed = {**self._response("failed"), "error": {"code": code, "message": described["message"]}}
        return self._event("response.failed", response=failed)

    def _message(self, ended: ReplyEnd) -> dict[str, Any]:
        """Return the reply as the one message of the response's `output`."""
        status = "completed" if ended.reason == "stop" else "incomplete"
        noted = [place.of_response() for place in ended.annotations]
        part: dict[str, Any] = {"type": "output_text", "text": ended.text, "annotations": noted, "logprobs": []}
        if ended.refusal is not None:
            part = {"type": "refusal", "refusal": ended.refusal}
        return {"id": self._item, "type": "message", "role": "assistant", "status": status, "content": [part]}

    def _response(self, status: str) -> dict[str, Any]:
        """Return the response without its output, its usage and its errors."""
        body = self._body
        return {
            "id": self._name,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": as_mapping(body.metadata),
            "model": body.model,
            "output": [],
            "parallel_tool_calls": False,
            "previous_response_id": body.previous_response_id,
            "store": body.store is not False,
            "temperature": body.temperature,
            "text": body.text or {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": body.top_p,
            "truncation": "disabled",
            "usage": None,
        }

    def _of_part(self, kind: str, **fields: Any) -> bytes:
        """Return an event about the reply's only part."""
        return self._event(kind, item_id=self._item, output_index=0, content_index=0, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        """Return an event with the next number."""
        number, self._number = self._number, self._number + 1
        return event(kind, {"type": kind, "sequence_number": number, **fields})


def _at_once(body: ResponsesBody, ended: ReplyEnd) -> Response:
    """Return a response that is not a turn, such as the reply to a client's task."""
    made = ResponseInProgress(body, f"{PREFIX}{uuid4().hex}")
    if not body.stream:
        return JSONResponse(made.whole(ended))
    return Response(b"".join(made.at_once(ended)), media_type="text/event-stream", headers=STREAM_HEADERS)
