"""Calls of a chat model: each ends within its time and the turn's budget, is checked, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGenerationChunk

from preflight_rag.models.chat.loop_clients import LoopLocalClients
from preflight_rag.models.chat.model_errors import in_our_words, refuses_temperature
from preflight_rag.models.chat.reply_checks import LONGEST_REPLY, too_long, unread_note, whole_text
from preflight_rag.models.chat.runnables import (
    AnyModel,
    as_message,
    base_url_of,
    config_for,
    is_openais,
    takes_options,
    with_handler,
    without_temperature,
)
from preflight_rag.prompts.leaks import NOTE, without_leaks
from preflight_rag.state.errors import BadReply, ModelError, ModelTimeout
from preflight_rag.state.values import Usage
from preflight_rag.text.inert import inert
from preflight_rag.text.words import without_controls

if TYPE_CHECKING:
    from preflight_rag.models.budget import Budget

COMMON_OPTIONS = ("temperature", "top_p")
"""Options of sampling that the chat models of all providers know by these names."""


@dataclass(frozen=True)
class Received:
    """A reply's text, what it cost, and what the person is to know about it."""

    text: str
    usage: Usage
    notes: tuple[str, ...] = ()


@dataclass
class _SharedModel:
    """The model, shared by calls with other options or budgets: what is learned of it holds for all of them."""

    model: AnyModel


class ModelCalls:
    """The calls of one chat model.

    Args:
        chat_model: The model, also behind `with_retry`, `with_fallbacks`, `bind` and the like.
        name: How errors and notes name it.
        deadline: Seconds that one call may take in all, retries and streaming included.
    """

    def __init__(self, chat_model: AnyModel, *, name: str, deadline: float) -> None:
        self._shared = _SharedModel(chat_model)
        self.name = name
        self.deadline = deadline
        self._clients = LoopLocalClients()
        self._sampling: dict[str, Any] = {}
        self._budget: Budget | None = None

    @property
    def chat_model(self) -> AnyModel:
        """The model that is asked."""
        return self._shared.model

    async def aclose(self) -> None:
        """Close the connections that were opened on the loop that runs."""
        await self._clients.aclose()

    def limited(self, budget: Budget) -> ModelCalls:
        """The same, counted against a budget and ending with it."""
        calls = copy(self)
        calls._budget = budget
        return calls

    def takes_option(self, name: str) -> bool:
        """Whether an option of sampling reaches the model.

        Options of OpenAI's reach its client, two of them any chat model; what a Runnable of another kind would make of
        them is not known.
        """
        return takes_options(self.chat_model) and (name in COMMON_OPTIONS or is_openais(self.chat_model))

    def sampled(self, options: Mapping[str, Any]) -> ModelCalls:
        """The same with those of the options that reach the model, such as `temperature`."""
        calls = copy(self)
        calls._sampling = {name: value for name, value in options.items() if self.takes_option(name)}
        return calls

    async def ask(self, prompt: list[BaseMessage], *, guarded: bool = True) -> Received:
        """A whole reply, or what is whole of it, within the turn's budget.

        What it repeats of its instructions is left out; the text is empty where that was all.

        Args:
            prompt: The messages.
            guarded: Whether a reply that repeats the instructions is cut; a partial one, which is shown, always is.

        Raises:
            ModelError: There is no whole reply.
        """
        try:
            received = await self._within_budget(prompt)
        except ModelError as error:
            error.partial = inert(without_leaks(error.partial, prompt))
            raise
        text = without_leaks(received.text, prompt) if guarded else received.text
        return received if text == received.text else replace(received, text=text, notes=(*received.notes, NOTE))

    async def _within_budget(self, prompt: list[BaseMessage]) -> Received:
        """A whole reply, or what is whole of it, that the turn's budget has room for."""
        budget = self._budget
        if budget is None:
            return await self._reply_within(prompt, self.deadline)
        tokens = spent = count_tokens_approximately(prompt)
        await budget.begin(tokens)
        try:
            received = await self._reply_within(prompt, min(self.deadline, max(budget.seconds_left(), 0.0)))
            spent = received.usage.input_tokens + received.usage.output_tokens
        except ModelError as error:
            used = Usage.model_validate(error.spent or {})
            spent = used.input_tokens + used.output_tokens
            if isinstance(error, ModelTimeout) and budget.seconds_left() <= 0:
                ended = budget.out_of_time()
                ended.spent, ended.reason, ended.partial = error.spent, error.reason, error.partial
                raise ended from error
            raise
        finally:
            await budget.end(tokens, spent)
        return received

    async def _reply_within(self, prompt: list[BaseMessage], seconds: float) -> Received:
        """A whole reply, or what is whole of it; every other way in which one can fall short is an error of ours."""
        started, limit = perf_counter(), asyncio.timeout(seconds)
        loop = asyncio.get_running_loop()
        written = _Written(LONGEST_REPLY, lambda: limit.reschedule(loop.time()))
        try:
            async with limit:
                message = await self._invoke(prompt, written)
        except Exception as error:
            failure = in_our_words(error, self.name, base_url=base_url_of(self.chat_model))
            text, took = written.text(), perf_counter() - started
            if isinstance(failure, ModelTimeout) and written.too_much:
                failure = too_long(self.name, text)
            elif isinstance(failure, ModelTimeout) and text.strip():
                problem = f"{self.name} did not come to an end within {seconds:g} s"
                failure = ModelTimeout(problem, help="Try again, or raise PREFLIGHT_DEADLINE.")
                failure.reason, failure.partial = "deadline", text
            estimate = [AIMessage(text)] if text else []
            failure.spent = _estimated(prompt if text else [], estimate, took).model_dump()
            raise failure from error
        usage = _usage_of(prompt, message, perf_counter() - started)
        try:
            text, notes = whole_text(message, self.name, self.chat_model)
        except BadReply as error:
            error.spent = usage.model_dump()
            raise
        return Received(text, usage, (*notes, *unread_note(self.name, prompt, usage)))

    async def _invoke(self, prompt: list[BaseMessage], written: _Written) -> AIMessage:
        """The model's message; one that takes no temperature is asked without from then on."""
        try:
            return await self._reply(prompt, written)
        except Exception as error:
            plain = without_temperature(self.chat_model)
            asked = "temperature" in self._sampling
            if not refuses_temperature(error) or (plain is self.chat_model and not asked):
                raise
        self._shared.model = plain
        self._sampling = {name: value for name, value in self._sampling.items() if name != "temperature"}
        return await self._reply(prompt, written)

    async def _reply(self, prompt: list[BaseMessage], written: _Written) -> AIMessage:
        model = self._clients.of(self.chat_model)
        config = with_handler(config_for(model), written)
        return as_message(await model.ainvoke(prompt, config, **self._sampling), self.name)


