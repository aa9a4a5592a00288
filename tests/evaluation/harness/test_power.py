"""The whole harness on 500 questions: what is planted in a simulated reader is found, and nothing where nothing is.

A question is as hard for every arm of one seed; arms of different seeds are equally good and agree only by chance.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from evaluation.compare import compare
from evaluation.harness.arms import Arm, ArmAnswer, run_arms
from evaluation.harness.asking import Asking
from evaluation.harness.simulated import ReadingBias, SimulatedChat
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from preflight_rag.state.reading import Source

pytestmark = pytest.mark.slow

SEEDS = 20
OPTIONS = ("aspirin", "ibuprofen")
QUESTIONS = [
    Sample(
        f"q{n}", f"What helps pain {n}?", "choice", OPTIONS, OPTIONS[n % 2],
        given=(Context(f"{n}", "", f"The passage on pain {n}.", role="gold"),),
    )
    for n in range(500)
]  # fmt: skip


def passages(question: Sample) -> list[Source]:
    return [Source(1, question.id, "", question.given[0].text)]


def arm(noticed: float, seed: int) -> list[ScoreRow]:
    """The questions, of which the simulated reader is right on that share."""
    asking = Asking(ExperimentRun(), SimulatedChat.of(QUESTIONS, ReadingBias(edge=noticed, prior=0.0, seed=seed)))

    async def answer(question: Sample, sources: object) -> ArmAnswer:
        reply = await asking.prompts.answer(question=question.question, sources=sources, options=OPTIONS)
        return ArmAnswer.of_draft(reply)

    return asyncio.run(run_arms([Arm("arm", answer)], QUESTIONS, passages, asking))


@pytest.fixture(scope="module")
def even() -> list[list[ScoreRow]]:
    return [arm(0.85, seed) for seed in range(SEEDS + 1)]


def together(first: list[ScoreRow], second: list[ScoreRow]) -> list[ScoreRow]:
    return [*(replace(row, arm="first") for row in first), *(replace(row, arm="second") for row in second)]


def test_five_points_are_found(even: list[list[ScoreRow]]) -> None:
    for seed in (0, 1, 2):
        test = compare(together(arm(0.90, seed), even[seed]), seed=0, baseline="second").tests["first − second"]
        assert test.difference.low <= 0.05 <= test.difference.high
        assert test.losses == 0
        assert test.holm < 0.001


def test_nothing_is_found_where_nothing_is(even: list[list[ScoreRow]]) -> None:
    pairs = pairwise(even)
    tests = [compare(together(a, b), seed=0, baseline="second").tests["first − second"] for a, b in pairs]
    assert len(tests) == SEEDS
    assert min(test.wins + test.losses for test in tests) > 80
    assert sum(test.holm < 0.05 for test in tests) <= SEEDS * 0.05
