"""The product's own stages and whole turns as arms of experiments, and the model without passages.

A stage is run as in the graph, on given instead of retrieved passages. A stage records a missing reply as a gap; an
experiment leaves out a question whose server failed, so such failures are raised again.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from evaluation.harness.arms import Arm, ArmAnswer
from evaluation.harness.asking import Asking
from evaluation.samples import Sample
from evaluation.searched import SETTINGS
from preflight_rag.graph.build import RECURSION_LIMIT, build_graph
from preflight_rag.graph.outcome import answer_of
from preflight_rag.graph.readers import extractive_for
from preflight_rag.graph.routes import after_organize
from preflight_rag.library.library import Library
from preflight_rag.models.protocol import Reader
from preflight_rag.nodes.aggregate_groups import aggregate_groups
from preflight_rag.nodes.answer_group import answer_group
from preflight_rag.nodes.answer_plain import answer_plain
from preflight_rag.nodes.map_context import map_context
from preflight_rag.nodes.organize_contexts import organize_contexts
from preflight_rag.nodes.reduce_context import reduce_context
from preflight_rag.nodes.relate_contexts import relate_contexts
from preflight_rag.prompts import fences
from preflight_rag.routing.decision import partition
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Draft, Extract, RelationReply, Reply, Source
from preflight_rag.state.schema import PassageRef, State
from preflight_rag.state.values import Answer, Usage

T = TypeVar("T")
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


@dataclass
class MeteredReader:
    """A reader that adds up the costs of its calls and remembers the failed ones.

    Attributes:
        reader: The underlying reader.
        estimate: Whether a call that reports no tokens, such as one without a language model, counts as a call over its
            texts: their tokens by the reader's own tokenizer, without instructions, marked as estimated.
        usage: The cost of all calls so far.
        spent: The same by method.
        calls: How many there were of each method.
        failures: The errors of failed calls, in order.
        unread: The pairs of contexts, by their numbers, whose requested relation was missing in the reply.
    """

    reader: Reader
    estimate: bool = True
    usage: Usage = field(default_factory=Usage)
    spent: dict[str, Usage] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    failures: list[ModelError] = field(default_factory=list)
    unread: set[frozenset[int]] = field(default_factory=set)

    @property
    def by_rule(self) -> bool:
        """Whether the underlying reader is one by rule."""
        return self.reader.by_rule

    async def answer(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Draft]:
        """Answer as `Reader.answer` does, and record the cost."""
        asked = self.reader.answer(question=question, sources=sources, options=options)
        return await self._count("answer", asked, [question, *options, *texts(sources)])

    async def extract(self, *, question: str, sources: Sequence[Source], options: Sequence[str] = ()) -> Reply[Extract]:
        """Extract as `Reader.extract` does, and record the cost."""
        asked = self.reader.extract(question=question, sources=sources, options=options)
        return await self._count("extract", asked, [question, *options, *texts(sources)])

    async def reduce(self, *, question: str, extracts: Sequence[Extract], options: Sequence[str] = ()) -> Reply[Draft]:
        """Reduce as `Reader.reduce` does, and record the cost."""
        asked = self.reader.reduce(question=question, extracts=extracts, options=options)
        return await self._count("reduce", asked, [question, *options, *(extract.text for extract in extracts)])

    async def relate(
        self, *, question: str, pivot: Source, others: Sequence[Source], printed: bool = False
    ) -> Reply[RelationReply]:
        """Relate as `Reader.relate` does, and record the cost."""
        asked = self.reader.relate(question=question, pivot=pivot, others=others, printed=printed)
        reply = await self._count("relate", asked, [question, *texts([pivot, *others])])
        self.unread |= {frozenset({pivot.n, other.n}) for other in others if other.n not in reply.value.kinds}
        return reply

    async def answer_group(self, *, question: str, sources: Sequence[Source], plural: bool) -> Reply[Draft]:
        """Answer as `Reader.answer_group` does, and record the cost."""
        asked = self.reader.answer_group(question=question, sources=sources, plural=plural)
        return await self._count("answer_group", asked, [question, *texts(sources)])

    def check(self) -> None:
        """Raise the first failure of the server, which the same call might not meet again; failed replies are ignored.

        Raises:
            ModelError: There was one.
        """
        for failure in self.failures:
            if failure.retryable:
                raise failure

    async def _count(self, name: str, asked: Awaitable[Reply[T]], given: Iterable[str]) -> Reply[T]:
        """Await a reply, and count its calls, cost and failure under a stage's name."""
        started = perf_counter()
        self.calls[name] += 1
        try:
            reply = await asked
        except ModelError as error:
            self.failures.append(error)
            self._add(name, Usage.of_failed(error.spent))
            raise
        usage = reply.usage
        if self.estimate and not usage.calls:
            tokens = self.reader.count_tokens
            usage = Usage(
                calls=1,
                input_tokens=sum(map(tokens, given)),
                output_tokens=tokens(written_text(reply.value)),
                estimated=True,
                seconds=perf_counter() - started,
            )
        self._add(name, usage)
        return reply

    def _add(self, name: str, usage: Usage) -> None:
        """Add a cost to the total and to a stage."""
        self.usage = self.usage + usage
        self.spent[name] = self.spent.get(name, Usage()) + usage


