"""The conversation before a question: what is read word for word, and what condensed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from preflight_rag.conversation.history import (
    UNANSWERED,
    PastMessage,
    messages_to_condense,
    past_messages,
    split_for_summary,
    summary_and_rest,
    tokens_of,
)
from preflight_rag.state.reading import Message
from preflight_rag.text.condense import MOST_CHARS, beginning, condense


def talk(count, words=20):
    roles = ("user", "assistant")
    return [PastMessage(str(n), Message(roles[n % 2], f"m{n} " + "word " * words)) for n in range(count)]


def test_only_people_and_assistants_count():
    messages = [SystemMessage("be kind"), HumanMessage("a"), ToolMessage("x", tool_call_id="1"), AIMessage("b")]
    assert [said.message.text for said in past_messages(messages, "c")] == ["a", "b"]


def test_a_question_without_an_answer_is_marked():
    said = past_messages([HumanMessage("a"), HumanMessage("b"), AIMessage("c"), HumanMessage("d")], "e")
    assert [each.message.text for each in said] == ["a", UNANSWERED, "b", "c", "d", UNANSWERED]


def test_a_question_that_is_asked_again_is_left_out():
    assert past_messages([HumanMessage("a"), HumanMessage("a")], "a") == []


@pytest.mark.parametrize("budget", [100, 500, 2000])
@given(count=st.integers(0, 60), words=st.integers(1, 400))
def test_what_is_kept_fits_half_the_budget_and_begins_with_a_question(budget, count, words):
    history = talk(count, words)
    older = messages_to_condense("", history, budget)
    sizes = [tokens_of(past.message.text) for past in history]
    if tokens_of("") + sum(sizes) <= budget:
        assert older == 0
    else:
        assert sum(sizes[older:]) <= budget // 2
        assert older == count or history[older].message.role == "user"


def test_a_summary_stands_as_long_as_its_last_message_is_there():
    history = talk(6)
    assert summary_and_rest(history, {"text": "so far", "messages": 4, "upto": "3"}) == ("so far", history[4:])
    assert summary_and_rest(history, {"text": "so far", "messages": 4, "upto": "gone"}) == ("", history)


def test_a_summary_by_rule_has_every_question_with_its_answer():
    first = condense("", [past.message for past in talk(4, 2)])
    both = condense(first, [past.message for past in talk(6, 2)[4:]])
    assert both.splitlines() == [f"asked: m{n} word word - answer: m{n + 1} word word" for n in (0, 2, 4)]


def test_a_summary_by_rule_stays_short_and_counts_what_it_leaves_out():
    summary = ""
    for _ in range(5):
        summary = condense(summary, [past.message for past in talk(100)])
    lines = summary.splitlines()
    assert len(summary) < MOST_CHARS + 100
    assert lines[0] == f"({250 - len(lines) + 1} earlier questions)"


@given(st.text(max_size=600), st.integers(20, 200))
def test_a_beginning_is_short_and_says_that_it_is_one(text, most):
    short = beginning(text, most)
    assert len(short) <= most + 4
    assert short.endswith("...") or len(short) <= most


def test_messages_go_into_prompts_that_hold_them():
    texts = ["word " * 3000, "word " * 3000, "x" * 10**6]
    parts = split_for_summary([Message("user", text) for text in texts])
    assert sum(map(len, parts)) == 3
    assert all(sum(tokens_of(message.text) for message in part) < 10_000 for part in parts)
