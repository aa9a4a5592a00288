"""Arms see identical passages, are scored strictly with a reason, and are compared in pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from evaluation.compare import compare
from evaluation.harness.arms import Arm, ArmAnswer, run_arms, score
from evaluation.harness.asking import Asking, open_asking
from evaluation.harness.budget import Budget
from evaluation.rows import ScoreRow, complete, samples_of
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from preflight_rag.prompts import answer_plain
from preflight_rag.state.reading import Source
from preflight_rag.testing.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.slow

OPTIONS = ("yes", "no")
CHOICE = Sample("c", "Does aspirin thin blood?", "yes/no", OPTIONS, "no")
SHORT = Sample("s", "Who wrote it?", "short", answers=(("Ada Lovelace", "Ada"), ("Babbage",)), wrong=("Turing",))
LIST = Sample("l", "Who wrote it?", "list", answers=(("Ada Lovelace", "Ada"), ("Babbage",)))
NONE = Sample("n", "Who wrote it?", "short", answers=(("Ada",),), answerable=False)


@pytest.mark.parametrize(
    ("question", "answer", "value", "reason"),
    [
        (CHOICE, ArmAnswer("CHOICE: B"), 1.0, "chose 'no', which is right"),
        (CHOICE, ArmAnswer("It does [1].", choice="yes"), 0.0, "chose 'yes', right is 'no'"),
        (CHOICE, ArmAnswer("qqq"), 0.0, "no option can be read"),
        (CHOICE, ArmAnswer("NOT IN THE PASSAGES"), 0.0, "abstained from a choice"),
        (CHOICE, ArmAnswer("I cannot help with that."), 0.0, "refused to choose"),
        (CHOICE, ArmAnswer("", error="cut off"), 0.0, "cut off"),
        (SHORT, ArmAnswer("It was Ada [1]."), 1.0, "gives 'Ada Lovelace'"),
        (SHORT, ArmAnswer("Lovelace, Ada"), 1.0, "gives 'Ada Lovelace'"),
        (SHORT, ArmAnswer("Babbage or Turing"), 1.0, "gives 'Babbage'; gives a wrong answer too"),
        (SHORT, ArmAnswer("Adam"), 0.0, "does not give 'Ada Lovelace'"),
        (SHORT, ArmAnswer("NOT IN THE PASSAGES"), 0.0, "abstained, though there is an answer"),
        (SHORT, ArmAnswer("I'm sorry, I can't."), 0.0, "refused to answer"),
        (LIST, ArmAnswer("Ada [1] and others"), 0.5, "gives 1 of 2, not 'Babbage'"),
        (LIST, ArmAnswer("Babbage and Ada"), 1.0, "gives 2 of 2"),
        (NONE, ArmAnswer("Not stated.", abstained=True), 1.0, "abstained, rightly"),
        (NONE, ArmAnswer("Ada"), 0.0, "answered what the passages do not hold"),
    ],
)
def test_a_score_has_its_reason(question: Sample, answer: ArmAnswer, value: float, reason: str) -> None:
    scored = score(question, answer)
    assert (scored.value, scored.reason) == (value, reason)


def test_garbage_is_wrong_and_the_first_option_for_mirage() -> None:
    right_is_first = Sample("c", "?", "yes/no", OPTIONS, "yes")
    scored = score(right_is_first, ArmAnswer("%% 17"))
    assert (scored.value, scored.fallback, scored.unreadable) == (0.0, 1.0, True)


def questions(count: int) -> list[Sample]:
    return [Sample(f"q{n}", f"Is {n} even?", "yes/no", OPTIONS, OPTIONS[n % 2]) for n in range(count)]


def passages(question: Sample) -> list[Source]:
    return [Source(1, f"{question.id}-a", "Numbers", "Even numbers are divisible by 2.")]


def plain(asking: Asking, mark: str) -> Arm:
    """An arm whose prompts hold a mark."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        prompt = answer_plain.render(question=f"{mark} {question.question}", sources=sources, options=question.options)
        text, usage = await asking.prompts.reply(prompt)
        return ArmAnswer(text, usage=usage)

    return Arm(mark, answer)


