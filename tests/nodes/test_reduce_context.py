"""The node `reduce_context`."""

import pytest
from langgraph.runtime import Runtime

from preflight_rag.nodes.reduce_context import reduce_context
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import Draft, Reply
from preflight_rag.state.values import Passage
from preflight_rag.testing.scripted_server import ScriptedServer


def mapped(*extracts, gaps=()):
    rows = [
        {"partition": number, "text": text or "", "quotes": [], "failed": text is None}
        for number, text in reversed(list(enumerate(extracts, 1)))
    ]
    return {
        "standalone_question": "How hot?",
        "options": [],
        "passage_refs": [{"id": f"p{number}", "rank": number} for number in range(1, len(rows) + 1)],
        "partitions": [[number] for number in range(1, len(rows) + 1)],
        "extracts": rows,
        "gaps": list(gaps),
    }


class Passages:
    """A library that holds any passage."""

    def passages(self, ids):
        return [Passage(id=id, document_id="d", text=f"text of {id}") for id in ids]


class Reads:
    """A reader that keeps what it was given to reduce."""

    async def reduce(self, *, question, extracts, options):
        self.extracts = extracts
        return Reply(Draft("Hot [1]."))


async def test_extracts_come_with_the_passages_of_their_partitions():
    await reduce_context(mapped("a [1]", "", "b [3]"), Runtime(context=Context(reader := Reads(), Passages())))
    assert [[source.text for source in extract.sources] for extract in reader.extracts] == [
        ["text of p1"],
        ["text of p3"],
    ]


async def test_empty_extracts_are_dropped_and_order_is_kept(chat_reader):
    with ScriptedServer(default="Hot [1][7].") as server:
        update = await reduce_context(
            mapped("a [1]", "", "b [7]"), Runtime(context=Context(chat_reader(server), Passages()))
        )
    prompt = server.requests[0].prompt
    assert prompt.count("<extract>") == 2
    assert prompt.index("a [1]") < prompt.index("b [7]")
    assert update["draft"]["text"] == "Hot [1][7]."


async def test_nothing_is_asked_when_every_extract_is_empty(chat_reader):
    with ScriptedServer() as server:
        update = await reduce_context(mapped("", None), Runtime(context=Context(chat_reader(server), Passages())))
    assert not update["draft"]["found"]
    assert server.count() == 0


async def test_all_failed_is_an_error_with_the_first_reason(chat_reader):
    gaps = [{"stage": "map_context", "item": "1", "error": "the server is down"}]
    with ScriptedServer() as server:
        with pytest.raises(AllPartitionsFailed, match="none of the 2 partitions could be read: the server is down"):
            await reduce_context(
                mapped(None, None, gaps=gaps), Runtime(context=Context(chat_reader(server), Passages()))
            )
