"""Conversations as people hold them: small talk, follow-ups, long histories, other models, many at once."""

import asyncio
import re
import threading

import pytest
from broken_bow import QUESTION as BOW

from preflight_rag import Preflight, StageEvent
from preflight_rag.state.errors import ModelUnavailable, UnknownModel, UsageError
from preflight_rag.testing.scripted_server import Reply, ScriptedServer, prompt_of

QUESTION = "How hot is the planet Venus?"
QUICK = {"route": "plain", "extractive_reader": "none", "reranker": "none"}


@pytest.fixture
def opened_demo(own_folder, chat_reader):
    def make(server, **settings):
        return Preflight.open(own_folder, chat_reader(server), **(QUICK | settings))

    return make


@pytest.fixture
def offline(own_folder):
    with Preflight.open(own_folder, "offline", extractive_reader="none") as app:
        yield app


@pytest.mark.slow
async def test_small_talk_goes_from_rewrite_to_converse(offline):
    events = [event async for event in offline.astream("Hello!", thread_id="t")]
    assert [event.stage for event in events if isinstance(event, StageEvent)] == ["rewrite", "converse"]
    answer = events[-1]
    assert (answer.route.name, answer.abstained, answer.queries, answer.citations) == ("conversation", False, (), ())
    assert "greeting" in answer.route.reason
    row = offline.ledger.last("t")
    assert (row.status, row.route, row.reason) == ("answered", "conversation", answer.route.reason)


def test_a_conversation_without_a_model(offline):
    first = offline.ask(QUESTION, thread_id="t")
    offline.ask("thanks!", thread_id="t")
    shown = offline.ask("show me the first source", thread_id="t")
    assert (shown.citations[0].quote, shown.citations[0].verified) == (first.citations[0].quote, True)
    assert first.citations[0].quote in shown.answer
    again = offline.ask("repeat your last answer", thread_id="t")
    assert (again.answer, again.citations) == (first.answer, first.citations)
    assert offline.ask("what did I ask first?", thread_id="t").answer == f'You asked first: "{QUESTION}"'
    assert offline.ask("and Mercury?", thread_id="t").standalone_question == "How hot is the planet Mercury?"


@pytest.mark.slow
def test_thanks_before_a_question_does_not_hide_it(offline):
    offline.ask(QUESTION, thread_id="t")
    answer = offline.ask("Thanks, and what about Mars?", thread_id="t")
    assert (answer.route.name, answer.standalone_question) == ("plain", "How hot is the planet Mars?")


@pytest.mark.slow
def test_a_question_about_one_source_is_put_to_that_document(offline):
    first = offline.ask(QUESTION, thread_id="t")
    answer = offline.ask("what does the first source say about carbon dioxide?", thread_id="t")
    assert first.citations[0].title in answer.standalone_question
    assert {citation.document_id for citation in answer.citations} == {first.citations[0].document_id}


def test_one_of_several_answers_can_be_pointed_at(offline):
    towns = offline.ask(BOW, thread_id="t", route="corg").groups
    answer = offline.ask("and the second one?", thread_id="t")
    assert towns[1].descriptor in answer.standalone_question


@pytest.mark.slow
def test_multiple_choice_and_a_rewrite_that_is_off_are_never_talk(offline):
    assert offline.ask("hello", options=["yes", "no"]).route.name != "conversation"
    assert offline.ask("hello", rewrite="off").route.name != "conversation"


@pytest.mark.slow
def test_a_model_hears_the_last_answers_sources_before_they_are_cleared(opened_demo):
    script = [("<conversation>", "QUESTION: How hot is Mercury?"), ("<passages>", "Hot [2], and dry [1].")]
    with ScriptedServer(script) as server, opened_demo(server) as app:
        first = app.ask(QUESTION, thread_id="t")
        app.ask("and the nearest one?", thread_id="t")
    prompt = next(request.prompt for request in server.requests if "<conversation>" in request.prompt)
    for citation in first.citations:
        assert f"source {citation.n}: {citation.title}" in prompt


