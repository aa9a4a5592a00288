"""A running turn: its budget, its cost, and further attempts if they can help.

A turn is restarted from its first stage if it has lost something without which it can continue: its model, if that is
allowed, the model's budget, or a passage that an ingest replaced after it was found.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, StateSnapshot, StreamMode

from preflight_rag.graph.events import INTERRUPT, Event, Narrator, ProgressEvent
from preflight_rag.graph.model_use import is_lost
from preflight_rag.graph.outcome import answer_of, receipt_of
from preflight_rag.graph.readers import extractive_for
from preflight_rag.graph.requests import Ask
from preflight_rag.graph.tracing import TurnSpan
from preflight_rag.models.budget import Budget
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.planning import slow_seconds, within_time
from preflight_rag.models.protocol import Reader, limited, sampled
from preflight_rag.models.reading.extractive_reader import NO_READER
from preflight_rag.models.unfinished import may_be_spared
from preflight_rag.state.context import Context, PassageCache
from preflight_rag.state.errors import (
    AllPartitionsFailed,
    BudgetUsedUp,
    ModelError,
    PassageGone,
    PreflightError,
    TurnError,
)
from preflight_rag.state.schema import Question
from preflight_rag.state.values import Answer, Clarification, Receipt, Usage
from preflight_rag.threads.ledger import Turn

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.pubmed import EntrezClient

ATTEMPTS = 4
"""Maximum number of attempts of a turn; a guess. If documents are replaced every second, two attempts are too few."""


@dataclass(frozen=True)
class TurnStart:
    """A turn of the ledger and the graph's input for it; None resumes from the last checkpoint.

    `spent` is what the turn had cost before it was begun again.
    """

    turn: Turn
    ask: Ask
    reader: Reader
    graph_input: Question | Command[Any] | None
    spent: Sequence[Mapping[str, Any]] = ()

    @property
    def is_continued_by_choice(self) -> bool:
        """Whether the turn had asked the user to choose, and the input is that choice."""
        return isinstance(self.graph_input, Command)

    def can_go_offline(self, *, spared: bool) -> bool:
        """Return whether the turn may be restarted without its model; never one that resumes earlier work.

        `spared` is for a turn whose model gave no usable reply in time, or has used up its budget: it may always
        continue, since reading the documents without the model costs nothing more.
        """
        is_new = self.graph_input is not None and not self.is_continued_by_choice
        return is_new and (self.ask.use.or_offline or spared) and not self.reader.by_rule

    def answer(self, state: Mapping[str, Any], seconds: float) -> Answer:
        """Return the answer in the graph's state; a missing model is listed among its gaps."""
        answer = answer_of(
            state,
            reader=self.reader,
            settings=self.ask.settings,
            thread_id=self.turn.thread_id,
            turn=self.turn.turn,
            seconds=seconds,
            before=self.spent,
        )
        if (missing := self.ask.use.missing) is None:
            return answer
        incomplete = "budget" if missing.stage == "budget" else answer.incomplete
        return answer.model_copy(update={"gaps": (missing, *answer.gaps), "incomplete": incomplete})


