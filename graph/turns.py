"""The turns of conversations: one at a time on a thread, always recorded in the ledger, pruned after each.

`Turns.run` is the only entry for all requests of `requests.py`; `running_turn.py` runs the turn itself.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from preflight_rag.corg.choices import chosen
from preflight_rag.graph.build import build_graph
from preflight_rag.graph.events import Event
from preflight_rag.graph.model_use import LOST, ModelUse
from preflight_rag.graph.requests import Ask, Choose, Request, Resume
from preflight_rag.graph.running_turn import RunningTurn, TurnStart, belongs_to
from preflight_rag.models.budget import SharedBudget
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.protocol import Reader
from preflight_rag.state.errors import (
    LibraryError,
    PreflightError,
    ThreadBusy,
    ThreadNotFound,
    TooManySteps,
    TurnError,
    TurnUnfinished,
    UsageError,
    first_line,
    lacking,
    modules_of,
    others_help,
    system_help,
)
from preflight_rag.state.schema import STATE_VERSION, Question
from preflight_rag.state.values import Answer, Choice
from preflight_rag.threads.ledger import Turn
from preflight_rag.threads.locks import new_thread_id, validate_thread_id

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.pubmed import EntrezClient
    from preflight_rag.threads.thread_store import ThreadStore

_LOG = logging.getLogger(__name__)


class Turns:
    """The turns of one library's conversations.

    Args:
        threads: The store of conversations.
        library: The collection.
        reader: Returns the reader for a model's name; None names the library's own.
        pubmed: Returns the client of NCBI.
    """

    def __init__(
        self,
        threads: ThreadStore,
        library: Collection,
        reader: Callable[[str | None], Reader],
        pubmed: Callable[[], EntrezClient] | None = None,
    ) -> None:
        self.threads = threads
        self.saver = threads.saver
        self.ledger = threads.ledger
        self.library = library
        self.reader = reader
        self.pubmed = pubmed
        self.graph = build_graph().compile(checkpointer=self.saver, name="preflight")

    def with_reader(self, reader: Callable[[str | None], Reader]) -> Turns:
        """Return the same turns, over the same conversations and locks, with other readers."""
        turns = copy(self)
        turns.reader = reader
        return turns

    async def run(
        self,
        request: Request,
        *,
        thread_id: str | None = None,
        lock_wait: float = 30.0,
        tokens: bool = True,
        progress: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """Run or finish a turn.

        Yield progress, stages and the answer's pieces; at last the answer, or the question to the user. The ledger
        records every end of a turn, also of one that is stopped because nobody reads on.

        Args:
            request: The request.
            thread_id: The conversation; None for a new one, which the turn's outcome or its error names.
            lock_wait: Seconds to wait for another turn on the thread.
            tokens: Whether to yield the answer's pieces.
            progress: Whether to yield progress and stages; without both, LangGraph has nothing to stream, which saves
                about a tenth of a turn's cost.

        Raises:
            UsageError: The question, the history, the choice or the thread id cannot be used.
            ThreadBusy: Another turn runs on the thread, longer than `lock_wait`.
            ThreadNotFound: There is no such thread to continue.
            TurnUnfinished: The thread's last turn was cut off, and the request does not discard it.
            TurnError: There is nothing to continue, or the turn failed.
        """
        thread_id = new_thread_id("turn") if thread_id is None else validate_thread_id(thread_id)
        if isinstance(request, Ask):
            request.check()
        async with self.threads.lock(thread_id, wait=lock_wait):
            if isinstance(request, Ask):
                start = await self._ask(request, thread_id)
            else:
                start = await self._continue_last_turn(request, thread_id)
            turn = start.turn
            running = RunningTurn(
                self.graph,
                start,
                library=self.library,
                reader=self.reader,
                pubmed=self.pubmed,
                tokens=tokens,
                progress=progress,
            )
            try:
                async with aclosing(running.events()) as events:
                    async for event in events:
                        yield event
                state = await running.final_state()
                outcome = running.outcome(state)
                if isinstance(outcome, Answer):
                    for piece in running.narrator.rest(outcome.answer):
                        yield piece
                    await self.threads.finish(turn, outcome, start.ask.settings.keep_turns)
                else:
                    await self.threads.ask(turn, outcome, running.receipt(state))
            except BaseException as error:
                running.span.failed(error)
                failure = await self._record_failure(error, running)
                if failure is error:
                    raise
                raise failure from error
            running.span.ended(outcome)
            yield outcome

    async def fork(self, thread_id: str, turn: int, into: str) -> None:
        """Begin a thread with another thread's turns before `turn`; follow-ups can refer to their citations.

        Raises:
            ThreadNotFound: There is no such thread, or it has no such turn.
            TurnError: A thread with the new name exists.
        """
        thread_id, into = validate_thread_id(thread_id), validate_thread_id(into)
        copied_turns = await asyncio.to_thread(self.ledger.fork, thread_id, turn, into)
        if not copied_turns:
            return
        answers = [Answer.model_validate(copied.result) for copied in copied_turns]
        messages: list[AnyMessage] = []
        for answer in answers:
            messages += [HumanMessage(answer.question), AIMessage(answer.answer)]
        values: dict[str, Any] = {"messages": messages}
        from_documents = [answer for answer in answers if answer.route.name != "conversation"]
        if from_documents:
            last = from_documents[-1].model_dump(mode="json")
            names = ("answer", "citations", "groups")
            values["earlier"] = {"question": last["standalone_question"], **{name: last[name] for name in names}}
        await self.graph.aupdate_state({"configurable": {"thread_id": into}}, values, as_node="cite")

    async def delete(self, thread_id: str) -> bool:
        """Delete a thread with its turns and checkpoints, and shrink the file; return False if there is none."""
        thread_id = validate_thread_id(thread_id)
        exists = await asyncio.to_thread(self.ledger.delete, thread_id)
        await self.saver.adelete_thread(thread_id)
        await self.saver.vacuum()
        return exists

    async def prune(self, keep_turns: int) -> tuple[int, int]:
        """Remove intermediate checkpoints of every thread whose last turn cannot be resumed, and shrink the file.

        Returns:
            The size of the conversations on disk in bytes, before and after.
        """
        before = await self.threads.size()
        for thread_id in await self.saver.athreads():
            with suppress(ThreadBusy):  # its turn prunes when it ends
                async with self.threads.lock(thread_id, wait=0):
                    last = await asyncio.to_thread(self.ledger.last, thread_id)
                    if last is None or last.status not in ("running", "asking"):
                        await self.saver.prune_turn(thread_id, keep_turns)
        await self.saver.vacuum()
        return before, await self.threads.size()

    async def _ask(self, ask: Ask, thread_id: str) -> TurnStart:
        """Begin a turn, or resume the last one if it waits for the user's choice and the message is that choice.

        If the model cannot be opened, the turn begins without it if the request allows that (`use.or_offline`).
        """
        if ask.model is None:  # a reader that is open already: the turn begins at once if nothing else has to be opened
            reader = self.reader(None)
            last, turn = await asyncio.to_thread(
                self.ledger.begin_unless,
                lambda last: bool(ask.history) or last.status in ("running", "asking"),
                thread_id,
                ask.question,
                settings=ask.recorded(),
                model=reader.name,
            )
            if turn is not None:
                return TurnStart(turn, ask, reader, ask.input())
        else:
            last = await asyncio.to_thread(self.ledger.last, thread_id)
        if last and ask.history:
            raise UsageError(
                f"thread {thread_id!r} already has a conversation", help="Give history= with a new thread only."
            )
        if last and last.status == "asking" and (labels := chosen(ask.question, _offered_choices(last))):
            return await self._reopen(last, lambda _: Command(resume=labels), ask.use.purses)
        try:
            # The library's own is open already.
            reader = self.reader(None) if ask.model is None else await asyncio.to_thread(self.reader, ask.model)
        except LOST as error:
            if not ask.use.or_offline:
                raise
            reader = await asyncio.to_thread(self.reader, OFFLINE)
            ask = replace(ask, use=ask.use.lost(ask.model or "model", error))
        await self._close_last_turn(await self._finish_if_complete(last), discard=ask.discard)
        turn = await asyncio.to_thread(
            self.ledger.begin, thread_id, ask.question, settings=ask.recorded(), model=reader.name
        )
        return TurnStart(turn, ask, reader, ask.input())

    async def _continue_last_turn(self, request: Choose | Resume, thread_id: str) -> TurnStart:
        """Resume the thread's last turn: with the user's choice if it waits for one, or from where it was cut off."""
        last = await asyncio.to_thread(self.ledger.last, thread_id)
        if last is None:
            raise ThreadNotFound(f"there is no thread {thread_id!r}", help="See `preflight threads list`.")
        offered = _offered_choices(last)
        if isinstance(request, Choose):
            if last.status != "asking":
                raise TurnError(f"the last turn of thread {thread_id!r} asks nothing", help="Ask a new question.")
            if not (labels := chosen(request.choice, offered)):
                numbered = "; ".join(f"{n}: {choice.label}" for n, choice in enumerate(offered, 1))
                raise UsageError(
                    f"{request.choice!r} is none of the choices", help=f'Choose one or more of {numbered}, or "all".'
                )
            can_resume = await self._can_resume(last)
            return await self._reopen(
                last, lambda ask: Command(resume=labels) if can_resume else ask.input(), request.purses
            )
        if last.status in ("answered", "abstained"):
            raise TurnError(f"the last turn of thread {thread_id!r} is finished", help="There is nothing to resume.")
        if last.status == "asking":
            labels_offered = "; ".join(choice.label for choice in offered)
            help = f"Choose: {labels_offered}."
            raise TurnError(f"the last turn of thread {thread_id!r} waits for a reply", help=help)
        can_resume = await self._can_resume(last)
        return await self._reopen(last, lambda ask: None if can_resume else ask.input(), request.purses)

    async def _can_resume(self, turn: Turn) -> bool:
        """Return whether a turn can resume from its checkpoint; if not, it has to be restarted.

        It cannot if another version of the program has written the checkpoint: its stages may have other names.

        Raises:
            TurnError: A newer version of the program has begun the turn.
        """
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": turn.thread_id}})
        if not belongs_to(snapshot, turn):
            return False
        if "rewrite" in snapshot.next:  # which rewrites everything from which a turn can resume
            return True
        version = snapshot.values.get("schema_version")
        if isinstance(version, int) and version > STATE_VERSION:
            raise TurnError(
                f"the last turn of thread {turn.thread_id!r} was begun by a newer version of preflight-rag",
                help="Upgrade preflight-rag, or ask again on a new thread; nothing was changed.",
            )
        return version == STATE_VERSION and bool(snapshot.tasks or snapshot.values.get("answer"))

    async def _reopen(
        self, turn: Turn, graph_input: Callable[[Ask], Question | Command[Any] | None], purses: Sequence[SharedBudget]
    ) -> TurnStart:
        """Reopen a turn in the ledger, and return the start with which it continues.

        `graph_input` returns the graph's input for the turn's request, or None to resume from the checkpoint.
        """
        ask = replace(Ask.of(turn), use=ModelUse(purses=purses))
        reader = await asyncio.to_thread(self.reader, ask.model)
        await asyncio.to_thread(self.ledger.reopen, turn.id)
        return TurnStart(turn, ask, reader, graph_input(ask))

    async def _finish_if_complete(self, last: Turn | None) -> Turn | None:
        """Record the end of the thread's last turn in the ledger if its checkpoints say that it is complete.

        That is so if its process ended between the answer and its row in the ledger. The turn is returned as the ledger
        has it now.
        """
        if last is None or last.status != "running":
            return last
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": last.thread_id}})
        # A finished stage is not in `next` any more, but among `tasks` until the checkpoint after it is written.
        if not belongs_to(snapshot, last) or snapshot.tasks or snapshot.created_at is None:
            return last
        duration = datetime.fromisoformat(snapshot.created_at) - datetime.fromisoformat(last.started_at)
        try:
            ask = Ask.of(last)
            start = TurnStart(last, ask, await asyncio.to_thread(self.reader, ask.model), None)
            answer = start.answer(snapshot.values, max(0.0, duration.total_seconds()))
        except PreflightError:  # its model cannot be opened any more: the user has to resume or to discard the turn
            return last
        return await asyncio.to_thread(self.ledger.finish, last.id, answer=answer)

    async def _close_last_turn(self, last: Turn | None, *, discard: bool) -> None:
        """Mark a previous turn that has not ended as interrupted; one that was cut off only with `discard`."""
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

    async def _record_failure(self, error: BaseException, running: RunningTurn) -> BaseException:
        """Record a failed or stopped turn in the ledger, and return the error to raise.

        An error that is not ours becomes a `TurnError`; the returned error has the turn's thread and its cost.
        """
        turn = running.start.turn
        if not isinstance(error, Exception):
            # A cancelled task may be cancelled again while it writes: the record is finished all the same.
            record = asyncio.to_thread(self.ledger.fail, turn.id, error="stopped", status="interrupted")
            await asyncio.shield(record)
            return error
        failure = error if isinstance(error, PreflightError) else _unexpected_error(error, running.start.reader)
        failure.thread_id = turn.thread_id
        try:
            snapshot = await running.snapshot()
            failure.receipt = running.failed_receipt(snapshot, failure).model_dump()
            decision = snapshot.values.get("decision") if snapshot.next != ("rewrite",) else None
            await asyncio.to_thread(
                self.ledger.fail, turn.id, error=str(failure), receipt=failure.receipt, decision=decision or None
            )
        except (LibraryError, sqlite3.Error, OSError, MemoryError):
            # A database that cannot be used now is often why the turn failed. The turn stays recorded as cut off, and
            # can be resumed; a warning would only be a second line beside the error's own.
            _LOG.info("the end of a turn could not be recorded in %s", self.ledger.database.name)
        return failure


def _offered_choices(turn: Turn) -> list[Choice]:
    """Return the choices that a turn has offered to the user; empty if it has not asked."""
    return [Choice.model_validate(choice) for choice in (turn.clarification or {}).get("choices") or []]


def _unexpected_error(error: Exception, reader: Reader) -> TurnError:
    """Return the error for an unforeseen failure.

    Its help says whether the system, a custom reader or this program is at fault.
    """
    if isinstance(error, GraphRecursionError):
        help = "It goes round in circles; the limit is PREFLIGHT_MAX_STEPS."
        return TooManySteps("the turn took more steps than it may, and was stopped", help=help)
    message = f"the turn failed: {type(error).__name__}: {first_line(error)}"
    if (reason := lacking(error)) and (help := system_help(error)):
        return TurnError(f"the turn failed: {reason}", help=help)
    if help := system_help(error):
        return TurnError(message, help=help)
    reader_module = type(reader).__module__
    if not reader_module.startswith("preflight_rag.") and reader_module in modules_of(error.__traceback__):
        return TurnError(message, help=others_help(error, f"the reader {reader.name}"))
    return TurnError(message, help="Please report it, with what `preflight doctor` says.")
