"""Turns over HTTP: the body of a question, the routes that run a turn, and its events or its outcome as JSON."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from preflight_rag.conversation.questions import check_options, check_question, normalised
from preflight_rag.graph.events import ProgressEvent, StageEvent, TokenEvent
from preflight_rag.library.search.filters import Filter
from preflight_rag.server.access import User
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.description import STREAMED
from preflight_rag.server.errors import Refused, describe
from preflight_rag.server.markdown import render
from preflight_rag.server.running_turns import (
    Event,
    Item,
    Listener,
    Outcome,
    QueuedTurn,
    RunningTurn,
    StoppedTurn,
    is_last,
)
from preflight_rag.server.service import Service
from preflight_rag.state.calls import CHOICES, checked_choices, joined_instructions
from preflight_rag.state.context import Settings
from preflight_rag.state.values import Answer, Clarification
from preflight_rag.threads.locks import new_thread_id, validate_thread_id

router = APIRouter(prefix="/api", tags=["turns"])
OWN = ("route", "k", "where", "since", "pubmed", "instructions", "clarify")
"""Settings with a field of their own in a question's body."""
HTML_SECONDS = 0.08  # seconds between two renderings of a growing answer: a dozen a second look smooth
EARLY_SECONDS = 0.15  # seconds that a stream's status waits for an error; wrong questions fail within milliseconds
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
PAGE = "page"
"""Prefix of the ids of conversations begun on the page, the only client that requests HTML."""
STILL_HERE = b": still here\n\n"
"""A comment, which clients ignore; it keeps proxies from closing a silent stream."""


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


class GoOnBody(BaseModel):
    """Options for the answer of a turn, or of the rest of one."""

    model_config = ConfigDict(extra="forbid")

    stream: bool = Field(default=True, description="Server-sent events instead of one JSON value.")
    keep: bool = Field(default=False, description="Go on when nobody listens any more; /events listens again.")
    html: bool = Field(default=False, description="The answer also as HTML.")


class ReplyBody(GoOnBody):
    """The chosen ones of the offered choices: labels, numbers from 1, or "all"."""

    choice: str | list[str]


class AskBody(GoOnBody):
    """A question. Fields that are not given are as the server was started with."""

    question: str
    thread_id: str | None = Field(default=None, description="The conversation; a new one where it is not given.")
    route: str | None = Field(default=None, description="auto, plain, map-reduce or corg.")
    model: str | None = Field(default=None, description="One of the models that /api/info lists.")
    k: int | None = Field(default=None, description="Passages that go on.")
    where: list[str] | None = Field(default=None, description="Filters such as year>=2020.")
    since: str | None = Field(default=None, description="Only documents dated at or after this day, month or year.")
    pubmed: bool | None = Field(default=None, description="Also search PubMed and PMC live.")
    instructions: str | None = Field(
        default=None, description="How answers are worded: tone, language, length, format."
    )
    clarify: bool | None = Field(default=None, description="Ask first when many things share one name.")
    options: list[str] = Field(default_factory=list, description="Choices of a multiple-choice question.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Other settings of this turn.")
    turn: int | None = Field(
        default=None,
        ge=1,
        description="Ask in place of the thread's turn of this number: a new thread goes on from the turns before it.",
    )
    discard: bool = Field(default=False, description="Drop an earlier turn of the thread that was cut off.")

    def turn_settings(self, service: Service) -> dict[str, Any]:
        """Return the settings of the turn."""
        own = {name: getattr(self, name) for name in OWN}
        given = {**self.settings, **{name: value for name, value in own.items() if value is not None}}
        return checked_settings(given, service)


def checked_settings(given: dict[str, Any], service: Service) -> dict[str, Any]:
    """Return the given settings without those that have no value.

    Raises:
        Refused: A setting is unknown, or callers may not change it because it would load files or models.
        UsageError: A value is wrong.
    """
    if unknown := [name for name in given if name not in CHOICES]:
        why = "is set where the server is started" if unknown[0] in Settings.model_fields else "is not known"
        raise Refused(400, f"the setting {unknown[0][:80]!r} {why}", help="GET /api/info lists settings.")
    found = checked_choices(given, service.preflight.settings)
    Filter.parse(Settings.read({}, **found).where, since=found.get("since"))
    return found


def with_instructions(settings: dict[str, Any], service: Service, *spoken: str) -> dict[str, Any]:
    """Return a turn's settings with all instructions on how to write: the server's own, then the caller's.

    Args:
        settings: The caller's settings.
        service: The server, whose own instructions a caller cannot remove.
        *spoken: The caller's system messages.
    """
    own = service.preflight.settings.instructions
    joined = joined_instructions(own, str(settings.get("instructions") or ""), *spoken)
    joined.encode()  # a lone surrogate is refused here, before a stream begins
    return {**settings, "instructions": joined} if joined != own else settings


