"""The sets that the reader is trained on: parts that share nothing, spans that hold the answers, verdicts."""

from __future__ import annotations

from collections import Counter

import pytest

from preflight_rag.evaluation.datasets import TRAINING, adapter_of, examples
from preflight_rag.evaluation.datasets.pairs import spans_of
from preflight_rag.evaluation.datasets.ramdocs import descriptor_spans
from preflight_rag.evaluation.samples import reader_part_of
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow

PARTS = ("train", "validation", "test")
MARKED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs")


@pytest.mark.parametrize("name", TRAINING)
def test_the_parts_share_no_question(name, reader_data):
    found = {part: examples(name, reader_data, part) for part in PARTS}
    assert all(found.values())
    assert all(reader_part_of(example.key) == part for part in PARTS for example in found[part])
    groups = Counter(group for part in PARTS for group in {example.id for example in found[part]})
    assert set(groups.values()) == {1}


@pytest.mark.parametrize("name", TRAINING)
def test_a_seed_gives_the_same_examples(name, reader_data):
    assert examples(name, reader_data, "train", 3) == examples(name, reader_data, "train", 3)


@pytest.mark.parametrize("name", TRAINING)
def test_what_is_said_of_an_example_agrees(name, reader_data):
    for example in examples(name, reader_data, "train"):
        assert example.question.strip()
        assert example.passage.text.strip()
        assert not (example.passage.spans and example.answerable is False)
        assert not (example.passage.spans == () and example.answerable)
        for start, end in (*(example.passage.spans or ()), *(example.passage.descriptor or ())):
            assert example.passage.text[start:end].strip() == example.passage.text[start:end] != ""


@pytest.mark.parametrize("name", MARKED)
def test_marked_spans_read_as_the_answers(name, reader_data):
    found = [example for part in PARTS for example in examples(name, reader_data, part)]
    for example in found:
        gold = {answer.casefold() for answer in example.names}
        assert all(example.passage.text[start:end].casefold() in gold for start, end in example.passage.spans)
        assert example.answerable or not spans_of(example.passage.text, example.names)
    assert {example.answerable for example in found} == {True, False}


@pytest.mark.parametrize("name", ["xquad_en", "ramdocs", "covidqa", "clapnq"])
def test_published_files_are_read_alike(name, data_dir):
    found = examples(name, data_dir, "validation")
    assert len(found) > 50
    marked = [example for example in found if example.passage.spans and example.names]
    folded = [" ".join(e.passage.text[slice(*e.passage.spans[0])].split()).casefold() for e in marked]
    golds = [{" ".join(answer.split()).casefold() for answer in example.names} for example in marked]
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
    assert {example.passage.verdict for example in found} == verdicts


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


@pytest.mark.parametrize("name", TRAINING)
def test_a_missing_file_is_named_with_its_origin(name, tmp_path):
    with pytest.raises(UsageError, match=adapter_of(TRAINING[name]).SOURCE):
        examples(name, tmp_path, "train")
