"""Questions made of titles, conclusions, claims and trial prompts."""

from __future__ import annotations

import random

from evaluation.samples import reader_part_of
from training.reader_paraphrase import CHANGES, LEAST, paraphrased, prompted


def test_a_value_of_the_title_is_asked_for_in_the_abstract(reader_data):
    found = list(paraphrased(reader_data, random.Random(0)))
    assert found
    for example in found:
        assert all(
            example.passage.text[slice(*span)].casefold() == example.names[0].casefold()
            for span in example.passage.spans
        )
        assert example.passage.spans
        assert len(example.question.split()) >= LEAST
        assert example.passage.title == ""


def test_a_prompt_asks_for_the_treatment_or_the_outcome(reader_data):
    found = list(prompted(reader_data, random.Random(0)))
    assert found
    for example in found:
        assert reader_part_of(example.key) == "train"
        assert any(verb in example.question for verbs in CHANGES.values() for verb in verbs)
        assert all(
            example.passage.text[slice(*span)].casefold() == example.names[0].casefold()
            for span in example.passage.spans
        )


def test_the_same_seed_makes_the_same_questions(reader_data):
    assert list(paraphrased(reader_data, random.Random(3))) == list(paraphrased(reader_data, random.Random(3)))
