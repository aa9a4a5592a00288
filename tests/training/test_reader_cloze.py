"""Questions made of a text's own sentences, and statements that it supports or not."""

from __future__ import annotations

import random

import pytest

from evaluation.datasets import examples
from evaluation.datasets.pairs import spans_of
from evaluation.datasets.statements import SourcePassage, by_rule, candidates
from evaluation.samples import reader_part_of
from training.reader_cloze import answered, cloze, training_texts

KITE = "The kite was built in 1843 by Ada Almgren in Estmoor. It weighed 12 kg and crossed the whole river twice."


@pytest.fixture(scope="module")
def texts(reader_data):
    return training_texts(reader_data, random.Random(0))


def test_texts_are_those_of_the_training_parts(texts, reader_data):
    held_out = {
        example.passage.text
        for name in ("nq_open_oracle", "xquad_en")
        for part in ("validation", "test")
        for example in examples(name, reader_data, part)
    }
    train = {example.passage.text for example in examples("nq_open_oracle", reader_data, "train")}
    assert train & {text.text for text in texts}
    articles = [text for text in texts if text.title.startswith("Engineers ")]
    assert articles
    assert all(reader_part_of(text.title.replace(" ", "_")) == "train" for text in articles)
    assert held_out


@pytest.mark.parametrize(("kind", "value"), [("date", "1843"), ("number", "12 kg"), ("name", "Ada Almgren")])
def test_candidates_are_values_of_a_sentence(kind, value):
    found = [item for item in candidates(KITE) if item.kind == kind]
    assert value in [item.text for item in found]
    assert all(KITE[slice(*item.span)] == item.text for item in candidates(KITE))


def test_a_made_question_asks_for_what_it_leaves_out(texts):
    made = list(cloze(texts, random.Random(0)))
    assert len(made) > len(texts) / 2
    for example in made:
        assert all(
            example.passage.text[start:end].casefold() == example.names[0].casefold()
            for start, end in example.passage.spans
        )
        assert example.answerable == bool(example.passage.spans)
        assert example.answerable or not spans_of(example.passage.text, example.names)
        assert len(example.question.split()) >= 4
    assert {example.answerable for example in made} == {True, False}


def test_a_made_question_begins_with_an_interrogative():
    made = [example for seed in range(30) for example in cloze([SourcePassage("Kites", KITE)], random.Random(seed))]
    dates = [example.question for example in made if example.names == ("1843",)]
    assert dates
    assert all(question.split()[0] in {"when", "in", "what"} for question in dates)


def test_statements_are_true_changed_or_of_another_text(texts):
    told = list(by_rule(texts, random.Random(0)))
    assert {example.passage.verdict for example in told} == {"yes", "no", "neither"}
    assert all(example.passage.spans is None for example in told)


def test_a_question_with_its_answer_is_a_statement(reader_data):
    asked = [example for name in ("xquad_en", "ramdocs") for example in examples(name, reader_data, "train")]
    found = list(answered(asked, random.Random(0)))
    assert {example.passage.verdict for example in found} == {"yes", "no"}
    for example in found:
        right = any(example.question.endswith(gold) for gold in example.names)
        assert right == (example.passage.verdict == "yes")
        assert (example.passage.spans, example.answerable, example.passage.relevant) == (None, None, None)


def test_a_seed_gives_the_same_questions(texts):
    assert list(cloze(texts, random.Random(1))) == list(cloze(texts, random.Random(1)))
