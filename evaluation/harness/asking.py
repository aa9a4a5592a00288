"""The model of a run, with cached replies and a budget; cases are run a few at a time, with results in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from evaluation.harness.budget import Budget
from evaluation.harness.replies import PromptCall, ReplyCache, cached, recording
from evaluation.harness.simulated import NAME as SIMULATED
from evaluation.harness.simulated import ReadingBias, SimulatedChat
from evaluation.runs import ExperimentRun, Progress, no_progress
from evaluation.samples import Sample
from preflight_rag.cache import cache_dir
from preflight_rag.graph.readers import open_reader
from preflight_rag.models.chat.chat_models import OFFLINE, model_name, open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.protocol import Reader
from preflight_rag.prompts.replies import ANSWER_TOKENS
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import (
    BudgetUsedUp,
    ModelAuthError,
    ModelTimeout,
    PreflightError,
    UnknownModel,
    UsageError,
)
from preflight_rag.state.values import Usage

C = TypeVar("C")
T = TypeVar("T")
IN_PROCESS = "gguf:"
REPLIES = "replies.db"


class PromptReader(ChatReader):
    """A chat reader that also accepts the experiments' own prompts."""

    async def reply(self, prompt: list[BaseMessage], *, limit: int = ANSWER_TOKENS) -> tuple[str, Usage]:
        """Return the text of a complete reply and its cost.

        Args:
            prompt: The messages.
            limit: Most tokens of the reply.

        Raises:
            ModelError: There is no complete reply: refused, cut off, empty, or the server failed.
        """
        return await self._call(prompt, limit)


@dataclass(frozen=True)
class Asking:
    """The model of a run; see `open_asking`.

    Attributes:
        run: The run.
        chat_model: Its chat model, whose replies are cached; None without a language model.
    """

    run: ExperimentRun
    chat_model: BaseChatModel | None

    @property
    def name(self) -> str:
        """The model's name in tables; a simulated one's begins with "simulated"."""
        return self.prompts.name if self.chat_model is not None else OFFLINE

    @cached_property
    def prompts(self) -> PromptReader:
        """A reader for an experiment's own prompts.

        Raises:
            UsageError: There is no language model.
        """
        if self.chat_model is None:
            raise UsageError("this needs a language model", help="Name one: --model provider:name.")
        simulated = self.chat_model._llm_type == SIMULATED
        name: str | None = getattr(self.chat_model, "model", None) if simulated else None
        # As text: switching to a format found to be supported would change the prompts of a resumed run.
        return PromptReader(self.chat_model, name=name, deadline=Settings.read().deadline, form="text")

    def reader(self, embedder: Embedder) -> Reader:
        """Return the reader of a turn: a chat reader over the cached model, or the offline reader, which is not cached.

        Args:
            embedder: The embedder with which the offline reader compares sentences.
        """
        if self.chat_model is not None:
            return self.prompts
        return open_reader(OFFLINE, embedder, Settings(extractive_reader=self.run.extractive_reader))

    async def gather(self, cases: Sequence[C], ask: Callable[[C], Awaitable[T]], stage: str) -> list[CaseOutcome[T]]:
        """Run all cases under the run's concurrency and budget; see `gather`.

        Without a language model, or with one in this process, they run one after another: one case uses all cores
        already, and many cases at once would all miss their deadline.
        """
        run = self.run
        one_by_one = self.chat_model is None or run.model.startswith(IN_PROCESS)
        concurrency = 1 if one_by_one else run.concurrency
        return await gather(cases, ask, concurrency=concurrency, budget=run.budget, stage=stage, progress=run.progress)


