"""Watches whether the server's language model can be reached; while it cannot, turns run without it and say so."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from preflight_rag.app import Preflight
from preflight_rag.graph.events import Event
from preflight_rag.graph.model_use import LOST, ModelUse
from preflight_rag.models.budget import SharedBudget
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.model_errors import in_our_words
from preflight_rag.models.chat.runnables import base_url_of
from preflight_rag.models.protocol import Reader
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Answer, Gap, Usage

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

log = logging.getLogger("preflight.server")
PROBE_SECONDS = 5.0  # timeout for listing a server's models, as when its context window is read
AGAIN_SECONDS = 15.0  # seconds between two checks of an unreachable model; a guess: people notice no shorter ones
MODEL = "model"
"""The stage named in an answer's gaps if the model was unreachable."""


class ModelWatch:
    """The state of the server's own model.

    A turn whose model is lost runs without it (`ModelUse.or_offline`). From then on turns do not wait for the model,
    until a separate check of its server succeeds. A problem that this check cannot see, such as a server that lists its
    models and fails to answer, remains until a turn has been answered.

    Args:
        preflight: The application.
        wanted: The model's name, if the application had to be opened without it.
        problem: The reason.

    Attributes:
        problem: The problem with the model; None if there is none, or no model is configured.
        away: Whether turns run without the model.
    """

    def __init__(self, preflight: Preflight, wanted: str | None = None, problem: str | None = None) -> None:
        self._preflight, self._wanted = preflight, wanted
        self._name = (wanted or preflight.reader.name).rstrip(":")
        self.problem = problem
        self.away = problem is not None
        self._seen = self.away  # found by a check, which then also notices when the model is back
        self._looked = time.monotonic()
        self._looking: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Return the name of the model that turns are to use, also while it is unreachable."""
        return self._name

    async def complete(
        self,
        messages: Sequence[BaseMessage],
        sampling: Mapping[str, Any],
        purses: Sequence[SharedBudget] = (),
        limit: int | None = None,
    ) -> tuple[str, Usage] | None:
        """Return the model's reply, of at most `limit` tokens, to messages that a client has written.

        None if there is no model.

        Raises:
            ModelError: There is no complete reply.
        """
        if self.away:
            self.look()
            return None
        reader = await asyncio.to_thread(self._preflight.reader_of, self._wanted)
        if reader.by_rule:
            return None
        try:
            made = await self._preflight.complete(
                messages, model=self._wanted, sampling=sampling, purses=purses, limit=limit
            )
        except LOST as error:
            self.lost(str(error))
            raise
        self.worked()
        return made

    async def turn(
        self,
        question: str,
        *,
        model: str | None = None,
        sampling: dict[str, Any] | None = None,
        purses: Sequence[SharedBudget] = (),
        **arguments: Any,
    ) -> AsyncGenerator[Event, None]:
        """Run `Preflight.astream`, without the server's own model while that is unreachable; other models are called.

        Args:
            question: The question.
            model: Another model, by its name.
            sampling: Options of the model's calls.
            purses: Budgets that the calls count against.
            **arguments: Further arguments of `astream`.
        """
        given = sampling or {}
        use = ModelUse(given, or_offline=model is None, purses=purses)
        asked = self._wanted if model is None else model
        if model is None and self.away and self.problem is not None:
            self.look()
            asked, use = OFFLINE, ModelUse(missing=Gap(stage=MODEL, item=self.name, error=self.problem))
        async with aclosing(self._preflight.astream(question, model=asked, use=use, **arguments)) as events:
            async for event in events:
                if isinstance(event, Answer) and model is None and asked != OFFLINE:
                    self._learn(event)
                yield event

    def lost(self, problem: str) -> None:
        """Record that the model could not be reached, and check whether it is still unreachable."""
        self.problem, self.away, self._seen = problem, True, False
        self.look(now=True)

    def look(self, *, now: bool = False) -> None:
        """Check in the background whether the model is back, if it is away and was not checked just now."""
        due = now or (self.away and time.monotonic() - self._looked >= AGAIN_SECONDS)
        if due and (self._looking is None or self._looking.done()):
            self._looked = time.monotonic()
            self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Stop the background checks of the model's server."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    def _learn(self, answer: Answer) -> None:
        """Record from a turn's answer whether the model could be reached."""
        away = next((gap for gap in answer.gaps if gap.stage == MODEL), None)
        if away is not None:
            self.lost(away.error)
        elif answer.receipt.model_calls:
            self.worked()

    def worked(self) -> None:
        """Record that the model has answered, so that it counts as reachable."""
        self.problem, self.away = None, False

    async def _look(self) -> None:
        """Check whether the model's server can be reached, and record the result."""
        try:
            reader = await asyncio.to_thread(self._preflight.reader_of, self._wanted)
            self._name = reader.name
            await _reach(reader)
        except LOST as error:
            self.problem, self.away, self._seen = str(error), True, True
        except PreflightError as error:  # another kind of error, which the next turn reports better
            log.info("looking for the model: %s", error)
            self.away = False
        else:
            self.away = False
            if self._seen:
                self.problem = None


async def _reach(reader: Reader) -> None:
    """List the models of an OpenAI-compatible server; any reply but a refusal shows that it can be reached.

    Raises:
        ModelError: It cannot be reached, fails, or refuses the key.
    """
    if not isinstance(reader, ChatReader) or (client := getattr(reader.chat_model, "root_client", None)) is None:
        return
    ask: Callable[[], Any] = client.with_options(timeout=PROBE_SECONDS, max_retries=0).models.list
    try:
        await asyncio.to_thread(ask)
    except Exception as error:  # errors of the SDK, and any error that its parser has with a server's reply
        if getattr(error, "status_code", None) in (404, 405, 429, 501):
            return
        failure = in_our_words(error, reader.name, base_url=base_url_of(reader.chat_model))
        if isinstance(failure, LOST):
            raise failure from error
