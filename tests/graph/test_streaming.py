"""What a turn tells while it runs: tokens once, progress by stage and part, by every door."""

import time

import pytest
from broken_bow import QUESTION as BOW
from broken_bow import script
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from preflight_rag import Answer, Preflight, ProgressEvent, TokenEvent, build_graph
from preflight_rag.graph.answer_stream import Screen, missing_text
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.errors import ModelUnavailable
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

QUESTION = "How hot is the planet Venus?"


def said(events):
    return "".join(event.text for event in events if isinstance(event, TokenEvent))


def notes(events):
    return [event.note for event in events if isinstance(event, ProgressEvent)]


async def test_tokens_come_as_they_are_made_and_end_with_the_answer(over_the_demo):
    reply = Reply('Very hot [3], and dry [1].\nQUOTES\n[3] "x"', chunk_delay=0.1)
    with ScriptedServer(default=reply) as server, over_the_demo(server) as app:
        times, events = [], []
        async for event in app.astream(QUESTION):
            events.append(event)
            times += [time.monotonic()] if isinstance(event, TokenEvent) else []
    assert said(events) == "Very hot [1], and dry [2]." == events[-1].answer
    assert times[-1] - times[0] > 0.3


async def test_where_nobody_looks_there_is_the_answer_alone(over_the_demo):
    with ScriptedServer(default="Very hot [3].") as server, over_the_demo(server) as app:
        [answer] = [event async for event in app.astream(QUESTION, thread_id="t", tokens=False, progress=False)]
        asked = [type(event) async for event in app.astream(QUESTION, tokens=False)]
        assert answer.answer == app.ledger.last("t").answer == "Very hot [1]."
    assert TokenEvent not in asked
    assert ProgressEvent in asked


async def test_every_stage_says_what_it_begins(over_the_demo):
    with ScriptedServer(default="Hot [1].") as server, over_the_demo(server) as app:
        events = [event async for event in app.astream(QUESTION, preflight="iou")]
    assert notes(events)[:3] == ["understanding the question", "searching", "choosing how to read the passages"]
    assert notes(events)[3] == "preflight: the passages are read all at once"
    assert notes(events)[4:] == ["reading 16 passages", "checking citations"]


async def test_partitions_are_counted_as_they_are_done(over_the_demo):
    script = [("<extracts>", "Hot [1]."), ('<passage n="1"', Reply("It is hot [1].", delay=0.3))]
    with ScriptedServer(script, default="It is hot [5].") as server, over_the_demo(server, route="map-reduce") as app:
        events = [event async for event in app.astream(QUESTION)]
    parts = [(e.done, e.total, e.note) for e in events if isinstance(e, ProgressEvent) and e.stage == "map_context"]
    assert parts == [(n, 4, f"reading partitions: {n} of 4") for n in range(5)]
    assert "putting together what 4 partitions gave" in notes(events)


async def test_contexts_and_groups_are_counted_and_the_composed_answer_is_streamed(opened):
    facts = ["A1", "A2", "B3", "B4"]
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        events = [event async for event in app.astream(BOW)]
    assert "comparing documents: 4 of 4" in notes(events)
    assert notes(events).count("answering 2 of 2 groups") == 1
    assert said(events) == events[-1].answer


@pytest.mark.parametrize("facts", [["A1"], ["A1", "B2", "C3", "A1"]])
async def test_one_group_is_streamed_and_what_is_added_to_it_follows(opened, facts):
    with ScriptedServer(script(facts)) as server, opened(server, facts) as app:
        events = [event async for event in app.astream(BOW)]
    assert said(events).strip() == events[-1].answer.strip()


