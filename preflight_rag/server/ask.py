"""Routes that take turns: ask, reply, resume, stop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.graph.locks import validate_thread_id
from preflight_rag.server.asked import AskBody
from preflight_rag.server.service import Service, ServiceOf, UserOf
from preflight_rag.server.sse import Told, TurnStream, early_error, whole
from preflight_rag.server.users import User

router = APIRouter(prefix="/api", tags=["turns"])


class GoOnBody(BaseModel):
    """How the rest of a turn is told."""

    model_config = ConfigDict(extra="forbid")

    stream: bool = Field(default=True, description="Server-sent events instead of one JSON value.")
    html: bool = Field(default=False, description="The answer also as HTML.")


class ReplyBody(GoOnBody):
    """Which of the choices is meant: labels, numbers from 1, or "all"."""

    choice: str | list[str]


@router.post("/ask", response_model=None)
async def ask(body: AskBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Take a turn: events start, progress, stage, token, html; at last answer, clarify, error or stopped."""
    shown = f"chat-{uuid4().hex[:12]}" if body.thread_id is None else body.thread_id
    thread_id = user.thread(validate_thread_id(shown))
    settings, model = body.turn_settings(), service.model_of(body.model)

    def source() -> AsyncGenerator[Any, None]:
        return service.preflight.astream(
            body.question,
            thread_id=thread_id,
            options=body.options,
            discard=body.discard,
            tokens=body.stream,
            model=model,
            **settings,
        )

    return await respond(service, request, user, thread_id, source, stream=body.stream, html=body.html)


@router.post("/threads/{thread_id:path}/reply", response_model=None)
async def reply(thread_id: str, body: ReplyBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Say which of the choices is meant; the turn that asked goes on."""
    name = user.thread(thread_id)

    def source() -> AsyncGenerator[Any, None]:
        return service.preflight.astream_reply(name, body.choice)

    return await respond(service, request, user, name, source, stream=body.stream, html=body.html)


@router.post("/threads/{thread_id:path}/resume", response_model=None)
async def resume(thread_id: str, body: GoOnBody, request: Request, service: ServiceOf, user: UserOf) -> Response:
    """Finish a turn that was cut off, stopped or failed; what had been done is not done again."""
    name = user.thread(thread_id)

    def source() -> AsyncGenerator[Any, None]:
        return service.preflight.astream_resume(name)

    return await respond(service, request, user, name, source, stream=body.stream, html=body.html)


@router.post("/threads/{thread_id:path}/stop")
async def stop(thread_id: str, service: ServiceOf, user: UserOf) -> dict[str, bool]:
    """Stop the thread's running turn; the thread can go on at once, and the turn can be resumed."""
    return {"stopped": await service.running.stop(user.thread(thread_id))}


async def respond(
    service: Service,
    request: Request,
    user: User,
    thread_id: str,
    source: Callable[[], AsyncGenerator[Any, None]],
    *,
    stream: bool,
    html: bool,
) -> Response:
    """Start a turn and answer with its events, or with its outcome."""
    turn = service.running.start(thread_id, source)
    if not stream:
        return await whole(turn, request, user, html=html)
    first, failure = await early_error(turn)
    if failure is not None:
        raise failure
    told = Told(turn, user, html=html, heartbeat=service.options.heartbeat_seconds)
    return TurnStream(turn, told.events(first))
