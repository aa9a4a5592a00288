"""Passages found by our own search: right ones hold the marked answer at its place, wrong ones none of its words."""

from __future__ import annotations

import random

import pytest

from evaluation.datasets.pairs import pair
from evaluation.samples import reader_part_of
from preflight_rag.state.reading import Source
from training.reader_negatives import WRONG, articles_of, pairs_of, place_of, searched

TEXT = "The kite was built in Estmoor. It flew in Estmoor for 12 years, until a storm broke it over the lake."
ASKED = pair("Kites", "Where did it fly?", "Kites", TEXT, ((42, 49),), True, True, group="q", gold=("Estmoor",))


def source(n, text):
    return Source(n, f"p{n}", "Kites", text)


def test_an_answer_is_looked_for_with_what_stands_around_it():
    assert TEXT[42:49] == "Estmoor"
    longer = f"Before it. {TEXT} After it."
    start, end = place_of(ASKED, longer)
    assert longer[start:end] == "Estmoor"
    assert start == longer.rindex("Estmoor")
    assert place_of(ASKED, "The kite was built in Estmoor.") is None


def test_the_first_right_passage_and_the_first_wrong_ones_are_taken():
    wrong = [source(n, f"Kite number {n} never flew.") for n in (2, 3, 4)]
    found = list(pairs_of(ASKED, [wrong[0], source(1, TEXT), *wrong[1:], source(5, TEXT)]))
    assert [(each.answerable, each.passage.relevant) for each in found] == [(True, True)] + [(False, False)] * WRONG
    assert [each.passage.text for each in found[1:]] == ["Kite number 2 never flew.", "Kite number 3 never flew."]
    ((start, end),) = found[0].passage.spans
    assert found[0].passage.text[start:end] == "Estmoor"


def test_a_passage_with_the_answers_words_elsewhere_is_neither_right_nor_wrong():
    assert list(pairs_of(ASKED, [source(1, "Many kites are sold in Estmoor.")])) == []


def test_an_article_has_each_paragraph_once():
    part = pair("Kites", "Where?", "Kites", TEXT[:30], ((22, 29),), True)
    other = pair("Kites", "When?", "Kites", "In 1871 it sank.", ((3, 7),), True)
    assert articles_of([part, ASKED, other]) == {"Kites": ("Kites", f"{TEXT}\n\nIn 1871 it sank.")}


@pytest.fixture(scope="module")
def found(reader_data, tmp_path_factory):
    return list(searched(reader_data, tmp_path_factory.mktemp("searched"), 12, random.Random(1)))


def test_what_a_library_finds_is_right_or_wrong(found):
    right = [each for each in found if each.answerable]
    wrong = [each for each in found if not each.answerable]
    assert right
    assert wrong
    for each in right:
        ((start, end),) = each.passage.spans
        assert each.passage.text[start:end] in each.names
    for each in wrong:
        assert each.passage.spans == ()
        assert not any(name in each.passage.text for name in each.names)


def test_nothing_of_the_other_parts_is_found(found):
    assert {reader_part_of(each.key) for each in found} == {"train"}
