"""Whole turns of the graph over the library of a data set, for experiments that measure what a turn gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer
from preflight_rag.evaluation.harness.asking import Asking, open_asking
from preflight_rag.evaluation.papers.searched import SETTINGS, Searched, open_searched
from preflight_rag.evaluation.samples import DataSet, Sample, check_selection
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run
    from preflight_rag.state.context import Context
    from preflight_rag.state.values import Answer

SCORED = ("choice", "yes/no", "claim", "short", "list")
"""Kinds of question whose answers a rule tells right from wrong."""


@dataclass(frozen=True)
class Turns:
    """A graph over a library, with the run's model; see `open_turns`.

    Attributes:
        asking: The model.
        searched: The library.
        context: What a turn is given.
        given: What the numbers depend on, for the manifest.
        graph: The compiled graph.
        passages: Question id to the passages that a turn reads; the same for every route.
    """

    asking: Asking
    searched: Searched
    context: Context
    given: dict[str, Any]
    graph: Any
    passages: dict[str, tuple[Source, ...]]

    def sources(self, question: Sample) -> tuple[Source, ...]:
        """The passages that a turn reads for a question, whatever its route."""
        return self.passages[question.id]

    async def ask(self, question: Sample, route: str) -> tuple[Answer, list[str]]:
        """One turn, and the ids of the passages that it read.

        Args:
            question: The question, with its options.
            route: As the setting: auto, plain, map-reduce or corg.
        """
        from langchain_core.messages import HumanMessage

        from preflight_rag.graph.build import RECURSION_LIMIT
        from preflight_rag.graph.outcome import answer_of

        settings = self.context.settings.model_copy(update={"route": route})
        begun = perf_counter()
        state = await self.graph.ainvoke(
            {"messages": [HumanMessage(question.question)], "options": list(question.options)},
            {"recursion_limit": RECURSION_LIMIT},
            context=replace(self.context, settings=settings),
        )
        seconds = perf_counter() - begun
        answer = answer_of(state, reader=self.context.reader, settings=settings, seconds=seconds)
        return answer, [ref["id"] for ref in state["passages"]]

    def arm(self, name: str, route: str, heard: Callable[[Sample, Answer], None] | None = None) -> Arm:
        """An arm that takes a turn on a route; `heard` is called with each answer.

        Where a turn read other passages than the arms share, the answer says which.
        """

        async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
            found, read = await self.ask(question, route)
            if heard is not None:
                heard(question, found)
            told = ArmAnswer.of_answer(found)
            if read == [source.passage_id for source in sources]:
                return told
            passages = self.searched.library.passages(read)
            return replace(told, passages=tuple(Source.of(passage, n) for n, passage in enumerate(passages, 1)))

        return Arm(name, answer)


@contextmanager
def open_turns(found: DataSet, questions: Sequence[Sample], run: Run) -> Iterator[Turns]:
    """The graph over a data set's library with the run's model, and the passages of each question looked up.

    Raises:
        UsageError: The data set has nothing to search.
    """
    from preflight_rag.graph.build import build_graph
    from preflight_rag.graph.readers import extractive_for
    from preflight_rag.state.context import Context

    own = "default" if run.extractive_reader.endswith(".onnx") else run.extractive_reader
    settings = SETTINGS.model_copy(update={"extractive_reader": own})
    with (
        open_searched(found, run) as searched,
        open_asking(run, questions, searched.gold_texts(questions)) as asking,
    ):
        passages = {}
        for done, question in enumerate(questions, 1):
            passages[question.id] = searched.retrieved(question, settings.k)
            run.progress(f"{found.name}: searches", done, len(questions))
        reader = asking.reader(searched.library.embedder)
        context = Context(reader, searched.library, settings, extractive=extractive_for(reader, own))
        given = {**searched.inputs, "model": asking.name, "k": settings.k, "extractive_reader": own}
        yield Turns(asking, searched, context, given, build_graph().compile(), passages)


def asked(found: DataSet, run: Run, kinds: Sequence[str] = SCORED) -> tuple[Sample, ...]:
    """The run's part and limit of the questions of some kinds that have an answer to compare with.

    Raises:
        UsageError: As `DataSet.select`, or there is no such question.
    """
    check_selection(run.part, run.limit)
    chosen = [q for q in found.select(run.part) if q.kind in kinds and (q.options or q.answers or "long" in kinds)]
    if not chosen:
        raise UsageError(
            f"{found.name} has no question of the kinds {', '.join(kinds)} in its {run.part} part",
            help="Choose another data set, or --part all.",
        )
    return tuple(chosen[: run.limit])
