"""Calls of a chat model: each is limited by its timeout and the turn's budget, checked, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from preflight_rag.models.chat.call_usage import cached_tokens, estimated_usage, usage_of
from preflight_rag.models.chat.loop_clients import LoopLocalClients
from preflight_rag.models.chat.measured_speed import LEAST_READ, MeasuredSpeed
from preflight_rag.models.chat.model_errors import (
    in_our_words,
    is_empty_stream,
    refuses,
    refuses_temperature,
    shown_address,
)
from preflight_rag.models.chat.reply_checks import (
    LONGEST_REPLY,
    checked_text,
    endless_error,
    repetition_error,
    unread_note,
    was_spent_on_thoughts,
)
from preflight_rag.models.chat.runnables import (
    LIMITS,
    AnyModel,
    always_streams,
    as_message,
    base_url_of,
    config_for,
    is_openais,
    may_take_schemas,
    runs_here,
    takes_options,
    with_handler,
    with_newer_limit,
    with_reply_limit,
    with_stream_usage,
    without_streams,
    without_temperature,
)
from preflight_rag.models.chat.watched_reading import READ_SHARE, WatchedReading, reading
from preflight_rag.models.chat.written_reply import StreamedReply, WrittenReply
from preflight_rag.models.planning import FAST_READING
from preflight_rag.prompts.leaks import NOTE, without_leaks
from preflight_rag.state.errors import BadReply, FellShort, ModelError, ModelTimeout, ReadsTooSlowly
from preflight_rag.state.values import Speed, Usage
from preflight_rag.text.circles import before_circles
from preflight_rag.text.inert import inert

if TYPE_CHECKING:
    from preflight_rag.models.budget import Budget

COMMON_OPTIONS = ("temperature", "top_p")
"""Sampling options with the same name in the chat models of all providers."""

BROKEN_OFF: tuple[FellShort, ...] = ("length", "deadline", "unfinished", "repetition")
"""Reasons of an incomplete reply whose beginning can still be used."""

LEAST_REPLY = 64
"""Tokens of the shortest useful reply: a sentence or two with their citations. A guess."""
WRITING_SHARE = 0.9
"""Share of a call's time for which reading and writing are planned, since neither speed is known exactly. A guess."""
OF_SCHEMA = ("response_format", "json_schema", "json schema", "grammar", "structured")
"""Words in a server's refusal of a schema."""


def known_of(chat_model: AnyModel, name: str) -> MeasuredSpeed:
    """Return the stored facts about a model, by its name and the address of its server if the user has set one."""
    base_url = base_url_of(chat_model)
    return MeasuredSpeed(f"{name} {shown_address(base_url)}" if base_url else name)