@router.post("/ask", response_model=None, responses=STREAMED)
async def ask(body: AskBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Run a turn: events start, progress, stage, token, html; at last answer, clarify, error or stopped."""
    goes_on = body.turn is None and body.thread_id is not None
    shown = str(body.thread_id) if goes_on else new_thread_id(PAGE if body.html else "api")
    thread_id = user.thread(validate_thread_id(shown))
    settings, model = with_instructions(body.turn_settings(service), service), service.model_of(body.model)
    # Refused here what the turn would refuse, since the stream of a busy server may have begun by then.
    check_options(body.options)
    check_question(normalised(body.question), service.preflight.settings.max_question_chars)
    json.dumps(body.model_dump(), ensure_ascii=False).encode()  # fails on a lone surrogate

    async def start() -> AsyncGenerator[Event, None]:
        if body.turn is not None:
            if body.thread_id is None:
                raise Refused(
                    400, "turn needs the thread that it belongs to", help="Give thread_id with it.", param="turn"
                )
            earlier = user.thread(body.thread_id)
            await asyncio.to_thread(service.preflight.fork_thread, earlier, body.turn, thread_id)
        events = service.watch.turn(
            body.question,
            thread_id=thread_id,
            options=body.options,
            discard=body.discard,
            tokens=body.stream,
            progress=body.stream,
            model=model,
            purses=service.spending.of(user.name),
            **settings,
        )
        async with aclosing(events):
            async for each in events:
                yield each

    return await respond(service, request, user, thread_id, start, body)


@router.post("/threads/{thread_id:path}/reply", response_model=None, responses=STREAMED)
async def reply(thread_id: str, body: ReplyBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Choose among the offered choices; the turn that asked continues."""
    name, purses = user.thread(thread_id), service.spending.of(user.name)

    def start() -> AsyncGenerator[Event, None]:
        seen = {"tokens": body.stream, "progress": body.stream}
        return service.preflight.astream_reply(name, body.choice, purses=purses, **seen)

    return await respond(service, request, user, name, start, body)


@router.post("/threads/{thread_id:path}/resume", response_model=None, responses=STREAMED)
async def resume(thread_id: str, body: GoOnBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Finish a turn that was cut off, stopped or failed; finished stages are not repeated."""
    name, purses = user.thread(thread_id), service.spending.of(user.name)

    def start() -> AsyncGenerator[Event, None]:
        return service.preflight.astream_resume(name, tokens=body.stream, progress=body.stream, purses=purses)

    return await respond(service, request, user, name, start, body)


@router.get("/threads/{thread_id:path}/events", response_model=None, response_class=EventStream)
async def listen(thread_id: str, service: ServiceOf, user: UserOf, html: bool = False) -> Response:
    """The events of the thread's running turn from its beginning on; disconnecting stops nothing."""
    turn = service.running.of(user.thread(thread_id))
    if turn is None:
        raise Refused(404, f"no turn of thread {thread_id[:100]!r} is running", help="GET /api/threads/ID shows it.")
    writer = EventWriter(turn.listen(), user, html=html, heartbeat=service.options.heartbeat_seconds)
    return StreamingResponse(writer.events(), media_type="text/event-stream", headers=STREAM_HEADERS)


@router.post("/threads/{thread_id:path}/stop")
async def stop(thread_id: str, service: ServiceOf, user: UserOf) -> dict[str, bool]:
    """Stop the thread's running turn; the thread can be used at once, and the turn can be resumed."""
    return {"stopped": await service.running.stop(user.thread(thread_id))}


async def respond(
    service: Service,
    request: Request,
    user: User,
    thread_id: str,
    start: Callable[[], AsyncGenerator[Event, None]],
    body: GoOnBody,
) -> Response:
    """Start a turn and answer with its events, or with its outcome.

    Raises:
        Exception: The error with which the turn failed, unless its stream had begun.
    """
    turn = service.running.start(thread_id, start, user.prefix)
    if body.stream:
        first = await first_item(turn)
        writer = EventWriter(turn, user, html=body.html, heartbeat=service.options.heartbeat_seconds)
        return TurnStream(turn, writer.events(first), keep=body.keep)
    outcome = await finish(turn, request)
    if isinstance(outcome, Answer):
        answer = answer_json(outcome, user)
        return JSONResponse({"answer": answer, "html": render(outcome.answer)} if body.html else answer)
    if isinstance(outcome, Clarification):
        return JSONResponse({"clarification": clarification_json(outcome, user)})
    if isinstance(outcome, StoppedTurn):
        return JSONResponse({"stopped": True})
    raise outcome


def event(name: str, data: Any) -> bytes:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


class TurnStream(StreamingResponse):
    """A response that streams a turn; if the client disconnects, the turn is stopped.

    Args:
        turn: The turn.
        body: Its events as bytes.
        headers: Headers of the response.
        keep: Whether the turn goes on after the client has disconnected.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        turn: RunningTurn,
        body: AsyncIterator[bytes],
        headers: dict[str, str] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(body, headers={**STREAM_HEADERS, **(headers or {})})
        self._turn, self._keep = turn, keep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; without `keep`, stop the turn at its end."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if not self._keep:
                self._turn.stop()


async def first_item(turn: RunningTurn) -> Item | None:
    """Return the first item if one comes at once, so that an early error becomes the response's status.

    Raises:
        Exception: The error with which the turn failed.
    """
    first = await turn.get(EARLY_SECONDS)
    if isinstance(first, Exception):
        raise first
    return first


async def items(
    turn: RunningTurn | Listener, first: Item | None, silence: Callable[[], float]
) -> AsyncIterator[Item | None]:
    """Yield a turn's items to the last; yield None whenever nothing came for `silence()` seconds."""
    item = first if first is not None else await turn.get(silence())
    while True:
        yield item
        if is_last(item):
            return
        item = await turn.get(silence())


class EventWriter:
    """Turns a turn's items into server-sent events.

    Args:
        turn: The turn, or a listener to it.
        user: The user who listens; thread ids are shown as this user knows them.
        html: Whether the answer is also sent as HTML while it is being written.
        heartbeat: Seconds of silence after which a comment is sent.
    """

    def __init__(self, turn: RunningTurn | Listener, user: User, *, html: bool, heartbeat: float) -> None:
        self._turn, self._user, self._html, self._heartbeat = turn, user, html, heartbeat
        self._text = ""
        self._stale = False  # whether the text has grown since its HTML was sent
        self._due = 0.0  # when the next HTML may be sent

    async def events(self, first: Item | None = None) -> AsyncIterator[bytes]:
        """Yield all events, from `start` to the last."""
        yield event("start", {"thread_id": self._user.shown(self._turn.thread_id)})
        async for item in items(self._turn, first, self._silence):
            made = self._made(item)
            if isinstance(item, TokenEvent | None) and self._stale and time.perf_counter() >= self._due:
                made += self._rendered()
            if made:
                yield made

    def _silence(self) -> float:
        """Return the seconds until the next heartbeat or HTML is due."""
        return max(self._due - time.perf_counter(), 0.001) if self._stale else self._heartbeat

    def _made(self, item: Item | None) -> bytes:
        """Return the server-sent event for an item of the turn; for None (silence), a comment unless HTML is due."""
        seconds = round(self._turn.seconds, 3)
        if item is None:
            return b"" if self._stale else STILL_HERE
        if isinstance(item, TokenEvent):
            self._text += item.text
            self._stale = self._html
            return event("token", {"text": item.text})
        if isinstance(item, ProgressEvent):
            note = {"stage": item.stage, "note": item.note, "done": item.done, "total": item.total}
            return event("progress", {**note, "seconds": seconds})
        if isinstance(item, QueuedTurn):
            note = {"stage": "queue", "note": f"waiting for {item.ahead} other turns", "done": None, "total": None}
            return event("progress", {**note, "seconds": seconds})
        if isinstance(item, StageEvent):
            return event("stage", {"stage": item.stage, "seconds": seconds})
        if isinstance(item, Answer):
            html = {"html": render(item.answer)} if self._html else {}
            return event("answer", {"answer": answer_json(item, self._user), **html})
        if isinstance(item, Clarification):
            return event("clarify", clarification_json(item, self._user))
        return event("stopped", {}) if isinstance(item, StoppedTurn) else event("error", describe(item))

    def _rendered(self) -> bytes:
        """Return the HTML so far; the longer rendering takes, the later the next one."""
        started = time.perf_counter()
        html = render(self._text)
        took = time.perf_counter() - started
        self._stale, self._due = False, time.perf_counter() + max(HTML_SECONDS, 5 * took)
        return event("html", {"html": html})


async def finish(turn: RunningTurn, request: Request) -> Outcome:
    """Return a turn's outcome; if the client disconnects, the turn is stopped."""

    async def disconnected() -> None:
        """Wait until the client disconnects."""
        while (await request.receive())["type"] != "http.disconnect":
            pass

    waiting, watching = asyncio.ensure_future(turn.outcome()), asyncio.ensure_future(disconnected())
    try:
        await asyncio.wait([waiting, watching], return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            turn.stop()
        return await waiting
    finally:
        watching.cancel()
        waiting.cancel()
        turn.stop()


def answer_json(answer: Answer, user: User) -> dict[str, Any]:
    """Return an answer as JSON, with the thread's id as the user knows it."""
    return {**answer.model_dump(mode="json"), "thread_id": user.shown(answer.thread_id)}


def clarification_json(asked: Clarification, user: User) -> dict[str, Any]:
    """Return a clarifying question as JSON."""
    return {**asked.model_dump(mode="json"), "thread_id": user.shown(asked.thread_id)}