def texts(sources: Iterable[Source]) -> list[str]:
    """Return titles and texts of passages."""
    return [f"{source.title} {source.text}".strip() for source in sources]


def written_text(value: object) -> str:
    """Return the text that a reader wrote, as one string."""
    match value:
        case Draft() | Extract():
            return "\n".join([value.text, *(quote for _, quote in value.quotes)])
        case RelationReply():
            notes = (f"{note.entity} {note.descriptor or ''} {note.answer or ''}" for note in value.notes.values())
            return "\n".join([*value.kinds.values(), *notes])
    return ""


@dataclass(frozen=True)
class GivenPassages(Context):
    """The dependencies of stages whose passages are given, by their numbers, instead of retrieved."""

    given: Mapping[int, Source] = field(default_factory=dict)

    async def sources(self, refs: Sequence[PassageRef]) -> list[Source]:
        """Return the given passages."""
        return [self.given[ref["rank"]] for ref in refs]


class TurnStages:
    """The stages of map/reduce, and those of COrg, of one turn on given passages, without escalation.

    Args:
        reader: The turn's reader, which counts its costs.
        question: The question, unchanged.
        sources: The passages, each with its number.
        settings: The turn's settings.
        options: The question's options.
    """

    def __init__(
        self,
        reader: MeteredReader,
        question: str,
        sources: Sequence[Source],
        settings: Settings = SETTINGS,
        options: Sequence[str] = (),
    ) -> None:
        self.reader, self.sources = reader, {source.n: source for source in sources}
        context: Context = GivenPassages(reader, settings=settings, given=self.sources)
        self._runtime = Runtime(context=context)
        self._asked = State(standalone_question=question, options=list(options), gaps=[])

    async def map_reduce(self, parts: Sequence[Sequence[int]]) -> Draft:
        """Return the answer from the extracts of each partition, given as passages' numbers."""
        return await self.reduce(await self.extracts(parts), parts)

    async def corg(self) -> tuple[Draft, State]:
        """Return the answer of COrg's route with its state: related, organised, answered by group, aggregated.

        Raises:
            ModelError: The server failed.
        """
        state: Any = await self.organised()
        sends = after_organize(state)
        for send in [] if isinstance(sends, str) else sends:
            node = answer_group if send.node == "answer_group" else answer_plain
            update: Any = await node(send.arg, self._runtime)
            self.reader.check()
            state["group_drafts"] = [*state["group_drafts"], *update["group_drafts"]]
            state["draft"] = update.get("draft", state["draft"])
        if not state["group_drafts"]:
            return Draft("", found=False), state
        state |= await aggregate_groups(state, self._runtime)
        return Draft.load(state["draft"]), state

    async def organised(self) -> State:
        """Return the state after the contexts are related and organised.

        Raises:
            ModelError: The server failed.
        """
        draft, refs = Draft("", found=False).dump(), self._refs(self.sources)
        state: Any = State(**self._asked, passage_refs=refs, decision={"name": "corg"}, escalations=[], draft=draft)
        state["group_drafts"] = []
        state |= await relate_contexts(state, self._runtime)
        self.reader.check()
        state |= await organize_contexts(state, self._runtime)
        organised: State = state
        return organised

    async def extracts(self, parts: Sequence[Sequence[int]]) -> list[Extract]:
        """Return each partition's extract; one that cannot be read is empty.

        Raises:
            ModelError: The server failed, or no partition could be read.
        """
        at_once = asyncio.Semaphore(self._runtime.context.settings.max_concurrency)

        async def extract(number: int, ranks: Sequence[int]) -> Extract:
            state: Any = {**self._asked, "partition": number, "passage_refs": self._refs(ranks)}
            async with at_once:
                (found,) = (await map_context(state, self._runtime))["extracts"]
            return Extract.load(found)

        found = await asyncio.gather(*(extract(number, ranks) for number, ranks in enumerate(parts, 1)))
        self.reader.check()
        if found and all(extract.failed for extract in found):
            raise self.reader.failures[0]
        return list(found)

    async def reduce(self, extracts: Sequence[Extract], parts: Sequence[Sequence[int]]) -> Draft:
        """Return one answer from the partitions' extracts; without a call if all are empty."""
        if not extracts:
            return Draft("", found=False)
        given, refs = [extract.dump() for extract in extracts], self._refs(self.sources)
        state: Any = {**self._asked, "extracts": given, "passage_refs": refs, "partitions": list(parts)}
        return Draft.load((await reduce_context(state, self._runtime))["draft"])

    def _refs(self, ranks: Iterable[int]) -> list[PassageRef]:
        """Return references to the sources with these numbers, as the graph's state has them."""
        tokens = self.reader.reader.count_tokens
        return [
            PassageRef(
                id=(source := self.sources[n]).passage_id, document_id=source.passage_id, title=source.title,
                source=source.source, rank=n, score=0.0, cosine=0.0, tokens=tokens(source.text), preview="",
            )
            for n in ranks
        ]  # fmt: skip


