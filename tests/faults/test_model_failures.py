"""Every way in which a language model fails, over real HTTP, on each route: what the user gets, and how many calls.

`ASKED` is how many requests a turn makes where nothing fails. Attempts are repeated by OpenAI's client alone, up to two
times (`MAX_RETRIES`); a layer above that repeated them, too, would show in the counts.
"""

from __future__ import annotations

import asyncio
import json
import math
import time

import pytest
from broken_bow import QUESTION
from model_talk import ASKED, FIRST, ROUTES, talking

from preflight_rag import Answer, Preflight, TokenEvent
from preflight_rag.graph.model_use import ModelUse
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.models.chat.reply_checks import LONGEST_REPLY
from preflight_rag.state.errors import (
    AllPartitionsFailed,
    BadReply,
    ContextOverflow,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
    UnknownModel,
)
from preflight_rag.testing import Reply, ScriptedServer, prompt_of

pytestmark = pytest.mark.slow

JSON, EVENTS = {"Content-Type": "application/json"}, {"Content-Type": "text/event-stream"}
EMPTY = '{"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": []}'
CHUNK = (
    b'data: {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", '
    b'"choices": [{"index": 0, "delta": {"content": "%b"}, "finish_reason": "stop"}]}\n\n'
)
BEGUN = "1,001 people live in Broken Bow [1], and of those who"


@pytest.fixture(scope="module")
def hasty(broken_bow):
    """Whose calls may take a second."""
    with talking(broken_bow, 1.0) as talk:
        yield talk


@pytest.fixture(scope="module")
def whole(broken_bow):
    """Whose model streams nothing."""
    with talking(broken_bow, 20.0, whole=True) as talk:
        yield talk


# What fails, the error, what it says, and how many requests one call makes.
FAILURES = {
    "400": (Reply("no such option", status=400), ModelError, "does not accept the call: no such option", 1),
    "401": (Reply("bad key", status=401), ModelAuthError, "refused the key", 1),
    "403": (Reply("not from there", status=403), ModelAuthError, "refused the call", 1),
    "404": (Reply("no such model", status=404), UnknownModel, "was not found by the server", 1),
    "429 for an hour": (
        Reply("slow down", status=429, headers={"Retry-After": "3600"}),
        ModelRateLimited,
        "over its rate limit and asks to wait 3,600 s",
        1,
    ),
    "429": (Reply("slow down", status=429), ModelRateLimited, "over its rate limit. Wait", 3),
    "500": (Reply("oops", status=500), ModelUnavailable, "failed with HTTP 500", 3),
    "503 for an hour": (
        Reply("down", status=503, headers={"Retry-After": "3600"}),
        ModelUnavailable,
        "failed with HTTP 503 and asks to wait 3,600 s",
        1,
    ),
    "refusal": (Reply(refusal="I cannot help with that"), BadReply, "refused to answer", 1),
    "content filter": (Reply(BEGUN, finish_reason="content_filter"), BadReply, "server's content filter", 1),
    "redirect": (
        Reply(raw="", status=307, headers={"Location": "http://127.0.0.2:1/v1/chat/completions"}),
        ModelUnavailable,
        "sends requests on to 127.0.0.2, which was not named",
        1,
    ),
    "redirect to nowhere here": (
        Reply(raw="", status=307, headers={"Location": "/elsewhere"}),
        UnknownModel,
        "was not found by the server",
        1,
    ),
    "overflow": (
        Reply("maximum context length is 100", status=400, code="context_length_exceeded"),
        ContextOverflow,
        "prompt is too long",
        1,
    ),
}
NOTHING = {
    "null content": (Reply(content_null=True), "sent an empty reply", 1),
    "spaces": (Reply("   \n  "), "sent an empty reply", 1),
    # That may be a model that thinks: it is asked once more without our limit.
    "nothing before its limit": (Reply("", finish_reason="length"), "cut off at its token limit", 2),
}
"""Replies of which nothing can be used: the model is there, and the turn goes on without what it did not give."""
WHOLE = {
    "html": (Reply(raw="<html>Sign in</html>"), BadReply, "not a chat completion", 1),
    "half a JSON": (Reply(raw='{"id": "x", "choices": [{"mess', headers=JSON), BadReply, "not a chat completion", 1),
    "empty choices": (Reply(raw=EMPTY, headers=JSON), BadReply, "a completion without a choice", 1),
    "too short a length": (Reply(BEGUN, content_length=40), BadReply, "not a chat completion", 1),
    "too long a length": (Reply(BEGUN, content_length=4000), ModelUnavailable, "broke before its reply was whole", 3),
    "broken off": (Reply(BEGUN, drop_after=40), ModelUnavailable, "broke before its reply was whole", 3),
    "reset": (Reply(BEGUN, drop_after=40, reset=True), ModelUnavailable, "broke before its reply was whole", 3),
    "not UTF-8": (Reply(raw=b'{"choices": [{"\xff\xfe"', headers=JSON), BadReply, "not a chat completion", 1),
}
STREAMED = {
    "invalid events": (Reply(raw="data: {nonsense\n\n", headers=EVENTS), BadReply, "not a chat completion", 1),
    "not UTF-8": (Reply(raw=CHUNK % b"caf\xff\xfe", headers=EVENTS), BadReply, "not a chat completion", 1),
    "too long a length": (
        Reply(raw=CHUNK % b"1,001", headers=EVENTS, content_length=4000),
        ModelUnavailable,
        "broke before its reply was whole",
        1,
    ),
    "an error among the events": (
        Reply(raw='data: {"error": {"message": "overloaded"}}\n\n', headers=EVENTS),
        BadReply,
        "answered with an error: overloaded",
        1,
    ),
    "broken off": (Reply(BEGUN, drop_after=3), ModelUnavailable, "broke before its reply was whole", 1),
    "reset": (Reply(BEGUN, drop_after=3, reset=True, chunk_delay=0.02), ModelUnavailable, "broke before", 1),
}
SILENT = {
    "hang": Reply(delay=math.inf),
    "slow headers": Reply(header_delay=0.3),
}
PARTIAL = {
    "length": (Reply(BEGUN, finish_reason="length"), "stopped at its limit of tokens"),
    "unfinished": (Reply(BEGUN, finish_reason=None), "reply broke off"),
    "deadline": (Reply(BEGUN, endless=True, chunk_delay=0.1), "did not come to an end in time"),
}
QUICK = {name: case for name, case in FAILURES.items() if case[3] == 1}


