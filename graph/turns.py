"""Running turns: one at a time on a thread, written to the ledger in every case, checkpoints pruned after each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, time
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from preflight_rag.conversation.questions import check_question, normalised
from preflight_rag.corg.choices import chosen
from preflight_rag.graph.build import RECURSION_LIMIT, build_graph
from preflight_rag.graph.checkpoints import SqliteCheckpointer
from preflight_rag.graph.events import Event, Narrator, ProgressEvent, StageEvent, TokenEvent
from preflight_rag.graph.ledger import Ledger, Turn
from preflight_rag.graph.locks import thread_lock, validate_thread_id
from preflight_rag.graph.outcome import answer_of, receipt_of
from preflight_rag.graph.readers import extractive_for
from preflight_rag.graph.tracing import TurnSpan
from preflight_rag.library.collection import Collection
from preflight_rag.models.protocol import Reader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import (
    ModelError,
    PreflightError,
    ThreadNotFound,
    TurnError,
    TurnUnfinished,
    UsageError,
    first_line,
)
from preflight_rag.state.schema import Question
from preflight_rag.state.values import Answer, Choice, Clarification, Receipt

__all__ = ["Ask", "Event", "ProgressEvent", "StageEvent", "TokenEvent", "Turns"]

ROLES = {"user": HumanMessage, "assistant": AIMessage}


@dataclass(frozen=True)
class Ask:
    """What a turn is asked with.

    Attributes:
        question: What the person asks.
        settings: The numbers of the turn.
        options: The choices of a multiple-choice question.
        history: `(role, text)` of the messages before it, for a thread without turns; roles are "user", "assistant".
        model: The model of this turn by name; None for the one that the library was opened with.
    """

    question: str
    settings: Settings = field(default_factory=Settings)
    options: Sequence[str] = ()
    history: Sequence[tuple[str, str]] = ()
    model: str | None = None

    def recorded(self) -> dict[str, Any]:
        """As the ledger keeps it beside the question."""
        own = {"options": list(self.options), "history": [list(pair) for pair in self.history], "model": self.model}
        return {**self.settings.model_dump(), **own}

    @classmethod
    def of(cls, turn: Turn) -> Ask:
        """What a recorded turn was asked with."""
        given = dict(turn.settings)
        options, history, model = (given.pop(name, None) for name in ("options", "history", "model"))
        pairs = [(role, text) for role, text in history or []]
        return cls(turn.question, Settings.model_validate(given), options or (), pairs, model)

    def input(self) -> Question:
        """What the graph takes in."""
        earlier: list[AnyMessage] = [ROLES[role](text) for role, text in self.history if text.strip()]
        return Question(messages=[*earlier, HumanMessage(self.question)], options=list(self.options))


class Turns:
    """The turns of one library's conversations.

    Args:
        folder: The library's folder, which holds the locks.
        saver: Where checkpoints go.
        ledger: Where turns are recorded.
        library: The collection.
        reader: Gives the reader for a model's name; None names the library's own.
    """

    def __init__(
        self,
        folder: Path,
        saver: SqliteCheckpointer,
        ledger: Ledger,
        library: Collection,
        reader: Callable[[str | None], Reader],
        pubmed: Callable[[], Any] | None = None,
    ) -> None:
        self.folder = folder
        self.saver = saver
        self.ledger = ledger
        self.library = library
        self.reader = reader
        self.pubmed = pubmed
        self.graph = build_graph().compile(checkpointer=saver, name="preflight")

    async def stream(
        self, asked: Ask, *, thread_id: str, tokens: bool = True, discard: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Take a turn: progress and stages, with `tokens` the answer's pieces, at last the answer or what is asked.

        Args:
            asked: The question and what goes with it.
            thread_id: The conversation.
            tokens: Whether the answer's pieces are wanted.
            discard: Give up an earlier turn of the thread that was cut off.

        Raises:
            UsageError: The question, the history or the thread id cannot be used.
            ThreadBusy: Another turn runs on the thread, longer than `settings.lock_wait`.
            TurnUnfinished: The thread's last turn was cut off, and `discard` is False.
        """
        thread_id, settings = validate_thread_id(thread_id), asked.settings
        check_question(normalised(asked.question), settings.max_question_chars)
        if unknown := sorted({role for role, _ in asked.history} - ROLES.keys()):
            raise UsageError(f"history has the role {unknown[0]!r}", help='Use "user" and "assistant".')
        reader = await asyncio.to_thread(self.reader, asked.model)
        async with thread_lock(self.folder, thread_id, wait=settings.lock_wait):
            last = await asyncio.to_thread(self.ledger.last, thread_id)
            if last and asked.history:
                raise UsageError(
                    f"thread {thread_id!r} has a conversation of its own", help="Give history= with a new thread only."
                )
            if last and last.status == "asking" and (labels := chosen(asked.question, _choices(last))):
                async with aclosing(self._reply(last, labels, tokens=tokens)) as events:
                    async for event in events:
                        yield event
                return
            await self._leave(last, discard=discard)
            turn = await asyncio.to_thread(
                self.ledger.begin, thread_id, asked.question, settings=asked.recorded(), model=reader.name
            )
            async with aclosing(self._drive(asked.input(), turn, asked, reader, tokens=tokens)) as events:
                async for event in events:
                    yield event

    async def reply(
        self, thread_id: str, choice: str | Sequence[str], *, lock_wait: float = 30.0, tokens: bool = True
    ) -> AsyncGenerator[Event, None]:
        """Answer what the thread's last turn has asked, and go on with that turn.

        Args:
            thread_id: The conversation.
            choice: One or several labels or numbers from 1, or "all".
            lock_wait: Seconds to wait for another turn on the thread.
            tokens: Whether the answer's pieces are wanted.

        Raises:
            ThreadNotFound: No such thread.
            TurnError: Its last turn asks nothing.
            UsageError: The choice names nothing that was offered.
        """
        thread_id = validate_thread_id(thread_id)
        async with thread_lock(self.folder, thread_id, wait=lock_wait):
            turn = await self._last(thread_id)
            if turn.status != "asking":
                raise TurnError(f"the last turn of thread {thread_id!r} asks nothing", help="Ask a new question.")
            labels = chosen(choice, _choices(turn))
            if not labels:
                offered = "; ".join(f"{n}: {each.label}" for n, each in enumerate(_choices(turn), 1))
                raise UsageError(f"{choice!r} is none of the choices", help=f'Choose of {offered}; or "all".')
            async with aclosing(self._reply(turn, labels, tokens=tokens)) as events:
                async for event in events:
                    yield event

    async def resume(
        self, thread_id: str, *, lock_wait: float = 30.0, tokens: bool = True
    ) -> AsyncGenerator[Event, None]:
        """Finish the thread's last turn where it stopped; stages and partitions that had ended are not run again.

        Raises:
            ThreadNotFound: No such thread.
            TurnError: Its last turn has been answered, or waits for a reply.
        """
        thread_id = validate_thread_id(thread_id)
        async with thread_lock(self.folder, thread_id, wait=lock_wait):
            turn = await self._last(thread_id)
            if turn.status in ("answered", "abstained"):
                raise TurnError(
                    f"the last turn of thread {thread_id!r} is finished", help="There is nothing to resume."
                )
            if turn.status == "asking":
                offered = "; ".join(each.label for each in _choices(turn))
                raise TurnError(f"the last turn of thread {thread_id!r} waits for a reply", help=f"Choose: {offered}.")
            asked = Ask.of(turn)
            reader = await asyncio.to_thread(self.reader, asked.model)
            await asyncio.to_thread(self.ledger.reopen, turn.id)
            snapshot = await self.graph.aget_state(self._config(turn, asked.settings))
            begun = (snapshot.metadata or {}).get("turn_id") == turn.id
            given = None if begun else asked.input()
            async with aclosing(self._drive(given, turn, asked, reader, tokens=tokens)) as events:
                async for event in events:
                    yield event

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

    async def _last(self, thread_id: str) -> Turn:
        turn = await asyncio.to_thread(self.ledger.last, thread_id)
        if turn is None:
            raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
        return turn

    async def _leave(self, last: Turn | None, *, discard: bool) -> None:
        """Close the turn before, if it has not ended: one that was cut off only on purpose."""
        if last is None or last.status not in ("running", "asking"):
            return
        if last.status == "running" and not discard:
            raise TurnUnfinished(
                f"the last turn of thread {last.thread_id!r} was cut off: {last.question[:80]!r}",
                help=f"Finish it with `preflight threads resume {last.thread_id}`, or ask with --discard to drop it.",
            )
        error = "discarded" if last.status == "running" else "what it asked was not answered"
        await asyncio.to_thread(self.ledger.fail, last.id, error=error, status="interrupted")

    async def _reply(self, turn: Turn, labels: Sequence[str], *, tokens: bool) -> AsyncGenerator[Event, None]:
        asked = Ask.of(turn)
        reader = await asyncio.to_thread(self.reader, asked.model)
        await asyncio.to_thread(self.ledger.reopen, turn.id)
        given: Command[Any] = Command(resume=list(labels))
        async with aclosing(self._drive(given, turn, asked, reader, tokens=tokens)) as events:
            async for event in events:
                yield event

    def _config(self, turn: Turn, settings: Settings) -> RunnableConfig:
        return {
            "configurable": {"thread_id": turn.thread_id},
            "metadata": {"turn_id": turn.id},
            "max_concurrency": settings.max_concurrency,
            "recursion_limit": RECURSION_LIMIT,
        }

    async def _drive(
        self, given: Question | Command[Any] | None, turn: Turn, asked: Ask, reader: Reader, *, tokens: bool
    ) -> AsyncGenerator[Event, None]:
        """Run the graph to the end of the turn, or to where it asks; the ledger learns of every way that it ends."""
        started = perf_counter() - (turn.seconds if isinstance(given, Command) else 0.0)
        config = self._config(turn, asked.settings)
        narrator = Narrator(tokens=tokens)
        span = TurnSpan(turn.question, turn.thread_id, turn.turn)
        last: Answer | Clarification
        try:
            async with aclosing(self._events(given, config, asked, reader, narrator, span.context)) as events:
                async for event in events:
                    yield event
            state = (await self.graph.aget_state(config)).values
            seconds = perf_counter() - started
            if narrator.asked is not None:
                last = _clarification(narrator.asked, turn)
                receipt = receipt_of(state, reader=reader, settings=asked.settings, seconds=seconds)
                await asyncio.to_thread(self.ledger.ask, turn.id, clarification=last, receipt=receipt.model_dump())
            else:
                last = answer_of(
                    state,
                    reader=reader,
                    settings=asked.settings,
                    thread_id=turn.thread_id,
                    turn=turn.turn,
                    seconds=seconds,
                )
                for piece in narrator.rest(last.answer):
                    yield piece
                await asyncio.to_thread(self.ledger.finish, turn.id, answer=last)
        except BaseException as error:
            span.failed(error)
            failure = await self._failed(error, turn, config, asked.settings, reader, perf_counter() - started)
            if failure is error:
                raise
            raise failure from error
        span.ended(last)
        if isinstance(last, Answer):
            await self.saver.prune_turn(turn.thread_id, asked.settings.keep_turns)
        yield last

    async def _events(
        self,
        given: Question | Command[Any] | None,
        config: RunnableConfig,
        asked: Ask,
        reader: Reader,
        narrator: Narrator,
        trace: Any,
    ) -> AsyncGenerator[Event, None]:
        settings = asked.settings
        pubmed = self.pubmed() if self.pubmed is not None and settings.pubmed else None
        extractive = await asyncio.to_thread(extractive_for, reader, settings.extractive_reader)
        context = Context(reader, self.library, settings, pubmed, extractive, trace)
        modes: list[Any] = ["updates", "custom"]
        if narrator.tokens and not asked.options:
            modes.append("messages")
        run: Any = self.graph.astream(given, config, context=context, stream_mode=modes, durability="async")
        async with aclosing(run):
            async for mode, payload in run:
                for event in narrator.hear(mode, payload):
                    yield event

    async def _failed(
        self,
        error: BaseException,
        turn: Turn,
        config: RunnableConfig,
        settings: Settings,
        reader: Reader,
        seconds: float,
    ) -> BaseException:
        """Record a failed turn; an error that is not ours becomes a `TurnError`."""
        if not isinstance(error, Exception):
            record = asyncio.to_thread(self.ledger.fail, turn.id, error="stopped", status="interrupted")
            await asyncio.shield(record)
            return error
        failure = error if isinstance(error, PreflightError) else _unexpected(error)
        snapshot = await self.graph.aget_state(config)
        receipt = _receipt_so_far(snapshot, turn, failure, settings, reader, seconds)
        failure.receipt = receipt.model_dump()
        decision = snapshot.values.get("decision") if snapshot.next != ("rewrite",) else None
        await asyncio.to_thread(
            self.ledger.fail, turn.id, error=str(failure), receipt=failure.receipt, decision=decision or None
        )
        return failure


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


def _clarification(asked: dict[str, Any], turn: Turn) -> Clarification:
    return Clarification(
        thread_id=turn.thread_id, turn=turn.turn, question=asked["question"], choices=tuple(asked["choices"])
    )


def _unexpected(error: Exception) -> TurnError:
    return TurnError(
        f"the turn failed: {type(error).__name__}: {first_line(error)}",
        help="Please report it with `preflight doctor`.",
    )