class _Written(BaseCallbackHandler):
    """What a model has written of the reply that it is being asked for, as far as it streams.

    Args:
        most: Characters after which it is asked to stop.
        stop: Ends the call.
    """

    run_inline = True  # in the order of the tokens

    def __init__(self, most: int, stop: Callable[[], None]) -> None:
        self._most, self._stop = most, stop
        self._run: object = None
        self._pieces: list[str] = []
        self._length = 0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Nothing; without this LangChain writes the whole prompt as a text, for a listener that wants no messages."""

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any) -> None:
        """Note a piece; one of another attempt begins anew."""
        if run_id != self._run:
            self._run, self._pieces, self._length = run_id, [], 0
        piece = str(chunk.message.text) if isinstance(chunk, ChatGenerationChunk) else str(token)
        self._pieces.append(piece)
        self._length += len(piece)
        if self.too_much:
            self._stop()

    @property
    def too_much(self) -> bool:
        """Whether the reply is longer than any that is wanted."""
        return self._length > self._most

    def text(self) -> str:
        """All of it, as it was shown where it was streamed."""
        return without_controls("".join(self._pieces))


def _usage_of(prompt: list[BaseMessage], message: AIMessage, seconds: float) -> Usage:
    """What a call cost, as its server says, else estimated."""
    reported = message.usage_metadata
    if reported and reported["input_tokens"]:
        return Usage(
            calls=1, input_tokens=reported["input_tokens"], output_tokens=reported["output_tokens"], seconds=seconds
        )
    return _estimated(prompt, [message], seconds)


def _estimated(prompt: list[BaseMessage], reply: Sequence[BaseMessage], seconds: float) -> Usage:
    return Usage(
        calls=1,
        input_tokens=count_tokens_approximately(prompt),
        output_tokens=count_tokens_approximately(reply),
        estimated=bool(prompt or reply),
        seconds=seconds,
    )
