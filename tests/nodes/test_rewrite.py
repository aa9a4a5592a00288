"""The node `rewrite`."""

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from preflight_rag.nodes.rewrite import rewrite
from preflight_rag.state.context import Context, Settings
from preflight_rag.testing.scripted_server import ScriptedServer

TALK = [HumanMessage("What is the dose of aspirin?"), AIMessage("300 mg [1]."), HumanMessage("And in\nchildren?")]


async def test_a_follow_up_becomes_a_standalone_question(chat_reader):
    with ScriptedServer(default="What is the dose of aspirin in children?") as server:
        update = await rewrite({"messages": TALK}, Runtime(context=Context(chat_reader(server))))
    assert update["question"] == "And in children?"
    assert update["queries"] == [update["standalone_question"]] == ["What is the dose of aspirin in children?"]
    assert "What is the dose of aspirin?" in server.requests[0].prompt


async def test_a_first_turn_calls_no_model_and_clears_the_last_turns_channels(chat_reader):
    with ScriptedServer() as server:
        update = await rewrite({"messages": TALK[:1]}, Runtime(context=Context(chat_reader(server))))
    assert server.count() == 0
    assert update["extracts"] == Overwrite([])
    assert update["passage_refs"] == update["citations"] == []


async def test_an_unreadable_rewrite_is_a_gap(chat_reader):
    with ScriptedServer(default="a\nb") as server:
        update = await rewrite({"messages": TALK}, Runtime(context=Context(chat_reader(server))))
    assert update["standalone_question"] == "And in children?"
    assert update["gaps"].value[0]["stage"] == "rewrite"


async def test_parts_concepts_and_corrections_go_into_the_state(library):
    context = Context(library=library, settings=Settings(rewrite="rules"))
    asked = [HumanMessage("What is asprin and how does it lower fever?")]
    update = await rewrite({"messages": asked}, Runtime(context=context))
    assert update["queries"] == [
        "What is aspirin and how does it lower fever?",
        "What is aspirin?",
        "How does aspirin lower fever?",
    ]
    made = update["rewrite"]
    assert (made["by"], made["corrections"], made["concepts"][0]) == ("rules", [["asprin", "aspirin"]], "fever")
    assert (made["expressions"][-1], update["rungs"]) == ("fever OR aspirin", [])


async def test_off_only_normalises(library, chat_reader):
    with ScriptedServer() as server:
        context = Context(chat_reader(server), library, Settings(rewrite="off"))
        update = await rewrite({"messages": TALK}, Runtime(context=context))
    assert (update["queries"], server.count()) == (["And in children?"], 0)
    assert update["rewrite"] == {"by": "", "corrections": [], "concepts": [], "expressions": []}