@contextmanager
def open_asking(
    run: ExperimentRun, questions: Iterable[Sample] = (), documents: Mapping[str, str] | None = None
) -> Iterator[Asking]:
    """Yield the model of a run, with its replies cached, counted and limited by the budget.

    Args:
        run: Its `model` is `offline`, `provider:name`, or `simulated` (see `simulated.py`).
        questions: The experiment's questions; only the simulated reader uses them.
        documents: Texts of the questions' gold documents by id, for the same.

    Raises:
        UnknownModel: There is no such model.
        ModelAuthError: There is no key for it.
    """
    if run.model == OFFLINE:
        yield Asking(run, None)
        return
    if run.model == SIMULATED:
        simulated = SimulatedChat.of(questions, ReadingBias(seed=run.seed), documents)
        yield Asking(run, cached(simulated, ReplyCache(None), run.budget))
        return
    chat_model = open_chat_model(run.model, timeout=Settings.read().deadline)
    cache = ReplyCache(run.reply_cache or cache_dir() / "eval" / REPLIES, warn=run.warn)
    try:
        yield Asking(run, cached(chat_model, cache, run.budget))
    finally:
        cache.close()


def chosen_model(name: str | None) -> str:
    """Return the model of `--model` and the environment, as `models.chat.model_name` does, or the simulated reader.

    Raises:
        UnknownModel: The name is not a model's.
    """
    return SIMULATED if name == SIMULATED else model_name(name)


HOPELESS = (ModelAuthError, UnknownModel)
"""Errors that every case would get: they end the run."""


@dataclass(frozen=True)
class CaseOutcome(Generic[T]):
    """The outcome of a case.

    Attributes:
        value: The result of `ask`; None if it failed, or if the budget refused a call that it needed.
        error: Why it failed, in one line.
        unpaid: Whether it is missing because the budget is used up.
        calls: Every prompt of the case, with its reply.
    """

    value: T | None
    error: str = ""
    unpaid: bool = False
    calls: tuple[PromptCall, ...] = ()


async def gather(
    cases: Sequence[C],
    ask: Callable[[C], Awaitable[T]],
    *,
    concurrency: int,
    budget: Budget,
    stage: str = "cases",
    progress: Progress = no_progress,
) -> list[CaseOutcome[T]]:
    """Run all cases, at most `concurrency` at a time, and return the outcomes in the order of the cases.

    Once the budget is used up, only cases whose replies are all cached are still finished. A refused call is noticed
    even if `ask` hides it, as a graph does that records a failed partition as a gap.

    Raises:
        UsageError: `concurrency` is below 1.
        ModelAuthError: The server refused the key.
        UnknownModel: The server does not know the model.
        PreflightError: No case was finished; the first one's error.
    """
    if concurrency < 1:
        raise UsageError(f"the concurrency is {concurrency}", help="Give 1 or more.")
    outcomes: list[CaseOutcome[T] | None] = [None] * len(cases)
    waiting = iter(range(len(cases)))
    errors: list[Exception] = []
    done = 0

    async def work() -> None:
        nonlocal done
        for place in waiting:
            budget.cases += 1
            outcomes[place], error = await _outcome(cases[place], ask)
            budget.answered += error is None
            errors.extend([error] if error is not None else [])
            done += 1
            progress(stage, done, len(cases))

    await _all(work, min(concurrency, len(cases)))
    if cases and len(errors) == len(cases):
        if isinstance(errors[0], ModelTimeout) and concurrency > 1:
            raise ModelTimeout(errors[0].message, help="Ask fewer at a time: --concurrency 1.") from errors[0]
        raise errors[0]
    return [outcome for outcome in outcomes if outcome is not None]


async def _outcome(case: C, ask: Callable[[C], Awaitable[T]]) -> tuple[CaseOutcome[T], Exception | None]:
    """Return a case's outcome, and its error, of which the outcome has only the text."""
    with recording() as calls:
        failure: Exception | None = None
        try:
            value: T | None = await ask(case)
        except HOPELESS:
            raise
        except Exception as error:  # any error: the other cases are paid for
            value, failure = None, error
    unpaid = next((call for call in calls if call.unpaid), None)
    if unpaid is not None:
        return CaseOutcome(None, unpaid.error, True, tuple(calls)), failure or BudgetUsedUp(unpaid.error)
    if failure is None:
        return CaseOutcome(value, calls=tuple(calls)), None
    named = str(failure) if isinstance(failure, PreflightError) else f"{type(failure).__name__}: {failure}"
    return CaseOutcome(None, " ".join(named.split()), False, tuple(calls)), failure


async def _all(work: Callable[[], Awaitable[None]], workers: int) -> None:
    """Run workers until all are done; if one fails, cancel the others and raise its error."""
    tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
