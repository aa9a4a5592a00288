"""The node `preflight`."""

from langgraph.runtime import Runtime
from value_reader import ValueReader

from preflight_rag.nodes.preflight import preflight
from preflight_rag.state.context import Context


async def test_the_node_lets_the_reader_of_the_context_compare_the_answers(library, retrieved):
    extractive = ValueReader()
    state = await retrieved("How many moons has Saturn?")
    update = await preflight(state, Runtime(context=Context(library=library, extractive=extractive)))
    assert "corg_answers" in update["decision"]["signals"]
    assert {question for call in extractive.calls for question, _, _ in call} == {"How many moons has Saturn?"}
