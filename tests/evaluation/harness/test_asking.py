"""Cases come back in order, failures as rows, and a budget that is used up keeps what was answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage

from evaluation.harness.asking import Asking, gather, open_asking
from evaluation.harness.budget import Budget
from evaluation.runs import ExperimentRun
from preflight_rag.state.errors import (
    BudgetUsedUp,
    ModelAuthError,
    ModelTimeout,
    ModelUnavailable,
    UnknownModel,
    UsageError,
)
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow


async def test_order_and_concurrency_are_kept() -> None:
    running, most, seen = 0, 0, []

    async def ask(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (number % 3))
        running -= 1
        return number * 2

    outcomes = await gather(
        range(20), ask, concurrency=4, budget=Budget(), stage="s", progress=lambda *told: seen.append(told)
    )
    assert [outcome.value for outcome in outcomes] == [2 * number for number in range(20)]
    assert most == 4
    assert seen == [("s", done, 20) for done in range(1, 21)]


@pytest.mark.parametrize(("model", "expected"), [("gguf:model.gguf", 1), ("openai:small", 4)])
async def test_a_model_in_this_process_is_asked_one_case_at_a_time(model: str, expected: int) -> None:
    running, most = 0, 0

    async def ask(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return number

    asking = Asking(ExperimentRun(model=model, concurrency=4), FakeListChatModel(responses=["yes"]))
    await asking.gather(range(12), ask, "s")
    assert most == expected


@pytest.mark.parametrize(("concurrency", "hint"), [(4, "--concurrency 1"), (1, "Wait longer.")])
async def test_where_no_case_is_answered_in_time_fewer_at_once_are_the_way_out(concurrency: int, hint: str) -> None:
    async def ask(_: int) -> int:
        raise ModelTimeout("the model did not reply in time", help="Wait longer.")

    with pytest.raises(ModelTimeout, match="did not reply in time") as raised:
        await gather(range(5), ask, concurrency=concurrency, budget=Budget())
    assert hint in raised.value.help


async def test_a_call_has_the_seconds_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with ScriptedServer(default=Reply("Late.", delay=5.0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("PREFLIGHT_DEADLINE", "0.2")
        with open_asking(ExperimentRun(model="openai:slow", reply_cache=tmp_path / "replies.db")) as asking:
            with pytest.raises(ModelTimeout):
                await asking.prompts.reply([HumanMessage("Who?")])


async def test_a_failed_case_is_a_row() -> None:
    async def ask(number: int) -> int:
        if number == 1:
            raise ModelUnavailable("the server is down", help="Start it.")
        return 6 // number

    budget = Budget()
    outcomes = await gather([2, 1, 0, 3], ask, concurrency=2, budget=budget)
    assert [outcome.value for outcome in outcomes] == [3, None, None, 2]
    assert [outcome.error for outcome in outcomes[1:3]] == [
        "the server is down. Start it.",
        "ZeroDivisionError: integer division or modulo by zero",
    ]
    assert (budget.cases, budget.answered) == (4, 2)


@pytest.mark.parametrize("error", [ModelAuthError("no"), UnknownModel("no")])
async def test_what_every_case_would_meet_ends_the_run(error: Exception) -> None:
    asked = []

    async def ask(number: int) -> int:
        asked.append(number)
        if number == 2:
            raise error
        return number

    with pytest.raises(type(error)):
        await gather(range(50), ask, concurrency=1, budget=Budget())
    assert asked == [0, 1, 2]


async def test_when_no_case_is_answered_the_first_error_is_told() -> None:
    async def ask(number: int) -> int:
        raise ModelUnavailable(f"down {number}")

    with pytest.raises(ModelUnavailable, match="down 0"):
        await gather(range(3), ask, concurrency=1, budget=Budget())


async def test_no_cases_are_no_outcomes_and_no_concurrency_is_a_usage_error() -> None:
    async def ask(number: int) -> int:
        return number

    assert await gather([], ask, concurrency=3, budget=Budget()) == []
    with pytest.raises(UsageError, match="concurrency is 0"):
        await gather([1], ask, concurrency=0, budget=Budget())


def test_a_larger_budget_goes_on_from_what_was_paid(monkeypatch, tmp_path) -> None:
    with ScriptedServer(default=Reply("fine")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        def answered(max_calls: int) -> tuple[list[bool], Budget]:
            budget = Budget(max_calls=max_calls)
            run = ExperimentRun(
                model="openai:scripted", concurrency=2, budget=budget, reply_cache=tmp_path / "replies.db"
            )
            with open_asking(run) as asking:
                outcomes = asyncio.run(
                    asking.gather(range(6), lambda n: asking.prompts.reply([HumanMessage(f"Number {n}.")]), "numbers")
                )
            assert all(outcome.unpaid for outcome in outcomes if outcome.value is None)
            return [outcome.value is not None for outcome in outcomes], budget

        first, budget = answered(2)
        assert first == [True, True, False, False, False, False]
        assert (budget.cases, budget.answered, budget.used_up) == (6, 2, True)
        assert answered(4)[0] == [True] * 6
        assert server.count() == 6
        tmp_path.joinpath("replies.db").unlink()
        with pytest.raises(BudgetUsedUp):
            answered(0)


async def test_a_refused_call_is_noticed_where_a_graph_hides_it() -> None:
    from langchain_core.language_models import FakeListChatModel

    from evaluation.harness.replies import ReplyCache, cached

    budget = Budget(max_calls=1)
    model = cached(FakeListChatModel(responses=["fine"]), ReplyCache(None), budget)

    async def ask(number: int) -> str:
        try:
            return (await model.ainvoke(f"Number {number}.")).text
        except BudgetUsedUp:
            return "a gap"

    outcomes = await gather([1, 2, 1], ask, concurrency=1, budget=budget)
    assert [outcome.value for outcome in outcomes] == ["fine", None, "fine"]
    assert outcomes[1].unpaid
