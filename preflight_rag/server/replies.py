"""Replies to a turn in both of OpenAI's APIs: the text with notes and footnotes, its end, citations as annotations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from preflight_rag.graph.model_use import NO_REPLY
from preflight_rag.server.access import User
from preflight_rag.server.errors import Refused, describe
from preflight_rag.server.model_watch import MODEL
from preflight_rag.server.running_turns import Outcome, StoppedTurn
from preflight_rag.server.service import Service
from preflight_rag.server.structured import AnswerFormat
from preflight_rag.server.threads import footnotes, strip_footnotes
from preflight_rag.server.turns import answer_json, clarification_json
from preflight_rag.state.errors import BadReply
from preflight_rag.state.values import Answer, Citation, Clarification, Gap
from preflight_rag.text.citations import MARK
from preflight_rag.text.inert import inert

CHARS_A_TOKEN = 4  # average for English in common tokenizers, by which a limit of tokens is converted
NOTE = "> Note: "
WITHOUT = {
    MODEL: "the language model is away",
    "budget": "what may be spent on the language model is used up",
    NO_REPLY: "the language model gave no reply that can be used",
}
"""Why an answer was made without its model, by the stage of its first gap."""
_NOTES = re.compile(rf"^{NOTE}[^\n]*(?:\n+|\Z)", re.MULTILINE)
FinishReason = Literal["stop", "length", "content_filter"]
ENDS: Mapping[str, FinishReason] = {
    "length": "length",
    "unfinished": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
"""OpenAI's names for the reasons of an incomplete reply; other failures are errors there, too."""


@dataclass(frozen=True)
class ReplyRequest:
    """The client's requirements on a reply.

    Attributes:
        format: The JSON format, if the reply is not to be text.
        most_tokens: Greatest length of the text.
        sampling: Options for the model's calls.
        ignored: Names of options without effect here.
        skipped: Kinds of message parts that were not read, such as `image_url`.
    """

    format: AnswerFormat | None = None
    most_tokens: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def note(self) -> str:
        """Return a line on the message parts that were not read; "" if there are none."""
        kinds = " and ".join(dict.fromkeys(kind.removeprefix("input_").split("_")[0] for kind in self.skipped))
        return f"{NOTE}only text is read here; what was sent as {kinds} was passed over." if kinds else ""


@dataclass(frozen=True)
class ReplyEnd:
    """The end of a reply.

    Attributes:
        rest: The text still to be sent.
        text: The whole text.
        reason: The finish reason.
        extra: The field `preflight`.
        refusal: Why there is no text.
        annotations: Citations, by the place of their mark in the text.
        usage: Tokens read and written.
    """

    rest: str
    text: str
    reason: FinishReason
    extra: dict[str, Any]
    refusal: str | None = None
    annotations: tuple[CitedPlace, ...] = ()
    usage: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class CitedPlace:
    """A citation's first mark in a text, with the address of its document.

    Attributes:
        start, end: The mark's place, in characters of the text.
        citation: The citation.
        url: The document's web address, or its file at this server; "" if there is neither.
        is_file: Whether that is a file of this server.
    """

    start: int
    end: int
    citation: Citation
    url: str
    is_file: bool

    def of_chat(self) -> dict[str, Any]:
        """Return the citation as an annotation of a chat completion, whose only kind is `url_citation`."""
        citation = {"start_index": self.start, "end_index": self.end, "title": self._title(), "url": self.url}
        return {"type": "url_citation", "url_citation": citation}

    def of_response(self) -> dict[str, Any]:
        """Return the citation as a response's annotation: `url_citation` for web addresses, else `file_citation`."""
        if self.url and not self.is_file:
            places = {"start_index": self.start, "end_index": self.end}
            return {"type": "url_citation", **places, "title": self._title(), "url": self.url}
        name = self.citation.document_id
        return {"type": "file_citation", "index": self.start, "file_id": name, "filename": name.split("/")[-1]}

    def _title(self) -> str:
        """Return the title of the cited document, or its source."""
        return self.citation.title or self.citation.document_id


