"""Running turns: one at a time on a thread, written to the ledger in every case, checkpoints pruned after each.

One way in, `Turns.run`: a request is a new question, the choice that a turn waits for, or the end of a turn that was
cut off.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot, StreamMode

from preflight_rag.conversation.questions import check_question, normalised
from preflight_rag.corg.choices import chosen
from preflight_rag.graph.build import RECURSION_LIMIT, build_graph
from preflight_rag.graph.checkpoints import SqliteCheckpointer
from preflight_rag.graph.events import Event, Narrator, ProgressEvent, StageEvent, TokenEvent
from preflight_rag.graph.ledger import Ledger, Turn
from preflight_rag.graph.locks import new_thread_id, thread_lock, validate_thread_id
from preflight_rag.graph.outcome import answer_of, receipt_of
from preflight_rag.graph.readers import extractive_for
from preflight_rag.graph.tracing import TurnSpan
from preflight_rag.library.collection import Collection
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.protocol import Reader, sampled
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import (
    AllPartitionsFailed,
    ModelAuthError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    PreflightError,
    ThreadNotFound,
    TurnError,
    TurnUnfinished,
    UnknownModel,
    UsageError,
    first_line,
    modules_of,
    others_help,
    system_help,
)
from preflight_rag.state.schema import Question
from preflight_rag.state.values import Answer, Choice, Clarification, Gap, Receipt

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.pubmed import EntrezClient

__all__ = [
    "Ask",
    "Choose",
    "Event",
    "ModelUse",
    "ProgressEvent",
    "Request",
    "Resume",
    "StageEvent",
    "TokenEvent",
    "Turns",
]

ROLES = {"user": HumanMessage, "assistant": AIMessage, "system": SystemMessage}


LOST = (ModelUnavailable, ModelTimeout, ModelAuthError, UnknownModel, AllPartitionsFailed)
"""Errors after which a turn can be taken without its model; what is wrong with one reply alone is not among them."""


@dataclass(frozen=True)
class ModelUse:
    """How a turn uses its model.

    Attributes:
        sampling: Options of each call, as LangChain's chat models take them, such as `{"temperature": 0.2}`.
        or_offline: Whether the turn is taken by the offline reader where the model cannot be reached.
        missing: Why the turn is taken without its model from the start; it stands among the answer's gaps.
    """

    sampling: Mapping[str, Any] = field(default_factory=dict)
    or_offline: bool = False
    missing: Gap | None = None

    def lost(self, model: str, error: PreflightError) -> ModelUse:
        """The same after the model could not be reached."""
        return replace(self, missing=Gap(stage="model", item=model, error=str(error)))


@dataclass(frozen=True)
class Ask:
    """A request for a new turn; where the thread's last turn has asked which is meant, perhaps the reply to that.

    Attributes:
        question: What the person asks.
        settings: The numbers of the turn.
        options: The choices of a multiple-choice question.
        history: `(role, text)` of the messages before it, for a thread without turns; roles are "user", "assistant" and
            "system", which says how to write.
        model: The model of this turn by name; None for the one that the library was opened with.
        discard: Whether an earlier turn of the thread that was cut off is given up.
        use: How the model is used; not recorded, so a turn that is resumed is finished as usual.
    """

    question: str
    settings: Settings = field(default_factory=Settings)
    options: Sequence[str] = ()
    history: Sequence[tuple[str, str]] = ()
    model: str | None = None
    discard: bool = False
    use: ModelUse = field(default_factory=ModelUse)

    def check(self) -> None:
        """Raise UsageError unless the question and the history can be used."""
        check_question(normalised(self.question), self.settings.max_question_chars)
        if unknown := sorted({role for role, _ in self.history} - ROLES.keys()):
            raise UsageError(f"history has the role {unknown[0]!r}", help='Use "user", "assistant" and "system".')

    def recorded(self) -> dict[str, Any]:
        """As the ledger keeps it beside the question."""
        own = {"options": list(self.options), "history": [list(pair) for pair in self.history], "model": self.model}
        return {**self.settings.model_dump(), **own}

    @classmethod
    def of(cls, turn: Turn) -> Ask:
        """The request that a recorded turn was begun with."""
        given = dict(turn.settings)
        options, history, model = (given.pop(name, None) for name in ("options", "history", "model"))
        pairs = [(role, text) for role, text in history or []]
        return cls(turn.question, Settings.model_validate(given), options or (), pairs, model)

    def input(self) -> Question:
        """What the graph takes in."""
        earlier: list[AnyMessage] = [ROLES[role](text) for role, text in self.history if text.strip()]
        return Question(messages=[*earlier, HumanMessage(self.question)], options=list(self.options))


@dataclass(frozen=True)
class Choose:
    """A request to go on with a turn that has asked which is meant: labels, numbers from 1, or "all"."""

    choice: str | Sequence[str]


@dataclass(frozen=True)
class Resume:
    """A request to finish a turn where it stopped; stages and partitions that had ended are not run again."""


Request = Ask | Choose | Resume


@dataclass(frozen=True)
class _Start:
    """A turn in the ledger and what the graph is given for it; None goes on from the last checkpoint."""

    turn: Turn
    ask: Ask
    reader: Reader
    given: Question | Command[Any] | None

    @property
    def can_go_offline(self) -> bool:
        """Whether the turn may be begun again without its model; not one that goes on with work of before."""
        new = self.given is not None and not isinstance(self.given, Command)
        return new and self.ask.use.or_offline and not self.reader.by_rule


@dataclass
class _Taking:
    """A turn that is being taken; how it is, changes where its model is lost."""

    start: _Start


class Turns:
    """The turns of one library's conversations.

    Args:
        folder: The library's folder, which holds the locks.
        saver: Where checkpoints go.
        ledger: Where turns are recorded.
        library: The collection.
        reader: Gives the reader for a model's name; None names the library's own.
        pubmed: Gives the client of NCBI.
    """

    def __init__(
        self,
        folder: Path,
        saver: SqliteCheckpointer,
        ledger: Ledger,
        library: Collection,
        reader: Callable[[str | None], Reader],
        pubmed: Callable[[], EntrezClient] | None = None,
    ) -> None:
        self.folder = folder
        self.saver = saver
        self.ledger = ledger
        self.library = library
        self.reader = reader
        self.pubmed = pubmed
        self.graph = build_graph().compile(checkpointer=saver, name="preflight")

    async def run(
        self, request: Request, *, thread_id: str | None = None, lock_wait: float = 30.0, tokens: bool = True
    ) -> AsyncGenerator[Event, None]:
        """Take or finish a turn: progress and stages, the answer's pieces, at last the answer or what is asked.

        The ledger learns of every way that a turn ends, also of one that is stopped because nobody reads on.

        Args:
            request: What is asked for.
            thread_id: The conversation; None for a new one, which the turn's outcome or its error names.
            lock_wait: Seconds to wait for another turn on the thread.
            tokens: Whether the answer's pieces are wanted.

        Raises:
            UsageError: The question, the history, the choice or the thread id cannot be used.
            ThreadBusy: Another turn runs on the thread, longer than `lock_wait`.
            ThreadNotFound: There is no such thread to go on with.
            TurnUnfinished: The thread's last turn was cut off, and the request does not discard it.
            TurnError: There is nothing to go on with, or the turn failed.
        """
        thread_id = new_thread_id("turn") if thread_id is None else validate_thread_id(thread_id)
        if isinstance(request, Ask):
            request.check()
        async with thread_lock(self.folder, thread_id, wait=lock_wait):
            last = await asyncio.to_thread(self.ledger.last, thread_id)
            start = await (
                self._ask(request, thread_id, last)
                if isinstance(request, Ask)
                else self._go_on(request, thread_id, last)
            )
            turn, resumed, taking = start.turn, isinstance(start.given, Command), _Taking(start)
            began = perf_counter() - (turn.seconds if resumed else 0.0)
            config = self._config(start)
            narrator = Narrator(tokens=tokens)
            span = TurnSpan(turn.question, turn.thread_id, turn.turn)
            try:
                async with aclosing(self._taken(taking, config, narrator, span)) as events:
                    async for event in events:
                        yield event
                start = taking.start
                state = await self._state_after(turn, config)
                seconds = perf_counter() - began
                outcome = _outcome(start, state, narrator.question, seconds)
                if isinstance(outcome, Answer):
                    for piece in narrator.rest(outcome.answer):
                        yield piece
                    await asyncio.to_thread(self.ledger.finish, turn.id, answer=outcome)
                else:
                    spent = receipt_of(state, reader=start.reader, settings=start.ask.settings, seconds=seconds)
                    receipt = spent.model_dump()
                    await asyncio.to_thread(self.ledger.ask, turn.id, clarification=outcome, receipt=receipt)
            except BaseException as error:
                span.failed(error)
                failure = await self._failed(error, taking.start, config, perf_counter() - began)
                if failure is error:
                    raise
                raise failure from error
            span.ended(outcome)
            if isinstance(outcome, Answer):
                await self.saver.prune_turn(turn.thread_id, start.ask.settings.keep_turns)
            yield outcome

    async def fork(self, thread_id: str, turn: int, into: str) -> None:
        """Begin a thread with the turns of another one before `turn`; follow-ups know what those cited.

        Raises:
            ThreadNotFound: There is no such thread, or it has no such turn.
            TurnError: There is a thread of the new name.
        """
        thread_id, into = validate_thread_id(thread_id), validate_thread_id(into)
        kept = await asyncio.to_thread(self.ledger.fork, thread_id, turn, into)
        if not kept:
            return
        answers = [Answer.model_validate(each.result) for each in kept]
        messages: list[AnyMessage] = []
        for answer in answers:
            messages += [HumanMessage(answer.question), AIMessage(answer.answer)]
        known = [answer.model_dump(mode="json") for answer in answers if answer.route.name != "conversation"]
        values: dict[str, Any] = {"messages": messages}
        if known:
            last = known[-1]
            names = ("answer", "citations", "groups")
            values["earlier"] = {"question": last["standalone_question"], **{name: last[name] for name in names}}
        await self.graph.aupdate_state({"configurable": {"thread_id": into}}, values, as_node="cite")

    async def delete(self, thread_id: str) -> bool:
        """Forget a thread: its turns and its checkpoints; the file shrinks. False when there is none."""
        thread_id = validate_thread_id(thread_id)
        known = await asyncio.to_thread(self.ledger.delete, thread_id)
        await self.saver.adelete_thread(thread_id)
        await self.saver.vacuum()
        return known

    async def prune(self, keep_turns: int) -> None:
        """Drop the intermediate checkpoints of every thread that has no turn to go on with; the file shrinks."""
        for thread_id in await self.saver.athreads():
            last = await asyncio.to_thread(self.ledger.last, thread_id)
            if last is None or last.status not in ("running", "asking"):
                await self.saver.prune_turn(thread_id, keep_turns)
        await self.saver.vacuum()

    async def _ask(self, ask: Ask, thread_id: str, last: Turn | None) -> _Start:
        """Begin a turn, or go on with the last one where the question is the reply to what that asked."""
        if last and ask.history:
            raise UsageError(
                f"thread {thread_id!r} has a conversation of its own", help="Give history= with a new thread only."
            )
        if last and last.status == "asking" and (labels := chosen(ask.question, _choices(last))):
            return await self._reopened(last, lambda _: Command(resume=labels))
        try:
            reader = await asyncio.to_thread(self.reader, ask.model)
        except LOST as error:
            if not ask.use.or_offline:
                raise
            reader = await asyncio.to_thread(self.reader, OFFLINE)
            ask = replace(ask, use=ask.use.lost(ask.model or "model", error))
        await self._close(last, discard=ask.discard)
        turn = await asyncio.to_thread(
            self.ledger.begin, thread_id, ask.question, settings=ask.recorded(), model=reader.name
        )
        return _Start(turn, ask, reader, ask.input())

    async def _go_on(self, request: Choose | Resume, thread_id: str, last: Turn | None) -> _Start:
        """Go on with the thread's last turn: with the choice that it waits for, or where it was cut off."""
        if last is None:
            raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
        offered = _choices(last)
        if isinstance(request, Choose):
            if last.status != "asking":
                raise TurnError(f"the last turn of thread {thread_id!r} asks nothing", help="Ask a new question.")
            if not (labels := chosen(request.choice, offered)):
                numbered = "; ".join(f"{n}: {each.label}" for n, each in enumerate(offered, 1))
                raise UsageError(f"{request.choice!r} is none of the choices", help=f'Choose of {numbered}; or "all".')
            return await self._reopened(last, lambda _: Command(resume=labels))
        if last.status in ("answered", "abstained"):
            raise TurnError(f"the last turn of thread {thread_id!r} is finished", help="There is nothing to resume.")
        if last.status == "asking":
            waiting = "; ".join(each.label for each in offered)
            raise TurnError(f"the last turn of thread {thread_id!r} waits for a reply", help=f"Choose: {waiting}.")
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread_id}})
        begun = (snapshot.metadata or {}).get("turn_id") == last.id
        return await self._reopened(last, lambda ask: None if begun else ask.input())

    async def _reopened(self, turn: Turn, given: Callable[[Ask], Question | Command[Any] | None]) -> _Start:
        ask = Ask.of(turn)
        reader = await asyncio.to_thread(self.reader, ask.model)
        await asyncio.to_thread(self.ledger.reopen, turn.id)
        return _Start(turn, ask, reader, given(ask))

    async def _close(self, last: Turn | None, *, discard: bool) -> None:
        """Close the turn before, if it has not ended: one that was cut off only on purpose."""
        if last is None or last.status not in ("running", "asking"):
            return
        if last.status == "running" and not discard:
            raise TurnUnfinished(
                f"the last turn of thread {last.thread_id!r} was cut off: {last.question[:80]!r}",
                help=f"Finish it with `preflight threads resume {last.thread_id}`, or ask with --discard to drop it "
                "(in Python: resume, discard=True).",
            )
        error = "discarded" if last.status == "running" else "what it asked was not answered"
        await asyncio.to_thread(self.ledger.fail, last.id, error=error, status="interrupted")

    async def _state_after(self, turn: Turn, config: RunnableConfig) -> Mapping[str, Any]:
        """What the turn has left behind: never an earlier turn's answer, whatever has become of the checkpoints."""
        snapshot = await self.graph.aget_state(config)
        if (snapshot.metadata or {}).get("turn_id") != turn.id:
            raise TurnError(
                f"the checkpoints of thread {turn.thread_id!r} are not those of this turn",
                help="Ask again on a new thread.",
            )
        return snapshot.values

    def _config(self, start: _Start) -> RunnableConfig:
        return {
            "configurable": {"thread_id": start.turn.thread_id},
            "metadata": {"turn_id": start.turn.id},
            "max_concurrency": start.ask.settings.max_concurrency,
            "recursion_limit": RECURSION_LIMIT,
        }

    async def _taken(
        self, taking: _Taking, config: RunnableConfig, narrator: Narrator, span: TurnSpan
    ) -> AsyncGenerator[Event, None]:
        """A turn's stages; where its model is lost and that is allowed, once more from the beginning without it."""
        try:
            async with aclosing(self._staged(taking.start, config, narrator, span)) as events:
                async for event in events:
                    yield event
        except LOST as error:
            if not taking.start.can_go_offline:
                raise
            taking.start = await self._offline(taking.start, error)
            yield ProgressEvent("rewrite", f"{error.message}; going on without it")
            async with aclosing(self._staged(taking.start, config, narrator, span)) as events:
                async for event in events:
                    yield event

    async def _staged(
        self, start: _Start, config: RunnableConfig, narrator: Narrator, span: TurnSpan
    ) -> AsyncGenerator[Event, None]:
        """What the graph's stages tell of a turn while they run."""
        context = await self._context(start, span)
        modes: list[StreamMode] = ["updates", "custom"]
        if narrator.tokens and not start.ask.options:
            modes.append("messages")
        stream: Any = self.graph.astream(start.given, config, context=context, stream_mode=modes, durability="async")
        async with aclosing(stream) as items:
            async for mode, payload in items:
                for event in narrator.events(mode, payload):
                    yield event

    async def _offline(self, start: _Start, error: PreflightError) -> _Start:
        """The same turn from its beginning, taken by the offline reader; its message has its id and comes once."""
        reader = await asyncio.to_thread(self.reader, OFFLINE)
        ask = replace(start.ask, use=start.ask.use.lost(start.reader.name, error))
        return replace(start, ask=ask, reader=reader)

    async def _context(self, start: _Start, span: TurnSpan) -> Context:
        settings = start.ask.settings
        pubmed = self.pubmed() if self.pubmed is not None and settings.pubmed else None
        extractive = await asyncio.to_thread(extractive_for, start.reader, settings.extractive_reader)
        reader = sampled(start.reader, start.ask.use.sampling)
        return Context(reader, self.library, settings, pubmed, extractive, span.context)

    async def _failed(
        self, error: BaseException, start: _Start, config: RunnableConfig, seconds: float
    ) -> BaseException:
        """Record a failed turn; an error that is not ours becomes a `TurnError`."""
        turn = start.turn
        if not isinstance(error, Exception):
            # A cancelled task may be cancelled again while it writes: the record is finished all the same.
            record = asyncio.to_thread(self.ledger.fail, turn.id, error="stopped", status="interrupted")
            await asyncio.shield(record)
            return error
        failure = error if isinstance(error, PreflightError) else _unexpected(error, start.reader)
        snapshot = await self.graph.aget_state(config)
        receipt = _receipt_so_far(snapshot, turn, failure, start.ask.settings, start.reader, seconds)
        failure.receipt, failure.thread_id = receipt.model_dump(), turn.thread_id
        decision = snapshot.values.get("decision") if snapshot.next != ("rewrite",) else None
        await asyncio.to_thread(
            self.ledger.fail, turn.id, error=str(failure), receipt=failure.receipt, decision=decision or None
        )
        return failure


