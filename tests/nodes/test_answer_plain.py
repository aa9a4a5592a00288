"""The node `answer_plain`."""

import pytest
from langgraph.runtime import Runtime
from scripted_server import Reply, ScriptedServer

from preflight_rag.nodes.answer_plain import answer_plain
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ModelUnavailable


async def test_the_reader_sees_all_passages_and_its_cost_is_kept(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5)
    with ScriptedServer(default='Very hot [1].\nQUOTES\n[1] "hot"') as server:
        update = await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))
    assert update["draft"] == {"text": "Very hot [1].", "quotes": [(1, "hot")], "found": True, "choice": None}
    assert update["spent"][0]["calls"] == 1
    assert all(f'<passage n="{n}"' in server.requests[0].prompt for n in range(1, 6))


async def test_a_failed_call_is_an_error_and_never_an_answer(library, chat_reader, retrieved):
    state = await retrieved("How hot is the planet Venus?", k=5)
    with ScriptedServer(default=Reply("boom", status=500)) as server, pytest.raises(ModelUnavailable):
        await answer_plain(state, Runtime(context=Context(chat_reader(server), library)))
