"""The node `rewrite`."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from preflight_rag.nodes.rewrite import rewrite
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.schema import EarlierState
from preflight_rag.testing.scripted_server import ScriptedServer
from preflight_rag.text.headers import UNRESOLVED

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


def spoken(*turns):
    """Return the messages of a conversation: questions and answers in turn."""
    return [HumanMessage(text) if at % 2 == 0 else AIMessage(text) for at, text in enumerate(turns)]


async def asked_after(library, *turns, **channels):
    """Return the standalone question for the last of a conversation's messages."""
    context = Context(library=library, settings=Settings(rewrite="rules"))
    update = await rewrite({"messages": spoken(*turns), **channels}, Runtime(context=context))
    return update["standalone_question"]


@pytest.mark.parametrize(
    ("lost", "message", "expected"),
    [
        ("And the other one?", "How long is it?", "How long is the shanty evening?"),
        ("What did she say?", "And where?", "Where is the shanty evening?"),
        ("Why is that?", "And the flower show?", "When is the flower show?"),
    ],
)
async def test_a_turn_that_was_not_understood_is_no_part_of_the_next_question(library, lost, message, expected):
    turns = ("When is the shanty evening?", "On 5 July [1].", lost, UNRESOLVED, message)
    assert await asked_after(library, *turns) == expected


async def test_a_turn_that_was_understood_but_not_found_is_still_continued(library):
    turns = ("What is the rent of the hall?", "No answer to this question was found.", "And the deposit?")
    assert await asked_after(library, *turns) == "What is the deposit of the hall?"


async def test_the_question_before_is_the_one_that_was_answered(library):
    answered = {"standalone_question": "How old is Mary N. Dillon?", "answer": "61 [1]", "citations": [], "groups": []}
    turns = ("Who leads it?", "Mary N. Dillon [1]", "How old is she?", "61 [1]", "What is her salary?")
    assert await asked_after(library, *turns, **answered) == "What is Mary N. Dillon’s salary?"


async def test_a_turn_that_was_not_understood_leaves_the_answer_before_it_the_last(library):
    before = EarlierState(question="When is the show?", answer="On 5 July [1].", citations=[], groups=[])
    lost = {"standalone_question": "What did she say?", "answer": UNRESOLVED, "citations": [], "groups": []}
    context = Context(library=library, settings=Settings(rewrite="rules"))
    state = {"messages": spoken("When is the show?", "On 5 July [1].", "What did she say?", UNRESOLVED, "Where?")}
    update = await rewrite(state | lost | {"earlier": before}, Runtime(context=context))
    assert update["earlier"] == before