def _outcome(
    start: _Start, state: Mapping[str, Any], question: Mapping[str, Any] | None, seconds: float
) -> Answer | Clarification:
    """The answer that the graph's state holds, or, where the graph has stopped to ask, its question to the person."""
    turn = start.turn
    if question is not None:
        return Clarification(
            thread_id=turn.thread_id, turn=turn.turn, question=question["question"], choices=tuple(question["choices"])
        )
    answer = answer_of(
        state,
        reader=start.reader,
        settings=start.ask.settings,
        thread_id=turn.thread_id,
        turn=turn.turn,
        seconds=seconds,
    )
    missing = start.ask.use.missing
    return answer.model_copy(update={"gaps": (missing, *answer.gaps)}) if missing else answer


def _receipt_so_far(
    snapshot: StateSnapshot, turn: Turn, error: PreflightError, settings: Settings, reader: Reader, seconds: float
) -> Receipt:
    begun = (snapshot.metadata or {}).get("turn_id") == turn.id and "rewrite" not in snapshot.next
    state = dict(snapshot.values) if begun else {}
    if isinstance(error, ModelError) and error.spent and snapshot.next:
        row = {"stage": snapshot.next[0], "started": time() - error.spent["seconds"], **error.spent}
        state["spent"] = [*state.get("spent", []), row]
    return receipt_of(state, reader=reader, settings=settings, seconds=seconds)


def _choices(turn: Turn) -> list[Choice]:
    return [Choice.model_validate(choice) for choice in (turn.clarification or {}).get("choices") or []]


def _unexpected(error: Exception, reader: Reader) -> TurnError:
    """An error that nobody foresaw, with what helps: the system's, that of a reader of somebody's own, or ours."""
    message = f"the turn failed: {type(error).__name__}: {first_line(error)}"
    if isinstance(error, OSError | sqlite3.Error) and (help := system_help(error)):
        return TurnError(message, help=help)
    own = type(reader).__module__
    if not own.startswith("preflight_rag.") and own in modules_of(error.__traceback__):
        return TurnError(message, help=others_help(error, f"the reader {reader.name}"))
    return TurnError(message, help="Please report it, with what `preflight doctor` says.")
