"""A turn with a model that is known to be slow: what it reads, what it says of that, and that it ends in its time."""

import json
import re
import time

import pytest
from broken_bow import QUESTION, script
from model_talk import make_library

from preflight_rag import Preflight
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.models.chat.measured_speed import FILE
from preflight_rag.testing import Reply, ScriptedServer

FACTS = ["A1", "A2", "A3"]


@pytest.fixture(scope="module")
def broken_bow(tmp_path_factory, embedder):
    """A library of three documents."""
    return make_library(tmp_path_factory.mktemp("broken-bow") / "library", embedder)


@pytest.fixture
def known_speed(tmp_path, monkeypatch):
    """Makes a server's model one that is known to read and write so fast."""
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))

    def make(server, reads, writes):
        entry = {f"openai:m {server.url}": {"reads": reads, "writes": writes}}
        (tmp_path / FILE).write_text(json.dumps(entry), encoding="utf-8")
        return ChatReader(open_chat_model("openai:m", base_url=server.url))

    return make


def opened(folder, reader, **settings):
    return Preflight.open(folder, reader, rewrite="rules", k=3, **settings)


def read_passages(server):
    return [request.prompt.count("<passage n=") for request in server.requests if "<passage n=" in request.prompt]


def test_a_slow_model_is_given_fewer_passages_and_the_answer_says_so(broken_bow, known_speed):
    with ScriptedServer(script(FACTS)) as server:
        reader = known_speed(server, 20, 10)
        with opened(broken_bow, reader, route="plain") as app:
            answer = app.ask(QUESTION)
    assert read_passages(server) == [1]
    assert [gap.error for gap in answer.gaps if gap.item == "time"] == [
        "this model reads 20 tokens a second here: 1 of 3 passages"
    ]


def test_a_fast_model_is_given_all_and_nothing_is_said(broken_bow, known_speed):
    with ScriptedServer(script(FACTS)) as server:
        reader = known_speed(server, 900, 90)
        with opened(broken_bow, reader, route="plain") as app:
            answer = app.ask(QUESTION)
    assert read_passages(server) == [3]
    assert answer.gaps == ()


def test_calls_of_a_slow_model_are_made_one_after_the_other(broken_bow, known_speed):
    with ScriptedServer(script(FACTS), delay=0.1) as server:
        reader = known_speed(server, 30, 20)
        with opened(broken_bow, reader, route="map-reduce", partition_size=1) as app:
            app.ask(QUESTION)
    assert server.peak == 1
    assert len(server.requests) >= 2


def test_a_dearer_route_that_would_take_too_long_is_not_chosen(broken_bow, known_speed):
    with ScriptedServer(script(FACTS)) as server:
        reader = known_speed(server, 20, 10)
        with opened(broken_bow, reader, corg_threshold=0.0) as app:
            answer = app.ask(QUESTION)
    assert answer.route.name == "plain"
    assert "s with this model, so the passages are read at once" in answer.route.reason


def test_a_turn_of_a_slow_model_ends_in_its_time_with_what_there_is(broken_bow, known_speed):
    began = time.monotonic()
    with ScriptedServer(default=Reply("1,001 people live there [1], and", endless=True, chunk_delay=0.2)) as server:
        reader = known_speed(server, 20, 10)
        with opened(broken_bow, reader, route="plain", answer_seconds=4) as app:
            answer = app.ask(QUESTION)
    assert answer.incomplete in ("budget", "deadline")
    assert answer.answer.startswith("1,001 people live there [1]")
    assert time.monotonic() - began < 60, "the model's own limit of time is 120 s"


def test_what_a_call_took_is_measured(broken_bow, tmp_path, monkeypatch):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    words = " ".join(["people"] * 60)
    reply = Reply(f"1,001 {words} live there [1].", delay=0.5, chunk_delay=0.01)
    with ScriptedServer(default=reply) as server:
        with opened(broken_bow, ChatReader(open_chat_model("openai:m", base_url=server.url)), route="plain") as app:
            app.ask(QUESTION)
    kept = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))[f"openai:m {server.url}"]
    tokens = len(server.requests[0].prompt) // 4
    assert 0 < kept["reads"] < tokens / 0.5, "the first word came after half a second at least"
    assert 0 < kept["writes"] < 200


SLOW = Reply("too late", delay=100)
IN_TIME = "1,001 people live there [1]."


def fresh(server):
    return ChatReader(open_chat_model("openai:m", base_url=server.url))


@pytest.mark.usefixtures("own_cache")
def test_a_model_of_unknown_speed_that_reads_too_slowly_is_given_less_in_its_first_turn(broken_bow):
    """The server is silent over three passages; over fewer it answers."""
    with ScriptedServer([('<passage n="3"', SLOW)], default=IN_TIME) as server:
        with opened(broken_bow, fresh(server), route="plain", answer_seconds=20) as app:
            answer = app.ask(QUESTION)
    assert read_passages(server)[0] == 3
    assert read_passages(server)[-1] < 3
    assert answer.answer.startswith("1,001 people live there [1]")
    (note,) = [gap.error for gap in answer.gaps if "reads slowly here" in gap.error]
    assert note.endswith("of 3 passages")


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_a_first_turn_whose_model_says_nothing_ends_with_what_the_documents_say(broken_bow, route):
    began = time.monotonic()
    with ScriptedServer(default=SLOW) as server:
        with opened(broken_bow, fresh(server), route=route, answer_seconds=5) as app:
            answer = app.ask(QUESTION)
    assert answer.gaps[0].stage in ("budget", "no_reply")
    assert "PREFLIGHT_ANSWER_SECONDS" in answer.gaps[0].error
    assert answer.answer.strip()
    assert time.monotonic() - began < 90, "the reply takes 100 s, and a call may take 120"


