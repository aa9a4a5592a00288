"""What the reader is trained on: parts that share nothing, spans that hold the answers, verdicts, descriptors."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from preflight_rag.evaluation.reader_data import (
    SETS,
    WINDOW,
    Example,
    descriptor_spans,
    examples,
    overlapping,
    part_of,
    spans_of,
    window,
)
from preflight_rag.models.sentences import sentence_spans
from preflight_rag.state.errors import UsageError

PARTS = ("train", "validation", "test")
MARKED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs")


@pytest.mark.parametrize("name", SETS)
def test_the_parts_share_no_question(name, reader_data):
    found = {part: examples(name, reader_data, part) for part in PARTS}
    assert all(found.values())
    assert all(part_of(example.key) == part for part in PARTS for example in found[part])
    groups = Counter(group for part in PARTS for group in {example.group for example in found[part]})
    assert set(groups.values()) == {1}


def test_test_is_a_quarter_and_validation_an_eighth():
    shares = Counter(part_of(f"question {i}") for i in range(4000))
    assert shares["test"] / 4000 == pytest.approx(1 / 4, abs=0.03)
    assert shares["validation"] / 4000 == pytest.approx(1 / 8, abs=0.03)


@pytest.mark.parametrize("name", SETS)
def test_a_seed_gives_the_same_examples(name, reader_data):
    assert examples(name, reader_data, "train", 3) == examples(name, reader_data, "train", 3)


@pytest.mark.parametrize("name", SETS)
def test_what_is_said_of_an_example_agrees(name, reader_data):
    for example in examples(name, reader_data, "train"):
        assert example.question.strip()
        assert example.text.strip()
        assert not (example.answers and example.answerable is False)
        assert not (example.answers == () and example.answerable)
        for start, end in (*(example.answers or ()), *(example.descriptor or ())):
            assert example.text[start:end].strip() == example.text[start:end] != ""


@pytest.mark.parametrize("name", MARKED)
def test_marked_spans_read_as_the_answers(name, reader_data):
    found = [example for part in PARTS for example in examples(name, reader_data, part)]
    for example in found:
        gold = {answer.casefold() for answer in example.gold}
        assert all(example.text[start:end].casefold() in gold for start, end in example.answers)
        assert example.answerable or not spans_of(example.text, example.gold)
    assert {example.answerable for example in found} == {True, False}


@pytest.mark.parametrize("name", ["xquad_en", "ramdocs", "covidqa", "clapnq"])
def test_published_files_are_read_alike(name, data_dir):
    found = examples(name, data_dir, "validation")
    assert len(found) > 50
    marked = [example for example in found if example.answers and example.gold]
    folded = [" ".join(e.text[slice(*e.answers[0])].split()).casefold() for e in marked]
    golds = [{" ".join(answer.split()).casefold() for answer in example.gold} for example in marked]
    assert all(text in gold for text, gold in zip(folded, golds, strict=True))


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("pubmedqa", {"yes", "no", "neither"}),
        ("scifact", {"yes", "no", "neither"}),
        ("evidence_inference", {"yes", "no", "neither"}),
        ("conflictqa", {"yes", "no"}),
    ],
)
def test_verdicts(name, verdicts, reader_data):
    found = [example for part in PARTS for example in examples(name, reader_data, part)]
    assert {example.verdict for example in found} == verdicts


@pytest.mark.parametrize(
    ("entity", "question", "text", "telling"),
    [
        ("Broken Bow, Nebraska", "area code of Broken Bow?", "Broken Bow in Nebraska has code 308.", ["Nebraska"]),
        ("Heroes (season 2)", "how long is Heroes?", "Season 2 of Heroes has 11 episodes.", ["Season 2"]),
        ("The Kite, film of 1983", "who made The Kite?", "The Kite (1983) was made by Ada.", ["1983"]),
        ("The Kite", "who made The Kite?", "The Kite was made by Ada.", []),
    ],
)
def test_a_descriptor_is_what_the_question_does_not_name(entity, question, text, telling):
    assert [text[start:end] for start, end in descriptor_spans(entity, question, text)] == telling


@pytest.mark.parametrize(
    ("text", "answers", "found"),
    [
        ("Ada met ada and Adam.", ["Ada"], ["Ada", "ada"]),
        ("in New\n York", ["new york"], ["New\n York"]),
        ("3.5 mg (3.5)", ["3.5"], ["3.5", "3.5"]),
        ("nothing", ["", " "], []),
        ("a b a b a b a b", ["a"], ["a"] * 4),
        ("a " * 9, ["a"], ["a"] * 6),
    ],
)
def test_spans_are_whole_words(text, answers, found):
    assert [text[start:end] for start, end in spans_of(text, answers)] == found


def test_a_window_holds_its_stretch_in_whole_sentences():
    text = " ".join(f"Sentence number {i} has seven words." for i in range(80))
    spans = sentence_spans(text)
    for seed in range(20):
        around = spans[seed * 3]
        start, end = window(text, spans, around, random.Random(seed))
        assert start <= around[0] < around[1] <= end
        assert {start, end} <= {place for span in spans for place in span}
        assert len(text[start:end].split()) <= WINDOW[1] + 7


def test_a_hard_negative_shares_terms():
    texts = ["tea is green", "kites fly high", "red kites fly", "stones"]
    assert overlapping("do red kites fly", texts, random.Random(0), of=1) == "red kites fly"
    assert overlapping("kites", [], random.Random(0)) is None


@pytest.mark.parametrize("name", SETS)
def test_a_missing_file_is_named_with_its_origin(name, tmp_path):
    with pytest.raises(UsageError, match=SETS[name][1]):
        examples(name, tmp_path, "train")


def test_an_example_says_what_is_not_known():
    assert Example("k", "q", "", "t").answers is None
