"""Limits of a reply's tokens, replies in circles, and what is kept of a reply without an end."""

import pytest
from langchain_openai import ChatOpenAI

from preflight_rag.models.budget import Budget
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.runnables import with_reply_limit
from preflight_rag.prompts import answer_plain, map_context, relate_contexts
from preflight_rag.prompts.replies import without_cut_end
from preflight_rag.state.errors import BadReply, ModelTimeout
from preflight_rag.state.reading import Source
from preflight_rag.testing import Reply, ScriptedServer

QUESTION = "Which planet is the hottest?"
SOURCES = [Source(n, f"p{n}", "Planets", f"Planet {n} has {400 + n} degrees.") for n in range(1, 5)]
LOOP = "Planet 2 is the hottest [2]. "


def reader(server, **options):
    return ChatReader(open_chat_model("openai:m", base_url=server.url), **options)


def limits(server):
    return [request.body.get("max_tokens") for request in server.requests]


async def test_each_prompt_has_a_limit_that_follows_from_what_it_asks_for():
    with ScriptedServer(default="Planet 4 [4].") as server:
        ours = reader(server)
        await ours.answer(question=QUESTION, sources=SOURCES)
        await ours.extract(question=QUESTION, sources=SOURCES[:2])
        await ours.extract(question=QUESTION, sources=SOURCES)
        await ours.relate(question=QUESTION, pivot=SOURCES[0], others=SOURCES[1:])
        await ours.rewrite(message=QUESTION, history=())
        await ours.plural("Hvilken planet er varmest?", by_rule=False)
    sent = limits(server)
    assert all(sent)
    assert sent[1] < sent[2] < sent[0]
    assert sent[3] == relate_contexts.reply_tokens(4)
    assert sent[4] < sent[3], "what is asked once more has room for what is missing alone"
    assert all("max_completion_tokens" not in request.body for request in server.requests)


@pytest.mark.parametrize("stage", ["answer", "reduce"])
async def test_an_answer_of_600_words_comes_whole(stage):
    words = " ".join(f"word{n}" for n in range(598))
    text = f'{words} of planets [1].\nQUOTES\n[1] "Planet 1 has 401 degrees."'
    with ScriptedServer(default=text, keeps_limits=True) as server:
        if stage == "answer":
            reply = await reader(server).answer(question=QUESTION, sources=SOURCES[:1])
        else:
            found = await reader(server).extract(question=QUESTION, sources=SOURCES[:1] * 16)
            reply = await reader(server).reduce(question=QUESTION, extracts=[found.value])
    assert len(reply.value.text.split()) == 601
    assert reply.notes == ()


async def test_the_setting_raises_limits_and_lowers_none():
    with ScriptedServer(default="Planet 4 [4].") as server:
        for least in (10, 9_000):
            budget = Budget(calls=9, tokens=99_999, seconds=60, reply_tokens=least)
            await reader(server).limited(budget).answer(question=QUESTION, sources=SOURCES)
    assert limits(server) == [answer_plain.reply_tokens(4), 9_000]


def test_a_turn_that_was_planned_names_the_setting_that_its_time_comes_from():
    budget = Budget(calls=1, tokens=1, seconds=0, time_setting="PREFLIGHT_ANSWER_SECONDS")
    assert "the limit is PREFLIGHT_ANSWER_SECONDS." in str(budget.out_of_time())


async def test_a_limit_that_the_person_set_on_the_model_stays():
    with ScriptedServer(default="Planet 4 [4].") as server:
        model = ChatOpenAI(base_url=server.url, api_key="k", model="m", max_tokens=77)
        await ChatReader(model).answer(question=QUESTION, sources=SOURCES)
    assert server.requests[0].body["max_completion_tokens"] == 77


