"""The node `map_context`."""

from langgraph.runtime import Runtime

from preflight_rag.nodes.map_context import map_context
from preflight_rag.state.context import Context
from preflight_rag.testing.scripted_server import Reply, ScriptedServer


async def part(retrieved, ranks):
    state = await retrieved("How hot is the planet Venus?", k=8)
    chosen = [ref for ref in state["passage_refs"] if ref["rank"] in ranks]
    return {"standalone_question": state["standalone_question"], "partition": 2, "passage_refs": chosen}


async def test_a_partition_keeps_the_passages_own_numbers(library, chat_reader, retrieved):
    with ScriptedServer(default="It is hot [5].\nANSWER: 464 °C") as server:
        update = await map_context(
            await part(retrieved, [5, 6]), Runtime(context=Context(chat_reader(server), library))
        )
    assert update["extracts"] == [
        {"partition": 2, "text": "It is hot [5].", "quotes": [], "failed": False, "answer": "464 °C", "spared": False}
    ]
    assert '<passage n="5"' in server.requests[0].prompt
    assert '<passage n="1"' not in server.requests[0].prompt


async def test_options_go_into_every_map_prompt_and_the_partition_chooses_one(library, chat_reader, retrieved):
    """BriefContext's Algorithm 1: each request holds the query, and the options are a part of a choice question."""
    state = await part(retrieved, [5, 6]) | {"options": ["mild", "scorching"]}
    with ScriptedServer(default="It is hot [5].\nANSWER: B") as server:
        update = await map_context(state, Runtime(context=Context(chat_reader(server), library)))
    assert "A. mild\nB. scorching" in server.requests[0].prompt
    assert update["extracts"][0]["answer"] == "scorching"


async def test_no_information_is_an_empty_extract(library, chat_reader, retrieved):
    with ScriptedServer(default="No relevant information.") as server:
        update = await map_context(await part(retrieved, [5]), Runtime(context=Context(chat_reader(server), library)))
    assert update["extracts"][0]["text"] == ""
    assert update["gaps"] == []


async def test_a_failure_is_a_gap_of_this_partition_with_its_cost(library, chat_reader, retrieved):
    with ScriptedServer(default=Reply("no", status=400)) as server:
        update = await map_context(await part(retrieved, [5]), Runtime(context=Context(chat_reader(server), library)))
    assert update["extracts"][0]["failed"]
    assert update["gaps"][0]["item"] == "2"
    assert "does not accept the call" in update["gaps"][0]["error"]
    assert update["spent"][0]["calls"] == 1
