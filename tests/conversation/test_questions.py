"""The question of a turn."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from preflight_rag.conversation.history import past_messages
from preflight_rag.conversation.questions import last_question, messages_before, normalised
from preflight_rag.state.errors import UsageError

TALK = [HumanMessage("What is the dose of aspirin?"), AIMessage("300 mg [1]."), HumanMessage("And in\nchildren?")]


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "empty"),
        ([AIMessage("hello")], "empty"),
        ([HumanMessage(" \n\0 ")], "empty"),
        ([HumanMessage("x" * 100_000)], "100,000 characters"),
    ],
)
def test_a_question_that_cannot_be_asked(messages, says):
    with pytest.raises(UsageError, match=says):
        last_question(messages, 8_000)


def test_history_is_what_people_and_assistants_said():
    messages = [SystemMessage("be kind"), *TALK]
    assert last_question(messages, 8_000) == "And in children?"
    history = [past.message for past in past_messages(messages_before(messages), "And in children?")]
    assert [(m.role, m.text) for m in history] == [("user", TALK[0].text), ("assistant", TALK[1].text)]


@pytest.mark.parametrize(("text", "clean"), [(" a\tb\n", "a b"), ("e\u0301", "é"), ("a\0b", "a b"), ("\ud800x", "x")])
def test_normalised(text, clean):
    assert normalised(text) == clean
