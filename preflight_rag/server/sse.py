"""A turn as server-sent events, and as one JSON value; whoever goes away stops the turn."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, StreamingResponse

from preflight_rag.graph.events import ProgressEvent, StageEvent, TokenEvent
from preflight_rag.server.errors import told
from preflight_rag.server.markdown import render
from preflight_rag.server.running import Queued, RunningTurn, Stopped
from preflight_rag.server.users import User
from preflight_rag.state.values import Answer, Clarification

HTML_SECONDS = 0.08
EARLY_SECONDS = 0.15
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def event(name: str, data: Any) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


class TurnStream(StreamingResponse):
    """Streams what is made of a turn; when the client goes away, the turn is stopped.

    Args:
        turn: The turn.
        body: Its events as bytes.
        headers: Of the response.
    """

    media_type = "text/event-stream"

    def __init__(self, turn: RunningTurn, body: AsyncIterator[bytes], headers: dict[str, str] | None = None) -> None:
        super().__init__(body, headers={**HEADERS, **(headers or {})})
        self._turn = turn

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the response; nothing of the turn outlives it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._turn.stop()


async def early_error(turn: RunningTurn) -> tuple[Any, Exception | None]:
    """The first item, if one comes at once; an error that comes first is to be told by the response's status."""
    first = await turn.get(EARLY_SECONDS)
    return first, first if isinstance(first, Exception) else None


async def items(turn: RunningTurn, first: Any, silence: Callable[[], float]) -> AsyncIterator[Any]:
    """A turn's items to the last; None whenever nothing came for the seconds that `silence` gives."""
    item = first if first is not None else await turn.get(silence())
    while True:
        yield item
        if RunningTurn.is_last(item):
            return
        item = await turn.get(silence())


class Told:
    """Makes server-sent events of a turn's items.

    Args:
        turn: The turn.
        user: Who asked; thread ids are told as this user knows them.
        html: Whether the answer is also told as HTML, while it is being written.
        heartbeat: Seconds of silence after which a comment is sent.
    """

    def __init__(self, turn: RunningTurn, user: User, *, html: bool, heartbeat: float) -> None:
        self._turn, self._user, self._html, self._heartbeat = turn, user, html, heartbeat
        self._text = ""
        self._stale = False
        self._due = 0.0

    async def events(self, first: Any = None) -> AsyncIterator[bytes]:
        """All events, from `start` to the last."""
        yield event("start", {"thread_id": self._user.shown(self._turn.thread_id)})
        async for item in items(self._turn, first, self._silence):
            made = self._made(item)
            if isinstance(item, TokenEvent | None) and self._stale and time.perf_counter() >= self._due:
                made += await self._rendered()
            if made:
                yield made

    def _silence(self) -> float:
        return max(self._due - time.perf_counter(), 0.001) if self._stale else self._heartbeat

    def _made(self, item: Any) -> bytes:
        seconds = round(time.perf_counter() - self._turn.started, 3)
        if isinstance(item, TokenEvent):
            self._text += item.text
            self._stale = self._html
            return event("token", {"text": item.text})
        if isinstance(item, ProgressEvent):
            note = {"stage": item.stage, "note": item.note, "done": item.done, "total": item.total}
            return event("progress", {**note, "seconds": seconds})
        if isinstance(item, Queued):
            note = {"stage": "queue", "note": f"waiting for {item.ahead} other turns", "done": None, "total": None}
            return event("progress", {**note, "seconds": seconds})
        if isinstance(item, StageEvent):
            return event("stage", {"stage": item.stage, "seconds": seconds})
        if item is None:
            return b"" if self._stale else b": still here\n\n"
        return self._last(item)

    def _last(self, item: Any) -> bytes:
        if isinstance(item, Answer):
            html = {"html": render(item.answer)} if self._html else {}
            return event("answer", {"answer": answer_json(item, self._user), **html})
        if isinstance(item, Clarification):
            return event("clarify", clarification_json(item, self._user))
        return event("stopped", {}) if isinstance(item, Stopped) else event("error", told(item))

    async def _rendered(self) -> bytes:
        """The HTML so far; the longer that takes, the longer until the next."""
        started = time.perf_counter()
        html = render(self._text)
        took = time.perf_counter() - started
        self._stale, self._due = False, time.perf_counter() + max(HTML_SECONDS, 5 * took)
        return event("html", {"html": html})


async def whole(turn: RunningTurn, request: Request, user: User, *, html: bool) -> JSONResponse:
    """A turn's outcome as one JSON value; when the client goes away, the turn is stopped.

    Raises:
        Exception: What the turn failed with.
    """
    item = await outcome(turn, request)
    if isinstance(item, Answer):
        answer = answer_json(item, user)
        return JSONResponse({"answer": answer, "html": render(item.answer)} if html else answer)
    if isinstance(item, Clarification):
        return JSONResponse({"clarification": clarification_json(item, user)})
    if isinstance(item, Stopped):
        return JSONResponse({"stopped": True})
    raise item


async def outcome(turn: RunningTurn, request: Request) -> Any:
    """A turn's last item."""

    async def last() -> Any:
        while not RunningTurn.is_last(item := await turn.get()):
            pass
        return item

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    waiting, watching = asyncio.ensure_future(last()), asyncio.ensure_future(gone())
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
    """An answer as JSON, with the thread's id as the user knows it."""
    return {**answer.model_dump(mode="json"), "thread_id": user.shown(answer.thread_id)}


def clarification_json(asked: Clarification, user: User) -> dict[str, Any]:
    """A question back to the person as JSON."""
    return {**asked.model_dump(mode="json"), "thread_id": user.shown(asked.thread_id)}
