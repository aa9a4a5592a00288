"""`ChatReader`: a chat model behind the `Reader` protocol. It renders prompts, checks each reply, and parses it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from preflight_rag.models.chat.chat_models import (
    ContextWindow,
    LoopLocalClients,
    in_our_words,
    refuses_temperature,
    without_temperature,
)
from preflight_rag.models.chat.runnables import AnyModel, as_message, base_url_of, config_for, models_in, takes_options
from preflight_rag.prompts import (
    answer_group,
    answer_plain,
    condense,
    converse,
    map_context,
    reduce_context,
    relate_contexts,
    rewrite,
    summarize,
)
from preflight_rag.prompts.replies import before_cut_quotes, choices_line, match_option
from preflight_rag.state.errors import BadReply, ModelError
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk
from preflight_rag.state.values import Usage
from preflight_rag.text.concepts import expressions, rewrite_by_rules
from preflight_rag.text.condense import condense as condense_by_rule
from preflight_rag.text.plural import plural_question
from preflight_rag.text.survival import corrections, lost, strays
from preflight_rag.text.words import without_controls

if TYPE_CHECKING:
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader

_CUT_OFF = "Raise the model's max_tokens; where it sets none, its context window is full: ask with a smaller k."
COMMON_OPTIONS = ("temperature", "top_p")
"""Options of sampling that the chat models of all providers know by these names."""
_REFUSED = ("content_filter", "refusal", "safety")
LONG_PROMPT = 1000
"""Tokens, estimated, from which on it is looked whether a server has read the whole prompt; a guess."""
READ_SHARE = 0.5
"""Least share of the estimate that a server reports of a prompt that it has read whole; a guess: no language has eight
characters a token."""


@dataclass
class _Asked:
    """The model, shared by a reader and its likes with instructions: what is learned of it holds for all of them."""

    model: AnyModel


@dataclass(frozen=True)
class _Received:
    """A reply's text, what it cost, and what has to be said about it."""

    text: str
    usage: Usage
    notes: tuple[str, ...] = ()


