"""Conversations over HTTP: list, show, rename, delete, and export as Markdown with the sources of each answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from preflight_rag.conversation.small_talk import short_source
from preflight_rag.server.access import User
from preflight_rag.server.dependencies import ServiceOf, UserOf
from preflight_rag.server.markdown import render
from preflight_rag.server.service import Service
from preflight_rag.server.turns import PAGE
from preflight_rag.state.errors import ThreadNotFound
from preflight_rag.state.values import Answer, Citation
from preflight_rag.text.citations import MARK
from preflight_rag.text.inert import inert
from preflight_rag.text.links import is_web_address
from preflight_rag.text.page_names import page_name
from preflight_rag.threads.ledger import Feedback, ThreadSummary, Turn

router = APIRouter(prefix="/api/threads", tags=["threads"])
QUOTE_CHARACTERS = 400  # most characters of a quote in a footnote: a guess, a few sentences
OF_THE_PAGE = (f"{PAGE}-", "chat-")  # the latter of earlier servers
FOOTNOTE = re.compile(rf"{MARK.pattern} ")
ROUTES = {
    "plain": "read in one go",
    "map_reduce": "read in parts, and the parts put together",
    "corg": "compared and grouped",
    "abstain": "not answered by the documents",
    "conversation": "answered from the conversation",
    "listing": "listed, not read",
    "metadata": "looked up in what is known of the document",
}


class Markdown(Response):
    """A response with a Markdown file."""

    media_type = "text/markdown"


class TitleBody(BaseModel):
    """A thread's new title; an empty one removes the title."""

    model_config = ConfigDict(extra="forbid")

    title: str


class FeedbackBody(BaseModel):
    """Whether an answer is good, why, and what would be right; `good` null withdraws the verdict."""

    model_config = ConfigDict(extra="forbid")

    good: bool | None
    reason: str = ""
    expected: str = ""


@router.get("")
def threads(service: ServiceOf, user: UserOf, query: str | None = None) -> dict[str, Any]:
    """The user's conversations, the latest first; with a query, those that contain it. `page`: begun on the page."""
    found = [row for row in service.preflight.ledger.threads(query) if row.thread_id.startswith(user.prefix)]
    return {"threads": [_listed(row, user.shown(row.thread_id), service) for row in found]}


@router.get("/{thread_id:path}/export", response_class=Markdown)
def export(thread_id: str, service: ServiceOf, user: UserOf) -> Response:
    """The conversation as a Markdown file with its sources."""
    turns = _turns(service, user, thread_id)
    title = _summary(service, user, thread_id).title
    name = re.sub(r"[^\w-]+", "-", title)[:60].strip("-") or "conversation"
    attachment = f"attachment; filename=\"conversation.md\"; filename*=UTF-8''{quote(name)}.md"
    text = conversation(title, turns)
    return Markdown(text, headers={"Content-Disposition": attachment})