def schema_option(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option of OpenAI's API that requests a reply in JSON by a schema."""
    form = {"name": "reply", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


@dataclass(frozen=True)
class ReceivedReply:
    """A reply's text, its cost, and its notes for the user; `cut` is the reason of an incomplete reply."""

    text: str
    usage: Usage
    notes: tuple[str, ...] = ()
    cut: FellShort = ""


@dataclass
class _SharedModel:
    """State of a model that all its callers share, whatever their options and budgets.

    Attributes:
        speed: The model's speed on this machine.
        takes_limit: Whether the model accepts a limit of a reply's tokens.
        takes_usage: Whether the server accepts a request for a stream's token counts.
        streams: Whether streams have content; a server that only sends whole replies gives empty streams.
        in_flight: Number of calls in progress.
        thinks: Whether the model spends tokens on thoughts, whose number cannot be predicted, so that no limit is set.
    """

    model: AnyModel
    speed: MeasuredSpeed
    takes_limit: bool = True
    takes_usage: bool = True
    streams: bool = True
    thinks: bool = False
    in_flight: int = 0


class ModelCalls:
    """Makes all calls of one chat model, within its limits.

    Args:
        chat_model: The model, possibly wrapped by `with_retry`, `with_fallbacks`, `bind` and the like.
        name: The model's name in errors and notes.
        deadline: Timeout of one call in seconds, retries and streaming included.
    """

    def __init__(self, chat_model: AnyModel, *, name: str, deadline: float) -> None:
        self._shared = _SharedModel(chat_model, known_of(chat_model, name))
        self.name = name
        self.deadline = deadline
        self._clients = LoopLocalClients()
        self._sampling: dict[str, Any] = {}
        self._budget: Budget | None = None
        self._schema: dict[str, Any] = {}

    @property
    def chat_model(self) -> AnyModel:
        """The LangChain chat model that is called."""
        return self._shared.model

    def speed(self) -> Speed | None:
        """Return how fast the model reads and writes, as measured so far; None if it was not measured."""
        return self._shared.speed.speed

    async def aclose(self) -> None:
        """Close the connections that were opened on the running event loop."""
        await self._clients.aclose()

    def limited(self, budget: Budget) -> ModelCalls:
        """Return the same calls, counted against a budget and ended by it."""
        calls = copy(self)
        calls._budget = budget
        return calls

    def takes_option(self, name: str) -> bool:
        """Return whether a sampling option reaches the model.

        All of OpenAI's options reach its client, and `COMMON_OPTIONS` any chat model; for another kind of Runnable the
        answer is False, since the effect is unknown.
        """
        return takes_options(self.chat_model) and (name in COMMON_OPTIONS or is_openais(self.chat_model))

    def sampled(self, options: Mapping[str, Any]) -> ModelCalls:
        """Return the same calls with those options set that reach the model, such as `temperature`."""
        calls = copy(self)
        calls._sampling = {name: value for name, value in options.items() if self.takes_option(name)}
        return calls

    async def ask(
        self,
        prompt: list[BaseMessage],
        *,
        limit: int | None = None,
        guarded: bool = True,
        whole: bool = True,
        schema: Mapping[str, Any] | None = None,
        divisible: bool = False,
    ) -> ReceivedReply:
        """Return a complete reply, or the complete part of an incomplete one, within the turn's budget.

        Repeated instructions are removed from the reply; the text is empty if it was nothing else.

        Args:
            prompt: The messages.
            limit: Tokens of the reply, as its prompt says, which the turn's `reply_tokens` may raise; None for no
                limit.
            schema: JSON schema of the reply, used if the model's server accepts one.
            whole: Whether an incomplete reply is an error; else its text is returned with a note if it has some.
            guarded: Whether a reply that repeats the instructions is cut; a partial reply, which is shown, always is.
            divisible: Whether to end the call if its model needs too long to read the prompt, since the caller can send
                a shorter one.

        Raises:
            ModelError: There is no complete reply.
        """
        try:
            calls = self if schema is None else self._with_schema(schema)
            received = await calls._call_with_limit(prompt, limit, divisible=divisible)
        except ModelError as error:
            error.partial = inert(without_leaks(error.partial, prompt))
            if whole or error.reason not in BROKEN_OFF or not error.partial.strip():
                raise
            note = f"{error.message}; what there is of it is used"
            return ReceivedReply(error.partial, Usage.of_failed(error.spent), (note,), error.reason)
        text = without_leaks(received.text, prompt) if guarded else received.text
        return received if text == received.text else replace(received, text=text, notes=(*received.notes, NOTE))

    def wants_schema(self) -> bool:
        """Return whether to request replies by JSON schema: if it can be passed on, and was not refused before."""
        is_refused = self._shared.speed.takes_schema is False
        return may_take_schemas(self.chat_model) and takes_options(self.chat_model) and not is_refused

    @property
    def cites(self) -> bool:
        """Whether the model cites passages in its answers as text; True until several answers have cited none."""
        return self._shared.speed.cites

    def answered(self, *, cited: bool) -> None:
        """Record whether an answer as text cites passages."""
        self._shared.speed.answered(cited=cited)

    def _with_schema(self, schema: Mapping[str, Any]) -> ModelCalls:
        """Return a copy of these calls that requests replies in JSON by the schema.

        The schema is sent as an option that LangChain does not know: with LangChain's own, OpenAI's client would parse
        the reply, which fails for a truncated one and for replies of other servers.
        """
        calls = copy(self)
        calls._schema = schema_option(schema)
        return calls

    async def _call_with_limit(self, prompt: list[BaseMessage], limit: int | None, *, divisible: bool) -> ReceivedReply:
        """Call the model with a limit of the reply's tokens, which the turn's `reply_tokens` may raise.

        If the model turns out to spend the limit on its thoughts, it is called again, and from now on, without a limit.
        """
        minimum = self._budget.reply_tokens if self._budget else 0
        raised_limit = None if limit is None or self._shared.thinks else max(limit, minimum)
        try:
            return await self._call_in_budget(prompt, raised_limit, divisible=divisible)
        except _SpentOnThoughts as error:
            self._shared.thinks = True
            first_usage = Usage.of_failed(error.spent)
        try:
            received = await self._call_in_budget(prompt, None, divisible=False)
        except ModelError as error:
            error.spent = (first_usage + Usage.of_failed(error.spent)).model_dump()
            raise
        return replace(received, usage=first_usage + received.usage)

    async def _call_in_budget(self, prompt: list[BaseMessage], limit: int | None, *, divisible: bool) -> ReceivedReply:
        """Call the model within the turn's budget, if there is one, and count the tokens that the call has used.

        No call is made if the budget is used up, or the model is known to be too slow for the prompt: an error says so.
        """
        budget = self._budget
        if budget is None:
            return await self._call_in_time(prompt, limit, self.deadline)
        tokens = spent = count_tokens_approximately(prompt)
        await budget.begin(tokens)
        try:
            self._hurry_if_slow(budget)
            seconds = min(self.deadline, max(budget.seconds_left(), 0.0))
            if self._is_too_slow_for(tokens, seconds):
                raise self._too_slow_error(tokens, divisible=divisible)
            writable = self._writable_tokens(tokens, seconds)
            received = await self._call_in_time(prompt, limit, seconds, divisible=divisible, writable=writable)
            spent = received.usage.input_tokens + received.usage.output_tokens
        except ModelError as error:
            used = Usage.model_validate(error.spent or {})
            spent = used.input_tokens + used.output_tokens
            if isinstance(error, ModelTimeout) and budget.seconds_left() <= 0:
                # It was the turn's limit that ended the call, not the deadline of the call itself.
                out_of_time = budget.out_of_time()
                out_of_time.spent, out_of_time.reason, out_of_time.partial = error.spent, error.reason, error.partial
                raise out_of_time from error
            raise
        finally:
            await budget.end(tokens, spent)
        return received

    def _hurry_if_slow(self, budget: Budget) -> None:
        """Apply the user's time limit to the turn if its model runs on this machine and is known to be slow."""
        speed = self.speed()
        if speed is not None and speed.reads < FAST_READING and runs_here(self.chat_model):
            budget.hurry()

    def _planned_speed(self) -> Speed | None:
        """Return the speed of a slow model on this machine, in a turn with the user's time limit; else None."""
        speed, budget = self.speed(), self._budget
        is_slow = speed is not None and speed.reads < FAST_READING and runs_here(self.chat_model)
        has_limit = budget is not None and budget.seconds_if_slow() is not None
        return speed if is_slow and has_limit else None

    def _is_too_slow_for(self, tokens: int, seconds: float) -> bool:
        """Return whether a recent measurement says that a prompt cannot be read and answered in time."""
        speed = self._planned_speed()
        if speed is None or not self._shared.speed.is_fresh():
            return False
        return tokens / speed.reads + LEAST_REPLY / speed.writes > seconds

    def _too_slow_error(self, tokens: int, *, divisible: bool) -> ReadsTooSlowly:
        """Return the error for a call that is not made because the model is known to need more time than is left.

        Its `room` is the number of tokens of a prompt that the model has time to read.
        """
        budget, speed = self._budget, self._planned_speed()
        seconds_left = max(budget.seconds_left(), 0.0) if budget else 0.0
        error = self._slow_error(tokens / speed.reads if speed else None, seconds_left, divisible=divisible)
        error.room = int(READ_SHARE * seconds_left * speed.reads) if speed else 0
        error.spent = Usage().model_dump()
        return error

    def _writable_tokens(self, tokens: int, seconds: float) -> int | None:
        """Return how many tokens a slow model has time to write after a prompt of `tokens`; None for a fast model.

        It is used as the limit of the reply, which then ends by itself instead of at the timeout.
        """
        speed = self._planned_speed()
        if speed is None:
            return None
        return max(LEAST_REPLY, int(speed.writes * (WRITING_SHARE * seconds - tokens / speed.reads)))

    def _watch_reading(
        self, tokens: int, written: WrittenReply, end: asyncio.Timeout, *, divisible: bool
    ) -> WatchedReading | None:
        """Start to observe how a model on this machine reads its prompt, and end the call if that takes too long.

        None, without observing, if the model is known to be fast or does not stream, or the user has no time limit.
        """
        speed, budget = self.speed(), self._budget
        seconds_left = budget.seconds_if_slow() if budget else None
        is_fast = speed is not None and speed.reads >= FAST_READING
        if budget is None or seconds_left is None or is_fast or not written.streams or not runs_here(self.chat_model):
            return None
        loop = asyncio.get_running_loop()

        def end_by(when: float) -> None:
            """End the call at a time on the loop's clock, unless it ends earlier."""
            if not end.expired():  # a call that is being cancelled must not be rescheduled
                end.reschedule(min(end.when() or inf, when))

        def hurry() -> None:
            """Apply the limit for slow models to the turn, and end the call within it."""
            budget.hurry()
            end_by(loop.time() + max(budget.seconds_left(), 0.0))

        def give_up() -> None:
            """End the call now, because it reads too slowly."""
            budget.hurry()
            end_by(loop.time())

        def on_first_piece(seconds: float) -> None:
            """Stop observing when the model begins to write; hurry the turn if the reading was slow."""
            watch.ended()
            if tokens >= LEAST_READ and tokens / seconds < FAST_READING:
                hurry()

        watch = WatchedReading(tokens, seconds_left, give_up, divisible=divisible)
        written.on_first = on_first_piece
        return watch

    async def _call_in_time(
        self,
        prompt: list[BaseMessage],
        limit: int | None,
        seconds: float,
        *,
        divisible: bool = False,
        writable: int | None = None,
    ) -> ReceivedReply:
        """Call the model with a timeout, check the reply, and measure the model's speed if it ran no other call.

        `writable` is the number of tokens that there is time to write, which reduces the limit; None if unknown.

        Raises:
            ModelError: There is no complete reply; the error has the cost and the text written so far.
        """
        limited_by_time = limit is not None and writable is not None and writable < limit
        limit = writable if limited_by_time else limit
        started, end = perf_counter(), asyncio.timeout(seconds)
        loop = asyncio.get_running_loop()
        handler = StreamedReply if always_streams(self.chat_model) and self._shared.streams else WrittenReply
        written = handler(LONGEST_REPLY, lambda: end.reschedule(loop.time()))
        tokens = count_tokens_approximately(prompt)
        watch = self._watch_reading(tokens, written, end, divisible=divisible)
        previous_callback = reading.set(watch.progress if watch else None)
        self._shared.in_flight += 1
        alone = self._shared.in_flight == 1
        try:
            async with end:
                message = await self._invoke(prompt, limit, written)
        except Exception as error:
            failure = in_our_words(error, self.name, base_url=base_url_of(self.chat_model))
            text, took = written.text(), perf_counter() - started
            if isinstance(failure, ModelTimeout):
                given_up = None
                if watch is not None and watch.gave_up:
                    given_up = self._reads_too_slowly(watch, divisible=divisible)
                # a timeout of the client may come before ours
                failure = self._timeout_error(failure, written, given_up, seconds if took >= seconds else round(took))
            # Without any text it is unknown whether the model has read the prompt at all: no tokens are counted.
            usage = estimated_usage(prompt, [AIMessage(text)], took) if text else estimated_usage([], [], took)
            failure.spent = usage.model_dump()
            if alone:
                self._measure(usage, written, started, cached=None)
            raise failure from error
        finally:
            alone = alone and self._shared.in_flight == 1
            self._shared.in_flight -= 1
            reading.reset(previous_callback)
            if watch is not None:
                watch.ended()
        usage = usage_of(prompt, message, perf_counter() - started)
        if alone:
            self._measure(usage, written, started, cached=cached_tokens(message))
        try:
            text, notes = checked_text(
                message, self.name, self.chat_model, limited=limit is not None and self._shared.takes_limit
            )
        except BadReply as error:
            error.spent = usage.model_dump()
            if limited_by_time and error.reason == "length" and error.partial.strip():
                help = "Raise PREFLIGHT_ANSWER_SECONDS, or take a smaller model."
                late = self._unfinished_error(error.partial, "in the time that its turn has", help)
                late.spent = error.spent
                raise late from error
            if error.reason == "length" and limit is not None and was_spent_on_thoughts(message):
                thoughts = _SpentOnThoughts(error.message, help=error.help, reason="length", partial=error.partial)
                thoughts.spent = error.spent
                raise thoughts from error
            raise
        return ReceivedReply(text, usage, (*notes, *unread_note(self.name, prompt, usage)))

    def _timeout_error(
        self, failure: ModelTimeout, written: WrittenReply, given_up: ReadsTooSlowly | None, seconds: float
    ) -> ModelError:
        """Return the error that says why a call was ended before its reply was complete, with the text until then.

        It is `failure` if the model has written nothing, and `given_up` if it was stopped because it reads too slowly.
        """
        text = written.text()
        if given_up is not None:
            return given_up
        if written.is_too_long:
            return endless_error(self.name, text)
        if written.repeats:
            return repetition_error(self.name, before_circles(text))
        if not text.strip():
            return failure
        return self._unfinished_error(text, f"within {seconds:g} s", "Try again, or raise PREFLIGHT_DEADLINE.")

    def _unfinished_error(self, text: str, when: str, help: str) -> ModelTimeout:
        """Return the error for a reply that was not finished in time, e.g. "within 120 s" (`when`), with its text."""
        late = ModelTimeout(f"{self.name} did not come to an end {when}", help=help)
        late.reason, late.partial = "deadline", text
        return late

    def _reads_too_slowly(self, watch: WatchedReading, *, divisible: bool) -> ReadsTooSlowly:
        """Record how fast the model read before it was given up, and return the error for its prompt.

        A silent model that gets no second, shorter prompt is recorded with the highest speed that it can have.
        """
        measurement = watch.has_read or (None if divisible else watch.at_most())
        if measurement is not None:
            tokens, seconds = measurement
            self._shared.speed.has_read(tokens, seconds, followed=divisible)
        error = self._slow_error(watch.expected_seconds(), watch.left, divisible=divisible)
        error.room = watch.room()
        return error

    def _slow_error(self, expected: float | None, left: float, *, divisible: bool) -> ReadsTooSlowly:
        """Return the error for a model that needs longer to read (`expected` seconds or None) than its turn has."""
        estimate = f", about {expected:,.0f} s," if expected else ""
        text = "its passages" if divisible else "its prompt, of which nothing can be left out,"
        remedy = "Ask with a smaller k" if divisible else "Take a smaller model"
        return ReadsTooSlowly(
            f"{self.name} needs longer{estimate} to read {text} than the turn has ({left:,.0f} s)",
            help=f"{remedy}, or raise PREFLIGHT_ANSWER_SECONDS.",
        )

    def _measure(self, usage: Usage, written: WrittenReply, started: float, *, cached: int | None) -> None:
        """Record the model's speed from a call that ran alone, unless the call did not stream.

        Args:
            usage: The call's usage.
            written: The written part of its reply.
            started: When it was sent, on the clock of `perf_counter`.
            cached: Tokens of its prompt that were in the server's cache; None for a call that was ended before it
                reported them, whose apparent reading speed is then an upper bound.
        """
        if written.first is None or written.last is None:
            return
        speed, seconds = self.speed(), written.first - started
        # With an unknown part of the prompt in the cache, a higher speed than before says nothing.
        if cached is None and speed is not None and usage.input_tokens > speed.reads * seconds:
            return
        self._shared.speed.measured(
            read=usage.input_tokens - (cached or 0),
            seconds_to_first=seconds,
            written=usage.output_tokens,
            seconds_after=written.last - written.first,
        )

    async def _invoke(self, prompt: list[BaseMessage], limit: int | None, written: WrittenReply) -> AIMessage:
        """Call the model until it replies, each time without the option that it has just refused.

        Later calls leave these options out, too. After an empty stream, the whole reply is requested without streaming.
        """
        shared, is_without_stream = self._shared, False
        while True:
            try:
                message = await self._invoke_once(prompt, limit, written, streamed=not is_without_stream)
            except Exception as error:
                if shared.streams and not is_without_stream and is_empty_stream(error):
                    is_without_stream = True  # its server may support only whole replies
                elif not self._drop_refused_option(error, limited=limit is not None):
                    raise
            else:
                shared.streams = shared.streams and not is_without_stream
                return message

    def _drop_refused_option(self, error: Exception, *, limited: bool) -> bool:
        """Leave the option that an error names out of this call's next attempt and of later calls.

        Return whether that option was sent, so that another attempt makes sense; `limited` says if a token limit was.
        """
        shared = self._shared
        if refuses_temperature(error):
            changed_model, was_sampled = without_temperature(self.chat_model), "temperature" in self._sampling
            self._sampling = {name: value for name, value in self._sampling.items() if name != "temperature"}
            had_temperature, shared.model = changed_model is not shared.model or was_sampled, changed_model
            return had_temperature
        if shared.takes_usage and refuses(error, "stream_options", "include_usage"):
            shared.takes_usage = False
            return True
        if self._schema and refuses(error, *OF_SCHEMA):
            self._schema = {}
            shared.speed.found_schema(taken=False)
            return True
        if limited and shared.takes_limit and refuses(error, *LIMITS, "max_completion_tokens"):
            # Only if there is no newer name of the limit is it left out.
            renamed = with_newer_limit(shared.model)
            shared.takes_limit, shared.model = renamed is not shared.model, renamed
            return True
        return False

    async def _invoke_once(
        self, prompt: list[BaseMessage], limit: int | None, written: WrittenReply, *, streamed: bool
    ) -> AIMessage:
        """Call the model once, with the options that it is not known to refuse; learn whether it follows a schema.

        A limit among the sampling options takes precedence; a reply that is not to be streamed is requested whole.
        """
        model: AnyModel = self._clients.of(self.chat_model)
        if limit is not None and self._shared.takes_limit and not self._sampling.keys() & {*LIMITS}:
            model = with_reply_limit(model, limit)
        if not streamed or not self._shared.streams:
            model = without_streams(model)
        if self._shared.takes_usage:
            model = with_stream_usage(model)
        config = with_handler(config_for(model), written)
        options = {**self._sampling, **({"extra_body": self._schema} if self._schema else {})}
        message = as_message(await model.ainvoke(prompt, config, **options), self.name)
        if self._schema and self._shared.speed.takes_schema is None:
            # A server without support for schemas answers in prose, without an error.
            self._shared.speed.found_schema(taken=str(message.text).lstrip().startswith("{"))
        return message


class _SpentOnThoughts(BadReply):
    """A reply that reached the call's limit of tokens because the model's thoughts have used some or all of them."""