async def test_without_a_model_the_answer_is_said_once(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        events = [event async for event in app.astream(QUESTION)]
    assert said(events) == events[-1].answer


async def test_a_retry_of_the_client_repeats_nothing(own_folder):
    with ScriptedServer([("<passages>", Reply("busy", status=503), 2)], default="Hot [1]. Dry [2].") as server:
        chat = ChatOpenAI(base_url=server.url, api_key="k", model="m", max_retries=3, timeout=20)
        with Preflight.open(own_folder, ChatReader(chat), route="plain") as app:
            events = [event async for event in app.astream(QUESTION)]
        assert server.count("<passages>") == 3
    assert said(events) == "Hot [1]. Dry [2]."


async def test_an_answer_that_breaks_off_is_said_again_only_in_the_stream_that_finishes_it(over_the_demo):
    broken = Reply("Hot [1] and very dry [2].", drop_after=3)
    with ScriptedServer([("<passages>", broken, 1)], default="Hot [1].") as server, over_the_demo(server) as app:
        first = []
        with pytest.raises(ModelUnavailable):
            app.ask(QUESTION, thread_id="t", on_event=first.append)
        again = [event async for event in app.astream_resume("t")]
    assert (said(first).strip(), said(again)) == ("Hot [1] and", "Hot [1].")


async def test_the_second_answer_of_an_escalation_follows_the_first(over_the_demo):
    script = [("<extracts>", "Hot [1]."), ("passages and from nothing else", "It is 999 cubits [9].")]
    with ScriptedServer(script, default="It is hot [1].") as server, over_the_demo(server, route="auto") as app:
        events = [event async for event in app.astream("How hot is Venus?")]
    assert said(events) == f"It is 999 cubits [1].\n\n{events[-1].answer}"


async def test_an_abstention_after_an_empty_draft_is_said(over_the_demo):
    with ScriptedServer(default="NOT IN THE PASSAGES") as server, over_the_demo(server) as app:
        events = [event async for event in app.astream(QUESTION)]
    assert said(events) == events[-1].answer
    assert events[-1].answer.startswith(
        "No answer to this question was found in the documents. The nearest document is “"
    )


async def test_options_hide_the_choice_line(over_the_demo):
    with ScriptedServer(default="It is [1].\nCHOICE: B") as server, over_the_demo(server) as app:
        events = [event async for event in app.astream(QUESTION, options=["cold", "hot"])]
    assert said(events) == events[-1].answer


async def test_progress_is_in_the_graphs_own_custom_stream(library, chat_reader):
    with ScriptedServer(default="It is hot [1].") as server:
        context = Context(chat_reader(server), library, Settings(route="map-reduce"))
        graph = build_graph().compile()
        given = {"messages": [HumanMessage(QUESTION)]}
        items = [item async for item in graph.astream(given, context=context, stream_mode="custom")]
    assert {item["type"] for item in items} == {"progress"}
    assert [item["note"] for item in items if item["stage"] == "map_context"][-1] == "reading partitions: 4 of 4"


@example("1a[\n1]a", [1, 5], 0)
@given(st.text("ab [1].\n", max_size=40), st.lists(st.integers(1, 6), max_size=12), st.integers(0, 30))
def test_a_message_that_is_made_again_is_shown_once(text, cuts, stop):
    screen, shown = Screen(), ""
    for message, upto in (("m1", min(stop, len(text))), ("m2", len(text))):
        at = 0
        for cut in [*cuts, len(text)]:
            piece = text[at : min(at + cut, upto)]
            shown += screen.feed(message, piece)
            at = min(at + cut, upto)
    shown += screen.finish()
    once = Screen()
    assert shown == once.feed("m", text) + once.finish()


async def test_a_reply_that_differs_from_the_one_begun_waits_for_the_end(own_folder):
    broken = Reply("Hot [1] and very dry [2].", drop_after=3)
    with ScriptedServer([("<passages>", broken, 1)], default="Cold [1].") as server:
        chat = ChatOpenAI(base_url=server.url, api_key="k", model="m", max_retries=0, timeout=20)
        with Preflight.open(own_folder, chat.with_retry(stop_after_attempt=2), route="plain") as app:
            events = [event async for event in app.astream(QUESTION)]
    assert said(events) == "Hot [1] and\n\nCold [1]."


@pytest.mark.parametrize(
    ("shown", "answer", "rest"),
    [
        ("", "Hot [1].", "Hot [1]."),
        ("Hot [1].", "Hot [1].", ""),
        ("Hot.", "Hot [1].", ""),
        ("Hot [1].", "Hot [1].\n\nNote: x", "\n\nNote: x"),
        ("Hot", "Hot [1]. And dry [2].", " And dry [2]."),
        ("Cold.\n\nHot [1].", "Hot [1].\n\nNote: x", "\n\nNote: x"),
        ("Cold.", "Hot [1].", "\n\nHot [1]."),
    ],
)
def test_what_is_still_to_be_said(shown, answer, rest):
    assert missing_text(shown, answer) == rest


def test_an_answer_is_the_last_event(own_folder):
    with Preflight.open(own_folder, "offline") as app:
        events = []
        answer = app.ask(QUESTION, on_event=events.append)
    assert isinstance(events[-1], Answer)
    assert events[-1] == answer
