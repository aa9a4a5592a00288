"""The look at a plain answer: which step follows from it, what it is held against, and what is read again."""

import pytest
from value_reader import ValueReader

from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.routing.second_look import (
    UncitedAnswer,
    escalation,
    first_answer,
    first_extract,
    first_stands,
    found_elsewhere,
    nothing_to_find,
    second_partitions,
    uncited,
)
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.state.reading import Draft, Source

QUESTION = "How many moons has Saturn?"
TEXTS = ["Saturn has 82 known moons.", "Saturn has 274 known moons.", "Rust is iron oxide."]
SOURCES = [Source(n, str(n), "", text) for n, text in enumerate(TEXTS, 1)]
SUPPORTED = Draft("It has 82 moons [1].", ((1, "Saturn has 82 known moons"),))


@pytest.mark.parametrize(
    ("draft", "size", "to"),
    [
        (SUPPORTED, 1, None),
        (Draft("Saturn has 82 known moons."), 1, None),
        (Draft("", found=False), 1, "map_reduce"),
        (Draft("", found=False), 3, None),
        (Draft("It has 999 moons [1].", ((1, "999 moons"),)), 1, "map_reduce"),
        (Draft("It has 999 moons [77]."), 1, "map_reduce"),
        (Draft("It has 999 moons [1][2][3]."), 1, None),
        (
            Draft("82 [1] or 274 [2].", ((1, "Saturn has 82 known moons."), (2, "Saturn has 274 known moons."))),
            3,
            None,
        ),
    ],
)
def test_a_step_follows_from_the_draft(draft, size, to):
    step = escalation(draft, SOURCES, size)
    assert (step and step["to"]) == to


def test_an_answer_that_another_passage_speaks_against_goes_on_and_says_why():
    step = escalation(SUPPORTED, SOURCES, 1, UncitedAnswer(2, "274", 0.95))
    assert step == {
        "from": "plain",
        "to": "map_reduce",
        "reason": "a passage that the plain answer does not cite says “274”; the likeliest 1 of those that it does "
        "not cite are read again",
    }


@pytest.mark.parametrize(
    ("draft", "left", "parts"),
    [
        (Draft("", found=False), [1, 2, 3], [[1, 2], [3]]),
        (SUPPORTED, [2, 3], [[2, 3]]),
        (Draft("82 [1][3]."), [2], [[2]]),
        (Draft("82, as it says.", ((2, "Saturn"),)), [1, 3], [[1, 3]]),
    ],
)
def test_only_what_is_not_cited_is_read_again(draft, left, parts):
    assert uncited(draft, SOURCES) == left
    assert sorted(map(sorted, second_partitions(draft, SOURCES, 2, 64))) == sorted(parts)


class Reads:
    """An extractive reader that finds the first number of a passage, so likely as is said of the passage."""

    threshold = 0.5

    def __init__(self, *likely):
        self.likely = dict(zip(TEXTS, likely, strict=True))

    def read(self, pairs):
        found = []
        for _, _, text in pairs:
            word = next((word for word in text.split() if word.isdigit()), text.split()[0])
            start = text.find(word)
            found.append(PassageReading((Span(start, start + len(word), word, 1.0),), self.likely[text]))
        return found


@pytest.mark.parametrize(
    ("answer", "likely", "says"),
    [
        ("It has 82 moons [1].", (0.5, 0.95, 0.1), "274"),
        ("It has 82 moons [1].", (0.96, 0.95, 0.1), None),  # what is cited is surer
        ("It has 82 moons [1].", (0.5, 0.8, 0.1), None),  # what is not cited is not sure enough
        ("It has 82 moons [1][2].", (0.5, 0.95, 0.1), None),  # it is cited
        ("It has 82 moons [1]; 274 were counted later.", (0.5, 0.95, 0.1), None),  # the answer says so, too
        ("It has 82 moons.", (0.5, 0.95, 0.1), None),  # nothing is cited
    ],
)
def test_an_answer_is_held_against_the_surest_of_what_it_does_not_cite(answer, likely, says):
    found = found_elsewhere(QUESTION, Draft(answer), SOURCES, Reads(*likely))
    assert (found and found.answer) == says