@pytest.mark.slow
def test_a_model_hears_the_last_answers_groups(offline, opened_demo):
    with ScriptedServer([("<conversation>", "QUESTION: Why do they differ?")], default="Size [1].") as server:
        with opened_demo(server) as app:
            offline.ask(BOW, thread_id="t", route="corg")
            app.ask("why do they differ?", thread_id="t")
    prompt = server.requests[0].prompt
    assert "answer 1, for Broken Bow (" in prompt
    assert "answer 2, for Broken Bow (" in prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "kind", "route"),
    [
        ("I did not get your answer", "KIND: conversation", "conversation"),
        ("I did not get your answer", "**Kind**: Small talk", "conversation"),
        ("and what about the dose in children", "KIND: conversation", "plain"),
        ("I did not get your answer", "KIND: question", "plain"),
        ("I did not get your answer", "", "plain"),
    ],
)
def test_a_model_may_find_talk_that_the_rules_do_not_know(opened_demo, message, kind, route):
    rewritten = f"QUESTION: {message}\n{kind}"
    script = [("You rewrite", rewritten), ("You are the voice", "In other words [1]."), ("<passages>", "Hot [1].")]
    with ScriptedServer(script) as server, opened_demo(server) as app:
        app.ask(QUESTION, thread_id="t")
        assert app.ask(message, thread_id="t").route.name == route


@pytest.mark.slow
def test_small_talk_by_a_model_is_streamed_and_paid_for(opened_demo):
    with ScriptedServer(default="Hello, you!") as server, opened_demo(server) as app:
        events = []
        answer = app.ask("hi", on_event=events.append)
    assert (answer.answer, answer.receipt.by_stage["converse"].calls) == ("Hello, you!", 1)
    assert "".join(getattr(event, "text", "") for event in events) == "Hello, you!"


@pytest.mark.slow
def test_a_long_conversation_is_put_in_short_by_the_model(opened_demo):
    script = [
        ("running summary", "They spoke of Venus."),
        ("You rewrite", "QUESTION: How hot is Mars?"),
        ("<passages>", Reply("Hot, " + "so hot, " * 60 + "[1].")),
    ]
    with ScriptedServer(script) as server, opened_demo(server, history_tokens=400) as app:
        answers = [app.ask(f"{QUESTION} {n}", thread_id="t") for n in range(8)]
    condensed = [answer.condensed for answer in answers]
    assert condensed[0] == 0
    assert condensed == sorted(condensed)
    assert 10 <= condensed[-1] < 14
    last = [request.prompt for request in server.requests if "You rewrite" in request.prompt][-1]
    assert "summary of what was said before: They spoke of Venus." in last
    assert len(last) < 6_000
    assert 1 < server.count("running summary") < 7


@pytest.mark.slow
def test_a_long_conversation_is_put_in_short_without_a_model(offline):
    for n in range(4):
        answer = offline.ask(f"{QUESTION} {n}" + " really" * 60, thread_id="t", history_tokens=150)
    assert answer.condensed >= 4
    assert offline.ask("what did I ask first?", thread_id="t").answer.startswith(f'You asked first: "{QUESTION} 0')
    assert offline.ask("recap", thread_id="t").answer.count(QUESTION) == 4


@pytest.mark.slow
def test_a_model_that_cannot_sum_up_is_a_gap(opened_demo):
    down = Reply("no", status=500)
    script = [("running summary", down), ("<passages>", "Hot [1]."), ("You rewrite", "QUESTION: Mars?")]
    with ScriptedServer(script) as server, opened_demo(server) as app:
        history = [("user", "word " * 600), ("assistant", "word " * 600)] * 3
        answer = app.ask("and Mars?", history=history, history_tokens=500)
    assert "condensed by rule" in answer.gaps[0].error
    assert answer.condensed == 6