class ChatReader:
    """Any LangChain chat model, or Runnable from messages to a message, as a reader.

    No function calling is asked of it.

    Args:
        chat_model: The model, also behind `with_retry`, `with_fallbacks`, `bind` and the like.
        name: How receipts name it.
        deadline: Seconds that one call may take in all, retries and streaming included.
        context_window: Tokens that the model reads and writes in one call; None: as its server says.
    """

    by_rule = False
    extractive: ExtractiveReader | None = None

    def __init__(
        self,
        chat_model: AnyModel,
        *,
        name: str | None = None,
        deadline: float = 120.0,
        context_window: int | None = None,
    ) -> None:
        self._asked = _Asked(chat_model)
        self.window = ContextWindow(chat_model, context_window)
        self.name = name or _name_of(chat_model)
        self.deadline = deadline
        self._clients = LoopLocalClients()
        self._instructions = ""
        self._sampling: dict[str, Any] = {}

    def instructed(self, instructions: str) -> ChatReader:
        """The same reader, whose answering prompts hold these instructions for how to write."""
        reader = copy(self)
        reader._instructions = instructions
        return reader

    @property
    def chat_model(self) -> AnyModel:
        """The model that is asked."""
        return self._asked.model

    def takes_option(self, name: str) -> bool:
        """Whether an option of sampling reaches the model.

        Options of OpenAI's reach its client, two of them any chat model; what a Runnable of another kind would make of
        them is not known.
        """
        return takes_options(self.chat_model) and (name in COMMON_OPTIONS or self._is_openais(None))

    def sampled(self, options: Mapping[str, Any]) -> ChatReader:
        """The same reader, whose model's calls have those of the options that reach it, such as `temperature`."""
        reader = copy(self)
        reader._sampling = {name: value for name, value in options.items() if self.takes_option(name)}
        return reader

    async def complete(self, messages: Sequence[BaseMessage]) -> tuple[str, Usage]:
        """The model's reply to messages of a caller's own, as it is.

        Raises:
            ModelError: There is no whole reply.
        """
        return await self._call([*messages])

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """The model's rewrite; what it leaves out is filled in by rule.

        After an unreadable reply and an unreadable repair, and where the model lost a number, a code or a negation of
        the message, or made something else of a message without history, the message stands as it is.
        """
        prompt = rewrite.render(message=message, history=history)
        text, usage = await self._call(prompt)
        made = rewrite.parse(text)
        if made is None:
            text, more = await self._repair(prompt, text, rewrite.REPAIR)
            usage, made = add(usage, more), rewrite.parse(text)
        if made is None:
            note = "the model's rewrite could not be read; the message was searched as it is"
            return Reply(rewrite_by_rules(message), usage, (note,))
        if missing := lost(message, made.question):
            note = f"the model's rewrite lost {', '.join(missing)}; the message was searched as it is"
            return Reply(rewrite_by_rules(message), usage, (note,))
        if not history and strays(message, made.question):
            note = "the model's rewrite is about something else; the message was searched as it is"
            return Reply(rewrite_by_rules(message), usage, (note,))
        return Reply(_completed(made, message), usage)

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """One answer from all sources."""
        own = self._instructions
        prompt = answer_plain.render(question=question, sources=sources, options=options, instructions=own)
        return await self._draft(prompt, options)

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """What one partition says, and what it answers by itself."""
        received = await self._ask(map_context.render(question=question, sources=sources, options=options))
        return Reply(map_context.parse(received.text, options), received.usage, received.notes)

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """One answer from the partitions' extracts; their quotes come along."""
        own = self._instructions
        prompt = reduce_context.render(question=question, extracts=extracts, options=options, instructions=own)
        reply = await self._draft(prompt, options)
        draft = reduce_context.settled(reply.value)
        quotes = draft.quotes or tuple(quote for extract in extracts for quote in extract.quotes)
        return Reply(replace(draft, quotes=quotes), reply.usage, reply.notes)

    async def relate(self, *, question: str, pivot: Source, others: Sequence[Source]) -> Reply[RelationReply]:
        """How the pivot relates to each other context; relations that are missing are asked for once more, together."""
        contexts = [pivot, *others]
        prompt = relate_contexts.render(question=question, contexts=contexts)
        text, usage = await self._call(prompt)
        reply = relate_contexts.parse(text, len(contexts))
        missing = [n for n in range(2, len(contexts) + 1) if n not in reply.kinds]
        if missing:
            try:
                text, more = await self._repair(prompt, text, relate_contexts.repair(missing))
            except ModelError as error:
                more = Usage.model_validate(error.spent or {"calls": 1})
            else:
                repaired = relate_contexts.parse(text, len(contexts))
                reply = RelationReply(repaired.kinds | reply.kinds, repaired.notes | reply.notes)
            usage = add(usage, more)
        own = {n: source.n for n, source in enumerate(contexts, 1)}
        notes = {own[n]: replace(note, rank=own[n]) for n, note in reply.notes.items()}
        return Reply(RelationReply({own[n]: kind for n, kind in reply.kinds.items()}, notes), usage)

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """One answer for each entity of the group's contexts; in the plural, another question in the same prompt."""
        asked, before = await self.plural(question) if plural and len(sources) > 1 else (question, Usage())
        prompt = answer_group.render(question=asked, sources=sources, instructions=self._instructions)
        received = await self._ask(prompt)
        return Reply(answer_group.parse(received.text), add(before, received.usage), received.notes)

    async def plural(self, question: str, *, by_rule: bool = True) -> tuple[str, Usage]:
        """The question in the plural: by rule, else as the model puts it, which may lose no number, code or negation.

        Args:
            question: In the singular.
            by_rule: Whether a rule comes first.
        """
        if by_rule and (ruled := plural_question(question)):
            return ruled, Usage()
        try:
            text, usage = await self._call(answer_group.render_plural(question=question))
        except ModelError as error:
            return question, Usage.model_validate(error.spent or {"calls": 1})
        made = answer_group.parse_plural(text)
        return (made, usage) if made and not lost(question, made) else (question, usage)

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """One summary of a document's sentences, or of its parts' summaries; their quotes come along."""
        prompt = summarize.render(title=title, sections=sections, parts=parts, instructions=self._instructions)
        text, usage = await self._call(prompt)
        draft = summarize.parse(text)
        quotes = draft.quotes or tuple(quote for part in parts for quote in part.quotes)
        return Reply(replace(draft, quotes=quotes), usage)

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """The model's own words, whatever the talk is about; they may cite the last answer's sources."""
        own, sources = self._instructions, earlier.sources
        prompt = converse.render(message=message, history=history, sources=sources, instructions=own)
        text, usage = await self._call(prompt)
        return Reply(converse.parse(text), usage)

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """The model's summary; where it is none, one made by rule."""
        text, usage = await self._call(condense.render(summary=summary, messages=messages))
        short = condense.parse(text)
        if short is None:
            return Reply(
                condense_by_rule(summary, messages), usage, ("the model's summary was too long; it was made by rule",)
            )
        return Reply(short, usage)

    def context_window(self) -> int | None:
        """Tokens that the model reads and writes in one call, where that is known."""
        return self.window.tokens()

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, estimated (about four characters each)."""
        return count_tokens_approximately([HumanMessage(text)])

    async def _draft(self, prompt: list[BaseMessage], options: Sequence[str]) -> Reply[Draft]:
        received = await self._ask(prompt)
        draft = answer_plain.parse(received.text, options)
        if not options or draft.choice or not draft.found:
            return Reply(draft, received.usage, received.notes)
        ask = f"Which option is it? Reply with one letter of {choices_line(options)} and nothing else."
        text, more = await self._repair(prompt, received.text, ask)
        choice = match_option(text, options)
        notes = received.notes if choice else (*received.notes, "the reply names none of the options")
        return Reply(Draft(draft.text, draft.quotes, True, choice), add(received.usage, more), notes)

    async def _repair(self, prompt: list[BaseMessage], reply: str, ask: str) -> tuple[str, Usage]:
        return await self._call([*prompt, AIMessage(reply), HumanMessage(ask)])

    async def _call(self, prompt: list[BaseMessage]) -> tuple[str, Usage]:
        """The text of a reply and what it cost."""
        received = await self._ask(prompt)
        return received.text, received.usage

    async def _ask(self, prompt: list[BaseMessage]) -> _Received:
        """A whole reply, or what is whole of it; every other way in which one can fall short is an error of ours."""
        started = perf_counter()
        try:
            async with asyncio.timeout(self.deadline):
                message = await self._invoke(prompt)
        except Exception as error:
            failure = in_our_words(error, self.name, base_url=base_url_of(self.chat_model))
            failure.spent = Usage(calls=1, seconds=perf_counter() - started).model_dump()
            raise failure from error
        usage = self._usage(prompt, message, perf_counter() - started)
        try:
            text, notes = self._checked(message)
        except BadReply as error:
            error.spent = usage.model_dump()
            raise
        return _Received(text, usage, (*notes, *self._unread(prompt, usage)))

    async def _invoke(self, prompt: list[BaseMessage]) -> AIMessage:
        """The model's message; one that takes no temperature is asked without from then on."""
        try:
            return await self._reply(prompt)
        except Exception as error:
            plain = without_temperature(self.chat_model)
            asked = "temperature" in self._sampling
            if not refuses_temperature(error) or (plain is self.chat_model and not asked):
                raise
        self._asked.model = plain
        self._sampling = {name: value for name, value in self._sampling.items() if name != "temperature"}
        return await self._reply(prompt)

    async def _reply(self, prompt: list[BaseMessage]) -> AIMessage:
        model = self._clients.of(self.chat_model)
        return as_message(await model.ainvoke(prompt, config_for(model), **self._sampling), self.name)

    def _unread(self, prompt: list[BaseMessage], usage: Usage) -> tuple[str, ...]:
        """A note where the server says that it has read much less than it was sent: some cut a prompt in silence."""
        sent = count_tokens_approximately(prompt)
        if usage.estimated or sent < LONG_PROMPT or usage.input_tokens >= READ_SHARE * sent:
            return ()
        read = f"{usage.input_tokens:,} of about {sent:,} tokens"
        return (f"{self.name} read {read}: its server cuts what is longer; set PREFLIGHT_CONTEXT_WINDOW",)

    def _checked(self, message: AIMessage) -> tuple[str, tuple[str, ...]]:
        metadata = message.response_metadata
        reason = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
        if message.additional_kwargs.get("refusal") or reason in _REFUSED:
            help = "Ask in other words, or take another model."
            raise BadReply(f"{self.name} refused to answer", help=help, reason="content_filter")
        text = without_controls(str(message.text))
        if reason in ("length", "max_tokens"):
            if (whole := before_cut_quotes(text)) is not None:
                return whole, (f"{self.name}'s reply was cut off in its quotes",)
            problem = f"{self.name}'s reply was cut off at its token limit"
            raise BadReply(problem, help=_CUT_OFF, reason="length", partial=text)
        if reason is None and self._is_openais(metadata.get("model_provider")):
            raise BadReply(f"{self.name}'s reply ended before it was finished", help="Try again.")
        if not text.strip():
            raise BadReply(f"{self.name} sent an empty reply", help="Try again, or take another model.")
        return text, ()

    def _is_openais(self, provider: str | None) -> bool:
        """Whether a message comes from OpenAI's client, which says for each whole one why it ended."""
        if provider is not None:
            return provider == "openai"
        kinds = {model._llm_type for model in models_in(self.chat_model)}
        return kinds == {"openai-chat"}

    def _usage(self, prompt: list[BaseMessage], message: AIMessage, seconds: float) -> Usage:
        reported = message.usage_metadata
        if reported and reported["input_tokens"]:
            return Usage(
                calls=1, input_tokens=reported["input_tokens"], output_tokens=reported["output_tokens"], seconds=seconds
            )
        return Usage(
            calls=1,
            input_tokens=count_tokens_approximately(prompt),
            output_tokens=count_tokens_approximately([message]),
            estimated=True,
            seconds=seconds,
        )


def _completed(made: Rewrite, message: str) -> Rewrite:
    """A model's rewrite with what it leaves out, by rule."""
    ruled = rewrite_by_rules(made.question)
    concepts = made.concepts or ruled.concepts
    return replace(
        made,
        subquestions=made.subquestions or ruled.subquestions,
        concepts=concepts,
        expressions=made.expressions or expressions(concepts, terms=made.terms),
        corrections=corrections(message, made.question),
    )


def add(a: Usage, b: Usage) -> Usage:
    """Two usages as one."""
    return Usage(
        calls=a.calls + b.calls,
        input_tokens=a.input_tokens + b.input_tokens,
        output_tokens=a.output_tokens + b.output_tokens,
        estimated=a.estimated or b.estimated,
        seconds=a.seconds + b.seconds,
    )


def _name_of(model: AnyModel) -> str:
    """The chat model that is asked first, as `provider:name`; of a Runnable without one, its own name."""
    inside = models_in(model)
    if not inside:
        return model.get_name()
    name = getattr(inside[0], "model_name", None) or getattr(inside[0], "model", None)
    provider = inside[0]._llm_type.removesuffix("-chat").removesuffix("-chat-model")
    return f"{provider}:{name}" if name else provider
