"""The sets that the reader is trained on: parts that share nothing, spans that hold the answers, verdicts."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evaluation.datasets import TRAINING, adapter_of, examples
from evaluation.datasets.pairs import spans_of
from evaluation.datasets.ramdocs import descriptor_spans
from evaluation.samples import reader_part_of
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow

PARTS = ("train", "validation", "test")
SHIFTED = ("squadshifts-new_wiki", "squadshifts-reddit", "squadshifts-amazon")
MARKED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "squad2", *SHIFTED)


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
        assert example.answerable or not (example.names and spans_of(example.passage.text, example.names))
    assert {example.answerable for example in found} == {True, False}


@pytest.mark.parametrize("name", ["xquad_en", "ramdocs", "covidqa", "clapnq", "squad2", *SHIFTED])
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
        ("boolq", {"yes", "no"}),
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


WIKIPEDIA = ("xquad_en", "squad2", "squadshifts-new_wiki")
"""Sets of questions about paragraphs of Wikipedia's articles; the first two are of the same articles."""


@pytest.mark.parametrize("trained", WIKIPEDIA)
@pytest.mark.parametrize("tested", WIKIPEDIA)
def test_no_article_that_is_tested_on_is_trained_on(trained, tested, data_dir):
    train = examples(trained, data_dir, "train")
    for part in ("validation", "test"):
        held = examples(tested, data_dir, part)
        titles = [{example.key.replace("_", " ").casefold() for example in found} for found in (train, held)]
        assert titles[0]
        assert titles[1]
        assert not titles[0] & titles[1]


def test_no_paragraph_that_is_tested_on_is_trained_on(data_dir):
    runs = {}
    for name in WIKIPEDIA:
        for part in PARTS:
            for text in {example.passage.text for example in examples(name, data_dir, part)}:
                found = text.casefold().split()
                for i in range(len(found) - 11):
                    runs.setdefault(tuple(found[i : i + 12]), set()).add(part == "train")
    assert len(runs) > 10_000
    assert not [run for run, trained in runs.items() if len(trained) > 1]


def test_squad2_and_xquad_do_share_articles(data_dir):
    """Else the two tests above would hold whatever decides on the parts."""
    found = [{e.key for part in PARTS for e in examples(name, data_dir, part)} for name in ("xquad_en", "squad2")]
    assert len(found[0] & found[1]) > 10


def test_a_comment_is_in_one_part_with_all_its_questions(reader_data):
    part_of = {}
    for part in PARTS:
        for example in examples("squadshifts-reddit", reader_data, part):
            if example.answerable:
                part_of.setdefault(example.key, set()).add(part)
    assert len(part_of) == 80
    assert {len(parts) for parts in part_of.values()} == {1}


def test_only_training_paragraphs_are_cut(reader_data):
    def cut(part):
        found = examples("squadshifts-amazon", reader_data, part)
        return sum(not re.match(r"\w+ \w+ was born .* of amazon\.$", e.passage.text, re.DOTALL) for e in found)

    assert cut("train") > 0
    assert cut("validation") == cut("test") == 0


def test_unanswerable_questions_are_put_to_their_own_paragraph(reader_data):
    found = [e for part in PARTS for e in examples("squad2", reader_data, part) if not e.answerable]
    assert len(found) == 40
    assert all(e.passage.relevant is None and e.question.startswith("When did") for e in found)
    assert all(e.question.split()[2] in e.passage.text for e in found)


def test_half_of_boolqs_questions_are_written_as_a_person_writes(reader_data):
    found = [e.question for part in PARTS for e in examples("boolq", reader_data, part)]
    written = [question for question in found if question.startswith("Did ") and question.endswith("?")]
    typed = [question for question in found if question.startswith("did ") and not question.endswith("?")]
    assert len(written) + len(typed) == 40
    assert min(len(written), len(typed)) >= 8