@pytest.mark.usefixtures("own_cache")
def test_of_documents_that_disagree_a_slow_model_is_not_given_some(broken_bow):
    """The server answers from one passage; over several it is silent, and the turn goes on without it over all."""
    with ScriptedServer([('<passage n="2"', SLOW), ("Context2", SLOW)], default=IN_TIME) as server:
        with opened(broken_bow, fresh(server), route="corg", answer_seconds=20) as app:
            answer = app.ask(QUESTION)
    assert "people live there" not in answer.answer
    assert len({citation.document_id for citation in answer.citations}) > 1


@pytest.mark.usefixtures("own_cache")
def test_a_fast_server_of_unknown_speed_is_asked_once_with_all_passages(broken_bow):
    with ScriptedServer(script(FACTS)) as server:
        with opened(broken_bow, fresh(server), route="plain") as app:
            answer = app.ask(QUESTION)
    assert read_passages(server) == [3]
    assert answer.gaps == ()


@pytest.mark.usefixtures("own_cache")
def test_without_a_time_nothing_is_given_up(broken_bow):
    with ScriptedServer(default=Reply(IN_TIME, delay=3)) as server:
        with opened(broken_bow, fresh(server), route="plain", answer_seconds=0) as app:
            app.ask(QUESTION)
    assert read_passages(server) == [3]


def test_a_reply_is_limited_to_what_there_is_time_to_write(broken_bow, known_speed):
    """By hand: ten tokens a second in 0.9 of 51 s, less what reading takes; the prompt's own limit is above 2,000."""
    rambling = " ".join(f"In {year} there were {7 * year} people [1]." for year in range(1001, 1401))
    with ScriptedServer(default=rambling, keeps_limits=True) as server:
        reader = known_speed(server, 100, 10)
        with opened(broken_bow, reader, route="plain") as app:
            answer = app.ask(QUESTION)
    (request,) = [request.body for request in server.requests if "<passage n=" in request.prompt]
    limit = request.get("max_completion_tokens") or request["max_tokens"]
    assert 64 <= limit < 0.9 * 51 * 10
    assert answer.incomplete == "deadline"
    assert [gap.error for gap in answer.gaps if "did not come to an end in the time that its turn has" in gap.error]


@pytest.mark.parametrize("route", ["plain", "map-reduce", "corg"])
def test_where_not_even_one_passage_can_be_read_in_time_the_documents_answer(broken_bow, known_speed, route):
    """The first turn finds it out; the second one makes no call any more, since it was measured just now."""
    silent = Reply("too late", delay=100)
    with ScriptedServer(default=silent) as server:
        reader = known_speed(server, 3, 2)
        with opened(broken_bow, reader, route=route, answer_seconds=5) as app:
            app.ask(QUESTION)
            asked = len(server.requests)
            answer = app.ask(QUESTION)
    assert len(server.requests) == asked > 0
    assert answer.receipt.model == "preflight reader"
    assert answer.citations
    (note,) = [gap.error for gap in answer.gaps if gap.stage in ("budget", "no_reply")]
    assert "PREFLIGHT_ANSWER_SECONDS" in note
    assert "\n" not in note
    assert ".." not in note


def test_of_documents_that_disagree_a_model_with_time_for_one_passage_reads_one_of_each_side(broken_bow, known_speed):
    """The plan is one passage of 200 tokens; those here are shorter, so that two can be read."""
    with ScriptedServer(default=IN_TIME) as server:
        with opened(broken_bow, known_speed(server, 20, 10)) as app:
            answer = app.ask(QUESTION)
    assert read_passages(server)[0] >= 2
    numbers = re.findall(r"([\d,]+) people live", server.requests[0].prompt)
    assert len(set(numbers)) >= 2
    (note,) = [gap.error for gap in answer.gaps if gap.stage == "preflight"]
    assert note.startswith("the documents may give different answers (")


def test_without_time_for_both_sides_the_documents_answer_side_by_side(broken_bow, known_speed):
    with ScriptedServer(default=IN_TIME) as server:
        with opened(broken_bow, known_speed(server, 9, 10)) as app:
            answer = app.ask(QUESTION)
    assert read_passages(server) == []
    assert answer.receipt.model == "preflight reader"
    assert len({citation.document_id for citation in answer.citations}) > 1
    (line,) = [gap.error for gap in answer.gaps if gap.stage == "no_reply"]
    assert "has no time to read both. Raise PREFLIGHT_ANSWER_SECONDS, or take a smaller model." in line
