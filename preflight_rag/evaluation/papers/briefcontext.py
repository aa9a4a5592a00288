"""The arms of BriefContext's experiments: closed book, plain RAG, map/reduce, and the route of the preflight."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer
from preflight_rag.evaluation.harness.asking import Asking
from preflight_rag.evaluation.samples import Sample
from preflight_rag.models.chat.chat_reader import add
from preflight_rag.prompts import fences
from preflight_rag.routing.decision import partition
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Extract, Reply, Source
from preflight_rag.state.values import Usage

if TYPE_CHECKING:
    from preflight_rag.library.library import Library
    from preflight_rag.models.protocol import Reader

RAG = "RAG"
MAP_REDUCE = "BriefContext"
AUTO = "auto route"
CLOSED_BOOK = "closed book, CoT"
ORACLE = "oracle"
PARTITION = Settings().partition_size
NO_CLOSED_BOOK = "Closed book is left out: it needs a language model (--model)."

SYSTEM = """\
You answer questions from what you know; there are no passages.
- Think step by step, in a few sentences. Then give the answer, even when you are not certain of it."""
USER = """\
Question: {question}{wanted}"""
WANTED = "\nEnd with a line `ANSWER: ` and the answer alone, in as few words as can be."
_ANSWER = re.compile(r"^[\s#*_>-]*(?:final\s+)?answer[\s*_]*:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def plain(reader: Reader, name: str = RAG) -> Arm:
    """One prompt with all passages."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        reply = await reader.answer(question=question.question, sources=sources, options=question.options)
        return ArmAnswer.of_draft(reply, "plain")

    return Arm(name, answer)


def map_reduce(reader: Reader, size: int = PARTITION, name: str = MAP_REDUCE) -> Arm:
    """An extract of each partition of at most `size` passages, and one answer out of them."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        extracts, usage = await extracted(reader, question, partitions(sources, size))
        return ArmAnswer.of_draft(await reduced(reader, question, extracts, usage), "map_reduce")

    return Arm(name, answer)


def partitions(sources: Sequence[Source], size: int = PARTITION) -> list[tuple[Source, ...]]:
    """The passages in the runs that the preflight of a turn makes of them."""
    return [tuple(sources[rank - 1] for rank in ranks) for ranks in partition(len(sources), size)]


async def extracted(reader: Reader, question: Sample, parts: Sequence[Sequence[Source]]) -> tuple[list[Extract], Usage]:
    """What each partition says, and what asking cost; as in a turn, one that cannot be read is empty.

    Raises:
        ModelError: The server failed, or no partition could be read.
    """
    asked = (reader.extract(question=question.question, sources=part) for part in parts)
    replies = await asyncio.gather(*asked, return_exceptions=True)
    usage, extracts, failed = Usage(), list[Extract](), list[ModelError]()
    for reply in replies:
        if isinstance(reply, ModelError) and not reply.retryable:
            usage = add(usage, Usage.model_validate(reply.spent or {"calls": 1}))
            failed.append(reply)
            extracts.append(Extract(""))
        elif isinstance(reply, BaseException):
            raise reply
        else:
            usage = add(usage, reply.usage)
            extracts.append(reply.value)
    if failed and len(failed) == len(parts):
        raise failed[0]
    return extracts, usage


async def reduced(reader: Reader, question: Sample, extracts: Sequence[Extract], usage: Usage) -> Reply[Draft]:
    """One answer out of the extracts that say something; nothing is asked where none does."""
    told = [extract for extract in extracts if extract.text]
    if not told:
        return Reply(Draft("", found=False), usage)
    reply = await reader.reduce(question=question.question, extracts=told, options=question.options)
    return replace(reply, usage=add(usage, reply.usage))


def auto(reader: Reader, library: Library, settings: Settings, extractive_reader: str, name: str = AUTO) -> Arm:
    """A whole turn of the graph, which retrieves by itself and takes the route that its preflight chooses.

    Args:
        reader: The turn's reader.
        library: What it searches.
        settings: The numbers of the turn; those that the passages of the other arms were retrieved with.
        extractive_reader: The name of the one that reads for COrg's signals, as `--extractive-reader` takes it.
        name: Of the arm.
    """
    from preflight_rag.graph.build import RECURSION_LIMIT, build_graph
    from preflight_rag.graph.outcome import answer_of
    from preflight_rag.graph.readers import extractive_for
    from preflight_rag.state.context import Context

    graph = build_graph().compile()
    context = Context(reader, library, settings, extractive=extractive_for(reader, extractive_reader))
    config: Any = {"recursion_limit": RECURSION_LIMIT, "max_concurrency": settings.max_concurrency}

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        asked: Any = {"messages": [HumanMessage(question.question)], "options": list(question.options)}
        state = await graph.ainvoke(asked, config, context=context)
        turn = answer_of(state, reader=reader, settings=settings)
        told = ArmAnswer.of_answer(turn)
        seen = tuple(await context.sources(state["passages"]))
        told = told if seen == tuple(sources) else replace(told, passages=seen)
        return replace(told, text=turn.short_answer) if turn.short_answer else told

    return Arm(name, answer)


def closed_book(asking: Asking) -> Arm:
    """The model's own knowledge, step by step."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        text, usage = await asking.prompts.reply(closed_book_prompt(question))
        last = None if question.options else list(_ANSWER.finditer(text))
        return ArmAnswer(last[-1][1] if last else text, usage=usage, passages=())

    return Arm(CLOSED_BOOK, answer)


def closed_book_prompt(question: Sample) -> list[BaseMessage]:
    """The prompt without passages."""
    wanted = fences.options(question.options) or WANTED
    return [SystemMessage(SYSTEM), HumanMessage(USER.format(question=fences.fenced(question.question), wanted=wanted))]


def oracle(reader: Reader, key: Callable[[Sample], Source]) -> Arm:
    """Plain RAG on the key passage alone."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        alone = (key(question),)
        reply = await reader.answer(question=question.question, sources=alone, options=question.options)
        return replace(ArmAnswer.of_draft(reply, "plain"), passages=alone)

    return Arm(ORACLE, answer)
