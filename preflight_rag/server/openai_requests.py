"""What a request in either of OpenAI's APIs asks for: its messages, its options, and the turn that answers it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.server.access import User
from preflight_rag.server.client_tasks import Task, answer_task
from preflight_rag.server.errors import Refused
from preflight_rag.server.replies import ReplyEnd, ReplyRequest, Writer, as_answered, cited_places
from preflight_rag.server.running_turns import Event, Outcome, RunningTurn
from preflight_rag.server.service import Service
from preflight_rag.server.turns import checked_settings, with_instructions
from preflight_rag.state.values import Answer, Clarification
from preflight_rag.text.inert import inert

THREAD_HEADER = "X-Preflight-Thread"
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


def route_of(model: str) -> str | None:
    """Return the route that a model's name stands for.

    Raises:
        Refused: There is no such model.
    """
    if model not in ROUTE_OF:
        help = f"Use one of: {', '.join(ROUTE_OF)}."
        raise Refused(404, f"there is no model {model[:80]!r}", help=help, code="unknown_model")
    return ROUTE_OF[model]


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


def text_of(part: dict[str, Any]) -> str | None:
    """Return the text of a part of a message; None if it is not text."""
    known = part.get("type") in ("text", "input_text", "output_text")
    return str(part["text"]) if known and isinstance(part.get("text"), str) else None