class Writer:
    """Writes one reply, piece by piece.

    Args:
        wanted: The client's requirements.
        user: The user who asked.
    """

    def __init__(self, wanted: ReplyRequest, user: User) -> None:
        self.wanted, self._user = wanted, user
        self.sent = ""
        self._is_cut = False

    def feed(self, text: str) -> str:
        """Return the part of a piece of the answer that is sent now."""
        return "" if self.wanted.format else self._within(text)

    def end(self, outcome: Outcome) -> ReplyEnd:
        """Return the end of the reply.

        Raises:
            Exception: The error with which the turn failed.
        """
        if isinstance(outcome, StoppedTurn):
            raise Refused(409, "the turn was stopped", code="stopped")
        if isinstance(outcome, BadReply) and outcome.reason in ENDS:
            return self._cut_by_model(outcome)
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, Clarification):
            asked = choices(outcome)
            rest = self._within(f"\n\n{asked}" if self.sent.strip() else asked)
            return self._ended(rest, {"clarification": clarification_json(outcome, self._user)})
        usage = outcome.receipt.input_tokens, outcome.receipt.output_tokens
        self._is_cut |= outcome.incomplete is not None
        extra = {**answer_json(outcome, self._user), **self._ignored(outcome)}
        if self.wanted.format is None:
            return self._ended(self._within(self._rest(outcome)), extra, usage=usage)
        if problem := self.wanted.format.problem(outcome):
            return ReplyEnd("", "", "stop", extra, f"This answer does not fit the schema: {problem}", usage=usage)
        return self._ended(self._within(self.wanted.format.text(outcome)), extra, usage=usage)

    def _ended(self, rest: str, extra: dict[str, Any], usage: tuple[int, int] = (0, 0)) -> ReplyEnd:
        """Return the end of a reply, with the text that is not sent yet."""
        return ReplyEnd(rest, self.sent, "length" if self._is_cut else "stop", extra, usage=usage)

    def _rest(self, answer: Answer) -> str:
        """Return the text still to be sent: notes, then footnotes; all of the text if nothing has been sent."""
        away = _without_model(answer)
        why = WITHOUT[away.stage] if away else ""
        lost = f"{NOTE}{why}, so this shows what the documents say. {away.error}" if away else ""
        notes = [note for note in (" ".join(lost.split()), self.wanted.note()) if note]
        begun = "" if self.sent.strip() else answer.answer
        return begun + "".join(f"\n\n{note}" for note in notes) + footnotes(answer.citations)

    def _ignored(self, answer: Answer) -> dict[str, Any]:
        """Return the options without effect on an answer; sampling options have none if no model was used."""
        asked = answer.receipt.model_calls and _without_model(answer) is None
        unused = () if asked else tuple(self.wanted.sampling)
        names = sorted({*self.wanted.ignored, *unused, *self.wanted.skipped})
        return {"ignored": names} if names else {}

    def _cut_by_model(self, error: BadReply) -> ReplyEnd:
        """Return the end of a reply that its model did not finish, or refused."""
        rest = self._within(error.partial) if not self.sent and self.wanted.format is None else ""
        reason = ENDS[error.reason]
        refusal = describe(error)["message"] if reason == "content_filter" else None
        spent = error.receipt or {}
        usage = spent.get("input_tokens", 0), spent.get("output_tokens", 0)
        return ReplyEnd(rest, self.sent, reason, {"error": describe(error)}, refusal, usage=usage)

    def _within(self, text: str) -> str:
        """Return as much of a text as the limit allows, and count it as sent."""
        if self.wanted.most_tokens is not None:
            room = self.wanted.most_tokens * CHARS_A_TOKEN - len(self.sent)
            self._is_cut |= len(text) > room
            text = text[: max(room, 0)]
        self.sent += text
        return text


def _without_model(answer: Answer) -> Gap | None:
    """Return why an answer was made without its model; None if the model was used."""
    return next((gap for gap in answer.gaps[:1] if gap.stage in WITHOUT), None)


async def cited_places(service: Service, outcome: Outcome, text: str, base_url: str) -> tuple[CitedPlace, ...]:
    """Return the citations' places in a text, in order: each at its first mark above the footnotes."""
    if not isinstance(outcome, Answer) or not outcome.citations:
        return ()
    by_number = {citation.n: citation for citation in outcome.citations}
    first: dict[int, tuple[int, int]] = {}
    for mark in MARK.finditer(strip_footnotes(text)):
        for number in map(int, re.findall(r"\d+", mark[0])):
            if number in by_number:
                first.setdefault(number, mark.span())
    opened = await asyncio.to_thread(_urls, service, [by_number[n] for n in first], base_url)
    return tuple(
        CitedPlace(*span, by_number[n], url, is_file)
        for (n, span), (url, is_file) in zip(first.items(), opened, strict=True)
    )


def _urls(service: Service, cited: Sequence[Citation], base_url: str) -> list[tuple[str, bool]]:
    """Return each cited document's address, and whether it is a file at this server."""
    return [_url(service, citation, base_url) for citation in cited]


def _url(service: Service, citation: Citation, base_url: str) -> tuple[str, bool]:
    """Return a document's address, and whether it is the document's file at this server."""
    if citation.url:
        return citation.url, False
    entry = service.catalogue.document(service.names.document_id(citation.document_id))
    if entry is None or entry.file is None:
        return "", False
    page = f"#page={citation.page}" if citation.page else ""
    return f"{base_url}api/documents/file?id={quote(citation.document_id, safe='')}{page}", True


def choices(asked: Clarification) -> str:
    """Return a clarifying question with numbered choices."""
    lines = [f"{place}. {inert(choice.label)}" for place, choice in enumerate(asked.choices, 1)]
    return "\n".join([inert(asked.question), "", *lines, "", 'Answer with a number, a name, or "all".'])


def as_answered(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the history without empty messages and without the notes and sources that follow answers."""
    plain = (
        (role, _NOTES.sub("", strip_footnotes(text)).strip() if role == "assistant" else text) for role, text in history
    )
    return [(role, text) for role, text in plain if text.strip()]
