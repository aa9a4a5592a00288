"""Routes of conversations: list, show, rename, delete, export."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from preflight_rag.graph.ledger import ThreadSummary, Turn
from preflight_rag.server.export import conversation
from preflight_rag.server.markdown import render
from preflight_rag.server.service import Service, ServiceOf, UserOf
from preflight_rag.server.users import User
from preflight_rag.state.errors import ThreadNotFound

router = APIRouter(prefix="/api/threads", tags=["threads"])


class TitleBody(BaseModel):
    """A thread's new title; an empty one takes it away."""

    model_config = ConfigDict(extra="forbid")

    title: str


@router.get("")
def threads(service: ServiceOf, user: UserOf, query: str | None = None) -> dict[str, Any]:
    """The user's conversations, the latest first; with a query, those that hold it."""
    found = [row for row in service.preflight.ledger.threads(query) if row.thread_id.startswith(user.prefix)]
    return {"threads": [{**asdict(row), "thread_id": user.shown(row.thread_id)} for row in found]}


@router.get("/{thread_id:path}/export")
def export(thread_id: str, service: ServiceOf, user: UserOf) -> Response:
    """The conversation as a Markdown file with its sources."""
    turns = _turns(service, user, thread_id)
    title = _summary(service, user, thread_id).title
    name = re.sub(r"[^\w-]+", "-", title)[:60].strip("-") or "conversation"
    attachment = f"attachment; filename=\"conversation.md\"; filename*=UTF-8''{quote(name)}.md"
    text = conversation(title, turns)
    return Response(text, media_type="text/markdown", headers={"Content-Disposition": attachment})


@router.get("/{thread_id:path}")
def thread(thread_id: str, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """A conversation's turns with their answers, also as HTML."""
    turns = _turns(service, user, thread_id)
    title = _summary(service, user, thread_id).title
    return {"thread_id": thread_id, "title": title, "turns": [_told(turn, user) for turn in turns]}


@router.patch("/{thread_id:path}")
def rename(thread_id: str, body: TitleBody, service: ServiceOf, user: UserOf) -> dict[str, str]:
    """Give the conversation another title."""
    _turns(service, user, thread_id)
    service.preflight.ledger.rename(user.thread(thread_id), body.title)
    return {"title": _summary(service, user, thread_id).title}


@router.delete("/{thread_id:path}", status_code=204)
async def delete(thread_id: str, service: ServiceOf, user: UserOf) -> None:
    """Forget the conversation; a turn that runs on it is stopped first."""
    import asyncio

    name = user.thread(thread_id)
    await service.running.stop(name)
    if not await asyncio.to_thread(service.preflight.delete_thread, name):
        raise _missing(thread_id)


def _turns(service: Service, user: User, thread_id: str) -> list[Turn]:
    turns = service.preflight.ledger.turns(user.thread(thread_id))
    if not turns:
        raise _missing(thread_id)
    return turns


def _summary(service: Service, user: User, thread_id: str) -> ThreadSummary:
    name = user.thread(thread_id)
    return next(row for row in service.preflight.ledger.threads() if row.thread_id == name)


def _missing(thread_id: str) -> ThreadNotFound:
    return ThreadNotFound(f"there is no thread {thread_id[:100]!r}", help="GET /api/threads lists them.")


def _told(turn: Turn, user: User) -> dict[str, Any]:
    names = ("turn", "question", "status", "started_at", "finished_at", "error")
    answer, asked = turn.result, turn.clarification
    return {
        **{name: getattr(turn, name) for name in names},
        "answer": {**answer, "thread_id": user.shown(turn.thread_id)} if answer else None,
        "html": render(answer["answer"]) if answer else None,
        "clarification": {**asked, "thread_id": user.shown(turn.thread_id)} if asked else None,
    }
