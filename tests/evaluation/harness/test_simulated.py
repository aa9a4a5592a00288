"""The simulated reader reads as its parameters say, through the prompts and parsers of the product."""

from __future__ import annotations

import asyncio
from math import sqrt
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.harness.asking import open_asking
from evaluation.harness.simulated import ReadingBias, SimulatedChat
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, Sample
from preflight_rag.models.chat.chat_reader import ChatReader
from preflight_rag.state.reading import Source

pytestmark = pytest.mark.slow

OPTIONS = ("aspirin", "ibuprofen", "paracetamol", "morphine")


def question(number: int, *roles: str) -> Sample:
    """A question with one passage of each role; a wrong one says morphine."""
    given = tuple(
        Context(f"{number}-{n}", "", f"Passage {n} on pain {number}.", role=role, answer="morphine" * (role == "wrong"))
        for n, role in enumerate(roles or ("gold",))
    )
    return Sample(f"q{number}", f"What helps pain {number}?", "choice", OPTIONS, OPTIONS[number % 3], given=given)


def sources(asked: Sample, place: int | None = None, count: int = 1) -> list[Source]:
    """Its passages, or the first of them at a place among `count`."""
    if place is None:
        return [Source(n, given.id, given.title, given.text) for n, given in enumerate(asked.given, 1)]
    texts = [f"Noise {n} about {asked.id}." for n in range(count - 1)]
    texts.insert(place, asked.given[0].text)
    return [Source(n, f"{asked.id}-{n}", "", text) for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize("place", [0, 4, 8, 15])
async def test_accuracy_follows_the_curve(place: int) -> None:
    questions, right = [question(number) for number in range(100)], []
    for seed in range(5):
        reader = ChatReader(SimulatedChat.of(questions, ReadingBias(middle=0.4, seed=seed)))
        for asked in questions:
            reply = await reader.answer(question=asked.question, sources=sources(asked, place, 16), options=OPTIONS)
            right.append(float(reply.value.choice == asked.right))
    expected = ReadingBias(middle=0.4).expected(place, 16)
    assert abs(fmean(right) - expected) < 3.3 * sqrt(expected * (1 - expected) / len(right))  # all but 0.1 % of samples


@given(st.integers(2, 40), st.data())
def test_the_curve_is_a_u(count: int, data: st.DataObject) -> None:
    bias = ReadingBias()
    place = data.draw(st.integers(0, count - 1))
    assert bias.noticed(place, count) == pytest.approx(bias.noticed(count - 1 - place, count))
    assert bias.middle <= bias.noticed(place, count) <= bias.edge == bias.noticed(0, count)
    assert bias.noticed(place, count) >= bias.noticed(count // 2, count)


async def test_partitions_find_what_the_middle_loses() -> None:
    questions = [question(number) for number in range(80)]
    reader = ChatReader(SimulatedChat.of(questions, ReadingBias(edge=1.0, middle=0.0, prior=0.0)))
    at_once = in_parts = 0
    for asked in questions:
        given = sources(asked, 8, 16)
        plain = await reader.answer(question=asked.question, sources=given, options=OPTIONS)
        parts = [
            (await reader.extract(question=asked.question, sources=given[n : n + 4])).value for n in range(0, 16, 4)
        ]
        reduced = await reader.reduce(question=asked.question, extracts=parts, options=OPTIONS)
        at_once += plain.value.choice == asked.right
        in_parts += reduced.value.choice == asked.right
        assert sum(bool(part.text) for part in parts) <= 1
    assert at_once < 10
    assert in_parts == 80


@pytest.mark.parametrize(("resolves", "right"), [(1.0, True), (0.0, False)])
async def test_a_planted_conflict_is_resolved_or_not(resolves: float, right: bool) -> None:
    asked = question(1, "gold", "wrong")
    reader = ChatReader(SimulatedChat.of([asked], ReadingBias(edge=1.0, resolves=resolves)))
    parts = [(await reader.extract(question=asked.question, sources=[source])).value for source in sources(asked)]
    assert [part.text for part in parts] == ["The answer is ibuprofen [1].", "The answer is morphine [2]."]
    reply = await reader.reduce(question=asked.question, extracts=parts, options=OPTIONS)
    assert (reply.value.choice == asked.right) is right


async def test_relations_are_those_of_the_answers() -> None:
    asked = question(1, "gold", "wrong", "gold", "noise")
    reader = ChatReader(SimulatedChat.of([asked]))
    pivot, *others = sources(asked)
    told = (await reader.relate(question=asked.question, pivot=pivot, others=others)).value
    assert told.kinds == {2: "counterfactual", 3: "duplicated", 4: "none"}
    assert [told.notes[n].answer for n in (1, 2, 3, 4)] == ["ibuprofen", "morphine", "ibuprofen", None]


async def test_without_a_key_passage_it_abstains_or_guesses() -> None:
    asked = question(1)
    reader = ChatReader(SimulatedChat.of([asked], ReadingBias(prior=0.0)))
    noise = [Source(1, "n", "", "Nothing of use.")]
    guessed = (await reader.answer(question=asked.question, sources=noise, options=OPTIONS)).value
    assert guessed.choice in set(OPTIONS) - {asked.right}
    assert not (await reader.answer(question=asked.question, sources=noise)).value.found


async def test_quotes_are_the_passages_own_words() -> None:
    asked = question(1)
    reader = ChatReader(SimulatedChat.of([asked], ReadingBias(edge=1.0)))
    draft = (await reader.answer(question=asked.question, sources=sources(asked), options=OPTIONS)).value
    assert draft.text == "The answer is ibuprofen [1]."
    assert draft.quotes == ((1, "Passage 0 on pain 1."),)


def test_a_run_on_the_simulation_says_so_and_repeats_itself() -> None:
    questions = [question(number) for number in range(5)]

    def texts(seed: int) -> list[str]:
        with open_asking(ExperimentRun(model="simulated", seed=seed), questions) as asking:
            assert asking.name.startswith("simulated")
            reader = asking.reader(None)
            assert reader.name == asking.name

            async def ask(asked: Sample) -> str:
                return (await reader.answer(question=asked.question, sources=sources(asked, 8, 16))).value.text

            return [outcome.value for outcome in asyncio.run(asking.gather(questions, ask, "questions"))]

    assert texts(0) == texts(0)
    assert any(texts(seed) != texts(0) for seed in (1, 2, 3))


def test_gold_documents_are_told_by_their_texts() -> None:
    asked = Sample("q", "Who?", "short", answers=(("Ada",),), documents=frozenset({"d"}))
    model = SimulatedChat.of([asked], ReadingBias(edge=1.0), {"d": "Ada wrote it.\nIt was long."})
    known = model.questions["Who?"]
    assert known.says("It was  long.") == "Ada"
    assert known.says("Another text.") is None