def named(cases):
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@named(FAILURES)
@pytest.mark.parametrize("tokens", [True, False], ids=["streamed", "whole"])
def test_each_failure_of_a_plain_turn_has_its_sentence_and_its_calls(talk, case, tokens):
    reply, kind, says, requests = case
    began = time.monotonic()
    _, error = talk.ask(reply, tokens=tokens)
    # Too long a prompt is tried once more with half of it.
    again = 2 if kind is ContextOverflow else 1
    assert isinstance(error, kind)
    assert says in str(error)
    assert "\n" not in str(error)
    assert talk.requests() == requests * again
    assert error.receipt["model_calls"] == again
    assert time.monotonic() - began < 20


@named(NOTHING)
@pytest.mark.parametrize("route", ROUTES)
def test_where_no_reply_can_be_used_the_evidence_is_shown_or_what_was_noted(talk, route, case):
    reply, says, requests = case
    text, answer = talk.ask(reply, route=route)
    assert isinstance(answer, Answer), answer
    assert any(says in gap.error for gap in answer.gaps)
    assert answer.citations
    assert all(citation.verified for citation in answer.citations)
    assert text == answer.answer
    if route == "plain":
        assert answer.gaps[0].stage == "no_reply"
        assert talk.requests() <= requests


@named(WHOLE)
def test_a_whole_reply_that_is_none_is_named(whole, case):
    _, error = whole.ask(case[0], tokens=False)
    assert isinstance(error, case[1])
    assert case[2] in str(error)
    assert whole.requests() == case[3]


@named(STREAMED)
def test_a_stream_that_is_none_is_named(talk, case):
    _, error = talk.ask(case[0])
    assert isinstance(error, case[1])
    assert case[2] in str(error)
    assert talk.requests() == case[3]


def test_no_two_states_are_named_in_the_same_words(talk):
    states = ["400", "401", "403", "404", "429 for an hour", "429", "500", "refusal", "content filter", "null content"]
    told = [(FAILURES | {name: ("", "", case[1]) for name, case in NOTHING.items()})[state][2] for state in states] + [
        says for _, says in PARTIAL.values()
    ]
    assert len(set(told)) == len(told)


@named(SILENT)
@pytest.mark.parametrize("tokens", [True, False], ids=["streamed", "whole"])
def test_a_silent_model_is_given_up_after_its_deadline(hasty, case, tokens):
    text, answer = hasty.ask(case, tokens=tokens)
    assert isinstance(answer, Answer), answer
    assert "did not reply in time" in answer.gaps[0].error
    assert answer.receipt.model == "preflight reader"
    assert all(citation.verified for citation in answer.citations)
    assert text in (answer.answer, "")
    assert hasty.requests() == 1


