"""What turns, users and servers may spend on a language model: spending stops there, and what was found is shown."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from broken_bow import QUESTION
from fault_counts import times
from langgraph.graph import START, StateGraph
from model_talk import ASKED, ROUTES, healthy, make_library, talking
from serving import Client, running

from preflight_rag import Answer, Preflight
from preflight_rag.graph.stage import Stage, require_context
from preflight_rag.models.budget import Budget
from preflight_rag.nodes.answer_plain import answer_plain
from preflight_rag.nodes.preflight import preflight
from preflight_rag.nodes.retrieve import retrieve
from preflight_rag.nodes.rewrite import rewrite
from preflight_rag.server import ServerOptions
from preflight_rag.server.access import KeyRing
from preflight_rag.server.shared import SharedState
from preflight_rag.server.spending import DAY, TokenBuckets
from preflight_rag.state.calls import checked_choices
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BudgetUsedUp, TooManySteps, UsageError
from preflight_rag.state.schema import State
from preflight_rag.testing import Reply, ScriptedServer, prompt_of
from preflight_rag.threads.sqlite_database import SqliteDatabase

pytestmark = pytest.mark.slow

LIMITS = ("turn_calls", "turn_tokens", "turn_seconds", "max_partitions", "max_steps", "max_concurrency", "deadline")


def marked(answer):
    """Whether an answer says that its budget was used up, to programs and to people."""
    has_gap = any("are used up" in gap.error for gap in answer.gaps)
    return answer.incomplete == "budget" and answer.outcome == "evidence" and has_gap and bool(answer.citations)


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("route", ROUTES)
def test_the_calls_of_a_turn_end_exactly_at_its_budget(talk, route, calls):
    text, answer = talk.ask(route=route, turn_calls=calls)
    assert isinstance(answer, Answer), answer
    assert talk.requests() == answer.receipt.model_calls == min(calls, ASKED[route])
    assert text == answer.answer
    if calls >= ASKED[route]:
        assert (answer.incomplete, answer.outcome, answer.gaps) == (None, "answered", ())
    elif route == "map-reduce" or calls == 1:
        assert marked(answer), answer
    else:
        # Groups that were answered stand as they are; the others are gaps.
        refused = [gap for gap in answer.gaps if gap.stage == "answer_group" and "are used up" in gap.error]
        assert len(refused) == ASKED[route] - calls


def test_what_the_partitions_say_is_shown_where_no_call_is_left_to_weigh_it(talk):
    _, answer = talk.ask(route="map-reduce", turn_calls=2)
    assert answer.answer.startswith("This is what the passages say, part by part")
    assert len([people for people in ("1,001", "1,002", "1,003") if people in answer.answer]) == 2
    assert answer.answer.splitlines()[-1].endswith("what one turn may spend on its language model is used up.")
    assert all(citation.verified for citation in answer.citations)


def test_a_rewrite_that_spends_the_last_call_leaves_the_evidence(talk):
    _, answer = talk.ask(Reply("QUESTION: " + QUESTION), rewrite="model", turn_calls=1)
    assert marked(answer)
    assert (talk.requests(), answer.receipt.model_calls, answer.gaps[0].stage) == (1, 1, "budget")
    assert answer.receipt.input_tokens > 0


def test_no_call_is_begun_that_goes_over_the_tokens(talk):
    _, whole = talk.ask(route="map-reduce")
    prompts = sorted(len(request.prompt) for request in talk.server.requests)
    # Room for two of the three partitions, counted by four characters a token as the budget counts them.
    _, answer = talk.ask(route="map-reduce", turn_tokens=int(2.9 * prompts[0] / 4), max_concurrency=1)
    assert talk.requests() == 2
    assert marked(answer)
    assert answer.receipt.input_tokens < whole.receipt.input_tokens
    _, nothing = talk.ask(turn_tokens=10)
    assert (talk.requests(), nothing.receipt.model_calls) == (0, 0)
    assert marked(nothing)


def test_the_seconds_of_a_turn_end_a_call_that_runs(talk):
    text, answer = talk.ask(Reply("1,001 people live there [1]. ", endless=True, chunk_delay=0.1), turn_seconds=0.8)
    assert (answer.incomplete, text) == ("budget", answer.answer)
    assert answer.answer.startswith("1,001 people live there [1].")
    _, silent = talk.ask(Reply(delay=math.inf), turn_seconds=0.5)
    assert marked(silent)
    assert talk.requests() == 1


def test_more_partitions_than_allowed_become_larger_ones(talk):
    _, answer = talk.ask(route="map-reduce", max_partitions=2)
    read = [request.prompt.count("<passage n=") for request in talk.server.requests if "<passage" in request.prompt]
    assert sorted(read) == [1, 2]
    assert (talk.requests(), answer.gaps) == (3, ())


def test_a_turn_that_was_stopped_goes_on_with_what_is_left_of_its_budget(broken_bow):
    with talking(broken_bow, 30.0) as talk:
        slow = [True]

        def replies(body):
            return Reply(delay=math.inf) if slow[0] and '<passage n="3"' in prompt_of(body) else healthy(body)

        talk.script = replies

        async def begin():
            events = talk.app.astream(QUESTION, thread_id="t", route="map-reduce", turn_calls=4)
            done = 0
            async for event in events:
                done += getattr(event, "stage", "") == "map_context" and hasattr(event, "update")
                if done == 2:
                    break
            await events.aclose()

        asyncio.run(begin())
        talk.server.wait_idle()
        slow[0] = False
        before = talk.requests()
        answer = talk.app.resume("t")
    assert answer.gaps == (), answer
    assert before == 3
    # Two were read before, the third now; of the fourth call, the one that was stopped has no record.
    assert talk.server.count() == 5
    assert answer.receipt.model_calls == 4


@pytest.mark.parametrize("calls", [3, 200])
def test_a_graph_that_goes_round_in_circles_is_stopped_with_a_receipt(broken_bow, calls):
    with talking(broken_bow, 30.0) as talk:
        graph = StateGraph(State, Context)
        for node in (rewrite, retrieve, preflight, answer_plain):
            stage = Stage(node, require_context)
            graph.add_node(stage.name, stage, input_schema=stage.view)
        for start, end in ((START, "rewrite"), ("rewrite", "retrieve"), ("retrieve", "preflight")):
            graph.add_edge(start, end)
        graph.add_edge("preflight", "answer_plain")
        graph.add_edge("answer_plain", "retrieve")
        turns = talk.app._open_turns()
        turns.graph = graph.compile(checkpointer=turns.saver)
        _, error = talk.ask(turn_calls=calls, max_steps=20)
        row = talk.app.ledger.last(error.thread_id)
    assert isinstance(error, TooManySteps)
    assert "took more steps than it may" in str(error)
    # Once through the first four steps, then each three make one more answer.
    assert talk.server.count() == error.receipt["model_calls"] == row.calls == min(calls, 6)
    assert error.receipt["input_tokens"] > 0
    assert row.status == "failed"


@pytest.mark.parametrize("name", LIMITS)
def test_no_caller_raises_a_limit(name):
    with pytest.raises(UsageError, match="is set where the server is started"):
        checked_choices({name: 100_000})


class SlowPurse:
    """Somebody who pays as long as there is something, and takes a moment for it."""

    def __init__(self, tokens):
        self.left = tokens

    async def take(self, tokens):
        enough = self.left >= tokens
        self.left -= tokens if enough else 0
        await asyncio.sleep(0)
        return "" if enough else "nothing is left"

    async def settle(self, taken, spent):
        self.left += taken - spent


async def test_calls_made_at_once_stay_within_a_budget():
    calls, made = times(100, 5_000), []
    budget = Budget(calls=calls, tokens=10**9, seconds=60, purses=[SlowPurse(10**9)])

    async def spend():
        try:
            await budget.begin(10)
        except BudgetUsedUp:
            return
        made.append(1)
        await budget.end(10, 12)

    await asyncio.gather(*(spend() for _ in range(2 * calls)))
    assert len(made) == calls


async def test_who_pays_gets_back_what_another_one_could_not_pay():
    rich, poor = SlowPurse(100), SlowPurse(15)
    budget = Budget(calls=10, tokens=1000, seconds=60, purses=[rich, poor])
    await budget.begin(10)
    for _ in range(3):
        with pytest.raises(BudgetUsedUp, match="nothing is left"):
            await budget.begin(10)
    assert (rich.left, poor.left) == (90, 5)
    await budget.end(10, 12)
    assert (rich.left, poor.left) == (88, 3)


async def test_a_day_fills_the_bucket_again_and_a_reply_that_was_longer_is_owed(tmp_path):
    now = [0.0]
    shared = SharedState(lambda: closing(SqliteDatabase(tmp_path / "server.db", ())), clock=lambda: now[0])
    spending = TokenBuckets(1000, 0, shared)
    (purse,) = spending.of("anna")
    assert await purse.take(600) == ""
    await purse.settle(600, 1100)
    assert "your 1,000 tokens a day are used up; there will be enough again in" in await purse.take(100)
    (other,) = spending.of("bert")
    assert await other.take(1000) == ""
    now[0] = DAY / 4
    assert await purse.take(100) == ""
    now[0] = 2 * DAY
    assert await purse.take(1000) == ""
    await shared.close()


@pytest.fixture
def served(tmp_path, embedder, chat_reader):
    """Runs a server over the three documents, with keys for Anna and Bert."""
    own = make_library(tmp_path / "library", embedder)
    ring = KeyRing(own)
    keys = [ring.add(name) for name in ("anna", "bert")]
    ring.close()

    def serve(model, **options):
        app = Preflight.open(own, chat_reader(model), rewrite="rules", route="plain", partition_size=1)
        return app, running(app, ServerOptions(**options)), keys

    return serve


def client(url, key):
    return Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def ask(url, key, **body):
    with client(url, key) as asking:
        return asking.post("/api/ask", json={"question": QUESTION, "stream": False, **body})


def test_a_user_who_has_spent_the_day_gets_evidence_and_others_go_on(served):
    with ScriptedServer(default="1,001 people live there [1].") as model:
        app, server, (anna, bert) = served(model, user_tokens=600)
        with app, server as url:
            found = [ask(url, anna).json() for _ in range(3)]
            others = ask(url, bert).json()
            with client(url, anna) as asking:
                body = {"model": "preflight", "messages": [{"role": "user", "content": QUESTION}]}
                reply = asking.post("/v1/chat/completions", json=body).json()
            refused = ask(url, anna, settings={"turn_tokens": 10**9})
            asked = model.count()
        # A server that is started anew knows what was spent before.
        app, server, _ = served(model, user_tokens=600)
        with app, server as url:
            again = ask(url, anna).json()
    assert found[0]["outcome"] == "answered"
    assert found[-1]["outcome"] == "evidence"
    assert found[-1]["incomplete"] == "budget"
    assert found[-1]["gaps"][0]["stage"] == "budget"
    assert "your 600 tokens a day are used up" in found[-1]["gaps"][0]["error"]
    assert others["outcome"] == "answered"
    assert "what may be spent on the language model is used up" in reply["choices"][0]["message"]["content"]
    assert refused.status_code == 400
    assert again["incomplete"] == "budget"
    assert model.count() == asked


def test_a_server_that_has_spent_the_day_asks_no_model_for_anybody(served):
    limit, askers = 1500, times(12, 60)
    with ScriptedServer(default=Reply("1,001 people live there [1].", delay=0.1)) as model:
        app, server, keys = served(model, server_tokens=limit)
        with app, server as url, ThreadPoolExecutor(12) as pool:
            found = [each.json() for each in pool.map(lambda n: ask(url, keys[n % 2]), range(askers))]
    answered = [each for each in found if each["outcome"] == "answered"]
    assert len(found) == askers
    assert len(answered) == model.count() > 0
    assert all(each["incomplete"] == "budget" for each in found if each not in answered)
    spent = [each["receipt"]["input_tokens"] + each["receipt"]["output_tokens"] for each in answered]
    # At most what is allowed, and by what replies are longer than nothing.
    assert sum(spent) <= limit + sum(each["receipt"]["output_tokens"] for each in answered)
    assert sum(spent) > limit - 2 * max(spent)


def test_nobody_fills_all_places_of_a_server(served):
    with ScriptedServer(default=Reply("1,001 people live there [1].", delay=1.5)) as model:
        app, server, (anna, bert) = served(model, turns=1)
        with app, server as url, ThreadPoolExecutor(8) as pool:
            first = [pool.submit(ask, url, anna) for _ in range(2)]
            model.wait_for(1)
            statuses = [ask(url, anna).status_code for _ in range(3)]
            others = pool.submit(ask, url, bert)
            done = [each.result().status_code for each in (*first, others)]
    assert statuses == [429, 429, 429]
    assert done == [200, 200, 200]