class RunningTurn:
    """One turn while it runs through the graph.

    Args:
        graph: The compiled graph.
        start: The ledger's turn with the graph's input.
        library: The collection.
        reader: Returns the reader for a model's name.
        pubmed: Returns the client of NCBI; None if this application has none.
        tokens: Whether to stream the answer's pieces.
        progress: Whether to stream the stages' reports; without it, only the turn's result is returned.

    Attributes:
        start: The turn's start; after a restart, the start of the latest attempt.
        narrator: Remembers which parts of the turn the user has been shown.
        span: The turn's span in the traces.
    """

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        start: TurnStart,
        *,
        library: Collection,
        reader: Callable[[str], Reader],
        pubmed: Callable[[], EntrezClient] | None,
        tokens: bool,
        progress: bool,
    ) -> None:
        turn, settings = start.turn, within_time(start.ask.settings, start.reader)
        self.start = start
        self.narrator = Narrator(tokens=tokens)
        self.span = TurnSpan(turn.question, turn.thread_id, turn.turn)
        self._graph, self._library, self._reader, self._pubmed = graph, library, reader, pubmed
        self._progress = progress
        self._values: Mapping[str, Any] | None = None
        self._budget: Budget | None = None
        self._began = perf_counter() - (turn.seconds if start.is_continued_by_choice else 0.0)
        self._config: RunnableConfig = {
            "configurable": {"thread_id": turn.thread_id},
            "metadata": {"turn_id": turn.id},
            "max_concurrency": settings.max_concurrency,
            "recursion_limit": settings.max_steps,
        }

    @property
    def seconds(self) -> float:
        """Seconds that the turn has taken so far."""
        return perf_counter() - self._began

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events of the stages as they run, including those of further attempts.

        Raises:
            PreflightError: A stage failed, and another attempt cannot help, or there have been `ATTEMPTS`.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with aclosing(self._run_stages()) as events:
                    async for event in events:
                        yield event
                return
            except PreflightError as error:
                if attempt == ATTEMPTS:
                    raise
                note = await self._prepare_next_attempt(error)
            yield ProgressEvent("rewrite", note)

    async def final_state(self) -> Mapping[str, Any]:
        """Return the turn's final state, never an earlier turn's answer, even if checkpoints were changed meanwhile.

        Raises:
            TurnError: No stage ran any more, and the checkpoints are not those of this turn.
        """
        if self._values is not None:
            return self._values
        snapshot, turn = await self.snapshot(), self.start.turn
        if not belongs_to(snapshot, turn):
            raise TurnError(
                f"the checkpoints of thread {turn.thread_id!r} belong to another turn",
                help="Ask again on a new thread.",
            )
        return snapshot.values

    def outcome(self, state: Mapping[str, Any]) -> Answer | Clarification:
        """Return the answer in the final state; if the graph has stopped to ask, the question to the user."""
        request = self.narrator.question
        if request is None:
            return self.start.answer(state, self.seconds)
        turn, choices = self.start.turn, tuple(request["choices"])
        return Clarification(thread_id=turn.thread_id, turn=turn.turn, question=request["question"], choices=choices)

    async def snapshot(self) -> StateSnapshot:
        """Return the thread's latest checkpoint."""
        return await self._graph.aget_state(self._config)

    def receipt(self, state: Mapping[str, Any], before: Sequence[Mapping[str, Any]] = ()) -> Receipt:
        """Return the turn's cost: the rows of its state, and those of `before`, which are in no state."""
        start = self.start
        before = [*start.spent, *before]
        return receipt_of(state, reader=start.reader, settings=start.ask.settings, seconds=self.seconds, before=before)

    def failed_receipt(self, snapshot: StateSnapshot, error: PreflightError) -> Receipt:
        """Return the cost of a failed turn, including the stage that failed."""
        rows = _cost_rows_with_failure(snapshot, self.start.turn, error)
        if _has_left_first_stage(snapshot, self.start.turn):
            return self.receipt({**snapshot.values, "spent": rows})
        return self.receipt({}, before=rows)

    async def _run_stages(self) -> AsyncGenerator[Event, None]:
        """Run the graph once, yield the events of its stages, and keep the final state in `_values`."""
        start = self.start
        context = await self._context()
        modes: list[StreamMode] = ["values"]
        if self._progress:
            modes += ["updates", "custom"]
        if self.narrator.tokens and not start.ask.options:
            modes.append("messages")
        stream: Any = self._graph.astream(
            start.graph_input, self._config, context=context, stream_mode=modes, durability="async"
        )
        async with aclosing(stream) as items:
            async for mode, payload in items:
                if mode == "values" and INTERRUPT not in payload:
                    self._values = payload
                for event in self.narrator.events(mode, payload):
                    yield event

    async def _prepare_next_attempt(self, error: PreflightError) -> str:
        """Prepare the turn's next attempt, and return the sentence that tells the user why.

        Raises:
            PreflightError: The original error, if another attempt cannot help.
        """
        used_up = self._budget.used_up if self._budget else None
        # Where the budget is used up, every partition fails: the budget is the cause to name.
        cause = used_up if used_up and isinstance(error, AllPartitionsFailed) else error
        if isinstance(cause, PassageGone) and not self.start.is_continued_by_choice and not self.narrator.shown:
            self.start = await self._restart(cause)
            return "the documents have just been changed; searching again"
        spared = isinstance(cause, ModelError) and may_be_spared(cause)
        if (spared or is_lost(cause)) and self.start.can_go_offline(spared=spared):
            self.start = await self._restart_offline(cause)
            return f"{cause.message}; going on without {'the model' if isinstance(cause, BudgetUsedUp) else 'it'}"
        raise cause from error if cause is not error else None

    async def _restart_offline(self, error: PreflightError) -> TurnStart:
        """Return the start of the same turn with the offline reader instead of the model.

        The message keeps its id, so that it is not added to the conversation twice.
        """
        start = self.start
        reader = await asyncio.to_thread(self._reader, OFFLINE)
        ask = replace(start.ask, use=start.ask.use.lost(start.reader.name, error))
        return replace(start, ask=ask, reader=reader, spent=self._cost_of_attempts(await self.snapshot(), error))

    async def _restart(self, error: PreflightError) -> TurnStart:
        """Return the start with which the same turn begins again, from its first stage.

        A turn that was resumed gets its question from the state, under the same id, so that it is not added twice.
        """
        snapshot = await self.snapshot()
        start = replace(self.start, spent=self._cost_of_attempts(snapshot, error))
        if start.graph_input is not None:
            return start
        messages = snapshot.values["messages"]
        questions: list[AnyMessage] = [message for message in messages if isinstance(message, HumanMessage)]
        return replace(start, graph_input=Question(messages=questions[-1:], options=list(start.ask.options)))

    def _cost_of_attempts(self, snapshot: StateSnapshot, error: PreflightError) -> list[Mapping[str, Any]]:
        """Return the cost of all attempts, including the one that `error` has ended."""
        return [*self.start.spent, *_cost_rows_with_failure(snapshot, self.start.turn, error)]

    async def _context(self) -> Context:
        """Return the run's context: settings within the time limit, the readers, and the connection to PubMed."""
        start = self.start
        settings, use = within_time(start.ask.settings, start.reader), start.ask.use
        pubmed = self._pubmed() if self._pubmed is not None and settings.pubmed else None
        extractive_name = settings.extractive_reader
        if start.reader.by_rule or extractive_name == NO_READER:  # nothing is opened
            extractive = extractive_for(start.reader, extractive_name)
        else:
            extractive = await asyncio.to_thread(extractive_for, start.reader, extractive_name)
        is_limited_by_plan = settings.turn_seconds < start.ask.settings.turn_seconds
        self._budget = Budget(
            calls=settings.turn_calls,
            tokens=settings.turn_tokens,
            seconds=settings.turn_seconds,
            spent=await self._previous_cost(),
            purses=use.purses,
            reply_tokens=settings.reply_tokens,
            time_setting=f"PREFLIGHT_{'ANSWER' if is_limited_by_plan else 'TURN'}_SECONDS",
            slow_seconds=slow_seconds(start.ask.settings),
        )
        requested_k = start.ask.settings.k
        reader = limited(sampled(start.reader, use.sampling), self._budget)
        span, cache = self.span.context, PassageCache()
        return Context(reader, self._library, settings, pubmed, extractive, span, cache=cache, asked_k=requested_k)

    async def _previous_cost(self) -> Usage:
        """Return the cost of a resumed turn before it was cut off, asked the user, or was restarted."""
        rows = self.start.spent
        if self.start.graph_input is None or self.start.is_continued_by_choice:
            rows = _cost_rows(await self.snapshot())
        totals = {}
        for name in ("calls", "input_tokens", "output_tokens"):
            totals[name] = sum(row[name] for row in rows)
        return Usage(**totals)


