"""Running turns: one at a time on a thread, written to the ledger in every case, checkpoints pruned after each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, time
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from ..models.open import extractive_for
from ..models.protocol import Reader
from ..nodes.rewrite import check_question, normalised
from ..prompts.visible import VisibleText
from ..state.context import Context, Settings
from ..state.errors import ModelError, PreflightError, ThreadNotFound, TurnError, TurnUnfinished
from ..state.schema import Question
from ..state.values import Answer, Receipt
from .build import RECURSION_LIMIT, build_graph
from .checkpoints import SqliteCheckpointer
from .ledger import Ledger, Turn
from .locks import thread_lock, validate_thread_id
from .outcome import answer_of, receipt_of

ANSWERING = ("answer_plain", "reduce_context")


@dataclass(frozen=True)
class StageEvent:
    """A stage has ended; `update` is what it wrote into the state."""

    stage: str
    update: dict[str, Any]


@dataclass(frozen=True)
class TokenEvent:
    """A piece of the answer, as it is being written."""

    text: str


Event = StageEvent | TokenEvent | Answer


class Turns:
    """The turns of one library's conversations.

    Args:
        folder: The library's folder, which holds the locks.
        saver: Where checkpoints go.
        ledger: Where turns are recorded.
        library: The collection.
        reader: The reader of all turns.
    """

    def __init__(
        self,
        folder: Path,
        saver: SqliteCheckpointer,
        ledger: Ledger,
        library: Any,
        reader: Reader,
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
        self,
        question: str,
        *,
        thread_id: str,
        settings: Settings,
        options: Sequence[str] = (),
        tokens: bool = True,
        discard: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Take a turn: stage events, with `tokens` also the answer's pieces, at last the `Answer`.

        Args:
            question: What the person asks.
            thread_id: The conversation.
            settings: The numbers of the turn.
            options: The choices of a multiple-choice question.
            tokens: Whether the answer's pieces are wanted.
            discard: Give up an earlier turn of the thread that was cut off.

        Raises:
            UsageError: The question or the thread id cannot be used.
            ThreadBusy: Another turn runs on the thread, longer than `settings.lock_wait`.
            TurnUnfinished: The thread's last turn was cut off, and `discard` is False.
        """
        thread_id = validate_thread_id(thread_id)
        check_question(normalised(question), settings.max_question_chars)
        async with thread_lock(self.folder, thread_id, wait=settings.lock_wait):
            cut_off = await asyncio.to_thread(self.ledger.unfinished, thread_id)
            if cut_off and not discard:
                raise TurnUnfinished(
                    f"the last turn of thread {thread_id!r} was cut off: {cut_off.question[:80]!r}",
                    help=f"Finish it with `preflight threads resume {thread_id}`, or ask with --discard to drop it.",
                )
            if cut_off:
                await asyncio.to_thread(self.ledger.fail, cut_off.id, error="discarded", status="interrupted")
            turn = await asyncio.to_thread(
                self.ledger.begin, thread_id, question, settings=_asked(settings, options), model=self.reader.name
            )
            asked = Question(messages=[HumanMessage(question)], options=list(options))
            async with aclosing(self._drive(asked, turn, settings, tokens=tokens and not options)) as events:
                async for event in events:
                    yield event

    async def resume(self, thread_id: str, *, lock_wait: float = 30.0) -> Answer:
        """Finish the thread's last turn where it stopped; stages and partitions that had ended are not run again.

        Raises:
            ThreadNotFound: No such thread.
            TurnError: Its last turn has been answered.
        """
        thread_id = validate_thread_id(thread_id)
        async with thread_lock(self.folder, thread_id, wait=lock_wait):
            turn = await asyncio.to_thread(self.ledger.last, thread_id)
            if turn is None:
                raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
            if turn.status in ("answered", "abstained"):
                raise TurnError(
                    f"the last turn of thread {thread_id!r} is finished", help="There is nothing to resume."
                )
            await asyncio.to_thread(self.ledger.reopen, turn.id)
            options = turn.settings.get("options", [])
            settings = Settings.model_validate({k: v for k, v in turn.settings.items() if k != "options"})
            snapshot = await self.graph.aget_state(self._config(turn, settings))
            begun = (snapshot.metadata or {}).get("turn_id") == turn.id
            asked = None if begun else Question(messages=[HumanMessage(turn.question)], options=options)
            async for event in self._drive(asked, turn, settings, tokens=False):
                if isinstance(event, Answer):
                    return event
        raise AssertionError("a turn ends with its answer or an error")

    async def delete(self, thread_id: str) -> bool:
        """Forget a thread: its turns and its checkpoints; the file shrinks. False when there is none."""
        thread_id = validate_thread_id(thread_id)
        known = await asyncio.to_thread(self.ledger.delete, thread_id)
        await self.saver.adelete_thread(thread_id)
        await self.saver.vacuum()
        return known

    async def prune(self, keep_turns: int) -> None:
        """Drop the intermediate checkpoints of every thread that has no turn to resume; the file shrinks."""
        for thread_id in await self.saver.athreads():
            if not await asyncio.to_thread(self.ledger.unfinished, thread_id):
                await self.saver.prune_turn(thread_id, keep_turns)
        await self.saver.vacuum()

    def _config(self, turn: Turn, settings: Settings) -> RunnableConfig:
        return {
            "configurable": {"thread_id": turn.thread_id},
            "metadata": {"turn_id": turn.id},
            "max_concurrency": settings.max_concurrency,
            "recursion_limit": RECURSION_LIMIT,
        }

    async def _drive(
        self, asked: Question | None, turn: Turn, settings: Settings, *, tokens: bool
    ) -> AsyncGenerator[Event, None]:
        started = perf_counter()
        config = self._config(turn, settings)
        try:
            async with aclosing(self._events(asked, config, settings, tokens=tokens)) as events:
                async for event in events:
                    yield event
            state = (await self.graph.aget_state(config)).values
        except BaseException as error:
            failure = await self._failed(error, turn, config, settings, perf_counter() - started)
            if failure is error:
                raise
            raise failure from error
        answer = answer_of(
            state,
            reader=self.reader,
            settings=settings,
            thread_id=turn.thread_id,
            turn=turn.turn,
            seconds=perf_counter() - started,
        )
        await asyncio.to_thread(self.ledger.finish, turn.id, answer=answer)
        await self.saver.prune_turn(turn.thread_id, settings.keep_turns)
        yield answer

    async def _events(
        self, asked: Question | None, config: RunnableConfig, settings: Settings, *, tokens: bool
    ) -> AsyncGenerator[Event, None]:
        pubmed = self.pubmed() if self.pubmed is not None and settings.pubmed else None
        extractive = await asyncio.to_thread(extractive_for, self.reader, settings.extractive_reader)
        context = Context(self.reader, self.library, settings, pubmed, extractive)
        visible = VisibleText()
        modes: list[Any] = ["updates", "messages"] if tokens else ["updates"]
        run: Any = self.graph.astream(asked, config, context=context, stream_mode=modes, durability="async")
        async with aclosing(run):
            async for mode, payload in run:
                if mode == "messages":
                    piece, metadata = payload
                    if metadata["langgraph_node"] in ANSWERING and (text := visible.feed(str(piece.text))):
                        yield TokenEvent(text)
                    continue
                for stage, update in payload.items():
                    if stage in ANSWERING:
                        if text := visible.finish():
                            yield TokenEvent(text)
                        visible = VisibleText()
                        if (update or {}).get("escalations"):
                            yield TokenEvent("\n\n")
                    yield StageEvent(stage, update or {})

    async def _failed(
        self, error: BaseException, turn: Turn, config: RunnableConfig, settings: Settings, seconds: float
    ) -> BaseException:
        """Record a failed turn; an error that is not ours becomes a `TurnError`."""
        if not isinstance(error, Exception):
            record = asyncio.to_thread(self.ledger.fail, turn.id, error="stopped", status="interrupted")
            await asyncio.shield(record)
            return error
        failure = error if isinstance(error, PreflightError) else _unexpected(error)
        snapshot = await self.graph.aget_state(config)
        receipt = self._receipt_so_far(snapshot, turn, failure, settings, seconds)
        failure.receipt = receipt.model_dump()
        decision = snapshot.values.get("decision") if snapshot.next != ("rewrite",) else None
        await asyncio.to_thread(
            self.ledger.fail, turn.id, error=str(failure), receipt=failure.receipt, decision=decision or None
        )
        return failure

    def _receipt_so_far(
        self, snapshot: StateSnapshot, turn: Turn, error: PreflightError, settings: Settings, seconds: float
    ) -> Receipt:
        begun = (snapshot.metadata or {}).get("turn_id") == turn.id and "rewrite" not in snapshot.next
        state = dict(snapshot.values) if begun else {}
        if isinstance(error, ModelError) and error.spent and snapshot.next:
            row = {"stage": snapshot.next[0], "started": time() - error.spent["seconds"], **error.spent}
            state["spent"] = [*state.get("spent", []), row]
        return receipt_of(state, reader=self.reader, settings=settings, seconds=seconds)


def _asked(settings: Settings, options: Sequence[str]) -> dict[str, Any]:
    return {**settings.model_dump(), "options": list(options)}


def _unexpected(error: Exception) -> TurnError:
    first_line = (str(error).strip().splitlines() or [""])[0]
    return TurnError(
        f"the turn failed: {type(error).__name__}: {first_line[:300]}", help="Please report it with `preflight doctor`."
    )