@named(SILENT)
@pytest.mark.parametrize("route", ["map-reduce", "corg"])
def test_a_dearer_route_of_which_nothing_comes_goes_back_to_plain(hasty, case, route):
    """Everything but the plain prompt over the first passage hangs."""
    several = {"map-reduce": "What do these passages say", "corg": '<passage n="2"'}[route]
    asked = []

    def replies(body):
        asked.append(prompt_of(body))
        hangs = several in asked[-1] or "Context2\n" in asked[-1]
        return case if hangs else "1,001 people live in Broken Bow [1]."

    hasty.server.requests.clear()
    answer = hasty.answer(replies, route=route)
    assert isinstance(answer, Answer), answer
    assert answer.answer.startswith("1,001 people live in Broken Bow [1].")
    assert "the first 1 of 3 passages were read at once instead" in answer.answer.splitlines()[-1]
    assert answer.route.name == "plain"
    assert answer.route.forced
    assert any(gap.item == "route" and "were read at once instead" in gap.error for gap in answer.gaps)
    assert answer.outcome == "answered"


def test_extracts_of_which_no_answer_can_be_made_are_shown(hasty):
    text, answer = hasty.ask(Reply(delay=math.inf), route="map-reduce", where="<extract")
    assert isinstance(answer, Answer), answer
    assert answer.outcome == "evidence"
    assert all(people in answer.answer for people in ("1,001", "1,002", "1,003"))
    assert "no answer was made of it" in answer.answer
    assert text == answer.answer


@named(PARTIAL)
@pytest.mark.parametrize("route", ROUTES)
def test_the_beginning_of_an_answer_is_kept_and_marked(hasty, case, route):
    reply, says = case
    # On COrg, contexts that could not be compared are answered as one group.
    where = {"plain": "", "map-reduce": "<extract", "corg": ""}[route]
    text, answer = hasty.ask(reply, route=route, where=where)
    reason = next(name for name, each in PARTIAL.items() if each is case)
    assert isinstance(answer, Answer), answer
    assert (answer.outcome, answer.incomplete) == ("answered", reason)
    assert answer.answer.startswith("1,001 people live in Broken Bow")
    assert answer.answer.splitlines()[-1].startswith("Note: this answer is not complete: ")
    assert says in answer.answer.splitlines()[-1]
    assert text == answer.answer
    assert any(gap.error.endswith("what there is of it is shown") for gap in answer.gaps)
    assert hasty.requests() == {"plain": 1, "map-reduce": 4, "corg": 2}[route]


def test_an_answer_that_is_whole_above_its_cut_quotes_is_not_called_incomplete(hasty):
    reply = Reply('1,001 people live there [1].\nQUOTES\n[1] "1,001 people li', finish_reason=None)
    _, answer = hasty.ask(reply)
    assert (answer.incomplete, answer.answer) == (None, "1,001 people live there [1].")
    assert "its quotes are not whole" in answer.gaps[0].error


@pytest.mark.parametrize("tokens", [True, False], ids=["streamed", "whole"])
def test_a_megabyte_is_cut_and_marked(talk, tokens):
    sentences = (
        "-".join(f"{n}-people-live-there" for n in range(at, at + 40)) + "[1]. " for at in range(0, 41_440, 40)
    )
    text, answer = talk.ask(Reply("".join(sentences)), tokens=tokens)
    assert answer.incomplete == "length"
    # What has arrived by then is read to its end.
    assert len(answer.answer) < 3 * LONGEST_REPLY
    assert text in (answer.answer, "")
    assert f"more than {LONGEST_REPLY:,} characters" in answer.gaps[0].error
    assert talk.requests() == 1


@pytest.mark.parametrize("tokens", [True, False], ids=["streamed", "whole"])
def test_an_answer_that_goes_round_in_circles_is_stopped_and_marked(talk, tokens):
    loop = "The town is the largest one of its county. "
    text, answer = talk.ask(
        Reply(f"1,001 people live there [1].\n{loop}", endless=True, chunk_delay=0.001), tokens=tokens
    )
    assert answer.incomplete == "repetition"
    assert answer.answer.startswith("1,001 people live there [1].")
    assert answer.answer.count(loop.strip()) <= 1
    assert answer.answer.splitlines()[-1].endswith("the language model repeated itself and was stopped.")
    assert text.endswith(answer.answer) or not tokens
    assert talk.requests() == 1


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("reply", "times"),
    [
        (Reply("slow down", status=429, headers={"Retry-After": "1"}), 1),
        (Reply("slow down", status=429), 1),
        (Reply("oops", status=500), 2),
    ],
    ids=["429 after 1 s", "429", "500 twice"],
)
def test_what_passes_is_waited_for_once_and_each_token_comes_once(talk, route, reply, times):
    text, answer = talk.ask(reply, route=route, times=times)
    assert (answer.outcome, answer.incomplete, answer.gaps) == ("answered", None, ())
    assert talk.requests() == ASKED[route] + times
    assert answer.receipt.model_calls == ASKED[route]
    assert text == answer.answer


