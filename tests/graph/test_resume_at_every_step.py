"""A turn that is killed before any of its stages, and resumed by a new process, gives the answer it would have given.

What a process forgets is stood for by a fresh reader and a fresh graph; the checkpoints are what is left of the turn.
"""

from __future__ import annotations

from itertools import count

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from preflight_rag.graph.build import build_graph
from preflight_rag.graph.outcome import answer_of
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.context import Context, Settings

pytestmark = pytest.mark.slow

CONFIG = {"configurable": {"thread_id": "t"}}


class Killed(BaseException):
    """Ends a turn as a signal would: no stage may catch it."""


class Turn:
    """One turn over the demo's library, each run of it as in a process of its own."""

    def __init__(self, library, weights, question, settings):
        self.library, self.weights, self.question, self.settings = library, weights, question, settings

    async def run(self, saver, given, *, kill_before=None):
        """Run to the end or up to the stage of that number; the answer and how many stages have begun."""
        extractive = self.weights
        reader, begun = OfflineReader(self.library.embedder, extractive), count()

        def resolve(context):
            if next(begun) == kill_before:
                raise Killed
            return context

        graph = build_graph(resolve=resolve).compile(checkpointer=saver)
        context = Context(reader, self.library, self.settings, extractive=extractive)
        try:
            state = await graph.ainvoke(given, CONFIG, context=context)
        except Killed:
            return None, next(begun)
        answer = answer_of(state, reader=reader, settings=self.settings).model_dump()
        for row in (answer["receipt"], *answer["receipt"]["by_stage"].values()):
            row.pop("seconds")
        return answer, next(begun)

    def asked(self):
        return {"messages": [HumanMessage(self.question, id="question")], "options": []}


@pytest.fixture(scope="module")
def weights():
    """One reader for all runs: what it reads depends on question and passage alone, and reading takes longest."""
    return open_extractive_reader()


@pytest.mark.parametrize(
    ("question", "settings", "stages", "spans"),
    [
        ("Which planet is the hottest?", {"route": "plain"}, {"answer_plain", "cite"}, True),
        ("Do dolphins sleep?", {"route": "map-reduce"}, {"map_context", "reduce_context", "cite"}, True),
        ("Why is the sky blue?", {"route": "map-reduce"}, {"map_context", "reduce_context", "cite"}, True),
        ("Why is the sky blue?", {"route": "map-reduce"}, {"map_context", "reduce_context", "cite"}, False),
        ("What is mercury?", {"route": "corg"}, {"relate_contexts", "answer_group", "aggregate_groups"}, True),
        ("What is mercury?", {"route": "corg"}, {"relate_contexts", "aggregate_groups"}, False),
        ("Who won the World Cup in 1998?", {}, {"abstain"}, True),
        ("thanks!", {}, {"converse"}, True),
    ],
)
async def test_a_turn_killed_before_any_stage_gives_the_same_answer(
    library, weights, question, settings, stages, spans
):
    settings = Settings(k=6, partition_size=2, **settings)
    turn = Turn(library, weights if spans else None, question, settings)
    whole, begun = await turn.run(InMemorySaver(), turn.asked())
    assert stages <= whole["receipt"]["by_stage"].keys()
    for number in range(begun):
        saver = InMemorySaver()
        nothing, _ = await turn.run(saver, turn.asked(), kill_before=number)
        assert nothing is None
        resumed, _ = await turn.run(saver, None if number else turn.asked())
        assert resumed == whole, f"killed before stage {number + 1}"