def belongs_to(snapshot: StateSnapshot, turn: Turn) -> bool:
    """Return whether a checkpoint belongs to this turn, and not to an earlier turn of the thread."""
    return (snapshot.metadata or {}).get("turn_id") == turn.id


def _has_left_first_stage(snapshot: StateSnapshot, turn: Turn) -> bool:
    """Return whether the turn's first stage has ended; until then the state still holds the previous turn."""
    return belongs_to(snapshot, turn) and "rewrite" not in snapshot.next


def _cost_rows(snapshot: StateSnapshot) -> list[Mapping[str, Any]]:
    """Return the cost of a turn's stages, including finished stages whose results are not in the state yet."""
    rows = [] if "rewrite" in snapshot.next else [*(snapshot.values.get("spent") or ())]
    for task in snapshot.tasks:
        spent = (task.result or {}).get("spent") or ()
        if isinstance(spent, Overwrite):  # the first stage's, instead of what the last turn left
            rows = list(spent.value)
        else:
            rows += [row for row in spent if row not in rows]
    return rows


def _cost_rows_with_failure(snapshot: StateSnapshot, turn: Turn, error: PreflightError) -> list[Mapping[str, Any]]:
    """Return the cost of the turn's stages, including the stage that failed."""
    rows = _cost_rows(snapshot) if belongs_to(snapshot, turn) else []
    if isinstance(error, ModelError) and error.spent and error.spent["calls"] and snapshot.next:
        rows.append({"stage": snapshot.next[0], "started": time() - error.spent["seconds"], **error.spent})
    return rows