@pytest.mark.parametrize(
    ("refused", "names"),
    [
        (["max_tokens"], ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
        (["max_tokens", "max_completion_tokens"], ["max_tokens", "max_completion_tokens", None, None]),
    ],
)
async def test_a_model_that_refuses_a_limit_is_asked_without_from_then_on(refused, names):
    with ScriptedServer(default="Planet 4 [4].", refuses=refused) as server:
        ours = reader(server)
        for _ in range(2):
            await ours.answer(question=QUESTION, sources=SOURCES)
    known = ("max_tokens", "max_completion_tokens")
    assert [next((name for name in known if name in each.body), None) for each in server.requests] == names


async def test_a_server_that_counts_no_stream_is_asked_without():
    with ScriptedServer(default="Planet 4 [4].", refuses=["stream_options"]) as server:
        ours = reader(server)
        replies = [await ours.answer(question=QUESTION, sources=SOURCES) for _ in range(2)]
    assert [reply.usage.estimated for reply in replies] == [True, True]
    assert len(server.requests) == 3


async def test_a_server_without_streams_is_asked_for_whole_replies():
    def script(body):
        return Reply(raw='{"streams": "none here"}') if body.get("stream") else "Planet 4 [4]."

    with ScriptedServer(script) as server:
        ours = reader(server)
        replies = [await ours.answer(question=QUESTION, sources=SOURCES) for _ in range(2)]
    assert [reply.value.text for reply in replies] == ["Planet 4 [4]."] * 2
    assert [bool(request.body.get("stream")) for request in server.requests] == [True, False, False]


@pytest.mark.parametrize("thought", ["", "<think>Let me see, planet 1 has 401 degrees, and"])
async def test_a_model_whose_thoughts_took_its_limit_is_asked_without_one(thought):
    def script(body):
        return Reply(thought, finish_reason="length") if body.get("max_tokens") else "<think>Well.</think>Planet 4 [4]."

    with ScriptedServer(script) as server:
        ours = reader(server)
        replies = [await ours.answer(question=QUESTION, sources=SOURCES) for _ in range(2)]
    assert [reply.value.text for reply in replies] == ["Planet 4 [4]."] * 2
    assert [limit is None for limit in limits(server)] == [False, True, True]
    assert [reply.usage.calls for reply in replies] == [2, 1]


async def test_a_reply_in_circles_is_stopped_and_what_stood_before_is_kept():
    with ScriptedServer(default=Reply(f"It has 404 degrees [4].\n{LOOP}", endless=True)) as server:
        with pytest.raises(BadReply, match="repeated itself and was stopped") as caught:
            await reader(server).answer(question=QUESTION, sources=SOURCES)
    assert caught.value.reason == "repetition"
    assert caught.value.partial.startswith("It has 404 degrees [4].")
    assert caught.value.partial.count(LOOP.strip()) == 1
    assert 0 < caught.value.spent["output_tokens"] < 500


async def test_an_extract_that_runs_out_of_time_gives_the_facts_that_are_there():
    written = "Planet 4 has 404 degrees [4].\nPlanet 3 has 403 degrees [3].\nPlanet 2 has, as it were,"
    with ScriptedServer(default=Reply(written, chunk_delay=0.01, finish_reason=None)) as server:
        server._default = Reply(written + " and" * 400, chunk_delay=0.02)
        reply = await reader(server, deadline=3.0).extract(question=QUESTION, sources=SOURCES)
    assert reply.value.text == "Planet 4 has 404 degrees [4].\nPlanet 3 has 403 degrees [3]."
    assert not reply.value.failed
    assert "what there is of it is used" in reply.notes[0]


async def test_notes_without_an_end_are_those_of_the_contexts_read_so_far():
    written = "Context1: Venus | Null | 401\nContext2: Venus | Null | 402\nContext3: Ven"
    with ScriptedServer(default=Reply(written, finish_reason="length")) as server:
        reply = await reader(server).relate(question=QUESTION, pivot=SOURCES[0], others=SOURCES[1:])
    assert {n: note.answer for n, note in reply.value.notes.items()} == {1: "401", 2: "402"}
    assert len(server.requests) == 1, "a model that found no end is not asked once more"
    assert "cut off at its token limit; what there is of it is used" in reply.notes[0]


async def test_a_call_without_any_reply_is_an_error_as_before():
    with ScriptedServer(default=Reply("late", delay=5)) as server, pytest.raises(ModelTimeout):
        await reader(server, deadline=0.5).extract(question=QUESTION, sources=SOURCES)


@pytest.mark.parametrize(
    ("reply", "whole"),
    [
        ("One [1].\nTwo [2].\nThr", "One [1].\nTwo [2]."),
        ("One [1]. Two [2]. Thr", "One [1]. Two [2]."),
        ("One is 3.5 metres", "One is 3.5 metres"),
        ("One [1].\n", "One [1]."),
        ("", ""),
    ],
)
def test_the_end_that_was_cut_is_left_out(reply, whole):
    assert without_cut_end(reply) == whole


def test_what_a_map_prompt_has_room_for_grows_with_its_passages():
    assert map_context.reply_tokens(8) > map_context.reply_tokens(4) > map_context.reply_tokens(1) > 100


def test_a_runnable_without_a_limit_is_left_as_it_is():
    from langchain_core.runnables import RunnableLambda

    model = RunnableLambda(lambda messages: "so")
    assert with_reply_limit(model, 5) is model
