"""A turn that asks the person first: choices, replies by every door, restarts, and what is left out."""

import os
import subprocess
import sys

import pytest
from broken_bow import QUESTION, documents, script
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from preflight_rag import Answer, Clarification, StageEvent, build_graph
from preflight_rag.library import Library
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ReplyNeeded, TurnError, UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

FACTS = ["A1", "B2", "C3", "A4"]
LABELS = ["Broken Bow (Nebraska)", "Broken Bow (Oklahoma)", "Broken Bow (Texas)"]
ASKING = {"clarify": True, "clarify_above": 2}


@pytest.fixture
def asked(opened):
    """An application whose thread t has asked which Broken Bow is meant."""

    def make(server, **settings):
        app = opened(server, FACTS, **(ASKING | settings))
        with pytest.raises(ReplyNeeded, match="1: Broken Bow") as caught:
            app.ask(QUESTION, thread_id="t")
        assert caught.value.clarification.thread_id == "t"
        return app

    return make


async def test_a_stream_ends_with_the_choices_and_nothing_is_answered_yet(opened):
    with ScriptedServer(script(FACTS)) as server, opened(server, FACTS, **ASKING) as app:
        events = [event async for event in app.astream(QUESTION, thread_id="t")]
        assert isinstance(events[-1], Clarification)
        assert sorted(choice.label for choice in events[-1].choices) == LABELS
        assert (events[-1].turn, events[-1].question) == (1, QUESTION)
        assert not any(isinstance(event, Answer) for event in events)
        turn = app.ledger.last("t")
        assert (turn.status, turn.calls) == ("asking", server.count())
        assert Clarification.model_validate(turn.clarification) == events[-1]
        assert server.count("<passages>") == 0


@pytest.mark.parametrize("reply", ["Texas", "broken bow (texas)", "the one in Texas", ["Broken Bow (Texas)"]])
def test_only_what_was_chosen_is_answered(asked, reply):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        answer = app.reply("t", reply)
        assert [(group.descriptor, group.answer) for group in answer.groups] == [("Texas", "1,003")]
        assert sorted(answer.left_out) == LABELS[:2]
        assert "left out, as you chose: Broken Bow" in answer.answer
        assert (answer.turn, app.ledger.last("t").status) == (1, "answered")
        assert len(app.ledger.turns("t")) == 1


def test_different_answers_within_the_choice_are_still_shown(asked):
    with ScriptedServer(script(FACTS, notes=True)) as server, asked(server) as app:
        answer = app.reply("t", "Nebraska")
    assert {group.answer for group in answer.groups} == {"1,001", "1,004"}
    assert "your documents give different answers (newest first):" in answer.answer


async def test_a_reply_of_asynchronous_code(asked):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        answer = await app.areply("t", "Texas")
        assert [(group.descriptor, group.answer) for group in answer.groups] == [("Texas", "1,003")]


def test_all_leaves_nothing_out(asked):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        answer = app.reply("t", "all")
    assert (len(answer.groups), answer.left_out) == (4, ())
    assert "left out" not in answer.answer


async def test_the_reply_resumes_the_same_turn_and_counts_what_was_spent_before(asked):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        before = app.ledger.last("t").calls
        events = [event async for event in app.astream_reply("t", "2")]
        answer = events[-1]
    stages = [event.stage for event in events if isinstance(event, StageEvent)]
    assert stages == ["clarify", "answer_plain", "aggregate_groups", "cite"]
    assert answer.receipt.model_calls == before + 1 == server.count()


def test_a_question_that_names_a_choice_is_the_reply(asked):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        answer = app.ask("2", thread_id="t")
    assert (answer.turn, len(answer.groups)) == (1, 1)


def test_another_question_closes_the_turn_that_asks(asked):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        answer = app.ask(QUESTION, thread_id="t", clarify=False)
        assert (answer.turn, len(answer.groups)) == (2, 4)
        assert [turn.status for turn in app.ledger.turns("t")] == ["interrupted", "answered"]


@pytest.mark.parametrize("reply", ["9", "Kansas", "", [], ["1", "Kansas"]])
def test_a_reply_that_names_nothing_is_refused_and_the_turn_still_asks(asked, reply):
    with ScriptedServer(script(FACTS)) as server, asked(server) as app:
        with pytest.raises(UsageError, match="none of the choices"):
            app.reply("t", reply)
        assert app.ledger.last("t").status == "asking"
        with pytest.raises(TurnError, match="waits for a reply"):
            app.resume("t")
        app.prune_threads()
        assert len(app.reply("t", "1").groups) >= 1


def test_there_may_be_nothing_to_reply_to(opened):
    with ScriptedServer(script(["A1"])) as server, opened(server, ["A1"], **ASKING) as app:
        app.ask(QUESTION, thread_id="t")
        with pytest.raises(TurnError, match="asks nothing"):
            app.reply("t", "1")


@pytest.mark.parametrize("settings", [{"clarify": False}, {"clarify_above": 3}])
def test_few_choices_are_not_asked_about(opened, settings):
    with ScriptedServer(script(FACTS)) as server, opened(server, FACTS, **(ASKING | settings)) as app:
        assert len(app.ask(QUESTION).groups) == 4


def test_it_works_over_a_restart_by_the_command_line(tmp_path, embedder):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(documents(FACTS))
    with ScriptedServer(script(FACTS)) as server:
        environment = os.environ | {"OPENAI_BASE_URL": server.url, "PREFLIGHT_MODEL": "openai:scripted"}

        def preflight(*arguments, **options):
            command = [sys.executable, "-m", "preflight_rag", *arguments, "--library", str(tmp_path / "library")]
            return subprocess.run(command, env=environment, capture_output=True, text=True, **options)

        turn = ["--thread", "t", "--route", "corg", "--clarify", "--clarify-above", "2"]
        asking = preflight("ask", QUESTION, *turn)
        assert (asking.returncode, asking.stderr.count("Traceback")) == (1, 0)
        assert "Broken Bow (Texas)" in asking.stderr
        chat = preflight("chat", *turn, input="Texas\n\n")
        assert chat.returncode == 0, chat.stderr
        assert "Which one is meant?" in chat.stdout
        assert "1,003" in chat.stdout
        assert "1,002" not in chat.stdout
        again = preflight("chat", *turn[:2], *turn[2:], input=f"{QUESTION}\n1, 2\n\n")
        assert "  3. Broken Bow" in again.stdout
        assert "left out, as you chose: Broken Bow" in again.stdout


async def test_in_a_compiled_graph_a_command_resumes_it_and_nonsense_is_asked_again(tmp_path, embedder, chat_reader):
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(documents(FACTS))
        with ScriptedServer(script(FACTS)) as server:
            graph = build_graph().compile(checkpointer=InMemorySaver())
            context = Context(chat_reader(server), library, Settings(route="corg", **ASKING))
            config = {"configurable": {"thread_id": "t"}}
            state = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, config, context=context)
            assert len(state["__interrupt__"][0].value["choices"]) == 3
            again = await graph.ainvoke(Command(resume="Kansas"), config, context=context)
            assert "problem" in again["__interrupt__"][0].value
            state = await graph.ainvoke(Command(resume=["Texas"]), config, context=context)
    assert [group["answer"] for group in state["groups"]] == ["1,003"]
    assert len(state["left_out"]) == 2