@pytest.mark.parametrize(
    "question", ["Why has Saturn moons?", "Which moons has Saturn?", "Describe the moons of Saturn."]
)
def test_of_explanations_and_lists_the_citation_alone_counts(question):
    """They say the same in other words too often for their words to be compared."""
    says_so = Draft("It has 274 moons [1].")
    found = found_elsewhere(question, says_so, SOURCES, Reads(0.1, 0.99, 0.2))
    assert (found.n, found.answer, found.likeliest) == (2, "", (2, 3))
    assert found_elsewhere(question, says_so, SOURCES, Reads(0.995, 0.99, 0.2)) is None
    reason = escalation(SUPPORTED, SOURCES, 1, found)["reason"]
    assert "does not cite answers the question likelier than those it cites; the likeliest 1 of those" in reason


def test_what_answers_likeliest_is_read_again_in_one_part():
    found = found_elsewhere(QUESTION, SUPPORTED, SOURCES, Reads(0.2, 0.95, 0.1))
    assert second_partitions(SUPPORTED, SOURCES, 1, 64, found) == [[2]]
    assert second_partitions(SUPPORTED, SOURCES, 2, 64, found) == [[2, 3]]


@pytest.mark.parametrize(("partition_size", "expected"), [(1, 1), (2, 3), (4, 6)])
def test_half_as_many_again_as_in_a_part_are_read_again(partition_size, expected):
    found = UncitedAnswer(2, "274", 0.9, tuple(range(2, 12)))
    assert second_partitions(SUPPORTED, SOURCES, partition_size, 64, found) == [list(range(2, 2 + expected))]


def test_a_verdict_is_held_against_a_verdict():
    sources = [Source(1, "1", "", "Ice is not hot."), Source(2, "2", "", "Ice is very hot.")]

    class Verdicts:
        threshold = 0.5

        def read(self, pairs):
            sure = {sources[0].text: (0.1, 0.45, 0.45), sources[1].text: (0.95, 0.02, 0.03)}
            return [PassageReading((Span(0, 3, "Ice", 1.0),), 0.9, 0.9, sure[text]) for _, _, text in pairs]

    asked = "Is ice hot?"
    assert found_elsewhere(asked, Draft("No [1]."), sources, Verdicts()).answer == "yes"
    assert found_elsewhere(asked, Draft("Yes [1]."), sources, Verdicts()) is None
    assert found_elsewhere(asked, Draft("It depends [1]."), sources, Verdicts()) is None


def test_a_reader_that_cannot_read_speaks_against_nothing():
    class Damaged:
        threshold = 0.5

        def read(self, pairs):
            raise ExtractiveReaderError("reader.onnx is damaged", help="Install the package again.")

    assert found_elsewhere(QUESTION, SUPPORTED, SOURCES, Damaged()) is None
    assert not nothing_to_find(QUESTION, SOURCES, {"signals": {"lost": 0.0}}, Damaged())


def test_the_first_answer_is_weighed_only_with_support():
    extract = first_extract(SUPPORTED, SOURCES)
    assert (extract.text, [source.n for source in extract.sources]) == (SUPPORTED.text, [1])
    assert first_extract(Draft("It has 999 moons [1]."), SOURCES) is None
    assert first_extract(Draft("", found=False), SOURCES) is None


def test_a_first_answer_is_one_from_which_the_turn_went_on():
    step = escalation(SUPPORTED, SOURCES, 1, UncitedAnswer(2, "274", 0.95))
    assert first_answer(SUPPORTED.dump(), [step]) == SUPPORTED
    assert first_answer(SUPPORTED.dump(), []) is None
    assert first_answer(Draft("", found=False).dump(), [step]) is None
    assert first_stands(step, read=1, left=2, failed=0, silent=True) | {"reason": ""} == {
        "from": "map_reduce",
        "to": "plain",
        "reason": "",
        "silent": True,
    }


class Sees(ValueReader):
    """Is as sure of every passage."""

    def __init__(self, answerable):
        super().__init__()
        self.answerable = answerable

    def read(self, pairs):
        return [PassageReading((), self.answerable) for _ in pairs]


@pytest.mark.parametrize(
    ("signals", "extractive", "nothing"),
    [
        ({"lost": 0.0}, Sees(0.1), True),
        ({"lost": 0.0}, Sees(0.9), False),
        ({"lost": 1.0}, Sees(0.1), False),
        ({}, Sees(0.1), False),
        ({"lost": 0.0}, None, False),
    ],
)
def test_a_second_reading_is_spared_where_the_risk_is_low_and_no_answer_is_seen(signals, extractive, nothing):
    assert nothing_to_find("?", SOURCES, {"signals": signals}, extractive) is nothing