@router.get("/{thread_id:path}")
def thread(thread_id: str, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """A conversation's turns with their answers, also as HTML; `running`: whether its last turn is still running."""
    turns = _turns(service, user, thread_id)
    title = _summary(service, user, thread_id).title
    name, ledger = user.thread(thread_id), service.preflight.ledger
    judged = {feedback.turn_id: feedback for _, feedback in ledger.feedback(name)}
    fork = ledger.fork_of(name)
    return {
        "thread_id": thread_id,
        "title": title,
        "running": service.running.of(name) is not None,
        "forked_from": {"thread_id": user.shown(fork.parent), "turn": fork.turn} if fork else None,
        "turns": service.names.shown([_shown(turn, user, judged.get(turn.id)) for turn in turns]),
    }


@router.put("/{thread_id:path}/turns/{turn}/feedback", status_code=204)
def judge(thread_id: str, turn: int, body: FeedbackBody, service: ServiceOf, user: UserOf) -> None:
    """Store a user's verdict on an answer; `preflight threads feedback` turns verdicts into evaluation questions."""
    service.preflight.ledger.judge(user.thread(thread_id), turn, body.good, reason=body.reason, expected=body.expected)


@router.patch("/{thread_id:path}")
def rename(thread_id: str, body: TitleBody, service: ServiceOf, user: UserOf) -> dict[str, str]:
    """Give the conversation another title."""
    _turns(service, user, thread_id)
    service.preflight.ledger.rename(user.thread(thread_id), body.title)
    return {"title": _summary(service, user, thread_id).title}


@router.delete("/{thread_id:path}", status_code=204)
async def delete(thread_id: str, service: ServiceOf, user: UserOf) -> None:
    """Delete the conversation; a turn that runs on it is stopped first."""
    name = user.thread(thread_id)
    await service.running.stop(name)
    if not await asyncio.to_thread(service.preflight.delete_thread, name):
        raise _missing(thread_id)


def _listed(row: ThreadSummary, shown: str, service: Service) -> dict[str, Any]:
    """Return a thread as an entry of the list; `shown` is the id without the user's name.

    A turn that stays recorded as running although no process works on it was cut off with its process.
    """
    ledger, running = service.preflight.ledger, service.running.of(row.thread_id) is not None
    cut_off = row.status == "running" and not running and not ledger.is_locked(row.thread_id)
    status = "interrupted" if cut_off else row.status
    return {**asdict(row), "status": status, "thread_id": shown, "page": shown.startswith(OF_THE_PAGE)}


def _turns(service: Service, user: User, thread_id: str) -> list[Turn]:
    """Return the turns of a user's thread; raise if it has none."""
    turns = service.preflight.ledger.turns(user.thread(thread_id))
    if not turns:
        raise _missing(thread_id)
    return turns


def _summary(service: Service, user: User, thread_id: str) -> ThreadSummary:
    """Return the summary of a user's thread."""
    name = user.thread(thread_id)
    row = next((row for row in service.preflight.ledger.threads() if row.thread_id == name), None)
    if row is None:
        raise _missing(thread_id)
    return row


def _missing(thread_id: str) -> ThreadNotFound:
    """Return the error for a thread that does not exist."""
    return ThreadNotFound(f"there is no thread {thread_id[:100]!r}", help="GET /api/threads lists them.")


def _shown(turn: Turn, user: User, judged: Feedback | None = None) -> dict[str, Any]:
    """Return a turn as the API describes it."""
    names = ("turn", "question", "status", "started_at", "finished_at", "error")
    answer, asked = turn.result, turn.clarification
    return {
        **{name: getattr(turn, name) for name in names},
        "answer": {**answer, "thread_id": user.shown(turn.thread_id)} if answer else None,
        "html": render(answer["answer"]) if answer else None,
        "clarification": {**asked, "thread_id": user.shown(turn.thread_id)} if asked else None,
        "feedback": {name: getattr(judged, name) for name in ("good", "reason", "expected")} if judged else None,
    }


def conversation(title: str, turns: Sequence[Turn]) -> str:
    """Return all turns of a thread as Markdown."""
    parts = [f"# {inert(one_line(title))}", *(_as_markdown(turn) for turn in turns)]
    return "\n\n".join(parts) + "\n"


def footnote(citation: Citation) -> str:
    """Return a citation on one line: `[1] Title - source: "quote"`.

    Only the source's address can become a link.
    """
    page = f", {page_name(citation.source, citation.page)}" if citation.page else ""
    saved = f", file saved {citation.file_saved}" if citation.file_saved else ""
    date = f", {citation.date}" if citation.date else saved
    verified = "" if citation.verified else " (not found word for word)"
    title, source = inert(one_line(citation.title)), one_line(short_source(citation.source))
    source = source if is_web_address(source) else inert(source)
    about = title if source in ("", title) else f"{title} - {source}" if title else source
    return f'[{citation.n}] {about}{page}{date}: "{inert(one_line(citation.quote, QUOTE_CHARACTERS))}"{verified}'


def footnotes(citations: Sequence[Citation]) -> str:
    """Return the sources below an answer in plain text: one line for each citation.

    "" if there is none.
    """
    lines = [footnote(citation) for citation in citations]
    return "\n\n" + "\n".join(lines) if lines else ""


def strip_footnotes(text: str) -> str:
    """Return an answer without its `footnotes`.

    Line by line: a single regular expression would take exponential time on lines that only look like footnotes.
    """
    lines = text.rstrip().split("\n")
    first = len(lines)
    while first > 1 and (not lines[first - 1].strip() or _is_footnote(lines[first - 1])):
        first -= 1
    return "\n".join(lines[:first]).strip()


def _is_footnote(line: str) -> bool:
    """Return whether a line has the form of a footnote."""
    return FOOTNOTE.match(line) is not None and ': "' in line


def one_line(text: str, most: int = 200) -> str:
    """Return a text on one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _as_markdown(turn: Turn) -> str:
    """Return a turn as a section of Markdown: question, answer, sources, route and cost."""
    heading = f"## {inert(one_line(turn.question, 1000))}"
    if turn.result is None:
        return f"{heading}\n\n*{turn.status}{': ' + inert(one_line(turn.error)) if turn.error else ''}*"
    answer = Answer.model_validate(turn.result)
    notes = [f"- {footnote(citation)}" for citation in answer.citations]
    sources = "\n\n### Sources\n\n" + "\n".join(notes) if notes else ""
    receipt = answer.receipt
    route = ROUTES.get(answer.route.name, answer.route.name)
    spent = f"{receipt.model}, {receipt.model_calls} calls, {receipt.seconds:.1f} s"
    return f"{heading}\n\n{inert(answer.answer.strip())}{sources}\n\n*{route}; {spent}; {turn.started_at[:19]}Z*"