@pytest.mark.slow
def test_a_caller_may_bring_the_history(opened_demo):
    history = [("user", QUESTION), ("assistant", "Very hot.")]
    script = [("<conversation>", "QUESTION: How hot is the planet Mars?"), ("<passages>", "Cold [1].")]
    with ScriptedServer(script) as server, opened_demo(server) as app:
        answer = app.ask("and Mars?", thread_id="t", history=history)
        assert (answer.turn, answer.standalone_question) == (1, "How hot is the planet Mars?")
        assert f"user: {QUESTION}\nassistant: Very hot." in server.requests[0].prompt
        assert [turn.question for turn in app.ledger.turns("t")] == ["and Mars?"]
        with pytest.raises(UsageError, match="already has a conversation"):
            app.ask("and Venus?", thread_id="t", history=history)
        with pytest.raises(UsageError, match="tool"):
            app.ask("and Venus?", history=[("tool", "obey")])


@pytest.mark.slow
def test_another_model_for_a_turn_is_opened_once(own_folder, monkeypatch):
    with ScriptedServer(default="Hot [1].") as server, Preflight.open(own_folder, "offline", route="plain") as app:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        answer = app.ask(QUESTION, thread_id="a", model="openai:other")
        app.ask(QUESTION, thread_id="b", model="openai:other")
        assert (answer.answer, answer.receipt.model) == ("Hot [1].", "openai:other")
        assert {request.body["model"] for request in server.requests} == {"other"}
        assert len(app._readers) == 1
        assert app.ask(QUESTION, thread_id="c").receipt.model != "openai:other"
        assert app.ledger.last("a").model == "openai:other"
        with pytest.raises(UnknownModel):
            app.ask(QUESTION, thread_id="d", model="nonsense")
        assert app.ledger.last("d") is None


@pytest.mark.slow
def test_a_turn_is_resumed_with_the_model_that_it_was_asked_with(own_folder, monkeypatch):
    script = [("<passages>", Reply("no", status=500), 3)]
    with (
        ScriptedServer(script, default="Hot [1].") as server,
        Preflight.open(own_folder, "offline", route="plain") as app,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(ModelUnavailable):
            app.ask(QUESTION, thread_id="t", model="openai:other")
        assert app.resume("t").receipt.model == "openai:other"


@pytest.mark.slow
async def test_fifty_conversations_at_once_are_not_mixed(opened_demo):
    def reply(body):
        server.wait_for(9)  # no call is answered before there are more than one turn may make at once
        prompt = prompt_of(body)
        code = re.findall(r"code-\d+", prompt)[-1]
        return f"QUESTION: How hot is {code} now?" if "You rewrite" in prompt else f"{code} is hot [1]."

    async def converse(app, n):
        first = await app.aask(f"How hot is code-{n}?", thread_id=f"t{n}")
        second = await app.aask("and now?", thread_id=f"t{n}")
        return [first, second]

    with ScriptedServer(reply) as server, opened_demo(server) as app:
        found = await asyncio.gather(*(converse(app, n) for n in range(50)))
        rows = {n: app.ledger.turns(f"t{n}") for n in range(50)}
    for n, (first, second) in enumerate(found):
        assert [first.answer, second.answer] == [f"code-{n} is hot [1]."] * 2
        assert second.standalone_question == f"How hot is code-{n} now?"
        assert [row.answer for row in rows[n]] == [first.answer, second.answer]
        assert [row.turn for row in rows[n]] == [1, 2]


@pytest.mark.slow
def test_threads_of_a_program_may_ask_at_once(opened_demo):
    with ScriptedServer(lambda body: re.findall(r"code-\d+", prompt_of(body))[-1] + " [1].") as server:
        with opened_demo(server) as app:
            answers = {}

            def ask(n):
                answers[n] = app.ask(f"How hot is code-{n}?", thread_id=f"t{n}").answer

            threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert answers == {n: f"code-{n} [1]." for n in range(8)}


@pytest.mark.slow
def test_a_question_that_follows_one_about_a_source_knows_the_source(offline):
    first = offline.ask(QUESTION, thread_id="t")
    offline.ask("what does source 1 say about carbon dioxide?", thread_id="t")
    asked = offline.ask("and about water?", thread_id="t").standalone_question
    assert first.citations[0].title in asked
    assert "source 1" not in asked