def plain(reader: Reader, name: str = RAG) -> Arm:
    """Return an arm with one prompt for all passages."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        reply = await reader.answer(question=question.question, sources=sources, options=question.options)
        return ArmAnswer.of_draft(reply, "plain")

    return Arm(name, answer)


def map_reduce(reader: Reader, size: int = PARTITION, name: str = MAP_REDUCE) -> Arm:
    """Return an arm with an extract for each partition of at most `size` passages, and one answer from them."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        meter = MeteredReader(reader, estimate=False)
        stages = TurnStages(meter, question.question, sources, options=question.options)
        draft = await stages.map_reduce(partition(len(sources), size))
        return ArmAnswer.of_draft(Reply(draft, meter.usage), "map_reduce")

    return Arm(name, answer)


def on_passages(arm: Arm, passages: Callable[[Sample, Sequence[Source]], Sequence[Source]]) -> Arm:
    """Return an arm that reads other passages than the other arms do; its answer records them."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        own = tuple(passages(question, sources))
        return replace(await arm.answer(question, own), passages=own)

    return Arm(arm.name, answer)


def closed_book(asking: Asking) -> Arm:
    """Return an arm with the model's own knowledge, step by step."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        text, usage = await asking.prompts.reply(closed_book_prompt(question))
        last = None if question.options else list(_ANSWER.finditer(text))
        return ArmAnswer(last[-1][1] if last else text, usage=usage, passages=())

    return Arm(CLOSED_BOOK, answer)


def closed_book_prompt(question: Sample) -> list[BaseMessage]:
    """Return the prompt without passages."""
    wanted = fences.options(question.options) or WANTED
    return [SystemMessage(SYSTEM), HumanMessage(USER.format(question=fences.fenced(question.question), wanted=wanted))]


@dataclass(frozen=True)
class Turns:
    """Whole turns over a library: the product's answers.

    Attributes:
        reader: The turns' reader.
        library: The searched library.
        extractive_reader: The name of the reader for COrg's signals, as `--extractive-reader` takes it.
        reranker: The second stage, as in `SearchedLibrary`, so that turns and the other arms read the same passages.
    """

    reader: Reader
    library: Library
    extractive_reader: str = "default"
    reranker: str = SETTINGS.reranker

    def arm(
        self,
        name: str = AUTO,
        settings: Settings = SETTINGS,
        *,
        short: bool = False,
        seen: Callable[[Sample, Answer], None] | None = None,
    ) -> Arm:
        """Return an arm that runs a turn; if that read other passages than the arms share, its answer records them.

        Args:
            name: The arm's name.
            settings: The turn's settings, including its route.
            short: Whether the short answer is the arm's, if the turn has one.
            seen: Called with each answer.
        """
        settings = settings.model_copy(update={"reranker": self.reranker})
        graph = build_graph().compile()
        extractive = extractive_for(self.reader, self.extractive_reader)
        context = Context(self.reader, self.library, settings, extractive=extractive, calls_ahead=False)
        config: Any = {"recursion_limit": RECURSION_LIMIT, "max_concurrency": settings.max_concurrency}

        async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
            begun = perf_counter()
            asked: Any = {"messages": [HumanMessage(question.question)], "options": list(question.options)}
            state = await graph.ainvoke(asked, config, context=context)
            turn = answer_of(state, reader=self.reader, settings=settings, seconds=perf_counter() - begun)
            if seen is not None:
                seen(question, turn)
            read, found = tuple(await context.sources(state["passage_refs"])), ArmAnswer.of_answer(turn)
            found = found if read == tuple(sources) else replace(found, passages=read)
            return replace(found, text=turn.short_answer) if short and turn.short_answer else found

        return Arm(name, answer)
