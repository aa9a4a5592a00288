"""A reader that counts what it is asked: the cost of readers that report none, and of arms made of several calls."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from time import perf_counter
from typing import Any, TypeVar

from preflight_rag.models.chat.chat_reader import add
from preflight_rag.models.protocol import Reader
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.reading import Draft, Earlier, Extract, Message, RelationReply, Reply, Rewrite, Source, Talk
from preflight_rag.state.values import Usage

T = TypeVar("T")


class Metered:
    """A reader whose `usage` grows with every call.

    A call that reports no tokens, as one without a language model, counts as a call over the texts it was given: their
    tokens by the reader's own tokenizer, without instructions, and marked as estimated.

    Args:
        reader: What answers.
    """

    by_rule = False
    extractive: ExtractiveReader | None = None

    def __init__(self, reader: Reader) -> None:
        self.reader, self.name = reader, reader.name
        self.usage = Usage()

    async def rewrite(self, *, message: str, history: Sequence[Message]) -> Reply[Rewrite]:
        """As `Reader.rewrite`."""
        given = [message, *(turn.text for turn in history)]
        return await self._count(self.reader.rewrite(message=message, history=history), given)

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """As `Reader.answer`."""
        asked = self.reader.answer(question=question, sources=sources, options=options)
        return await self._count(asked, [question, *options, *texts(sources)])

    async def extract(self, *, question: str, sources: Sequence[Source]) -> Reply[Extract]:
        """As `Reader.extract`."""
        return await self._count(self.reader.extract(question=question, sources=sources), [question, *texts(sources)])

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """As `Reader.reduce`."""
        asked = self.reader.reduce(question=question, extracts=extracts, options=options)
        return await self._count(asked, [question, *options, *(extract.text for extract in extracts)])

    async def relate(self, *, question: str, pivot: Source, others: Sequence[Source]) -> Reply[RelationReply]:
        """As `Reader.relate`."""
        asked = self.reader.relate(question=question, pivot=pivot, others=others)
        return await self._count(asked, [question, *texts([pivot, *others])])

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """As `Reader.answer_group`."""
        asked = self.reader.answer_group(question=question, sources=sources, plural=plural)
        return await self._count(asked, [question, *texts(sources)])

    async def summarize(
        self, *, title: str, sections: Sequence[Sequence[Source]], parts: Sequence[Extract] = ()
    ) -> Reply[Draft]:
        """As `Reader.summarize`."""
        given = [*(text for section in sections for text in texts(section)), *(part.text for part in parts)]
        return await self._count(self.reader.summarize(title=title, sections=sections, parts=parts), [title, *given])

    async def converse(self, *, message: str, talk: Talk, history: Sequence[Message], earlier: Earlier) -> Reply[Draft]:
        """As `Reader.converse`."""
        asked = self.reader.converse(message=message, talk=talk, history=history, earlier=earlier)
        return await self._count(asked, [message, *(turn.text for turn in history), *texts(earlier.sources)])

    async def condense(self, *, summary: str, messages: Sequence[Message]) -> Reply[str]:
        """As `Reader.condense`."""
        asked = self.reader.condense(summary=summary, messages=messages)
        return await self._count(asked, [summary, *(turn.text for turn in messages)])

    def count_tokens(self, text: str) -> int:
        """As `Reader.count_tokens`."""
        return self.reader.count_tokens(text)

    async def _count(self, asked: Awaitable[Reply[T]], given: Iterable[str]) -> Reply[T]:
        started = perf_counter()
        reply = await asked
        usage = reply.usage
        if not usage.calls:
            usage = Usage(
                calls=1,
                input_tokens=sum(map(self.count_tokens, given)),
                output_tokens=self.count_tokens(written(reply.value)),
                estimated=True,
                seconds=perf_counter() - started,
            )
        self.usage = add(self.usage, usage)
        return reply


def texts(sources: Iterable[Source]) -> list[str]:
    """Titles and texts of passages."""
    return [f"{source.title} {source.text}".strip() for source in sources]


def written(value: Any) -> str:
    """What a reader wrote, as one text."""
    match value:
        case Draft() | Extract():
            return "\n".join([value.text, *(quote for _, quote in value.quotes)])
        case RelationReply():
            notes = (f"{note.entity} {note.descriptor or ''} {note.answer or ''}" for note in value.notes.values())
            return "\n".join([*value.kinds.values(), *notes])
        case Rewrite():
            return "\n".join([value.question, *value.subquestions])
        case str():
            return value
    return ""