def run_arms_of(server: ScriptedServer, monkeypatch, tmp_path, count: int = 6, **options) -> list[ScoreRow]:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    run = ExperimentRun(model="openai:scripted", reply_cache=tmp_path / "replies.db", **options)
    with open_asking(run) as asking:
        arms = [plain(asking, "first"), plain(asking, "second")]
        return asyncio.run(run_arms(arms, questions(count), passages, asking))


def even(body: dict) -> Reply | str:
    """The first arm is always right; the second sends garbage, a refusal, a broken reply, and one failure."""
    prompt = body["messages"][-1]["content"]
    number = int(prompt.split(" even?")[0].split()[-1])
    if "first" not in prompt:
        special = {0: "%%%", 1: "I cannot say.", 2: Reply("so", finish_reason="length"), 3: Reply(refusal="no")}
        if number in special:
            return special[number]
        if number == 5:
            return Reply("down", status=503)
    return f"CHOICE: {'AB'[number % 2]}"


def test_garbage_refusals_and_errors_are_counted_and_rows(monkeypatch, tmp_path) -> None:
    with ScriptedServer(even) as server:
        rows = run_arms_of(server, monkeypatch, tmp_path)
    assert len(rows) == 6 * 2
    assert samples_of(complete(rows)) == ["q0", "q1", "q2", "q3", "q4"]
    assert "503" in rows[-1].reason
    found = compare(rows, seed=0)
    second = found.figures["spent"]["second"]
    assert (second["unreadable"], second["refused"], second["error"]) == (1, 2, 2)
    assert (found.estimates["second"][""].value, second["fallback"]["value"]) == (0.2, 0.6)
    assert found.estimates["first"][""].value == 1.0
    test = found.tests["second − first"]
    assert (test.wins, test.ties, test.losses) == (0, 1, 4)
    assert "1 questions that not every arm has answered are left out" in found.tables()[0].note
    assert found.tables()[1].rows[0][0] == "second − first"


def test_a_row_holds_what_show_prints_and_is_the_same_again(monkeypatch, tmp_path) -> None:
    with ScriptedServer(default="CHOICE: A") as server:
        lines = [[row.to_json() for row in run_arms_of(server, monkeypatch, tmp_path, 2)] for _ in range(2)]
        assert server.count() == 4
    assert lines[0] == lines[1]
    line = lines[0][2]
    assert (line["sample"], line["arm"], line["score"], line["calls"]) == ("q1", "first", 0.0, 1)
    details = line["details"]
    assert details["passages"] == [{"id": "q1-a", "title": "Numbers", "text": "Even numbers are divisible by 2."}]
    (call,) = details["prompts"]
    assert [message["role"] for message in call["messages"]] == ["system", "human"]
    assert "first Is 1 even?" in call["messages"][1]["content"]
    assert (call["text"], details["choice"]) == ("CHOICE: A", "yes")
    assert line["tokens"] == [call["input_tokens"], call["output_tokens"]]
    assert call["input_tokens"] > 0


def test_a_budget_keeps_whole_pairs_only(monkeypatch, tmp_path) -> None:
    with ScriptedServer(default="CHOICE: A") as server:
        rows = run_arms_of(server, monkeypatch, tmp_path, budget=Budget(max_calls=5), concurrency=1)
        assert server.count() == 5
    assert [row.score is None for row in rows] == [False] * 4 + [True] * 8
    assert compare(rows, seed=0).samples == 2


async def echo(sample: Sample, sources: Sequence[Source]) -> ArmAnswer:
    return ArmAnswer(f"CHOICE: {sources[0].text}")


def test_every_condition_of_a_sample_has_its_passages_and_its_row() -> None:
    conditions = {"short": [Source(1, "a", "", "A")], "long": [Source(1, "b", "", "B")]}
    arms = [Arm("one", echo), Arm("two", echo)]
    rows = asyncio.run(run_arms(arms, questions(2), lambda _: conditions, Asking(ExperimentRun(), None)))
    seen = [(row.sample, row.condition, row.arm, row.details["choice"]) for row in rows]
    assert seen[:4] == [
        ("q0", "short", "one", "yes"), ("q0", "short", "two", "yes"),
        ("q0", "long", "one", "no"), ("q0", "long", "two", "no"),
    ]  # fmt: skip
    assert [row.sample for row in rows[4:]] == ["q1"] * 4
