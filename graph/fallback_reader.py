"""A language model's reader that continues without its model, for runs of the graph that cannot be restarted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

from preflight_rag.graph.model_use import is_lost
from preflight_rag.models.planning import speed_of
from preflight_rag.models.protocol import HasContextWindow, Reader, instructed
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.unfinished import may_be_spared
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk
from preflight_rag.state.values import Speed, Usage

V = TypeVar("V")


@dataclass
class Loss:
    """Why a run continues without its model; None as long as the model is available."""

    error: ModelError | None = None
    is_noted: bool = False


class FallbackReader:
    """A model's reader; once its model is lost, the reader without a model replaces it.

    A reply with a usable beginning does not count as a loss: the calling stage shows it and marks it as incomplete.

    Args:
        model: The reader with the language model; None if that cannot be opened.
        offline: The reader without a model.
        loss: The run's loss of its model, shared by all of its stages.
    """

    def __init__(self, model: Reader | None, offline: Reader, loss: Loss) -> None:
        self._model, self._offline, self._loss = model, offline, loss

    @property
    def name(self) -> str:
        """The name of the reader in receipts."""
        return self._current_reader().name

    @property
    def by_rule(self) -> bool:
        """Whether the model was given up, so that answers are made by rule."""
        return self._current_reader().by_rule

    @property
    def extractive(self) -> ExtractiveReader | None:
        """The extractive reader that reads passages."""
        return self._current_reader().extractive

    def go_offline(self, error: ModelError) -> None:
        """Read without the model from now on; the caller records why."""
        self._loss.error, self._loss.is_noted = self._loss.error or error, True

    def instructed(self, instructions: str) -> FallbackReader:
        """Return the same reader with these instructions for its model."""
        reader = copy(self)
        reader._model = instructed(self._model, instructions) if self._model is not None else None
        return reader

    def speed(self) -> Speed | None:
        """Return how fast the model reads and writes, if that is known."""
        return speed_of(self._current_reader())

    def context_window(self) -> int | None:
        """Return the tokens of one call of the model, if that is known."""
        reader = self._current_reader()
        return reader.context_window() if isinstance(reader, HasContextWindow) else None

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text in a prompt."""
        return self._current_reader().count_tokens(text)

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """Return the message as a question for the search."""
        return await self._ask_current_reader(lambda reader: reader.rewrite(message=message, history=history))

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return one answer from all sources."""
        return await self._ask_current_reader(
            lambda reader: reader.answer(question=question, sources=sources, options=options)
        )

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Return the evidence in one partition, and the partition's own answer."""
        return await self._ask_current_reader(
            lambda reader: reader.extract(question=question, sources=sources, options=options)
        )

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Return one answer from the partitions' extracts."""
        return await self._ask_current_reader(
            lambda reader: reader.reduce(question=question, extracts=extracts, options=options)
        )

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Return the relations of a context to others."""
        return await self._ask_current_reader(
            lambda reader: reader.relate(question=question, pivot=pivot, others=others, printed=printed)
        )

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Return the answers of a group."""
        return await self._ask_current_reader(
            lambda reader: reader.answer_group(question=question, sources=sources, plural=plural)
        )

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """Return a summary of a document."""
        return await self._ask_current_reader(
            lambda reader: reader.summarize(title=title, sections=sections, parts=parts)
        )

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """Return a reply to a message that is not about the documents."""
        return await self._ask_current_reader(
            lambda reader: reader.converse(message=message, talk=talk, history=history, earlier=earlier)
        )

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """Return a summary of messages."""
        return await self._ask_current_reader(lambda reader: reader.condense(summary=summary, messages=messages))

    def _current_reader(self) -> Reader:
        """Return the reader that replies now: the model's, or the one without a model once that is lost."""
        return self._offline if self._model is None or self._loss.error is not None else self._model

    async def _ask_current_reader(self, ask: Callable[[Reader], Awaitable[Reply[V]]]) -> Reply[V]:
        """Return the model's reply; if the model is lost, that of the reader without a model, and once a note why.

        Raises:
            ModelError: The model is available, but refused, or its reply is incomplete or cannot be used.
        """
        spent, reader = Usage(), self._current_reader()
        if reader is self._model:
            try:
                return await ask(reader)
            except ModelError as error:
                if error.partial.strip() or not (is_lost(error) or may_be_spared(error)):
                    raise
                self._loss.error = self._loss.error or error
                spent = Usage.of_failed(error.spent)
        reply = await ask(self._offline)
        notes, loss = reply.notes, self._loss.error
        if loss is not None and not self._loss.is_noted:
            self._loss.is_noted = True
            notes = (f"{loss} Until then answers show what the documents say.", *notes)
        return replace(reply, usage=spent + reply.usage, notes=notes)