@named(QUICK)
@pytest.mark.parametrize("route", ["map-reduce", "corg"])
def test_one_of_three_branches_that_always_fails_is_a_gap(talk, route, case):
    reply, _, says, _ = case
    text, answer = talk.ask(reply, route=route, where='<passage n="2"')
    stage = {"map-reduce": "map_context", "corg": "answer_group"}[route]
    found = [gap for gap in answer.gaps if (gap.stage, gap.item) == (stage, "2")]
    assert isinstance(answer, Answer)
    assert says in found[0].error
    assert talk.requests() == ASKED[route]
    assert answer.receipt.model_calls == ASKED[route]
    assert text == answer.answer
    if route == "map-reduce":
        assert "Note: 1 of 3 parts of the passages could not be read" in answer.answer
    else:
        assert all(people in answer.answer for people in ("1,001", "1,003"))


@named(QUICK | {"500": FAILURES["500"]})
@pytest.mark.parametrize("route", ["map-reduce", "corg"])
def test_where_every_call_fails_the_turn_says_why(talk, route, case):
    reply, kind, says, requests = case
    _, outcome = talk.ask(reply, route=route)
    if route == "corg" and kind is BadReply:
        # What was noted of the contexts stands in for the one group's answer.
        assert isinstance(outcome, Answer)
        assert any(says in gap.error for gap in outcome.gaps)
    else:
        assert isinstance(outcome, AllPartitionsFailed if route == "map-reduce" else kind)
        assert says in str(outcome)
        assert outcome.receipt["model_calls"] == talk.requests() / requests
    again = 1 if kind is ContextOverflow and route == "corg" else 0
    assert talk.requests() == FIRST[route] * requests + again


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("state", ["401", "404", "429 for an hour", "503 for an hour", "500"])
def test_where_every_call_fails_the_evidence_is_shown(talk, route, state):
    reply, _, says, requests = FAILURES[state]
    text, answer = talk.ask(reply, route=route, use=ModelUse(or_offline=True))
    assert answer.gaps[0].stage == "model"
    assert says in answer.gaps[0].error
    assert answer.receipt.model == "preflight reader"
    # What the model cost before it was given up is not forgotten.
    assert answer.receipt.model_calls == (FIRST[route] if route != "map-reduce" else 3)
    assert answer.citations
    assert all(citation.verified for citation in answer.citations)
    assert text == answer.answer
    assert talk.requests() == FIRST[route] * requests


@pytest.mark.parametrize("route", ROUTES)
def test_a_prompt_that_is_too_long_is_halved_once(talk, route):
    too_long = Reply("This model's maximum context length is 100 tokens", status=400)
    where = {"plain": "", "map-reduce": "Findings", "corg": '<passage n="'}[route]
    settings = {"partition_size": 3} if route == "map-reduce" else {}
    if route == "map-reduce":
        where = '<passage n="3"'
    if route == "corg":
        settings = {"no_grouping": True}
    _, answer = talk.ask(too_long, route=route, where=where, times=1, **settings)
    read = [request.prompt.count("<passage n=") for request in talk.server.requests if "<passage" in request.prompt]
    assert isinstance(answer, Answer), answer
    assert read == [3, 2]
    assert any("it read the first 2 of 3 passages" in gap.error for gap in answer.gaps)
    assert answer.receipt.model_calls == talk.requests()


def test_a_retry_around_the_model_goes_on_where_the_stream_broke(broken_bow):
    whole = "1,001 people live in Broken Bow [1]."
    left = [Reply(whole, drop_after=4), Reply(whole)]
    with ScriptedServer(lambda body: left.pop(0)) as server:
        model = open_chat_model("openai:m", base_url=server.url).with_retry(stop_after_attempt=2)
        with Preflight.open(broken_bow, model, rewrite="rules", route="plain") as app:

            async def pieces():
                return [each async for each in app.astream(QUESTION)]

            events = asyncio.run(pieces())
    assert "".join(each.text for each in events if isinstance(each, TokenEvent)) == events[-1].answer == whole
    assert server.count() == 2


def test_a_stream_that_broke_is_not_followed_by_itself_again(talk):
    """Without its model, the evidence stands below what had been shown, and nothing of either comes twice."""
    broken = Reply("It seems that many people live in Broken Bow, one reads [1].", drop_after=6)
    text, answer = talk.ask(broken, use=ModelUse(or_offline=True))
    assert text == "It seems that many people live\n\n" + answer.answer
    assert talk.requests() == 1


def test_what_a_failed_turn_cost_is_in_the_ledger(talk):
    _, error = talk.ask(FAILURES["content filter"][0])
    row = talk.app.ledger.last(error.thread_id)
    assert row.status == "failed"
    assert json.loads(json.dumps(error.receipt))["model_calls"] == 1
    assert error.receipt["input_tokens"] > 100
